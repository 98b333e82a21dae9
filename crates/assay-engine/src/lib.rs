//! The engine: issues what is due, reaps what has come back, keeps the rules of the run. It is told the time and is given
//! streams; it reads no clock and knows no workload by name.
//!
//! One [`Worker`] serves one thread with one [`assay_base::Device`]. [`shell`] drives it in real or in virtual time, and
//! [`merge`] adds what several workers recorded.

mod flow;
pub mod merge;
pub mod shell;
mod timeline;
mod worker;

pub use merge::Merger;
pub use shell::{Host, run_real, run_virtual};
pub use timeline::Timeline;
pub use worker::{Limits, Setup, Step, Totals, Worker};
