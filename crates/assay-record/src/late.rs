//! Counters of the generator's lateness: what would be left of a time without it, and when a target rested because of
//! it.

use crate::interval::{Lateness, Timing};
use crate::pauses::Pauses;
use assay_base::Span;

/// How much of the times of one kind the generator may have caused. Only differences are counted: most operations stay
/// in their bucket, and then only two sums are updated.
#[derive(Clone, Debug)]
pub(crate) struct LessenedTimes {
    less_ns: u64,
    /// The largest of what was left of them, and the largest of them before. The times that are not counted here are those
    /// of which the device caused everything.
    max_ns: u64,
    whole_max_ns: u64,
    /// For each bucket: operations at or above it that would be below it without the generator's part.
    fewer: Box<[u64]>,
}

impl LessenedTimes {
    pub(crate) fn new(buckets: usize) -> LessenedTimes {
        LessenedTimes { less_ns: 0, max_ns: 0, whole_max_ns: 0, fewer: vec![0; buckets].into() }
    }

    /// Counts `many` times of `ns` in bucket `over`, of which the device certainly caused `floor`, which lies in bucket
    /// `least`. True when the two buckets differ.
    #[inline(always)]
    pub(crate) fn record_time(&mut self, ns: u64, over: usize, floor: u64, least: usize, many: u64) -> bool {
        self.less_ns = self.less_ns.saturating_add((ns - floor).saturating_mul(many));
        self.max_ns = self.max_ns.max(floor);
        self.whole_max_ns = self.whole_max_ns.max(ns);
        if least == over {
            return false;
        }
        self.fewer[least + 1..=over].iter_mut().for_each(|n| *n += many);
        true
    }

