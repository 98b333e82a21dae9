//! A whole tree of files that fails on demand: a FUSE file system in memory, for tests of loads on file systems. Each kind
//! of call can be delayed, refused or left unanswered, and what was written can be falsified behind everybody's back.
//!
//! In the root, `ctl` takes `key=value` lines (see [`TreeFaults`]) and `truth` has the account; a listing shows neither.

mod answers;
mod entries;
mod faults;
mod file_system;
mod lies;
mod locks;
mod memory;
mod mount;
mod operation;
mod service;
mod truth;

pub use faults::TreeFaults;
pub use mount::FaultTree;
pub use operation::TreeOperation;
pub use truth::{Lie, TreeTruth};
