//! Configurations of IOmeter (`.icf`), as its versions from 2004 to 1.1.0 write them: read, and written as workloads.
//!
//! What a line of an access specification means is taken from IOmeter's behaviour: a line is drawn for each burst, so that its share of the
//! operations is its share × burst over the sum of that; before a burst nothing is issued for `delay`; whether an operation reads and whether
//! it is random are drawn for each operation; what is not random follows the worker's last operation on the target. A worker is a closed loop
//! with its outstanding I/Os on each target.

mod config;
mod lower;
mod read;
mod text;
mod write;

pub use config::{Config, Line, Settings, Spec, Worker};
pub use lower::{Step, steps};
pub use read::read;
pub use write::write;
