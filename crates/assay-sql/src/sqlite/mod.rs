//! SQLite, built in: a database in one file, for which no server is needed.
//!
//! SQLite's own locks on a file are lost when any descriptor of that file is closed in this process (a rule of POSIX
//! locks), so [`gate::Permit`] keeps its descriptor open until the last connection is closed, and nothing else here opens
//! the file.

mod checks;
mod connection;
mod definitions;
pub mod gate;
mod load;
mod marks;
mod schema;
mod session;
mod settings;
mod turns;

pub use crate::checks::Totals;
pub use crate::loaders::{Progress, Watch};
pub use checks::{check_conditions, read_totals};
pub use connection::{Connection, open_for_run, peek_marker, read_marker, ready_to_check};
pub use load::{Loading, load_missing};
pub use marks::{create_session_rows, read_kept};
pub use session::Session;
pub use settings::Settings;
