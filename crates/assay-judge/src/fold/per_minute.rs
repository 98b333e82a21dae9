//! Figures per minute: which operations count, summed over measured time and slice by slice.

use crate::fold::layout::Layout;
use crate::fold::totals::Totals;
use crate::judgement::{PerMinuteFigures, Slice};
use assay_record::PerMinute;
use std::collections::BTreeMap;

/// Nanoseconds of a minute.
const MINUTE_NS: f64 = 60e9;

/// The rate per minute of a number of operations in a time; `None` where there was no time.
pub(crate) fn rate_per_minute(operations: u64, ns: u64) -> Option<f64> {
    (ns > 0).then(|| operations as f64 * MINUTE_NS / ns as f64)
}

/// The operations of a stream that count for a figure: the completed ones, less those counted under some names.
pub(crate) fn counted_operations(it: &PerMinute, stream: &str, ok: u64, counted: &BTreeMap<String, u64>) -> u64 {
    if !it.streams.iter().any(|name| name == stream) {
        return 0;
    }
    let without = it.without.iter().filter_map(|name| counted.get(name));
    ok.saturating_sub(without.fold(0, |sum, n| sum.saturating_add(*n)))
}

/// The figures of a step, whose points over time are in the order of `layout.combined.per_minute`.
pub(crate) fn figures_per_minute(
    layout: &Layout,
    totals: &Totals,
    slices: &[Slice],
    over_time: Vec<Vec<f64>>,
) -> Vec<PerMinuteFigures> {
    layout
        .combined
        .per_minute
        .iter()
        .zip(over_time)
        .map(|(planned, over_time)| figures_of(planned, over_time, layout, totals, slices))
        .collect()
}

/// One figure per minute: over all of the measured time, on each target, in each slice.
fn figures_of(
    planned: &PerMinute,
    over_time: Vec<f64>,
    layout: &Layout,
    totals: &Totals,
    slices: &[Slice],
) -> PerMinuteFigures {
    let flows = layout.flows.iter().zip(&totals.flows);
    let mut done = vec![0u64; layout.targets.len()];
    for (head, flow) in flows {
        let stream = &layout.streams[usize::from(head.stream)].head.name;
        let own = counted_operations(planned, stream, flow.in_time, &flow.counted_in_time);
        if let Some(done) = done.get_mut(usize::from(head.target)) {
            *done = done.saturating_add(own);
        }
    }
    let whole = saturating_sum(done.iter().copied());
    let targets = if done.len() > 1 {
        done.into_iter().filter_map(|done| rate_per_minute(done, totals.measured_ns)).collect()
    } else {
        Vec::new()
    };
    PerMinuteFigures {
        name: planned.name.clone(),
        value: rate_per_minute(whole, totals.measured_ns),
        targets,
        slices: slices
            .iter()
            .map(|slice| {
                let own = slice.streams.iter().filter(|entry| entry.target.is_some());
                let done = saturating_sum(own.map(|entry| {
                    counted_operations(planned, &entry.stream, entry.counts.operations, &entry.counts.counted)
                }));
                rate_per_minute(done, slice.end_ns.saturating_sub(slice.start_ns)).unwrap_or(0.0)
            })
            .collect(),
        over_time,
    }
}

/// The sum; a log may claim any numbers, so it stops at the maximum.
fn saturating_sum(numbers: impl Iterator<Item = u64>) -> u64 {
    numbers.fold(0u64, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_under_a_name_does_not_count_and_other_streams_do_not_either() {
        let it = PerMinute { name: "NOPM".into(), streams: vec!["a".into()], without: vec!["undone".into()] };
        let counted = BTreeMap::from([("undone".to_owned(), 2), ("again".to_owned(), 9)]);
        assert_eq!(counted_operations(&it, "a", 100, &counted), 98);
        assert_eq!(counted_operations(&it, "a", 1, &counted), 0, "a log may claim anything");
        assert_eq!(counted_operations(&it, "b", 100, &counted), 0);
        assert_eq!((rate_per_minute(98, 30_000_000_000), rate_per_minute(98, 0)), (Some(196.0), None));
    }
}
