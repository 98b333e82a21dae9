//! The program on a disk that fails on demand (`assay-faultfs`): injected faults are counted exactly, the reported
//! times are the disk's own, and the verdict is the one that the fault deserves.
//!
//! Tests that measure time or need a PASS run one at a time, the others at the same time. A test that needs root, FUSE
//! or a tool says so on stderr and is skipped where that is not available. With `ASSAY_CAMPAIGN=20` (`make campaign`),
//! everything that must hold over repeated trials is repeated that many times.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive real processes and real time"
)]

#[allow(dead_code, reason = "shared with the other tests of the program")]
#[path = "../program/bed.rs"]
mod bed;
#[allow(dead_code, reason = "shared with the other tests of the program")]
#[path = "../program/devices.rs"]
mod devices;
#[path = "../../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;

mod rig;

mod cached;
mod campaign;
mod change;
mod directories;
mod directories_cache;
mod directories_hung;
mod directories_mounts;
mod directories_shipped;
mod directories_times;
mod durable;
mod errors;
mod flushes;
mod integrity;
mod lag;
mod log;
mod mail;
mod mounts;
mod page_cache;
mod procedures;
mod services;
mod services_on_disks;
mod stuck;
mod submit;
mod times;
mod turns;
