//! Checks whether the counts of a segment add up: within each interval, from one to the next, and in the closing line.

use crate::finding::failed::is_damage;
use crate::finding::log::{Contradiction, Sums, Unbalanced};
use crate::fold::counters::sparse_total;
use crate::fold::layout::Layout;
use crate::fold::loop_time::open_at_end;
use assay_record::{Close, FlowInterval, Header, Interval, Timing};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The accounts of one segment.
#[derive(Clone, Debug)]
pub(crate) struct Accounts {
    next_index: u64,
    /// Where the previous interval ended.
    ended_ns: Option<u64>,
    /// What each flow carries into the next interval, where that is known.
    carried: Option<Vec<u64>>,
    /// What each closed loop has open when the next interval begins; empty where that is not known.
    opened: Vec<i64>,
    found: u64,
    sums: Sums,
    /// No part of it is missing so far.
    whole: bool,
    closed: Option<Close>,
}

/// How an interval follows the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is the one that was expected.
    Next,
    /// Intervals before it are missing, from the first number to the last.
    Behind(u64, u64),
    /// It was already read.
    Again,
}

impl Accounts {
    /// Begins a segment.
    pub(crate) fn new(header: &Header) -> Accounts {
        Accounts {
            next_index: 0,
            ended_ns: None,
            carried: Some(vec![0; header.flows.len()]),
            // At the beginning all slots are free, and their first operations are due now.
            opened: vec![0; header.loops.len()],
            found: 0,
            sums: Sums::default(),
            whole: true,
            closed: None,
        }
    }

    /// How this interval follows. Unless it is the next one, what is carried into it is not known.
    pub(crate) fn classify_interval(&mut self, interval: &Interval) -> Place {
        let place = match interval.index.cmp(&self.next_index) {
            Ordering::Equal => return Place::Next,
            Ordering::Less => Place::Again,
            Ordering::Greater => Place::Behind(self.next_index, interval.index - 1),
        };
        self.note_missing_part();
        place
    }

    /// Notes that a part of the segment is missing here.
    pub(crate) fn note_missing_part(&mut self) {
        self.whole = false;
        self.carried = None;
        self.opened.clear();
    }

    /// Counts an interval. The error says how it contradicts what precedes it: intervals follow each other on the run's
    /// time line, without overlap or gap, and before the closing line.
    pub(crate) fn follow_interval(
        &mut self,
        interval: &Interval,
        joins: bool,
        tolerance_ns: u64,
    ) -> Result<(), Contradiction> {
        self.next_index = interval.index.saturating_add(1);
        self.found += 1;
        let before = self.ended_ns.replace(interval.end_ns).filter(|_| joins);
        let apart = before.is_some_and(|ended| ended.abs_diff(interval.start_ns) > tolerance_ns);
        if apart || interval.end_ns < interval.start_ns || self.closed.is_some() {
            let Interval { index, start_ns, end_ns, .. } = *interval;
            return Err(Contradiction::Apart { index, start_ns, end_ns });
        }
        Ok(())
    }

    /// Adds an interval with the right number of flows; returns what was carried into it, and its contradictions.
    pub(crate) fn add_interval(
        &mut self,
        interval: &Interval,
        layout: &Layout,
    ) -> (Vec<u64>, Result<(), Contradiction>) {
        let carried = self.carried.take();
        for flow in &interval.flows {
            self.sums.issued = self.sums.issued.saturating_add(flow.issued);
            self.sums.completed = self.sums.completed.saturating_add(flow.ended_operations());
        }
        self.sums.stuck = interval.flows.iter().fold(0, |sum, flow| sum.saturating_add(flow.stuck));
        let fault = interval.flows.iter().enumerate().find_map(|(index, flow)| {
            let why = adds_up(flow, carried.as_ref().map(|carried| carried[index])).and_then(|()| damage_adds_up(flow));
            Some((index, why.err()?))
        });
        self.carried = Some(interval.flows.iter().map(FlowInterval::carried_out).collect());
        let result = fault.map_or(Ok(()), |(index, why)| {
            let stream = layout.stream_of(index).head.name.clone();
            let target = layout.target_of(index).to_owned();
            Err(Contradiction::Counts { index: interval.index, stream, target, why })
        });
        (carried.unwrap_or_else(|| vec![0; interval.flows.len()]), result)
    }

