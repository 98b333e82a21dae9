//! What others than the run did on the disks that serve its targets.

use assay_record::WatchedDisk;
use serde::{Deserialize, Serialize};

/// One disk, and what others did on it in the measured time, at least.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ForeignFigures {
    /// The disk.
    #[serde(flatten)]
    pub head: WatchedDisk,
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Discards.
    pub discards: u64,
    /// Flushes.
    pub flushes: u64,
    /// The largest of their parts of all operations, of all bytes and of the time that all operations took on the disk; of an
    /// interval in which others did nothing, nothing counts. Between 0 and 1.
    pub share: f64,
    /// The measured time of intervals in which their part was notable (a hundredth or more).
    pub notable_ns: u64,
    /// When that was: `[from, to, from, to, …]` in measured time, the first stretches.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notable: Vec<u64>,
    /// The same in a sentence, with the amounts in those intervals; absent where their part was never notable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// Further such stretches.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub notable_left_out: u64,
    /// Operations of others per second, at each point of `Series::at_ns`; empty where they did nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations_per_second: Vec<f64>,
    /// Bytes of others per second, at each point of `Series::at_ns`; empty where they did nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bytes_per_second: Vec<f64>,
}

impl ForeignFigures {
    /// Whether others did anything.
    pub fn is_used(&self) -> bool {
        [self.reads, self.writes, self.discards, self.flushes, self.read_bytes, self.written_bytes]
            .iter()
            .any(|n| *n > 0)
    }
}
