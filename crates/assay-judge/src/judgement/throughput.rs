//! The throughput of a step in which not all streams ran all the time.
//!
//! Streams that run one after another never carry their rates at the same time, so these are not added: their
//! operations are, and divided by the time in which any of them ran.

use serde::{Deserialize, Serialize};

/// What a stream of flushes does, in a log. Flushes move no data and are not part of a throughput.
const FLUSH: &str = "flush";
/// The word of a stream that counts sequences of operations, each kind of which is a stream too.
const SEQUENCE: &str = "sequence";

/// Whether the operations of a stream, by the word for what they do, count among those of all streams together: flushes
/// move nothing, and sequences consist of operations that are counted.
pub(crate) fn counts_among_all(word: &str) -> bool {
    word != FLUSH && word != SEQUENCE
}

/// All streams that move data together, over the time in which any of them ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// For how much of the measured time any of them ran.
    pub ran_ns: u64,
    /// Completed operations per second of that time.
    pub operations_per_second: f64,
    /// Bytes per second of these operations.
    pub bytes_per_second: f64,
}
