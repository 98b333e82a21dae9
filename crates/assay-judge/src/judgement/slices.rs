//! The slices of the measured time: what each stream did in them, and whether they count.

use crate::judgement::streams::{Counts, percent_of};
use assay_base::{Bound, Measure, Span};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The slices that a result lists.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceList {
    /// The slices in order of time; the first 2000, and after them only those in which something was broken.
    #[serde(rename = "slices")]
    pub listed: Vec<Slice>,
    /// Number of slices that are not listed.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero", rename = "slices_left_out")]
    pub left_out: u64,
}

/// One slice of the measured time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// 1-based.
    pub number: u64,
    /// Begin in measured time.
    pub start_ns: u64,
    /// Planned end in measured time.
    pub end_ns: u64,
    /// False when it was cut, has a gap, or lines of it are missing; then it does not count.
    pub complete: bool,
    /// False when something in it proves nothing (generator lag, the log does not add up).
    pub valid: bool,
    /// False when a criterion is broken in it.
    pub within: bool,
    /// What is special about it: `30 min long`, `interrupted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// As in [`StreamFigures::each`](crate::judgement::StreamFigures::each): each stream on each target and, where there are
    /// several targets, all together.
    pub streams: Vec<SliceStream>,
}

/// One stream (on one target or on all) in one slice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SliceStream {
    /// Stream name.
    pub stream: String,
    /// Target; absent for all targets together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Counters and errors.
    #[serde(flatten)]
    pub counts: Counts,
    /// Completed − intended.
    pub response: SliceTimes,
    /// Completed − issued.
    pub service: SliceTimes,
    /// The generator's own part of issued − intended: upper bound of its 99th percentile from the exact counters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_lag_p99_below_ns: Option<u64>,
    /// The bounds of criteria that it does not keep in this slice, as they were judged on windows that are slices. Every
    /// renderer marks what is here and compares nothing itself. No file has it, because the judge makes it again from the log.
    #[serde(skip)]
    pub unkept: Vec<UnkeptBound>,
}

/// A bound that a stream does not keep in a slice, on one target or on all together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnkeptBound {
    /// The measure that was judged.
    pub measure: Measure,
    /// What had to hold.
    pub bound: Bound,
}

impl UnkeptBound {
    /// Whether it bounds the share of operations whose `measure` is at or over `threshold`.
    pub(crate) fn is_of_share(&self, measure: Measure, threshold: Span) -> bool {
        self.measure == measure && self.bound.threshold() == Some(threshold)
    }

    /// Whether it bounds the mean of `measure`.
    pub(crate) fn is_of_mean(&self, measure: Measure) -> bool {
        self.measure == measure && matches!(self.bound, Bound::MeanAtMost(_))
    }
}

/// Times within a slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SliceTimes {
    /// Operations counted.
    pub operations: u64,
    /// The mean; absent when nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    /// The maximum; absent when nothing was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Operations at or over each threshold, exact.
    pub over: BTreeMap<Span, u64>,
}

impl SliceTimes {
    /// Share of operations at or over `threshold` (0 to 1); `None` when nothing completed or it was not counted.
    pub fn share_over(&self, threshold: Span) -> Option<f64> {
        let over = *self.over.get(&threshold)?;
        (self.operations > 0).then(|| over as f64 / self.operations as f64)
    }

    /// The same in percent, with a single division: for a share times 100 the last digit shown may differ (0.46 of 93
    /// in 20000, where ACT's analyzer has 0.47).
    pub fn percent_over(&self, threshold: Span) -> Option<f64> {
        let over = *self.over.get(&threshold)?;
        percent_of(over.into(), self.operations.into())
    }
}

impl Slice {
    /// The figures of `stream` on `target` (`None`: all targets together; with a single target that is the same).
    pub fn figures_of_stream(&self, stream: &str, target: Option<&str>) -> Option<&SliceStream> {
        let mine = || self.streams.iter().filter(|entry| entry.stream == stream);
        let exact = mine().find(|entry| entry.target.as_deref() == target);
        exact.or_else(|| if target.is_none() && mine().count() == 1 { mine().next() } else { None })
    }

    /// Whether `figures_of_stream` does not keep the bound of a criterion in this slice, on `target` (as in [`Slice::figures_of_stream`]).
    pub(crate) fn has_unkept_bound(&self, stream: &str, target: Option<&str>) -> bool {
        self.figures_of_stream(stream, target).is_some_and(|entry| !entry.unkept.is_empty())
    }
}
