//! The command line of pblio, its output and its data file.

mod cached;
mod data;
mod options;
mod write;

pub use data::{Data, PblioData, Period};
pub use options::{Asked, Command, USAGE, parse_args};
pub use write::{average_line, banner_lines, cache_lines, period_line};
