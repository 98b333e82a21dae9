//! MariaDB, on this host or another one: a database of a server, which is ours alone.
//!
//! A lock of the server's own, which [`gate::Permit`] holds on a connection of its own, keeps another Assay out of the
//! database. All names are written with their database.

mod auth;
mod catalogue;
mod checks;
mod client;
mod connection;
mod definitions;
mod failed;
mod flight;
pub mod gate;
mod link;
mod load;
mod local;
mod marks;
mod procedures;
mod ready;
mod routines;
mod row;
mod rows;
mod schema;
mod session;
mod settings;
mod statistics;
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
pub use statistics::{Statistics, server_start};
