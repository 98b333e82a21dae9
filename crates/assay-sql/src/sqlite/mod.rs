//! SQLite, built in: a database in one file, for which no server is needed.
//!
//! SQLite's own locks on a file are lost when any descriptor of that file is closed in this process (a rule of POSIX
//! locks), so [`gate::Permit`] keeps its descriptor open until the last connection is closed, and nothing else here opens
//! the file.

mod checks;
mod connection;
pub mod gate;
mod load;
mod schema;
mod session;
mod settings;

pub use checks::{Totals, check, totals};
pub use connection::{Connection, marker, ready};
pub use load::{Loading, Progress, Watch, load};
pub use session::Session;
pub use settings::Settings;
