//! Data of the charts, and whether the load was steady along them.

use assay_base::Span;
use serde::{Deserialize, Serialize};

/// Whether one stream was steady over the measured time, and where its level changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Stream name.
    pub stream: String,
    /// What is averaged: `mean response` (nanoseconds) for an open loop, `throughput` (operations per second) for a
    /// closed one.
    pub measure: String,
    /// Length of a round.
    pub round_ns: u64,
    /// Number of rounds that ended.
    pub rounds: u64,
    /// Where the first five consecutive steady rounds begin; absent when there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady_from_ns: Option<u64>,
    /// The last five consecutive rounds; absent when there were fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<SteadyWindow>,
    /// Where the level changed by 5 % or more, and longer than noise explains; the largest 20, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// Five consecutive rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyWindow {
    /// Begin in measured time.
    pub start_ns: u64,
    /// End in measured time.
    pub end_ns: u64,
    /// Average of the rounds.
    pub average: f64,
    /// Largest less smallest round, as a share of the average; at most 0.2 where it is steady.
    pub excursion: f64,
    /// How much the best straight line rises over them, as a share of the average; within ±0.1 where it is steady.
    pub slope: f64,
    /// Whether both bounds hold.
    pub steady: bool,
}

/// A change of level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Where in measured time.
    pub at_ns: u64,
    /// Level before it.
    pub before: f64,
    /// Level after it.
    pub after: f64,
}

impl Change {
    /// The size of the change, the same for a rise and the fall back: 0.5 for a level half as high again, or a third
    /// lower.
    pub fn relative_size(&self) -> f64 {
        let (low, high) = (self.before.min(self.after), self.before.max(self.after));
        if low > 0.0 { high / low - 1.0 } else { f64::INFINITY }
    }
}

/// Data of the charts, in columns: every vector of a stream has one entry for each entry of the `at_ns` beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Begin of each point in measured time; at most 2000 points.
    pub at_ns: Vec<u64>,
    /// Length of each point.
    pub width_ns: Vec<u64>,
    /// The threshold of `share_over`: the smallest of the criteria, otherwise 1 ms.
    pub threshold: Span,
    /// One entry for each stream, over all targets.
    pub streams: Vec<StreamSeries>,
    /// One entry for each group of streams that the plan names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<StreamSeries>,
    /// One entry for each stream on each target, where there are several targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<FlowSeries>,
}

/// The data of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamSeries {
    /// Stream name.
    pub stream: String,
    /// Scheduled operations per second.
    pub asked: Vec<f64>,
    /// Completed operations per second.
    pub achieved: Vec<f64>,
    /// Bytes per second moved by these operations.
    #[serde(default)]
    pub bytes_per_second: Vec<f64>,
    /// Share of responses at or over the threshold (0 to 1); `None` where nothing completed.
    pub share_over: Vec<Option<f64>>,
    /// Failed and short operations.
    pub errors: Vec<u64>,
    /// Mean lag in nanoseconds; `None` where nothing completed.
    pub lag_mean_ns: Vec<Option<u64>>,
    /// Largest lag.
    pub lag_max_ns: Vec<u64>,
    /// Largest response.
    pub response_max_ns: Vec<u64>,
    /// Percentiles of response, on a coarser time axis of their own (the distributions are logged every few seconds).
    pub bands: Bands,
    /// Time × response, for a heat map.
    pub heat: Heat,
}

/// Percentiles of response along the time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bands {
    /// Begin of each point in measured time.
    pub at_ns: Vec<u64>,
    /// Median.
    pub p50_ns: Vec<Option<u64>>,
    /// 99 %.
    pub p99_ns: Vec<Option<u64>>,
    /// 99.9 %.
    pub p99_9_ns: Vec<Option<u64>>,
}

/// How many responses fell between which boundaries, over time. At most 240 columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Heat {
    /// Boundaries in nanoseconds: row `i` lies below boundary `i` and at or above the previous one; the last row lies
    /// above all.
    pub bounds_ns: Vec<u64>,
    /// Begin of each column in measured time.
    pub at_ns: Vec<u64>,
    /// For each column `[row, operations, row, operations, …]`, empty rows left out.
    pub columns: Vec<Vec<u64>>,
}

/// One stream on one target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Stream name.
    pub stream: String,
    /// Target name.
    pub target: String,
    /// Completed operations per second.
    pub achieved: Vec<f64>,
    /// Share of responses at or over the threshold (0 to 1); `None` where nothing completed.
    pub share_over: Vec<Option<f64>>,
}
