//! SeekMark's command line and its output, as of version 0.9.2.

mod options;
mod write;

pub use options::{Asked, Command, Mode, USAGE, read};
pub use write::{Thread, Total, begin, endless_warning, failed, spawning, thread, total};