    pub(crate) fn add(&mut self, other: &LessenedTimes) {
        self.less_ns = self.less_ns.saturating_add(other.less_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.whole_max_ns = self.whole_max_ns.max(other.whole_max_ns);
        self.fewer.iter_mut().zip(&other.fewer).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub(crate) fn clear(&mut self) {
        (self.less_ns, self.max_ns, self.whole_max_ns) = (0, 0, 0);
        self.fewer.fill(0);
    }

    /// The largest of the times that were counted here, before anything was taken off.
    pub(crate) fn whole_max_ns(&self) -> u64 {
        self.whole_max_ns
    }

    /// The timing that is left of times with this sum and these counts when the generator's part is taken off;
    /// `others_max_ns` is the largest of the times that were not counted here. `None` if nothing was taken off.
    pub(crate) fn lessened_timing(&self, sum_ns: u64, others_max_ns: u64, counts: &[u64]) -> Option<Timing> {
        if self.less_ns == 0 {
            return None;
        }
        // An operation that is no longer at or above a bucket is in one below it.
        let fewer = |bucket: usize| self.fewer.get(bucket).copied().unwrap_or(0);
        let left = |(bucket, n): (usize, &u64)| n + fewer(bucket + 1) - if bucket > 0 { fewer(bucket) } else { 0 };
        let left: Vec<u64> = counts.iter().enumerate().map(left).collect();
        let max_ns = self.max_ns.max(others_max_ns);
        Some(Timing { sum_ns: sum_ns.saturating_sub(self.less_ns), max_ns, counts: Timing::sparse_counts(&left) })
    }
}

/// The lateness on one target in one interval.
#[derive(Clone, Debug)]
pub(crate) struct TargetLateness {
    shift_ns: u64,
    gap_ns: u64,
    idle: Pauses,
    idle_in: Box<[u64]>,
    overslept: Pauses,
}

impl TargetLateness {
    pub(crate) fn new(buckets: usize) -> TargetLateness {
        TargetLateness {
            shift_ns: 0,
            gap_ns: 0,
            idle: Pauses::default(),
            idle_in: vec![0; buckets].into(),
            overslept: Pauses::default(),
        }
    }

    /// The target was empty for a time that falls into this bucket; during `given` of it an operation was due, which
    /// the schedule had set `gap` after the one before it.
    pub(crate) fn count_idle(&mut self, bucket: usize, given: Span, gap: Span) {
        self.gap_ns = self.gap_ns.max(gap.as_ns());
        self.idle.record_pause(given.as_ns());
        self.idle_in[bucket] = self.idle_in[bucket].saturating_add(given.as_ns());
    }

    pub(crate) fn note_shift(&mut self, span: Span) {
        self.shift_ns = self.shift_ns.max(span.as_ns());
    }

    pub(crate) fn count_overslept(&mut self, span: Span) {
        self.overslept.record_pause(span.as_ns());
    }

    pub(crate) fn add(&mut self, other: &TargetLateness) {
        self.shift_ns = self.shift_ns.max(other.shift_ns);
        self.gap_ns = self.gap_ns.max(other.gap_ns);
        self.idle.add(&other.idle);
        self.overslept.add(&other.overslept);
        let pairs = self.idle_in.iter_mut().zip(&other.idle_in);
        pairs.for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
    }

    pub(crate) fn clear(&mut self) {
        (self.shift_ns, self.gap_ns) = (0, 0);
        (self.idle, self.overslept) = (Pauses::default(), Pauses::default());
        self.idle_in.fill(0);
    }

    /// The entry for the log; `None` when nothing was late.
    pub(crate) fn log_entry(&self, target: u16) -> Option<Lateness> {
        let TargetLateness { shift_ns, gap_ns, idle, overslept, .. } = *self;
        let idle_in = Timing::sparse_counts(&self.idle_in);
        let late = Lateness { target, shift_ns, gap_ns, idle, idle_in, overslept };
        late.says_something().then_some(late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_keeps_the_number_of_lengths() {
        // Times in buckets 2, 5 and 7; the second falls to 3, the third to 0.
        let mut lessened = LessenedTimes::new(9);
        assert!(lessened.record_time(50, 5, 30, 3, 1) && lessened.record_time(70, 7, 0, 0, 1));
        assert!(!lessened.record_time(51, 5, 50, 5, 1));
        let left = lessened.lessened_timing(191, 20, &[0, 0, 1, 0, 0, 2, 0, 1, 0]).unwrap();
        assert_eq!((left.sum_ns, left.max_ns, lessened.whole_max_ns()), (100, 50, 70));
        let longer = lessened.lessened_timing(231, 60, &[0, 0, 0, 0, 0, 3, 0, 1, 0]).unwrap();
        assert_eq!((longer.sum_ns, longer.max_ns), (140, 60), "another one is longer");
        let mut twice = LessenedTimes::new(9);
        assert!(twice.record_time(50, 5, 30, 3, 2));
        assert_eq!(twice.lessened_timing(100, 0, &[0, 0, 0, 0, 0, 2, 0, 0, 0]).unwrap().counts, [3, 2]);
        assert_eq!(left.counts, [0, 1, 2, 1, 3, 1, 5, 1]);
        let mut sum = LessenedTimes::new(9);
        assert_eq!(sum.lessened_timing(191, 20, &[0; 9]), None, "nothing was the generator's");
        sum.add(&lessened);
        assert_eq!(sum.lessened_timing(191, 20, &[0, 0, 1, 0, 0, 2, 0, 1, 0]), Some(left));
        sum.clear();
        assert_eq!(sum.lessened_timing(1, 1, &[0; 9]), None);
    }

    #[test]
    fn rests_add_up_and_are_absent_where_nothing_was_late() {
        let mut rests = TargetLateness::new(4);
        assert_eq!(rests.log_entry(3), None);
        rests.count_idle(2, Span::from_ns(10), Span::from_ns(5));
        rests.count_idle(2, Span::from_ns(30), Span::from_ns(4));
        rests.count_overslept(Span::from_ns(7));
        rests.note_shift(Span::from_ns(9));
        rests.note_shift(Span::from_ns(8));
        let mut both = TargetLateness::new(4);
        both.count_idle(1, Span::from_ns(1), Span::from_ns(6));
        both.add(&rests);
        let idle = Pauses { sum_ns: 41, max_ns: 30, count: 3 };
        let overslept = Pauses { sum_ns: 7, max_ns: 7, count: 1 };
        let expected = Lateness { target: 3, shift_ns: 9, gap_ns: 6, idle, idle_in: vec![1, 1, 2, 40], overslept };
        assert_eq!(both.log_entry(3), Some(expected));
        both.clear();
        assert_eq!(both.log_entry(3), None);
        for late in [
            |rests: &mut TargetLateness| rests.note_shift(Span::from_ns(1)),
            |rests: &mut TargetLateness| rests.count_overslept(Span::from_ns(1)),
        ] {
            late(&mut both);
            assert!(both.log_entry(0).is_some());
            both.clear();
        }
    }
}
