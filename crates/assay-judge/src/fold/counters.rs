//! Counters of one flow (or the sum of several) over some period of time.
//!
//! The log is input from outside: every sum saturates, every index is checked.

use crate::judgement::{Counts, SliceTimes};
use assay_base::{Code, Span};
use assay_record::{FailureTimes, FlowInterval, FlowWork, PARTS, Thresholds, Timing};
use std::collections::{BTreeMap, BTreeSet};

/// Number of names of errors, and of other things that are counted by name; further ones are counted under one common
/// name.
const NAMES: usize = 64;

/// Sum, largest value and exact counts of one kind of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lengths {
    /// Sum in nanoseconds.
    pub sum_ns: u128,
    /// Largest in nanoseconds.
    pub max_ns: u64,
    /// One count for each bucket.
    pub counts: Vec<u64>,
}

impl Lengths {
    /// Empty counters for `buckets` buckets.
    pub(crate) fn new(buckets: usize) -> Lengths {
        Lengths { sum_ns: 0, max_ns: 0, counts: vec![0; buckets] }
    }

    /// Adds an interval's figures; `Err` is the number of a bucket that does not exist.
    pub(crate) fn add_timing(&mut self, timing: &Timing) -> Result<(), u64> {
        self.sum_ns = self.sum_ns.saturating_add(u128::from(timing.sum_ns));
        self.max_ns = self.max_ns.max(timing.max_ns);
        Timing::add_to(&timing.counts, &mut self.counts)
    }

    /// Adds all of `other`.
    pub(crate) fn add(&mut self, other: &Lengths) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        add_counts(&mut self.counts, &other.counts);
    }

    /// Takes off all of `part`; the largest stays.
    fn subtract(&mut self, part: &Lengths) {
        self.sum_ns = self.sum_ns.saturating_sub(part.sum_ns);
        self.counts.iter_mut().zip(&part.counts).for_each(|(mine, theirs)| *mine = mine.saturating_sub(*theirs));
    }

    /// Number of times counted.
    pub(crate) fn total_count(&self) -> u64 {
        sum_of_counts(&self.counts)
    }

    /// Number of times at or over `threshold`; `None` when the log does not count it exactly.
    pub(crate) fn count_over(&self, thresholds: &Thresholds, threshold: Span) -> Option<u64> {
        sum_of_counts_over(&self.counts, thresholds, threshold)
    }

    /// Mean in nanoseconds; `None` when nothing was counted.
    pub(crate) fn mean_ns(&self) -> Option<u64> {
        let total = u128::from(self.total_count());
        (total > 0).then(|| u64::try_from(self.sum_ns / total).unwrap_or(u64::MAX))
    }

    /// The bucket that contains the 99th percentile, as its bounds in nanoseconds; there is no upper bound above the
    /// last boundary. With fewer than a hundred operations, one of them may still lie above it: a single outlier is not
    /// a percentile.
    pub(crate) fn p99_between(&self, thresholds: &Thresholds) -> Option<(u64, Option<u64>)> {
        let total = u128::from(self.total_count());
        let rank = total.saturating_sub((total / 100).max(1)).max(1);
        let mut seen = 0u128;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= rank {
                let lower = bucket.checked_sub(1).map_or(0, |below| thresholds.bounds_ns()[below]);
                return Some((lower, thresholds.bounds_ns().get(bucket).copied()));
            }
        }
        None
    }

    /// The figures for a slice, with the counts over `shown`.
    pub(crate) fn slice_times(&self, thresholds: &Thresholds, shown: &BTreeSet<Span>) -> SliceTimes {
        let operations = self.total_count();
        SliceTimes {
            operations,
            mean_ns: self.mean_ns(),
            max_ns: (operations > 0).then_some(self.max_ns),
            over: shown.iter().filter_map(|span| self.count_over(thresholds, *span).map(|n| (*span, n))).collect(),
        }
    }
}

