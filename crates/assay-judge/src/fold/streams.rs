//! The totals of each stream over the measured time, for all its targets together and for each.

use crate::fold::counters::{Counters, Lengths};
use crate::fold::layout::Layout;
use crate::fold::step::StepFold;
use crate::fold::totals::Most;
use crate::judgement::{Blocked, StreamTotals, TimesSummary};
use assay_record::Times;

/// The quantiles of a chart by nines.
const NINES: [f64; 17] = [
    0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.99999, 0.999999, 0.9999999,
];

/// Totals of each stream: all targets together first, then each.
pub(crate) fn streams(fold: &StepFold, warnings: &mut Vec<String>) -> Vec<StreamTotals> {
    let layout = &fold.layout;
    let mut entries = Vec::new();
    for (stream, flows) in layout.of_stream.iter().enumerate() {
        let times = fold.measured.distributions.streams[stream].as_ref();
        let together =
            crate::fold::window::sum(flows.iter().map(|&flow| &fold.measured.totals.flows[flow].cell), layout);
        let covered = times.map_or(0, |times| times[0].count());
        if covered != together.ok && fold.measured.distributions.expected {
            let name = &layout.streams[stream].name;
            warnings.push(format!("percentiles of {name} cover {covered} of {} operations", together.ok));
        }
        let only = if let [flow] = flows.as_slice() { Some(layout.target_of(*flow)) } else { None };
        let in_time = |flows: &[usize]| {
            flows.iter().fold(0u64, |sum, &flow| sum.saturating_add(fold.measured.totals.flows[flow].in_time))
        };
        let maxima = fold.measured.totals.streams[stream];
        entries.push(totals(fold, stream, only, (&together, in_time(flows)), times, maxima));
        if flows.len() > 1 {
            for &flow in flows {
                let times = fold.measured.distributions.flows[flow].as_ref();
                let target = Some(layout.target_of(flow));
                let cell = (&fold.measured.totals.flows[flow].cell, in_time(&[flow]));
                entries.push(totals(fold, stream, target, cell, times, fold.measured.totals.flows[flow].most));
            }
        }
    }
    entries
}

fn totals(
    fold: &StepFold,
    stream: usize,
    target: Option<&str>,
    (cell, in_time): (&Counters, u64),
    times: Option<&[Times; 3]>,
    most: Most,
) -> StreamTotals {
    let (head, layout) = (&fold.layout.streams[stream], &fold.layout);
    let summary = |lengths, which: usize| summary(lengths, times.map(|times| &times[which]), layout);
    let measured_ns = fold.measured.totals.measured_ns;
    // Its rate is that of the time in which it lives.
    let lived_ns = layout.lives.lived_ns(stream, 0, fold.placement.reached_ns()).min(measured_ns);
    let seconds_ns = if layout.lives.is_some() { lived_ns } else { measured_ns };
    let seconds = seconds_ns as f64 / 1e9;
    StreamTotals {
        name: head.name.clone(),
        target: target.map(str::to_owned),
        direction: head.does(),
        arrival: head.arrival.clone(),
        size: head.size.clone(),
        rate_asked: head.rate.map(|rate| rate.as_f64()),
        rate_achieved: (seconds_ns > 0).then(|| in_time as f64 / seconds),
        counts: cell.counts(),
        in_flight_max: most.in_flight,
        waiting_max: most.waiting,
        response: summary(&cell.response, 0),
        service: summary(&cell.service, 1),
        lag: summary(&cell.lag, 2),
        own_lag: self::summary(&cell.own_lag, None, layout),
        own_lag_counts: counted(&cell.own_lag, layout),
        blocked_submit: (cell.submit.max_ns > 0).then(|| Blocked {
            sum_ns: u64::try_from(cell.submit.sum_ns).unwrap_or(u64::MAX),
            max_ns: cell.submit.max_ns,
        }),
    }
}

/// The exact counts, each with the time at which its bucket begins.
fn counted(lengths: &Lengths, layout: &Layout) -> Vec<(u64, u64)> {
    let from = std::iter::once(0).chain(layout.thresholds.bounds().iter().copied());
    from.zip(lengths.counts.iter().copied()).filter(|(_, n)| *n > 0).collect()
}

/// Mean, percentiles and maximum of times.
pub(crate) fn summary(lengths: &Lengths, times: Option<&Times>, layout: &Layout) -> TimesSummary {
    let slice = lengths.slice_times(&layout.thresholds, &layout.shown);
    // A histogram has three digits; the largest value is known exactly, and no quantile may exceed it.
    let value = |quantile| Some(times?.quantile(quantile)?.as_ns().min(lengths.max_ns));
    let counted = times.map_or(0, Times::count);
    let resolved = |quantile: &&f64| (1.0 - **quantile) * counted as f64 >= 1.0;
    let mut nines: Vec<(f64, u64)> = NINES.iter().filter(resolved).filter_map(|&q| Some((q, value(q)?))).collect();
    nines.extend((counted > 0).then_some((1.0, lengths.max_ns)));
    TimesSummary {
        operations: slice.operations,
        mean_ns: slice.mean_ns,
        p50_ns: value(0.5),
        p90_ns: value(0.9),
        p99_ns: value(0.99),
        p99_9_ns: value(0.999),
        p99_99_ns: value(0.9999),
        max_ns: slice.max_ns,
        over: slice.over,
        nines,
    }
}
