//! SQLite under the workload: what is loaded, what transactions leave and answer, and what the checks find, each
//! compared with the pure population and the interpreter.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_macros, reason = "a test")]

mod bed;
mod checks;
mod loads;
#[path = "../planted/mod.rs"]
mod planted;
mod transactions;
