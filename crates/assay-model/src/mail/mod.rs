//! A mail store, Jetstress-like: the reads and writes of a mail server's databases, their logs, the reads that ship the logs to other copies,
//! and the scan that checks all pages.
//!
//! Jetstress drives the real database engine; this is the I/O that it reported, as streams. There is no B+-tree, no cache and no order of log
//! and pages. `facts.rs` names where each number comes from. When a plan is made the store becomes ordinary streams: what drives, records and
//! judges them knows nothing of mail.

mod facts;
mod lowered;
mod meant;
mod spread;

pub use facts::{
    BLOCK_OF_SCAN, DISTANCE, LARGEST_LOG_WRITE, LEAST_LOG_OF_COPIES, LIKENESS, LOG_FILE, NOT_COMPARABLE, PAGE, SAMPLE,
    USUAL_GROWTH, USUAL_LOG_MEAN, USUAL_LOG_WRITES, USUAL_READS,
};
pub use meant::{Check, Edition, Flow, LogPlace, Mail, Maintenance, Storage, Test};

#[cfg(test)]
mod tests;