    /// What each closed loop had open when an interval began, the next one of the segment; empty where that is not known.
    pub(crate) fn open_in_loops(&mut self, interval: &Interval) -> Vec<i64> {
        std::mem::replace(&mut self.opened, open_at_end(interval))
    }

    /// Takes the closing line.
    pub(crate) fn take_closing_line(&mut self, close: Close) {
        self.closed = Some(close);
    }

    /// The closing line, if there is one.
    pub(crate) fn closing_line(&self) -> Option<&Close> {
        self.closed.as_ref()
    }

    /// Number of operations issued in the segment.
    pub(crate) fn issued_operations(&self) -> u64 {
        self.sums.issued
    }

    /// Whether the last interval ended after the time of the closing line.
    pub(crate) fn ends_behind(&self, close: &Close, tolerance_ns: u64) -> bool {
        self.ended_ns.is_some_and(|ended| ended > close.at_ns.saturating_add(tolerance_ns))
    }

    /// The number of intervals in the log, where the closing line says another number.
    pub(crate) fn found_instead(&self, close: &Close) -> Option<u64> {
        (close.intervals != self.found).then_some(self.found)
    }

    /// How the closing line contradicts the sum of the intervals, where none of them is missing.
    pub(crate) fn contradiction_with_close(&self, close: &Close) -> Option<Contradiction> {
        let stated = Sums { issued: close.issued, completed: close.completed, stuck: close.stuck };
        (self.whole && stated != self.sums).then_some(Contradiction::Sums { stated, found: self.sums })
    }
}

/// True when the interval's counts agree with each other: what came in is what went out, and every time was counted.
fn adds_up(flow: &FlowInterval, carried_in: Option<u64>) -> Result<(), Unbalanced> {
    let out = [flow.ok, flow.failed_operations(), flow.short, flow.carried_out()]
        .iter()
        .map(|n| u128::from(*n))
        .sum::<u128>();
    if let Some(carried) = carried_in {
        let into = u128::from(carried) + u128::from(flow.scheduled);
        if into != out {
            return Err(Unbalanced::Operations { carried, scheduled: flow.scheduled, out });
        }
    }
    let back = flow.ended_operations();
    for (what, timing, whole) in
        [("response", &flow.response, flow.ok), ("service", &flow.service, flow.ok), ("lag", &flow.lag, back)]
    {
        let counted = sparse_total(&timing.counts);
        if counted != whole {
            return Err(Unbalanced::Lengths { of: what, counted, operations: whole });
        }
    }
    floors_add_up(flow)
}

/// A damaged place implies a read that failed because of it.
fn damage_adds_up(flow: &FlowInterval) -> Result<(), Unbalanced> {
    if flow.damaged > 0 && !flow.errors.keys().any(|name| is_damage(name)) {
        Err(Unbalanced::Damage(flow.damaged))
    } else {
        Ok(())
    }
}

/// A floor is not larger than the time it belongs to.
fn floors_add_up(flow: &FlowInterval) -> Result<(), Unbalanced> {
    for (what, whole, floor) in
        [("response", &flow.response, &flow.floor), ("service", &flow.service, &flow.service_floor)]
    {
        let Some(floor) = floor else { continue };
        if !is_less(floor, whole) {
            return Err(Unbalanced::Floor { of: what });
        }
    }
    Ok(())
}

