//! What the intervals of a log add up to over all its phases and steps, for metrics: counters that only grow.
//!
//! Operations are counted between boundaries. Steps may have different ones; then those that all steps have are kept, and what lies
//! between two of them is added up, so that every count stays exact.

use super::head::RunHead;
use assay_record::{FlowInterval, Interval};
use std::collections::BTreeMap;

/// How many kinds of errors of a flow have a name; further ones are counted together.
const ERRORS: usize = 64;
/// The name of further kinds of errors.
const OTHER_ERRORS: &str = "other";

/// The most counters that are kept of all flows together: a log may have as many flows as somebody wrote into its header.
const COUNTERS: usize = 1 << 21;
/// Kinds of times of a flow.
const KINDS: usize = 3;

/// Which flow: a stream on a target.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowName {
    /// Name of the stream.
    pub stream: String,
    /// Name of the target.
    pub target: String,
}

/// The sums of a log.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// The boundaries that all steps so far have, ascending, in nanoseconds.
    bounds_ns: Vec<u64>,
    /// For each bucket of the newest header, the bucket of `bounds_ns`.
    bucket_of: Vec<usize>,
    /// For each flow of the newest header, its place in `counts`, where there was room for it.
    place_of: Vec<Option<usize>>,
    places: BTreeMap<FlowName, usize>,
    counts: Vec<FlowCounts>,
    begun: bool,
}

/// The sums of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowCounts {
    /// Operations whose intended time has come.
    pub scheduled: u64,
    /// Handed over.
    pub issued: u64,
    /// Completed in full.
    pub completed: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Completed with too few bytes.
    pub short: u64,
    /// Failed, by the name of the error.
    pub errors: BTreeMap<String, u64>,
    /// In flight at the end of the newest interval.
    pub in_flight: u64,
    /// Waiting at that moment.
    pub waiting: u64,
    /// Stuck at that moment.
    pub stuck: u64,
    /// Response, service and own lag.
    pub times: TimesOfFlow,
}

/// The times of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimesOfFlow {
    /// Completed − intended.
    pub response: TimeCounts,
    /// Completed − issued.
    pub service: TimeCounts,
    /// The generator's own part of issued − intended.
    pub own_lag: TimeCounts,
}

/// Times of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeCounts {
    /// Their sum, in nanoseconds.
    pub sum_ns: u128,
    /// How many there are in each bucket.
    pub counts: Vec<u64>,
}

impl Counted {
    /// A segment begins, whose streams, targets and boundaries may be others.
    pub(crate) fn begin_segment(&mut self, head: &RunHead) {
        let new = head.bounds.bounds_ns();
        let kept: Vec<u64> = if self.begun {
            self.bounds_ns.iter().copied().filter(|bound| new.binary_search(bound).is_ok()).collect()
        } else {
            new.to_vec()
        };
        if kept != self.bounds_ns {
            let place = buckets_within(&self.bounds_ns, &kept);
            self.counts.iter_mut().for_each(|flow| flow.times.keep_boundaries(&place, kept.len() + 1));
            self.bounds_ns = kept;
        }
        self.begun = true;
        self.bucket_of = buckets_within(new, &self.bounds_ns);
        self.counts.iter_mut().for_each(FlowCounts::end_segment);
        self.place_of = head.flows.iter().map(|(stream, target)| self.place_for(head, *stream, *target)).collect();
    }

    /// The place of the counts of a flow, which may be a new one; `None` where there is no room for more.
    fn place_for(&mut self, head: &RunHead, stream: usize, target: usize) -> Option<usize> {
        let name =
            FlowName { stream: head.stream_name(stream).to_owned(), target: head.target_name(target).to_owned() };
        if let Some(known) = self.places.get(&name) {
            return Some(*known);
        }
        let place = self.counts.len();
        let buckets = self.bounds_ns.len() + 1;
        if (place + 1).saturating_mul(buckets * KINDS) > COUNTERS {
            return None;
        }
        self.counts.push(FlowCounts::with_buckets(buckets));
        self.places.insert(name, place);
        Some(place)
    }

    /// How many flows of the newest header are not counted.
    pub(crate) fn flows_left_out(&self) -> usize {
        self.place_of.iter().filter(|place| place.is_none()).count()
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, interval: &Interval) {
        for (flow, place) in interval.flows.iter().zip(&self.place_of) {
            if let Some(place) = place {
                self.counts[*place].add(flow, &self.bucket_of);
            }
        }
    }

    /// The boundaries of the counts, ascending, in nanoseconds.
    pub fn bounds_ns(&self) -> &[u64] {
        &self.bounds_ns
    }

    /// The flows, by name.
    pub fn flows(&self) -> impl Iterator<Item = (&FlowName, &FlowCounts)> {
        self.places.iter().map(|(name, place)| (name, &self.counts[*place]))
    }
}

/// For each bucket between the boundaries `fine`, the one between the boundaries `coarse` in which it lies; all of the latter are among
/// the former.
fn buckets_within(fine: &[u64], coarse: &[u64]) -> Vec<usize> {
    let least = std::iter::once(0).chain(fine.iter().copied());
    least.map(|least| coarse.partition_point(|bound| *bound <= least)).collect()
}

