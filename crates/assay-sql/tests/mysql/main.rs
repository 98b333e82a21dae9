//! MariaDB under the workload: what is loaded, what transactions leave and answer, and what the checks find, each
//! compared with the pure population and the interpreter; and what happens when the server fails.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test")]

mod bed;
mod checks;
#[path = "../shared/driven.rs"]
mod driven;
mod faults;
mod gate;
#[path = "../shared/guarded.rs"]
mod guarded;
mod loads;
#[path = "../planted/mod.rs"]
mod planted;
mod server;
#[path = "../shared/mod.rs"]
mod shared;
mod tls;
mod transactions;
mod traps;
