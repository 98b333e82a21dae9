//! Carries a run out, from a plan to a closed log: opens its targets through the safety gate, chooses the engine,
//! starts the workers, collects what they record into the log, continues what was interrupted, and makes certificates
//! of logs.
//!
//! It prints nothing and never ends the process: it returns values and failures, and reports progress to an
//! [`observer::Observer`]. The caller reads the command line and decides what is shown of a run.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod cache;
pub mod certificate;
pub mod databases;
mod directories;
pub mod drive;
pub mod failure;
pub mod files;
pub mod host;
pub mod log;
pub mod observer;
pub mod open;
pub mod prepare;
pub mod procedure;
pub mod workloads;

pub use cache::lookaside::with_cache;
pub use directories::{NamedDirectory, VERB as DIRECTORY_CALLS, serve_directory_calls};