/// Both have the same number of times, and from any bucket upwards the floor has no more of them.
fn is_less(floor: &Timing, whole: &Timing) -> bool {
    let mut both: BTreeMap<u64, [u128; 2]> = BTreeMap::new();
    for (which, timing) in [floor, whole].into_iter().enumerate() {
        for pair in timing.counts.chunks_exact(2) {
            both.entry(pair[0]).or_default()[which] += u128::from(pair[1]);
        }
    }
    let mut above = [0, 0];
    let fits = both.values().rev().all(|counts| {
        above = [above[0] + counts[0], above[1] + counts[1]];
        above[0] <= above[1]
    });
    fits && above[0] == above[1] && floor.sum_ns <= whole.sum_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fixture;
    use assay_record::CloseReason;

    #[test]
    fn a_floor_is_never_more_than_what_it_is_the_floor_of() {
        let timing = |sum_ns, counts: &[u64]| Timing { sum_ns, max_ns: 9, counts: counts.to_vec() };
        let whole = timing(100, &[2, 5, 7, 3]);
        for (floor, fits) in [
            (timing(100, &[2, 5, 7, 3]), true),
            (timing(0, &[0, 8]), true),
            (timing(60, &[2, 6, 7, 2]), true),
            (timing(60, &[2, 6, 6, 1, 7, 1]), true),
            (timing(101, &[2, 5, 7, 3]), false),
            (timing(60, &[2, 4, 7, 4]), false),
            (timing(60, &[2, 5, 8, 3]), false),
            (timing(60, &[2, 5, 7, 2]), false),
            (timing(60, &[2, 6, 7, 3]), false),
        ] {
            let flow =
                FlowInterval { ok: 8, response: whole.clone(), floor: Some(floor.clone()), ..FlowInterval::default() };
            assert_eq!(floors_add_up(&flow).is_ok(), fits, "{floor:?}");
            let flow =
                FlowInterval { service: whole.clone(), service_floor: Some(floor.clone()), ..FlowInterval::default() };
            assert_eq!(floors_add_up(&flow).is_ok(), fits, "{floor:?}");
        }
    }

    fn interval(index: u64, scheduled: u64, in_flight: u64) -> Interval {
        let idle = FlowInterval::default();
        let reads = FlowInterval { scheduled, in_flight, issued: scheduled, ..idle.clone() };
        Interval {
            index,
            start_ns: index * 10,
            end_ns: index * 10 + 10,
            flows: vec![reads, idle],
            ..Interval::default()
        }
    }

    #[test]
    fn what_is_carried_out_of_one_interval_is_carried_into_the_next() {
        let (header, layout) = (fixture::header(), Layout::new(&fixture::header(), &[]).unwrap());
        let mut accounts = Accounts::new(&header);
        let (carried, result) = accounts.add_interval(&interval(0, 3, 3), &layout);
        assert_eq!((carried, result), (vec![0, 0], Ok(())));
        let (carried, result) = accounts.add_interval(&interval(1, 2, 4), &layout);
        let why =
            "the log does not add up: interval 1, reads on disk: 3 carried in and 2 scheduled, but 4 accounted for";
        assert_eq!((carried, result.map_err(|it| it.to_string())), (vec![3, 0], Err(why.to_owned())));
        accounts.note_missing_part();
        let (carried, result) = accounts.add_interval(&interval(9, 0, 77), &layout);
        assert_eq!((carried, result), (vec![0, 0], Ok(())), "behind a gap nothing is known");
        let mut damaged = interval(10, 0, 77);
        damaged.flows[1].damaged = 1;
        assert!(accounts.add_interval(&damaged, &layout).1.is_err(), "nothing failed for it");
    }

    #[test]
    fn intervals_follow_each_other_and_stand_before_the_closing_line() {
        let mut accounts = Accounts::new(&fixture::header());
        let close = |intervals, issued| Close {
            reason: CloseReason::Completed,
            at_ns: 40,
            text: String::new(),
            intervals,
            issued,
            completed: 0,
            stuck: 0,
        };
        for (index, place) in
            [(0, Place::Next), (3, Place::Behind(1, 2)), (3, Place::Again), (4, Place::Next), (0, Place::Again)]
        {
            assert_eq!(accounts.classify_interval(&interval(index, 0, 0)), place, "{index}");
            assert_eq!(accounts.follow_interval(&interval(index, 0, 0), place == Place::Next, 5), Ok(()));
        }
        assert_eq!((accounts.found_instead(&close(5, 0)), accounts.found_instead(&close(6, 0))), (None, Some(5)));
        assert_eq!(accounts.contradiction_with_close(&close(5, 9)), None, "some are missing, so that no sum is known");
        for (start_ns, end_ns, follows) in [
            (10, 20, true),
            (5, 20, true),
            (15, 20, true),
            (4, 20, false),
            (16, 20, false),
            (10, 10, true),
            (10, 9, false),
        ] {
            assert_eq!(accounts.follow_interval(&interval(0, 0, 0), false, 5), Ok(()), "it ends at 10");
            let next = Interval { start_ns, end_ns, ..interval(1, 0, 0) };
            assert_eq!(accounts.follow_interval(&next, true, 5).is_ok(), follows, "from {start_ns} to {end_ns}");
        }
        assert!(!accounts.ends_behind(&close(0, 0), 0));
        accounts.take_closing_line(close(0, 0));
        assert!(accounts.follow_interval(&interval(2, 0, 0), true, 5).is_err(), "it was closed");
    }
}
