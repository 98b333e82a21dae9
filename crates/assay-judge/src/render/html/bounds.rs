//! The bound that a criterion sets on a share, for charts that draw a line there.

use crate::judgement::{Outcome, StepFigures};
use assay_base::{Bound, Measure, Span};

/// The share of responses over `threshold` that an applied criterion allows (0 to 1).
pub(crate) fn bound_over(part: &StepFigures, stream: &str, threshold: Span) -> Option<f64> {
    let applied = part.criteria.iter().filter(|outcome| outcome.outcome != Outcome::NotApplied);
    let mut of_share = applied.map(|outcome| &outcome.asked).filter(|asked| {
        asked.stream.as_deref() == Some(stream)
            && asked.measure == Some(Measure::Response)
            && asked.threshold == Some(threshold)
    });
    of_share.find_map(|asked| largest_share(asked.exact_bound?))
}

/// The largest share over a threshold that a bound allows (0 to 1); `None` for a bound on anything else.
pub(crate) fn largest_share(bound: Bound) -> Option<f64> {
    match bound {
        Bound::Over { below: share, .. } | Bound::OverAtMost { at_most: share, .. } => Some(share.as_f64()),
        Bound::MeanAtMost(_) | Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_) | Bound::ErrorsAtMost(_) => None,
    }
}
