//! The bounds that criteria set, for charts and tables that mark them.

use crate::judgement::{Outcome, StepFigures};
use assay_base::{Bound, Measure, Span};

/// The share of responses over `threshold` that a criterion allows (0 to 1).
pub(crate) fn bound_over(part: &StepFigures, stream: &str, threshold: Span) -> Option<f64> {
    bounds(part, stream, Measure::Response).into_iter().find_map(|(_, bound)| match bound {
        Bound::Over { over, below: share } | Bound::OverAtMost { over, at_most: share } => {
            (over == threshold).then(|| share.as_f64())
        }
        Bound::MeanAtMost(_) | Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_) | Bound::ErrorsAtMost(_) => None,
    })
}

/// The bounds that the applied criteria set on `measure` of `stream`, each with the length of its windows.
pub(crate) fn bounds(part: &StepFigures, stream: &str, measure: Measure) -> Vec<(u64, Bound)> {
    part.criteria
        .iter()
        .filter(|outcome| {
            outcome.outcome != Outcome::NotApplied
                && outcome.asked.stream.as_deref() == Some(stream)
                && outcome.asked.measure == Some(measure)
        })
        .filter_map(|outcome| Some((outcome.asked.window_ns, outcome.asked.parsed()?.bound)))
        .collect()
}
