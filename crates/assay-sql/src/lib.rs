//! Databases under the workload derived from TPC-C: the gate in front of them, the load, the five transactions, and the
//! checks of what they hold.
//!
//! What is loaded and asked is decided in `assay_model::tpcc`, which is pure; this room carries it out. The embedded
//! database is SQLite, for which no server is needed; PostgreSQL and MariaDB are servers. Nothing here prints, reads a clock or the environment, or knows
//! the engine: a caller passes what is wanted, and gets values and [`Trouble`].
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod checks;
mod failed;
mod fault;
mod guard;
mod in_memory;
mod kept;
mod loaders;
mod marker;
mod mode;
pub mod mysql;
mod ordering;
pub mod postgres;
mod retry;
mod seen;
mod servers;
mod sessions;
mod socket;
pub mod sqlite;
mod threads;
mod trouble;
mod url;

pub use checks::Totals;
pub use fault::Fault;
pub use kept::{KeptCommits, Orders};
pub use loaders::{Progress, Watch};
pub use marker::{Marker, VERSION};
pub use mode::Mode;
pub use retry::Retry;
pub use sessions::{
    Account, Acknowledge, Call, Converse, Counted, Execute, ROLLED_BACK, Sessions, Tally, TransactionSource, Unknown,
};
pub use trouble::{Trouble, TroubleKind};
pub use url::{Host, Journal, MysqlUrl, Password, PostgresUrl, SqliteUrl, Synchronous, Tls, Url};
