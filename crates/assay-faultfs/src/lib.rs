//! A disk that fails on demand: a FUSE file system with one data file in memory, whose delays, errors and silent faults
//! are set while it runs, and which keeps its own account of what it did. Tests compare what `assay` reports with that
//! account.
//!
//! [`FaultTree`] is the same for a whole tree of files.
//!
//! Only for tests: `assay` never links it. Files in the mount of the disk: `disk` (the data), `ctl` (write `key=value` lines, see
//! [`Faults`]), `truth` (read the account, see [`Truth`]).
#![allow(clippy::disallowed_methods, reason = "this stands for a device: it has its own clock, and waits")]

mod files;
mod mount;
mod service;
mod settings;
mod tree;
mod truth;

pub use mount::{FUSE_MAGIC, FaultDisk, FaultLoop, f_type};
pub use settings::{Faults, bytes};
pub use tree::{FaultTree, Lie, TreeFaults, TreeOperation, TreeTruth};
pub use truth::Truth;
