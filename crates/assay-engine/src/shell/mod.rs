//! The few lines around a worker that know how time passes: real time, or a number that jumps to the next event.

mod host;
mod real;
mod sink;
mod sleeps;
mod virtual_time;

pub use host::{Host, Stop};
pub use real::run_real;
pub use sink::Sink;
pub use sleeps::{Spin, Waiting};
pub use virtual_time::run_virtual;
