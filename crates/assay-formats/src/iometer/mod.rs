//! Reads configurations of IOmeter (`.icf`), as its versions from 2004 to 1.1.0 write them, and writes them as
//! workloads.
//!
//! The meaning of a line of an access specification is taken from IOmeter's behaviour. A line is drawn for each burst,
//! so that its share of the operations is share × burst, divided by the sum of share × burst over all lines. Before a
//! burst nothing is issued for `delay`. For each operation it is drawn whether it reads and whether it is random. An
//! operation that is not random follows the worker's last operation on the target. A worker is a closed loop with its
//! number of outstanding I/Os on each target.

mod config;
mod lower;
mod read;
mod text;
mod write;

pub use config::{Config, Line, Settings, Spec, Worker};
pub use lower::{Step, all_steps};
pub use read::read_config;
pub use write::write_workload;
