//! Times in which something was not done: their sum, the longest of them, and how many there were.

use serde::{Deserialize, Serialize};

/// Pauses of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pauses {
    /// Sum in nanoseconds.
    #[serde(rename = "sum")]
    pub sum_ns: u64,
    /// Largest in nanoseconds.
    #[serde(rename = "max")]
    pub max_ns: u64,
    /// Number of pauses.
    #[serde(rename = "n")]
    pub count: u64,
}

impl Pauses {
    /// Counts a pause of `ns` nanoseconds.
    pub fn record_pause(&mut self, ns: u64) {
        self.add(&Pauses { sum_ns: ns, max_ns: ns, count: 1 });
    }

    /// Adds other pauses.
    pub fn add(&mut self, other: &Pauses) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.count = self.count.saturating_add(other.count);
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.count == 0
    }
}