/// Everything counted of one flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    /// Carried in at the beginning: waiting, in flight and stuck.
    pub carried_in: u64,
    /// What was done in the period.
    pub work: FlowWork,
    /// The operations that completed after the planned time, while the run drained, and their bytes.
    pub drained: (u64, u64),
    /// Failed, by error name.
    pub errors: BTreeMap<String, u64>,
    /// What else the completed ones report, by name.
    pub counted: BTreeMap<String, u64>,
    /// Failed and short ones by the part of the target in which they began.
    pub failed_at: BTreeMap<u64, u64>,
    /// At the end of the last interval.
    pub in_flight: u64,
    /// At the end of the last interval; in a window, of the last one within the planned time.
    pub waiting: u64,
    /// At the end of the last interval.
    pub stuck: u64,
    /// Stuck where earlier segments ended: they never completed.
    pub stuck_before: u64,
    /// completed − intended.
    pub response: Lengths,
    /// completed − issued.
    pub service: Lengths,
    /// issued − intended.
    pub lag: Lengths,
    /// The generator's own part of the lag.
    pub own_lag: Lengths,
    /// For response and service, the part that the generator certainly did not cause, where that is less than the
    /// whole.
    pub floors: Option<[Lengths; 2]>,
    /// Time inside the hand-over, without counts.
    pub submit: Lengths,
    /// For each bucket: operations at or above it that would be below it without own lag.
    pub forgiven: Vec<u64>,
}

impl Counters {
    /// Empty counters for `buckets` buckets.
    pub(crate) fn new(buckets: usize) -> Counters {
        Counters {
            response: Lengths::new(buckets),
            service: Lengths::new(buckets),
            lag: Lengths::new(buckets),
            own_lag: Lengths::new(buckets),
            forgiven: vec![0; buckets],
            ..Counters::default()
        }
    }

    /// Adds one interval; `Err` is the number of a bucket that does not exist.
    pub(crate) fn add_interval(&mut self, flow: &FlowInterval) -> Result<(), u64> {
        self.work.add(&flow.work());
        flow.errors.iter().for_each(|(name, n)| self.add_error(name, *n));
        add_named(&mut self.counted, &flow.counted);
        if let Some(failures) = &flow.failures {
            add_parts(&mut self.failed_at, failures_by_part(failures));
        }
        (self.in_flight, self.waiting, self.stuck) = (flow.in_flight, flow.waiting, flow.stuck);
        if self.floors.is_some() || flow.floor.is_some() || flow.service_floor.is_some() {
            let [response, service] = self.floors_or_copies();
            response.add_timing(flow.floor.as_ref().unwrap_or(&flow.response))?;
            service.add_timing(flow.service_floor.as_ref().unwrap_or(&flow.service))?;
        }
        self.response.add_timing(&flow.response)?;
        self.service.add_timing(&flow.service)?;
        self.lag.add_timing(&flow.lag)?;
        self.own_lag.add_timing(&flow.own_lag)?;
        self.submit.add(&Lengths { sum_ns: flow.submit.sum_ns.into(), max_ns: flow.submit.max_ns, counts: Vec::new() });
        Timing::add_to(&flow.forgiven, &mut self.forgiven)
    }

    /// Adds the failures of an interval whose other counts are not known.
    pub(crate) fn add_failures(&mut self, lost: &FlowInterval) {
        lost.errors.iter().for_each(|(name, n)| self.add_error(name, *n));
        self.work.short = self.work.short.saturating_add(lost.short);
        self.stuck = self.stuck.max(lost.stuck);
    }

    /// Ends a segment: what is stuck stays stuck, whatever the next segment counts.
    pub(crate) fn end_segment(&mut self) {
        self.stuck_before = self.stuck_before.saturating_add(std::mem::take(&mut self.stuck));
    }

