//! SeekMark's command line and its output, as of version 0.9.2.

mod options;
mod write;

pub use options::{Asked, Command, Mode, USAGE, parse_args};
pub use write::{Thread, Total, begin_lines, endless_warning, failed_line, spawning_lines, thread_line, total_lines};
