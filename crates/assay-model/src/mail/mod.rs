//! A mail store, Jetstress-like: the reads and writes of a mail server's databases, the writes of their logs, the reads
//! that ship the logs to other copies, and the scan that checks all pages.
//!
//! Jetstress drives the real database engine; this model offers the I/O that Jetstress reported, as streams. It has no
//! B+-tree and no cache, and does not order log writes before page writes. `facts.rs` names the source of each number.
//! When a plan is made, the store becomes ordinary streams: engine, recorder and judge know nothing of mail.

mod facts;
mod lowered;
mod meant;
mod spread;

pub use facts::{DISTANCE, MIX, NOT_COMPARABLE, PAGE, SAMPLE};
pub(crate) use facts::{
    LEAST_LOG_OF_COPIES, LIKENESS, LOG_FILE, USUAL_DATABASE, USUAL_GROWTH, USUAL_LOG_MEAN, USUAL_LOG_WRITES,
    USUAL_READS,
};
pub use meant::{Check, Edition, Flow, LogPlace, Mail, Maintenance, Storage, Test};

#[cfg(test)]
mod tests;
