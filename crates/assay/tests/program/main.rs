//! The program as a user runs it: the built binary, in a directory of its own, on simulated and on real devices.
//!
//! There is one test binary, so that it is linked once, and one file per subject. A test that needs root, a loop device
//! or zram says so on stderr and is skipped where they are not available. No verdict on a real device is asserted here,
//! because the speed of this machine is not a property of the program; what the program counts, writes and prints is.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive real processes and real time"
)]

mod bed;
mod console;
mod devices;
#[path = "../../../assay-device/tests/safety_common/live.rs"]
#[allow(dead_code, reason = "the gate's own tests use more of it")]
mod live;
use live::losetup;

mod accounting;
mod advice;
mod behind;
mod beneath;
mod bonnie;
mod cache;
mod capturing;
mod certain;
mod certificates;
mod certifying;
mod cleaning;
mod client_time;
mod consents;
mod content;
mod copies;
mod counted;
mod databases;
mod directories;
mod directory_procedures;
mod displaced;
mod documents;
mod engines;
mod environment;
mod figures;
mod fio_drawn;
mod fio_files;
mod fio_jobs;
mod fitting;
mod ignored;
mod imports;
mod judging;
mod killed;
mod lives;
mod mail;
mod marked;
mod marked_disks;
mod marks;
mod matrix;
mod mounts;
mod namespaces;
mod neighbours;
mod oltp;
mod options;
mod page_cache;
mod patterns;
mod pblio;
mod preparing;
mod procedure;
mod procedures;
mod protected;
mod recorded;
mod refusals;
mod screens;
mod searching;
mod seekmark;
mod seekmark_text;
mod shared_disk;
mod signals;
mod simulated;
mod terminal;
mod throttle;
mod tiles;
mod touched;
mod traced;
mod turns;
mod unseen;
mod watching;
