//! The figures of a stream in all runs of a comparison, beside each other.

use super::bootstrap::Answer;
use assay_base::Measure;
use serde::Serialize;

/// One stream over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StreamRow {
    /// The step, where there are several.
    pub step: Option<u32>,
    /// Its name.
    pub stream: String,
    /// Response or service; there is no row for a measure that no run has.
    pub measure: Measure,
    /// Figures: p50, p99 and the shares over each threshold.
    pub figures: Vec<Figure>,
    /// For each run, all operations by their time: `[up to this many nanoseconds, operations]`, each beginning where
    /// the one before ends, 20 per power of ten; empty where nothing was counted.
    pub distributions: Vec<Vec<(u64, u64)>>,
}

/// One figure of a stream over all runs, over all targets together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// `p50`, `p90`, `p99`, `p99.9`, `over 1ms`.
    pub what: String,
    /// True for a share (0 to 1), false for nanoseconds.
    pub share: bool,
    /// The value in each run.
    pub values: Vec<Option<f64>>,
    /// Each other run compared with the first.
    pub against_first: Vec<Answer>,
}

/// `step 2: reads`.
pub(super) fn title_with_step(step: Option<u32>, name: &str) -> String {
    step.map_or(name.to_owned(), |step| format!("step {step}: {name}"))
}
