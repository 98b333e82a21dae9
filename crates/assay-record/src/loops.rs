//! What a log says of the closed loops of a run: which flows share how many slots, and what those slots did.

use crate::pauses::Pauses;
use crate::skip::is_zero;
use serde::{Deserialize, Serialize};

/// A closed loop: flows that share a number of operations in flight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopHead {
    /// Indices into `Header::flows`.
    pub flows: Vec<u32>,
    /// How many operations it has in flight.
    pub slots: u32,
}

/// The slots of one closed loop in one interval. Each slot carries one operation after the other, and an operation's
/// response begins when the one before it in its slot has completed, or after a pause. So in each interval the responses
/// of the operations that ended, and by how much `open` grew, and the pauses are together the length of the interval
/// times the number of slots, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopInterval {
    /// At the end of the interval: the sum, over all slots, of the time since the operation that a slot carries, or will
    /// carry next, was intended, in nanoseconds. Negative for a slot that pauses beyond the end of the interval.
    #[serde(rename = "open")]
    pub open_ns: i64,
    /// The sum of the pauses that began in the interval, in nanoseconds.
    #[serde(rename = "paused", default, skip_serializing_if = "is_zero")]
    pub paused_ns: u64,
    /// The times of a millisecond or more for which the generator left a slot without an operation.
    #[serde(default, skip_serializing_if = "Pauses::is_nothing")]
    pub idle: Pauses,
}

impl LoopInterval {
    /// Adds what the slots of another worker did.
    pub(crate) fn add(&mut self, other: &LoopInterval) {
        self.open_ns = self.open_ns.saturating_add(other.open_ns);
        self.paused_ns = self.paused_ns.saturating_add(other.paused_ns);
        self.idle.add(&other.idle);
    }
}
