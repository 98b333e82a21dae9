//! The totals of each stream over the measured time, for all its targets together and for each.

use crate::fold::counters::{Counters, Lengths};
use crate::fold::layout::Layout;
use crate::fold::most::Most;
use crate::fold::step::StepFold;
use crate::fold::stream_layout::StreamLayout;
use crate::fold::times::summarize_times;
use crate::fold::totals::{GroupTotals, Totals};
use crate::judgement::{Blocked, StreamTotals};
use assay_base::Criterion;
use assay_record::{StreamHead, Times};

/// Totals of each stream: all targets together first, then each.
pub(crate) fn totals_by_stream(fold: &StepFold, warnings: &mut Vec<String>) -> Vec<StreamTotals> {
    let layout = &fold.layout;
    let mut entries = Vec::new();
    for (stream, StreamLayout { head, flows, .. }) in layout.streams.iter().enumerate() {
        let times = fold.measured.distributions.streams[stream].as_ref().map(|times| times.as_slice());
        let together =
            crate::fold::window::sum_of_flows(flows.iter().map(|&flow| &fold.measured.totals.flows[flow].cell), layout);
        let covered = times.map_or(0, |times| times[0].total_count());
        if covered != together.work.ok && fold.measured.distributions.expected {
            let name = &head.name;
            warnings.push(format!("percentiles of {name} cover {covered} of {} operations", together.work.ok));
        }
        let only = if let [flow] = flows.as_slice() { Some(layout.target_of(*flow)) } else { None };
        let maxima = fold.measured.totals.streams[stream];
        let ran_ns = fold.measured.totals.ran_ns[stream];
        let account = Account {
            head,
            ran_ns,
            target: only,
            cell: &together,
            in_time: in_time_of(flows, fold),
            times,
            most: maxima,
        };
        entries.push(totals_of_account(fold, &account));
        if flows.len() > 1 {
            for &flow in flows {
                let times = fold.measured.distributions.flows[flow].as_ref().map(|times| times.as_slice());
                let target = Some(layout.target_of(flow));
                let own = &fold.measured.totals.flows[flow];
                let (ran_ns, cell, most) = (own.ran_ns, &own.cell, own.most);
                let in_time = in_time_of(&[flow], fold);
                entries.push(totals_of_account(fold, &Account { head, ran_ns, target, cell, in_time, times, most }));
            }
        }
    }
    entries
}

/// Operations of these flows that completed within the planned time.
fn in_time_of(flows: &[usize], fold: &StepFold) -> u64 {
    flows.iter().fold(0u64, |sum, &flow| sum.saturating_add(fold.measured.totals.flows[flow].in_time))
}

/// Totals of all streams together, where a criterion is about them.
pub(crate) fn totals_together(fold: &StepFold) -> Option<StreamTotals> {
    let Totals { all, all_ran_ns, .. } = fold.measured.totals;
    let streams: Vec<usize> = (0..fold.layout.streams.len()).collect();
    fold.layout
        .combined
        .all_judged
        .then(|| of_several(fold, Criterion::ALL, &streams, GroupTotals { most: all, ran_ns: all_ran_ns }))
}

/// Totals of each group of streams.
pub(crate) fn totals_by_group(fold: &StepFold) -> Vec<StreamTotals> {
    let groups = fold.layout.combined.groups.iter().zip(&fold.measured.totals.groups);
    groups.map(|(group, totals)| of_several(fold, &group.name, &group.streams, *totals)).collect()
}

/// Totals of several streams under one name.
fn of_several(
    fold: &StepFold,
    name: &str,
    streams: &[usize],
    GroupTotals { most, ran_ns }: GroupTotals,
) -> StreamTotals {
    let (layout, measured) = (&fold.layout, &fold.measured);
    let members = || streams.iter().map(|&stream| &layout.streams[stream]);
    let flows = || members().flat_map(|stream| &stream.flows).map(|&flow| &measured.totals.flows[flow]);
    let cell = crate::fold::window::sum_of_flows(flows().map(|flow| &flow.cell), layout);
    let in_time = flows().fold(0u64, |sum, flow| sum.saturating_add(flow.in_time));
    let mut times: Option<[Times; 3]> = None;
    for own in streams.iter().filter_map(|&stream| measured.distributions.streams[stream].as_ref()) {
        times.get_or_insert_default().iter_mut().zip(own).for_each(|(sum, own)| sum.add(own));
    }
    let head = StreamHead {
        name: name.to_owned(),
        direction: common_value(members().map(|stream| stream.head.direction)).flatten(),
        operation: common_value(members().map(|stream| stream.head.operation.clone())).flatten(),
        arrival: common_value(members().map(|stream| stream.head.arrival.clone())).unwrap_or_default(),
        rate: None,
        size: common_value(members().map(|stream| stream.head.size.clone())).unwrap_or_default(),
        size_done: common_value(members().map(|stream| stream.head.size_done.clone())).unwrap_or_default(),
        per_target: false,
    };
    let times = times.as_ref().map(|times| times.as_slice());
    let whole =
        totals_of_account(fold, &Account { head: &head, ran_ns, target: None, cell: &cell, in_time, times, most });
    let rates = members().map(|stream| stream.head.rate.map(|rate| rate.as_f64()));
    StreamTotals { rate_asked: rates.sum(), ..whole }
}

/// The value that all have; `None` where they differ.
fn common_value<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|other| other == first).then_some(first)
}

/// What was counted of a stream, on one target or on all.
struct Account<'a> {
    head: &'a StreamHead,
    /// For how much of the measured time it ran, of which its rate is.
    ran_ns: u64,
    target: Option<&'a str>,
    cell: &'a Counters,
    /// Number of operations that completed within the planned time.
    in_time: u64,
    times: Option<&'a [Times]>,
    most: Most,
}

fn totals_of_account(fold: &StepFold, account: &Account<'_>) -> StreamTotals {
    let Account { head, ran_ns, target, cell, in_time, times, most } = *account;
    let layout = &fold.layout;
    let of = |lengths, which: usize| summarize_times(lengths, times.map(|times| &times[which]), layout);
    let seconds = ran_ns as f64 / 1e9;
    let measured_ns = fold.measured.totals.measured_ns;
    StreamTotals {
        name: head.name.clone(),
        target: target.map(str::to_owned),
        direction: head.operation_word(),
        arrival: head.arrival.clone(),
        size: head.size.clone(),
        size_done: head.size_done.clone(),
        rate_asked: head.rate.map(|rate| rate.as_f64()),
        rate_achieved: (ran_ns > 0).then(|| in_time as f64 / seconds),
        ran_ns: (ran_ns != measured_ns).then_some(ran_ns),
        counts: cell.reported_counts(),
        in_flight_max: most.in_flight,
        waiting_max: most.waiting,
        response: of(&cell.response, 0),
        service: of(&cell.service, 1),
        lag: of(&cell.lag, 2),
        own_lag: summarize_times(&cell.own_lag, None, layout),
        own_lag_counts: exact_counts(&cell.own_lag, layout),
        blocked_submit: (cell.submit.max_ns > 0).then(|| Blocked {
            sum_ns: u64::try_from(cell.submit.sum_ns).unwrap_or(u64::MAX),
            max_ns: cell.submit.max_ns,
        }),
    }
}

/// The exact counts, each with the time at which its bucket begins.
fn exact_counts(lengths: &Lengths, layout: &Layout) -> Vec<(u64, u64)> {
    let from = std::iter::once(0).chain(layout.times.thresholds.bounds_ns().iter().copied());
    from.zip(lengths.counts.iter().copied()).filter(|(_, n)| *n > 0).collect()
}
