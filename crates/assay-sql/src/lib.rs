//! Databases under the workload derived from TPC-C: the gate in front of them, the load, the five transactions, and the
//! checks of what they hold.
//!
//! What is loaded and asked is decided in `assay_model::tpcc`, which is pure; this room carries it out. The embedded
//! database is SQLite, for which no server is needed. Nothing here prints, reads a clock or the environment, or knows
//! the engine: a caller passes what is wanted, and gets values and [`Trouble`].
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod fault;
mod marker;
mod retry;
mod sessions;
pub mod sqlite;
mod threads;
mod trouble;
mod url;

pub use fault::Fault;
pub use marker::{Marker, VERSION};
pub use retry::Retry;
pub use sessions::{Asking, Call, Execute, Sessions, Tally};
pub use trouble::{Kind, Trouble};
pub use url::{Journal, SqliteUrl, Synchronous, Url};
