//! One line along the measured time: a column for each slice, showing the value of the first criterion.

use crate::judgement::{CriterionOutcome, Outcome, Slice, SliceTimes, StepFigures};
use crate::render::cut_to_width;
use assay_base::{Bound, Measure, Span};

/// From zero to the full height.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Upper bound on the columns; with more slices, several share a column, which shows the highest.
const COLUMNS: usize = 48;

/// `reads > 1 ms ▁▁▁▁▁█▁ each 1 h, █ 8.00%`; `None` where there is nothing to show. The full height is the bound, or
/// the highest slice where that is over it.
pub(crate) fn spark_line(part: &StepFigures) -> Option<String> {
    // Slices have figures of streams, and none of all streams together.
    let together = part.streams.together.as_ref().map(|all| &all.name);
    let outcome = part.criteria.iter().find(|outcome| {
        let stream = &outcome.asked.stream;
        stream.is_some() && together != stream.as_ref() && outcome.outcome != Outcome::NotApplied
    })?;
    let bound = outcome.asked.exact_bound?;
    let values: Vec<Option<f64>> = part.slices.listed.iter().map(|slice| slice_value(slice, outcome)).collect();
    if values.len() < 2 {
        return None;
    }
    let highest = values.iter().flatten().copied().fold(0.0, f64::max);
    let top = highest.max(crate::rules::value::bound_as_number(&bound));
    let each = values.len().div_ceil(COLUMNS);
    let columns: String = values.chunks(each).map(|slices| level_sign(slices, top).unwrap_or('·')).collect();
    let length = Span::from_ns(part.time.slice_ns.saturating_mul(each as u64)).human_text();
    let top = match bound {
        Bound::MeanAtMost(_) => Span::from_ns(top as u64).human_text(),
        Bound::Over { .. } | Bound::OverAtMost { .. } => format!("{:.2}%", top * 100.0),
        Bound::RateAtLeast(_) | Bound::ThroughputAtLeast(_) | Bound::ErrorsAtMost(_) => return None,
    };
    let stream = cut_to_width(outcome.asked.stream.as_deref().unwrap_or_default(), 16);
    let what = outcome.asked.threshold.map_or("mean".to_owned(), |threshold| format!("> {}", threshold.human_text()));
    Some(format!("{stream} {what} {columns} each {length}, {} {top}", LEVELS[LEVELS.len() - 1]))
}

/// The sign for the highest of some slices.
fn level_sign(slices: &[Option<f64>], top: f64) -> Option<char> {
    let most = slices.iter().flatten().copied().reduce(f64::max)?;
    let level = (most / top * (LEVELS.len() - 1) as f64).round();
    LEVELS.get(level as usize).copied()
}

fn slice_value(slice: &Slice, outcome: &CriterionOutcome) -> Option<f64> {
    let stream = slice.figures_of_stream(outcome.asked.stream.as_deref()?, None)?;
    let times: &SliceTimes =
        if outcome.asked.measure == Some(Measure::Service) { &stream.service } else { &stream.response };
    match outcome.asked.threshold {
        Some(threshold) => times.share_over(threshold),
        None => times.mean_ns.map(|ns| ns as f64),
    }
}
