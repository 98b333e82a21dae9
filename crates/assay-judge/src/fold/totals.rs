//! Sums over the measured time: the counts of each flow, and the generator's own cost.

use crate::fold::counters::{Counters, add_named};
use crate::fold::layout::Layout;
use crate::fold::placement::Placed;
use crate::judgement::GeneratorCost;
use assay_record::{CacheCounters, FlowInterval, HostSample};
use std::collections::BTreeMap;

/// The largest numbers at the end of any interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Most {
    /// In flight.
    pub(crate) in_flight: u64,
    /// Waiting.
    pub(crate) waiting: u64,
}

impl Most {
    fn see(&mut self, in_flight: u64, waiting: u64) {
        *self = Most { in_flight: self.in_flight.max(in_flight), waiting: self.waiting.max(waiting) };
    }
}

/// One flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowTotals {
    /// Everything that happened in measured time, drains included.
    pub(crate) cell: Counters,
    /// Number of operations that completed within the planned time.
    pub(crate) in_time: u64,
    /// What these report, by name.
    pub(crate) counted_in_time: BTreeMap<String, u64>,
    /// The largest numbers at the end of its intervals.
    pub(crate) most: Most,
}

/// Sums the measured time of a step.
#[derive(Debug)]
pub(crate) struct Totals {
    /// One for each flow.
    pub(crate) flows: Vec<FlowTotals>,
    /// For each stream, over all its targets at the same time.
    pub(crate) streams: Vec<Most>,
    /// For how much of the measured time each stream lived; what is measured twice after an interruption counts twice, as its operations do.
    pub(crate) lived_ns: Vec<u64>,
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
            cell: Counters::new(layout.times.thresholds.buckets()),
            in_time: 0,
            counted_in_time: BTreeMap::new(),
            most: Most::default(),
        };
        Totals {
            flows: vec![fresh; layout.flows.len()],
            streams: vec![Most::default(); layout.streams.len()],
            lived_ns: vec![0; layout.streams.len()],
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
    pub(crate) fn add(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let drains = layout.drains(placed.at_ns);
        self.intervals += u64::from(!drains);
        let mut by_stream = vec![(0u64, 0u64); layout.streams.len()];
        for (index, flow) in placed.interval.flows.iter().enumerate() {
            let totals = &mut self.flows[index];
            // The windows reported a bucket that does not exist.
            let _ = totals.cell.add_interval(flow);
            if !drains {
                add(&mut totals.in_time, flow.ok);
                add_named(&mut totals.counted_in_time, &flow.counted);
            }
            totals.most.see(flow.in_flight, flow.waiting);
            let (in_flight, waiting) = &mut by_stream[usize::from(layout.flows[index].stream)];
            add(in_flight, flow.in_flight);
            add(waiting, flow.waiting);
        }
        let (mut in_flight_of_all, mut waiting_of_all) = (0, 0);
        for (most, (in_flight, waiting)) in self.streams.iter_mut().zip(by_stream) {
            most.see(in_flight, waiting);
            add(&mut in_flight_of_all, in_flight);
            add(&mut waiting_of_all, waiting);
        }
        self.all.see(in_flight_of_all, waiting_of_all);
        if let Some(cache) = &placed.interval.cache {
            self.cache.add(cache);
        }
        if let Some(host) = &placed.interval.host {
            self.add_cost(host, placed.length_ns());
        }
        // Operations that complete after the planned end, while the run drains, were due before it: no load was offered
        // in that time.
        if !drains || self.measured_ns == 0 {
            add(&mut self.measured_ns, placed.length_ns());
            let end_ns = placed.at_ns.saturating_add(placed.length_ns());
            for (stream, lived_ns) in self.lived_ns.iter_mut().enumerate() {
                add(lived_ns, layout.lives.lived_ns(stream, placed.at_ns, end_ns));
            }
        }
    }

    fn add_cost(&mut self, host: &HostSample, length_ns: u64) {
        let cost = self.cost.get_or_insert_default();
        add(&mut cost.cpu_ns, host.cpu_ns);
        add(&mut cost.run_queue_ns, host.run_queue_ns);
        add(&mut cost.steal_ns, host.steal_ns);
        add(&mut cost.sampled_ns, length_ns);
        cost.resident_bytes_max = cost.resident_bytes_max.max(host.resident_bytes);
    }
}

fn add(sum: &mut u64, n: u64) {
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
            totals.add(&Placed { at_ns: 0, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None }, &layout);
            assert_eq!(totals.flows[0].cell.counts().stuck, all);
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
            totals.add(&Placed { at_ns, joins: true, interval: &interval, carried: &[0, 0], opened: &[], disturbed: None }, &layout);
        }
        assert_eq!((totals.measured_ns, totals.intervals), (20, 2));
        let reads = &totals.flows[0];
        assert_eq!((reads.cell.ok, reads.in_time, reads.most), (23, 12, Most { in_flight: 9, waiting: 1 }));
        assert_eq!(totals.streams, [Most { in_flight: 9, waiting: 1 }, Most { in_flight: 0, waiting: 1 }]);
        assert_eq!(totals.cost, None, "nobody sampled it");
    }
}