    /// Adds another flow over the same period.
    pub(crate) fn merge_flow(&mut self, other: &Counters) {
        self.work.add(&other.work);
        other.errors.iter().for_each(|(name, n)| self.add_error(name, *n));
        add_named(&mut self.counted, &other.counted);
        add_parts(&mut self.failed_at, other.failed_at.iter().map(|(part, n)| (*part, *n)));
        self.add_drained(other.drained.0, other.drained.1);
        let ends =
            [&mut self.carried_in, &mut self.in_flight, &mut self.waiting, &mut self.stuck, &mut self.stuck_before];
        let theirs = [other.carried_in, other.in_flight, other.waiting, other.stuck, other.stuck_before];
        ends.into_iter().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
        if self.floors.is_some() || other.floors.is_some() {
            let theirs = other.floors.as_ref().map_or([&other.response, &other.service], |floors| floors.each_ref());
            self.floors_or_copies().iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.add(theirs));
        }
        self.response.add(&other.response);
        self.service.add(&other.service);
        self.lag.add(&other.lag);
        self.own_lag.add(&other.own_lag);
        self.submit.add(&other.submit);
        add_counts(&mut self.forgiven, &other.forgiven);
    }

    /// Takes off what happened in a part of the period, as far as the rules read it. A log may claim anything: nothing
    /// falls below zero.
    pub(crate) fn subtract(&mut self, part: &Counters) {
        self.work.subtract(&part.work);
        for (name, n) in &part.errors {
            if let Some(mine) = self.errors.get_mut(name) {
                *mine = mine.saturating_sub(*n);
            }
        }
        if self.floors.is_some() || part.floors.is_some() {
            let theirs = part.floors.as_ref().map_or([&part.response, &part.service], |floors| floors.each_ref());
            self.floors_or_copies().iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.subtract(theirs));
        }
        self.response.subtract(&part.response);
        self.service.subtract(&part.service);
    }

    /// The floors; where there were none until now, they begin as copies of the times themselves.
    fn floors_or_copies(&mut self) -> &mut [Lengths; 2] {
        self.floors.get_or_insert_with(|| [self.response.clone(), self.service.clone()])
    }

    /// Counts completions, with their bytes, as later than the planned time; they are already included in all
    /// completions.
    pub(crate) fn add_drained(&mut self, ok: u64, bytes: u64) {
        self.drained = (self.drained.0.saturating_add(ok), self.drained.1.saturating_add(bytes));
    }

    fn add_error(&mut self, name: &str, n: u64) {
        add_name(&mut self.errors, name, n);
    }

    /// Number of failed operations over all kinds of errors.
    pub(crate) fn failed_operations(&self) -> u64 {
        self.errors.values().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// Failed operations that the device had been handed.
    pub(crate) fn failed_on_device(&self) -> u64 {
        of_the_device(&self.errors).fold(0, |sum, (_, n)| sum.saturating_add(n))
    }

    /// Operations that ended, successfully or not.
    pub(crate) fn ended_operations(&self) -> u64 {
        self.work.ok.saturating_add(self.work.short).saturating_add(self.failed_operations())
    }

    /// Operations over `threshold` that own lag pushed there; `None` when it is not a boundary.
    pub(crate) fn forgiven_over(&self, thresholds: &Thresholds, threshold: Span) -> Option<u64> {
        self.forgiven.get(thresholds.first_over(threshold)?).copied()
    }

    /// The counters in the form that is reported.
    pub(crate) fn reported_counts(&self) -> Counts {
        Counts {
            scheduled: self.work.scheduled,
            issued: self.work.issued,
            operations: self.work.ok,
            bytes: self.work.bytes,
            items: self.work.items,
            short: self.work.short,
            errors: self.errors.clone(),
            counted: self.counted.clone(),
            failed_at: self.failed_at.clone(),
            in_flight: self.in_flight,
            waiting: self.waiting,
            stuck: self.stuck.saturating_add(self.stuck_before),
        }
    }
}

/// Adds a number under a name; of too many names further ones share one.
fn add_name(sums: &mut BTreeMap<String, u64>, name: &str, n: u64) {
    let known = sums.contains_key(name) || sums.len() < NAMES;
    let cell = sums.entry(if known { name } else { "other" }.to_owned()).or_default();
    *cell = cell.saturating_add(n);
}

/// Adds numbers that were counted by name.
pub(crate) fn add_named(sums: &mut BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) {
    counted.iter().for_each(|(name, n)| add_name(sums, name, *n));
}

/// Errors by name, but for operations that were never handed to the device.
pub(crate) fn of_the_device(errors: &BTreeMap<String, u64>) -> impl Iterator<Item = (&String, u64)> {
    let not_submitted = Code::NOT_SUBMITTED.to_string();
    errors.iter().filter(move |(name, _)| **name != not_submitted).map(|(name, n)| (name, *n))
}

/// The parts of the target in which operations failed, and how many in each. A part number that does not exist counts
/// as the last part.
pub(crate) fn failures_by_part(failures: &FailureTimes) -> impl Iterator<Item = (u64, u64)> {
    failures.at.chunks_exact(2).map(|pair| (pair[0].min(PARTS as u64 - 1), pair[1]))
}

/// Adds counts by part.
pub(crate) fn add_parts(sum: &mut BTreeMap<u64, u64>, parts: impl Iterator<Item = (u64, u64)>) {
    for (part, n) in parts {
        let cell = sum.entry(part).or_default();
        *cell = cell.saturating_add(n);
    }
}

/// Sum of counts.
pub(crate) fn sum_of_counts(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
}

/// Sum of an interval's sparse counts.
pub(crate) fn sparse_total(counts: &[u64]) -> u64 {
    counts.chunks_exact(2).fold(0, |sum, pair| sum.saturating_add(pair[1]))
}

fn sum_of_counts_over(counts: &[u64], thresholds: &Thresholds, threshold: Span) -> Option<u64> {
    counts.get(thresholds.first_over(threshold)?..).map(sum_of_counts)
}

