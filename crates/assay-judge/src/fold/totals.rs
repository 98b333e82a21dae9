//! Sums over the measured time: the counts of each flow, and the generator's own cost.

use crate::fold::counters::{Counters, add_named};
use crate::fold::layout::Layout;
use crate::fold::most::{self, Most};
use crate::fold::placement::Placed;
use crate::fold::stream_layout::StreamLayout;
use crate::judgement::{GeneratorCost, counts_among_all};
use assay_record::{CacheCounters, FlowInterval, HostSample, Stretches};
use std::collections::BTreeMap;

/// One flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowTotals {
    /// Everything that happened in measured time, drains included.
    pub(crate) cell: Counters,
    /// Number of operations that completed within the planned time, while it ran.
    pub(crate) in_time: u64,
    /// For how much of the measured time it ran; what is measured twice after an interruption counts twice, as its
    /// operations do.
    pub(crate) ran_ns: u64,
    /// What these report, by name.
    pub(crate) counted_in_time: BTreeMap<String, u64>,
    /// The largest numbers of its intervals.
    pub(crate) most: Most,
}

/// A group of streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupTotals {
    pub(crate) most: Most,
    pub(crate) ran_ns: u64,
}

/// Sums the measured time of a step.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    /// One for each flow.
    pub(crate) flows: Vec<FlowTotals>,
    /// For each stream, over all its targets at the same time.
    pub(crate) streams: Vec<Most>,
    /// For how much of the measured time each stream ran on any of its targets.
    pub(crate) ran_ns: Vec<u64>,
    /// For each group of streams: the largest numbers of all its streams at the same time, and for how much of the
    /// measured time any of them ran.
    pub(crate) groups: Vec<GroupTotals>,
    /// For how much of the measured time any stream ran that moves data, and any stream at all.
    pub(crate) any_ran_ns: u64,
    pub(crate) all_ran_ns: u64,
    /// The largest throughput of any interval, by its own length; `None` after an interval in which something ran for a
    /// part of it only.
    pub(crate) peak: Option<f64>,
    /// Over all streams at the same time.
    pub(crate) all: Most,
    /// The generator's cost, where it was sampled.
    pub(crate) cost: Option<GeneratorCost>,
    /// What a cache device before the targets counted.
    pub(crate) cache: CacheCounters,
    /// How long load was offered.
    pub(crate) measured_ns: u64,
    /// Intervals of the planned time.
    pub(crate) intervals: u64,
}

impl Totals {
    /// The state before the first interval.
    pub(crate) fn new(layout: &Layout) -> Totals {
        let fresh = FlowTotals {
            cell: Counters::new(layout.times.thresholds.bucket_count()),
            in_time: 0,
            ran_ns: 0,
            counted_in_time: BTreeMap::new(),
            most: Most::default(),
        };
        Totals {
            flows: vec![fresh; layout.flows.len()],
            streams: vec![Most::default(); layout.streams.len()],
            ran_ns: vec![0; layout.streams.len()],
            groups: vec![GroupTotals::default(); layout.combined.groups.len()],
            any_ran_ns: 0,
            all_ran_ns: 0,
            peak: Some(0.0),
            all: Most::default(),
            cost: None,
            cache: CacheCounters::default(),
            measured_ns: 0,
            intervals: 0,
        }
    }