impl FlowCounts {
    fn with_buckets(buckets: usize) -> FlowCounts {
        let times = TimeCounts { sum_ns: 0, counts: vec![0; buckets] };
        let times = TimesOfFlow { response: times.clone(), service: times.clone(), own_lag: times };
        FlowCounts { times, ..FlowCounts::default() }
    }

    /// What was open when the segment ended is not open any more.
    fn end_segment(&mut self) {
        (self.in_flight, self.waiting, self.stuck) = (0, 0, 0);
    }

    fn add(&mut self, flow: &FlowInterval, bucket_of: &[usize]) {
        for (sum, part) in [
            (&mut self.scheduled, flow.scheduled),
            (&mut self.issued, flow.issued),
            (&mut self.completed, flow.ok),
            (&mut self.bytes, flow.bytes),
            (&mut self.short, flow.short),
        ] {
            *sum = sum.saturating_add(part);
        }
        for (error, n) in &flow.errors {
            let is_named = self.errors.len() < ERRORS || self.errors.contains_key(error);
            let name = if is_named { error.as_str() } else { OTHER_ERRORS };
            let sum = self.errors.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(*n);
        }
        (self.in_flight, self.waiting, self.stuck) = (flow.in_flight, flow.waiting, flow.stuck);
        self.times.response.add(flow.response.sum_ns, &flow.response.counts, bucket_of);
        self.times.service.add(flow.service.sum_ns, &flow.service.counts, bucket_of);
        self.times.own_lag.add(flow.own_lag.sum_ns, &flow.own_lag.counts, bucket_of);
    }
}

impl FlowCounts {
    /// Adds the sums of another flow of the same log.
    pub fn add_all(&mut self, other: &FlowCounts) {
        self.add_figures(other);
        self.times.response.add_all(&other.times.response);
        self.times.service.add_all(&other.times.service);
        self.times.own_lag.add_all(&other.times.own_lag);
    }

    /// The same without times.
    pub(crate) fn add_figures(&mut self, other: &FlowCounts) {
        for (sum, part) in [
            (&mut self.scheduled, other.scheduled),
            (&mut self.issued, other.issued),
            (&mut self.completed, other.completed),
            (&mut self.bytes, other.bytes),
            (&mut self.short, other.short),
            (&mut self.in_flight, other.in_flight),
            (&mut self.waiting, other.waiting),
            (&mut self.stuck, other.stuck),
        ] {
            *sum = sum.saturating_add(part);
        }
        for (error, n) in &other.errors {
            let sum = self.errors.entry(error.clone()).or_default();
            *sum = sum.saturating_add(*n);
        }
    }
}

impl TimesOfFlow {
    fn keep_boundaries(&mut self, place: &[usize], buckets: usize) {
        for times in [&mut self.response, &mut self.service, &mut self.own_lag] {
            let mut counts = vec![0u64; buckets];
            for (count, at) in times.counts.iter().zip(place) {
                counts[*at] = counts[*at].saturating_add(*count);
            }
            times.counts = counts;
        }
    }
}

impl TimeCounts {
    fn add(&mut self, sum_ns: u64, sparse: &[u64], bucket_of: &[usize]) {
        self.sum_ns = self.sum_ns.saturating_add(u128::from(sum_ns));
        for pair in sparse.chunks_exact(2) {
            let bucket = usize::try_from(pair[0]).ok().and_then(|bucket| bucket_of.get(bucket));
            // A bucket that does not exist is an error of the log, which the judge reports.
            if let Some(count) = bucket.and_then(|bucket| self.counts.get_mut(*bucket)) {
                *count = count.saturating_add(pair[1]);
            }
        }
    }

    /// Adds what was counted elsewhere between the same boundaries.
    pub fn add_all(&mut self, other: &TimeCounts) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        for (sum, part) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*part);
        }
    }

    /// How many there are.
    pub fn total_count(&self) -> u64 {
        self.counts.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// How many took this long or longer, where it is one of the boundaries.
    pub fn count_over(&self, bounds_ns: &[u64], threshold_ns: u64) -> Option<u64> {
        let first = bounds_ns.binary_search(&threshold_ns).ok()? + 1;
        Some(self.counts.get(first..)?.iter().fold(0, |sum, n| sum.saturating_add(*n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lies_in_the_one_that_holds_its_least_time() {
        assert_eq!(buckets_within(&[10, 20, 30], &[10, 20, 30]), [0, 1, 2, 3]);
        assert_eq!(buckets_within(&[10, 20, 30], &[20]), [0, 0, 1, 1]);
        assert_eq!(buckets_within(&[], &[]), [0]);
    }

    #[test]
    fn counts_stay_exact_when_fewer_boundaries_are_left() {
        let mut times = TimeCounts { sum_ns: 7, counts: vec![0; 4] };
        times.add(3, &[0, 1, 1, 2, 2, 4, 3, 8, 9, 100], &[0, 1, 2, 3]);
        assert_eq!((times.sum_ns, times.total_count(), times.count_over(&[10, 20, 30], 20)), (10, 15, Some(12)));
        let mut all = TimesOfFlow { response: times, ..TimesOfFlow::default() };
        all.keep_boundaries(&buckets_within(&[10, 20, 30], &[20]), 2);
        assert_eq!(all.response.counts, [3, 12]);
        assert_eq!(all.response.count_over(&[20], 20), Some(12));
        assert_eq!(all.response.count_over(&[20], 30), None, "no boundary, no count");
    }
}