fn add_counts(mine: &mut [u64], theirs: &[u64]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thresholds() -> Thresholds {
        Thresholds::from_bounds(vec![100, 200])
    }

    fn timing(counts: &[u64]) -> Timing {
        Timing { sum_ns: 50, max_ns: 40, counts: counts.to_vec() }
    }

    #[test]
    fn figures_of_nothing_are_absent() {
        let (nothing, shown) = (Lengths::new(3), BTreeSet::from([Span::from_ns(100)]));
        let times = nothing.slice_times(&thresholds(), &shown);
        assert_eq!((times.operations, times.mean_ns, times.max_ns), (0, None, None));
        assert_eq!(nothing.p99_between(&thresholds()), None);
        let mut one = Lengths::new(3);
        one.add_timing(&timing(&[1, 1])).unwrap();
        let times = one.slice_times(&thresholds(), &shown);
        assert_eq!((times.operations, times.mean_ns, times.max_ns), (1, Some(50), Some(40)));
        assert_eq!(times.over, BTreeMap::from([(Span::from_ns(100), 1)]));
        assert_eq!(one.p99_between(&thresholds()), Some((100, Some(200))));
    }

    /// An interval without floors gets them as soon as another interval or flow has some: they equal its times.
    #[test]
    fn floors_that_are_absent_equal_the_times_themselves() {
        let plain = FlowInterval { response: timing(&[2, 5]), service: timing(&[1, 5]), ..FlowInterval::default() };
        let response = FlowInterval { floor: Some(timing(&[0, 5])), ..plain.clone() };
        let service = FlowInterval { service_floor: Some(timing(&[0, 5])), ..plain.clone() };
        let of = |intervals: &[&FlowInterval]| {
            let mut cell = Counters::new(3);
            intervals.iter().for_each(|interval| cell.add_interval(interval).unwrap());
            cell
        };
        let floors = |cell: &Counters| cell.floors.as_ref().map(|floors| floors.each_ref().map(|it| it.counts.clone()));
        for (intervals, expected) in [
            (&[&plain, &plain][..], None),
            (&[&response], Some([vec![5, 0, 0], vec![0, 5, 0]])),
            (&[&service], Some([vec![0, 0, 5], vec![5, 0, 0]])),
            (&[&plain, &response], Some([vec![5, 0, 5], vec![0, 10, 0]])),
            (&[&response, &plain], Some([vec![5, 0, 5], vec![0, 10, 0]])),
        ] {
            assert_eq!(floors(&of(intervals)), expected);
            // The same as flows of one stream.
            let mut sum = Counters::new(3);
            intervals.iter().for_each(|interval| sum.merge_flow(&of(&[interval])));
            assert_eq!(floors(&sum), expected);
        }
    }

    #[test]
    fn flows_of_one_stream_are_added() {
        let mut one = Counters::new(3);
        one.add_error("EIO", 2);
        one.add_error(&Code::NOT_SUBMITTED.to_string(), 5);
        (one.work.ok, one.work.short, one.stuck, one.waiting) = (10, 1, 3, 4);
        one.add_drained(2, 8192);
        one.end_segment();
        one.stuck = 1;
        let mut sum = Counters::new(3);
        sum.merge_flow(&one);
        sum.merge_flow(&one);
        assert_eq!((sum.failed_operations(), sum.failed_on_device(), sum.ended_operations()), (14, 4, 36));
        assert_eq!((sum.drained, sum.waiting), ((4, 16384), 8));
        assert_eq!(sum.reported_counts().stuck, 8, "what was stuck when a segment ended, and what is stuck now");
    }

    #[test]
    fn of_too_many_names_of_errors_the_rest_is_one() {
        let mut cell = Counters::new(1);
        (0..70).for_each(|n| cell.add_error(&format!("E{n}"), 1));
        cell.add_error("E0", 1);
        assert_eq!((cell.errors.len(), cell.errors["other"], cell.errors["E0"]), (65, 6, 2));
        assert_eq!(cell.errors.get("E63"), Some(&1));
    }

    #[test]
    fn a_part_that_does_not_exist_is_the_last_one() {
        let failures = |at: &[u64]| FailureTimes { at: at.to_vec(), ..FailureTimes::default() };
        let last = PARTS as u64 - 1;
        for (at, expected) in [
            (&[3, 7][..], vec![(3, 7)]),
            (&[last, 1, last + 1, 2, u64::MAX, 3], vec![(last, 1), (last, 2), (last, 3)]),
            (&[5], vec![]),
        ] {
            assert_eq!(failures_by_part(&failures(at)).collect::<Vec<_>>(), expected);
        }
    }
}
