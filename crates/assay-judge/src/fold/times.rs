//! Mean, percentiles and maximum of times.

use crate::fold::counters::Lengths;
use crate::fold::layout::Layout;
use crate::judgement::TimesSummary;
use assay_record::Times;

/// The quantiles of a chart by nines.
const NINES: [f64; 17] = [
    0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 0.999999, 0.9999999,
];

/// The figures of these times; percentiles where there is a distribution.
pub(crate) fn summarize_times(lengths: &Lengths, times: Option<&Times>, layout: &Layout) -> TimesSummary {
    let slice = lengths.slice_times(&layout.times.thresholds, &layout.times.shown);
    // A histogram has three digits; the largest value is known exactly, and no quantile may exceed it.
    let counted = times.map_or(0, Times::total_count);
    let mut nines: Vec<(f64, u64)> = NINES
        .iter()
        .filter(|quantile| (1.0 - **quantile) * counted as f64 >= 1.0)
        .filter_map(|&q| Some((q, quantile_ns(q, times, lengths)?)))
        .collect();
    nines.extend((counted > 0).then_some((1.0, lengths.max_ns)));
    TimesSummary {
        operations: slice.operations,
        mean_ns: slice.mean_ns,
        p50_ns: quantile_ns(0.5, times, lengths),
        p90_ns: quantile_ns(0.9, times, lengths),
        p99_ns: quantile_ns(0.99, times, lengths),
        p99_9_ns: quantile_ns(0.999, times, lengths),
        p99_99_ns: quantile_ns(0.9999, times, lengths),
        max_ns: slice.max_ns,
        over: slice.over,
        nines,
    }
}

/// A quantile, where there is a distribution.
fn quantile_ns(quantile: f64, times: Option<&Times>, lengths: &Lengths) -> Option<u64> {
    Some(times?.quantile(quantile)?.as_ns().min(lengths.max_ns))
}
