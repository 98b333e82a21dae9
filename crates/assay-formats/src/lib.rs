//! Text formats of other tools, read and written. Nothing here opens a file, reads a clock or prints: text comes in as
//! bytes or lines, and goes out through `fmt::Write`. Input is untrusted: every reader limits lines and counts, and
//! answers hostile input with an [`assay_base::Fault`] that shows the place, never with a panic.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod act;
pub mod bonnie;
pub mod collect;
pub mod export;
pub mod fio;
pub mod iometer;
pub mod jetstress;
pub mod note;
pub mod pblio;
pub mod public_traces;
pub mod seekmark;
