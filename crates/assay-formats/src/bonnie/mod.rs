//! bonnie++ 2.00a: its command line, its CSV line and its table. A run on a directory is one of bonnie++'s when its phases
//! have the names that [`Test`] knows: those of the shipped workload `bonnie`, and of the workloads that
//! [`workload_texts`] makes of a command line.

mod collector;
mod line;
mod options;
mod table;
mod test;
mod workload;

pub use collector::RowCollector;
pub use line::{COLUMNS, Row, reduced_name};
pub use options::{
    Arguments, BlockTests, Command, FileManner, FileTests, Synchronisation, USAGE, WantedUser, parse_args,
};
pub use table::table_text;
pub use test::{Figure, Test};
pub use workload::workload_texts;
