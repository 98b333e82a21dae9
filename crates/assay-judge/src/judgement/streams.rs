//! What the streams did: in each slice and over all measured time.

use super::skip::is_zero;
use assay_base::Span;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What happened to the operations of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations whose intended time lies in the slice.
    pub scheduled: u64,
    /// Handed to the device.
    pub issued: u64,
    /// Completed in full.
    pub operations: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// What those listed, such as entries of directories.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub items: u64,
    /// Completed with too few bytes.
    pub short: u64,
    /// Failed, by error name.
    pub errors: BTreeMap<String, u64>,
    /// What else they report, counted by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counted: BTreeMap<String, u64>,
    /// Failed and short, by the part of the target in which they began: 0 to 63, each a 64th of it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_at: BTreeMap<u64, u64>,
    /// At the end: in flight, waiting, stuck.
    pub in_flight: u64,
    /// See `in_flight`.
    pub waiting: u64,
    /// See `in_flight`.
    pub stuck: u64,
}

/// The totals of one stream over all measured time.
#[derive(Default, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// Stream name.
    pub name: String,
    /// Target; absent for all targets together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// `read` or `write`, or what its operations do instead.
    pub direction: String,
    /// `poisson`, `steady`, `closed` …
    pub arrival: String,
    /// Operation size as text; empty where operations have no size.
    pub size: String,
    /// The size that its operations really have, as text: whole blocks of the target. Absent where it is `size`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub size_done: String,
    /// Planned operations per second over all targets together; absent for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_asked: Option<f64>,
    /// Completed operations per second of the time in which it ran; absent when no time was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_achieved: Option<f64>,
    /// For how much of the measured time it ran; absent where it ran for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ran_ns: Option<u64>,
    /// Counters and errors.
    #[serde(flatten)]
    pub counts: Counts,
    /// The largest number in flight at the end of any interval.
    pub in_flight_max: u64,
    /// The largest number waiting at the end of any interval.
    pub waiting_max: u64,
    /// Completed − intended.
    pub response: TimesSummary,
    /// Completed − issued.
    pub service: TimesSummary,
    /// Issued − intended.
    pub lag: TimesSummary,
    /// The generator's own part of the lag; from counters, without percentiles.
    pub own_lag: TimesSummary,
    /// Its histogram: `[from, operations]`, from this many nanoseconds up to the next entry's, exact; empty buckets are
    /// left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_lag_counts: Vec<(u64, u64)>,
    /// Time inside the hand-over to the kernel; absent where none was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_submit: Option<Blocked>,
}

impl StreamTotals {
    /// A description of its operations: `read, 4 KiB, poisson`; `read, 512B done as 4KiB, poisson` where the target's
    /// blocks are larger.
    pub fn does(&self) -> String {
        let size = self.enlarged_size().unwrap_or_else(|| self.size.clone());
        let words = [&self.direction, &size, &self.arrival].map(String::as_str);
        words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(", ")
    }

    /// `512B done as 4KiB`, where its operations are larger than asked for.
    pub(crate) fn enlarged_size(&self) -> Option<String> {
        (!self.size_done.is_empty()).then(|| format!("{} done as {}", self.size, self.size_done))
    }
}

/// Time spent inside the hand-over of operations: time in a call that blocks is caused by the device and the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// Sum over all operations that completed in any way.
    pub sum_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// A distribution of times. Percentiles are absent when nothing was counted or when they are above an hour.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimesSummary {
    /// Number of times counted.
    pub operations: u64,
    /// Mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// Median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    /// 90 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    /// 99 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// 99.9 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_9_ns: Option<u64>,
    /// 99.99 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_99_ns: Option<u64>,
    /// Largest, exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Number at or over each threshold, exact.
    pub over: BTreeMap<Span, u64>,
    /// `[share not above, nanoseconds]`, ascending, for a chart of high percentiles; empty when nothing was counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nines: Vec<(f64, u64)>,
}

/// `part` in percent of `whole`, as ACT's analyzer computes it; `None` when `whole` is 0.
pub(crate) fn percent_of(part: u128, whole: u128) -> Option<f64> {
    (whole > 0).then(|| (part * 100) as f64 / whole as f64)
}

impl Counts {
    /// Number of failed operations over all kinds of errors.
    pub fn failed_operations(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// The share of the scheduled operations that were issued by the end (0 to 1); `None` when nothing was scheduled.
    pub fn delivered_share(&self) -> Option<f64> {
        (self.scheduled > 0).then(|| 1.0 - self.waiting.min(self.scheduled) as f64 / self.scheduled as f64)
    }
}