    /// Ends a segment: what is stuck in it never completes.
    pub(crate) fn end_segment(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.cell.end_segment());
    }

    /// Adds what failed in an interval that the log lost.
    pub(crate) fn add_failures(&mut self, flow: usize, lost: &FlowInterval) {
        self.flows[flow].cell.add_failures(lost);
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let drains = layout.is_draining_at(placed.at_ns);
        self.intervals += u64::from(!drains);
        let end_ns = placed.at_ns.saturating_add(placed.length_ns());
        for (index, flow) in placed.interval.flows.iter().enumerate() {
            let totals = &mut self.flows[index];
            // The windows reported a bucket that does not exist.
            let _ = totals.cell.add_interval(flow);
            if !drains && layout.lives.running.running_part(index, placed.at_ns, end_ns).is_some() {
                add_saturating(&mut totals.in_time, flow.ok);
                add_named(&mut totals.counted_in_time, &flow.counted);
            }
        }
        self.see_most(placed, layout);
        if let Some(cache) = &placed.interval.cache {
            self.cache.add(cache);
        }
        if let Some(host) = &placed.interval.host {
            self.add_cost(host, placed.length_ns());
        }
        // Operations that complete after the planned end, while the run drains, were due before it: no load was offered
        // in that time.
        if !drains || self.measured_ns == 0 {
            add_saturating(&mut self.measured_ns, placed.length_ns());
            let any_ran_ns = self.add_ran(placed.at_ns, end_ns, layout);
            self.add_peak(placed, any_ran_ns, layout);
        }
    }

    /// Looks at what was in flight and waiting in an interval: of each flow, each stream, and all together.
    fn see_most(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let of_flows = most::of_flows(placed.interval, placed.length_ns(), layout);
        self.flows.iter_mut().zip(&of_flows).for_each(|(totals, own)| totals.most.keep_larger(*own));
        for (stream, most) in self.streams.iter_mut().enumerate() {
            most.keep_larger(most::most_of_flows_together(&of_flows, layout, |flow| {
                usize::from(layout.flows[flow].stream) == stream
            }));
        }
        for (totals, group) in self.groups.iter_mut().zip(&layout.combined.groups) {
            totals.most.keep_larger(most::most_of_flows_together(&of_flows, layout, |flow: usize| {
                group.streams.contains(&usize::from(layout.flows[flow].stream))
            }));
        }
        self.all.keep_larger(most::most_of_flows_together(&of_flows, layout, |_| true));
    }

    /// Adds for how much of an interval each flow ran, each stream, and any stream. Returns for how much of it any ran
    /// that moves data.
    fn add_ran(&mut self, at_ns: u64, end_ns: u64, layout: &Layout) -> u64 {
        let (mut any, mut all) = (Stretches::default(), Stretches::default());
        let mut of_groups = vec![Stretches::default(); layout.combined.groups.len()];
        for (stream, StreamLayout { head, flows, reads_back, .. }) in layout.streams.iter().enumerate() {
            let mut own = Stretches::default();
            for &flow in flows {
                let Some(ran) = layout.lives.running.running_part(flow, at_ns, end_ns) else { continue };
                add_saturating(&mut self.flows[flow].ran_ns, ran.1 - ran.0);
                own.add_stretch(ran);
            }
            if flows.is_empty() {
                own.add_stretch((at_ns, end_ns));
            }
            add_saturating(&mut self.ran_ns[stream], own.length_ns());
            for (ran, group) in of_groups.iter_mut().zip(&layout.combined.groups) {
                if group.streams.binary_search(&stream).is_ok() {
                    ran.add_all(&own);
                }
            }
            if *reads_back {
                continue;
            }
            all.add_all(&own);
            if counts_among_all(&head.operation_word()) {
                any.add_all(&own);
            }
        }
        self.groups
            .iter_mut()
            .zip(of_groups)
            .for_each(|(totals, mut ran)| add_saturating(&mut totals.ran_ns, ran.length_ns()));
        let any_ran_ns = any.length_ns();
        add_saturating(&mut self.any_ran_ns, any_ran_ns);
        add_saturating(&mut self.all_ran_ns, all.length_ns());
        any_ran_ns
    }

    fn add_peak(&mut self, placed: &Placed<'_>, any_ran_ns: u64, layout: &Layout) {
        let length_ns = placed.length_ns();
        let flows = placed.interval.flows.iter().zip(&layout.flows);
        let done = flows
            .filter(|(_, head)| counts_among_all(&layout.streams[usize::from(head.stream)].head.operation_word()))
            .map(|(flow, _)| flow.ok as f64)
            .sum::<f64>();
        // A forged log may say more time than there is.
        let is_known = self.any_ran_ns < u64::MAX && length_ns > 0;
        let is_whole = is_known && (any_ran_ns == 0 || any_ran_ns == length_ns);
        self.peak = self.peak.filter(|_| is_whole).map(|peak| peak.max(done * 1e9 / length_ns as f64));
    }

    fn add_cost(&mut self, host: &HostSample, length_ns: u64) {
        let cost = self.cost.get_or_insert_default();
        add_saturating(&mut cost.cpu_ns, host.cpu_ns);
        add_saturating(&mut cost.run_queue_ns, host.run_queue_ns);
        add_saturating(&mut cost.steal_ns, host.steal_ns);
        add_saturating(&mut cost.sampled_ns, length_ns);
        cost.resident_bytes_max = cost.resident_bytes_max.max(host.resident_bytes);
        add_saturating(&mut cost.throttled_ns, host.throttled_ns);
        add_saturating(&mut cost.throttled_periods, host.throttled_periods);
        if host.throttled_periods > 0 {
            add_saturating(&mut cost.throttled_within_ns, length_ns);
        }
    }
}

fn add_saturating(sum: &mut u64, n: u64) {
    *sum = sum.saturating_add(n);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::Interval;

    #[test]
    fn what_was_stuck_when_a_segment_ended_stays_so() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let mut totals = Totals::new(&layout);
        for (stuck, all) in [(3, 3), (2, 5)] {
            let flows = vec![FlowInterval { stuck, ..FlowInterval::default() }, FlowInterval::default()];
            let interval = Interval { end_ns: 10, flows, ..Interval::default() };
            totals.add_interval(
                &Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
                &layout,
            );
            assert_eq!(totals.flows[0].cell.reported_counts().stuck, all);
            totals.end_segment();
        }
    }

    #[test]
    fn a_drain_is_no_time_in_which_load_was_offered() {
        let layout = Layout::new(&fixture::header(), &[]).unwrap();
        let planned = layout.planned_ns;
        let mut totals = Totals::new(&layout);
        let flow = |ok, in_flight| FlowInterval { ok, in_flight, waiting: 1, ..FlowInterval::default() };
        for (at_ns, ok, in_flight) in [(0, 5, 3), (planned - 10, 7, 9), (planned, 11, 2)] {
            let flows = vec![flow(ok, in_flight), flow(0, 0)];
            let interval = Interval { start_ns: at_ns, end_ns: at_ns + 10, flows, ..Interval::default() };
            totals.add_interval(
                &Placed { at_ns, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None },
                &layout,
            );
        }
        assert_eq!((totals.measured_ns, totals.intervals), (20, 2));
        let reads = &totals.flows[0];
        assert_eq!((reads.cell.work.ok, reads.in_time, reads.most), (23, 12, Most { in_flight: 9, waiting: 1 }));
        assert_eq!(totals.streams, [Most { in_flight: 9, waiting: 1 }, Most { in_flight: 0, waiting: 1 }]);
        assert_eq!(totals.all, Most { in_flight: 9, waiting: 2 });
        assert_eq!(totals.cost, None, "nobody sampled it");
    }
}
