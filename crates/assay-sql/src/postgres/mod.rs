//! PostgreSQL, on this host or another one: a schema of its own in a database that exists.
//!
//! An advisory lock, which [`gate::Permit`] holds on a connection of its own, keeps another Assay out of the schema. All
//! names are written with their schema, and sessions look names up in PostgreSQL's own schema only.

mod catalogue;
mod checks;
mod client;
mod connection;
mod copy;
mod definitions;
mod flight;
mod functions;
pub mod gate;
mod link;
mod load;
mod local;
mod marks;
mod procedures;
mod ready;
mod schema;
mod session;
mod settings;
mod statistics;
mod value;
mod wire;

pub use crate::checks::Totals;
pub use crate::loaders::{Progress, Watch};
pub use crate::mode::Mode;
pub use checks::{check_conditions, read_totals};
pub use connection::{Connection, read_marker};
pub use load::{Loading, load_missing};
pub use local::Directories;
pub use marks::{create_session_rows, read_kept};
pub use ready::open_for_run;
pub use session::Session;
pub use settings::Settings;
pub use statistics::{Life, Statistics, times_log_syncs};
