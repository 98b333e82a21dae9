//! Counters of the generator's lateness: what would be left of a length without it, and when a target rested because of it.

use crate::interval::{Lateness, Pauses, Timing};
use assay_base::Span;

/// How much of one kind of length the generator may have made. Only differences are counted: most operations stay in their
/// bucket, and then nothing is written but two sums.
#[derive(Clone, Debug)]
pub(crate) struct Lessened {
    less_ns: u64,
    max_ns: u64,
    /// For each bucket: operations at or over it that are not without what the generator may have made.
    fewer: Box<[u64]>,
}

impl Lessened {
    pub fn new(buckets: usize) -> Lessened {
        Lessened { less_ns: 0, max_ns: 0, fewer: vec![0; buckets].into() }
    }

    /// Counts a length of `ns` in bucket `over`, of which `floor` in bucket `least` is certainly the device's. True when
    /// that is another bucket.
    #[inline(always)]
    pub fn record(&mut self, ns: u64, over: usize, floor: u64, least: usize) -> bool {
        self.less_ns = self.less_ns.saturating_add(ns - floor);
        self.max_ns = self.max_ns.max(floor);
        if least == over {
            return false;
        }
        self.fewer[least + 1..=over].iter_mut().for_each(|n| *n += 1);
        true
    }

    /// Counts a length that is all the device's.
    #[inline(always)]
    pub fn keep(&mut self, ns: u64) {
        self.max_ns = self.max_ns.max(ns);
    }

    pub fn add(&mut self, other: &Lessened) {
        self.less_ns = self.less_ns.saturating_add(other.less_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.fewer.iter_mut().zip(&other.fewer).for_each(|(mine, theirs)| *mine += theirs);
    }

    pub fn clear(&mut self) {
        (self.less_ns, self.max_ns) = (0, 0);
        self.fewer.fill(0);
    }

    /// What is left of lengths with the sum `sum_ns` and these counts; `None` where that is all of it.
    pub fn timing(&self, sum_ns: u64, counts: &[u64]) -> Option<Timing> {
        if self.less_ns == 0 {
            return None;
        }
        // What is no longer at or over a bucket is in one below it.
        let fewer = |bucket: usize| self.fewer.get(bucket).copied().unwrap_or(0);
        let left = |(bucket, n): (usize, &u64)| n + fewer(bucket + 1) - if bucket > 0 { fewer(bucket) } else { 0 };
        let left: Vec<u64> = counts.iter().enumerate().map(left).collect();
        Some(Timing { sum_ns: sum_ns.saturating_sub(self.less_ns), max_ns: self.max_ns, counts: Timing::sparse(&left) })
    }
}

/// The lateness on one target in one interval.
#[derive(Clone, Debug)]
pub(crate) struct Rests {
    shift_ns: u64,
    gap_ns: u64,
    idle: Pauses,
    idle_in: Box<[u64]>,
    overslept: Pauses,
}

impl Rests {
    pub fn new(buckets: usize) -> Rests {
        Rests {
            shift_ns: 0,
            gap_ns: 0,
            idle: Pauses::default(),
            idle_in: vec![0; buckets].into(),
            overslept: Pauses::default(),
        }
    }

    /// The target was empty for a time in this bucket, `given` of it with an operation due, which the schedule had set
    /// `gap` after the one before it.
    pub fn idle(&mut self, bucket: usize, given: Span, gap: Span) {
        self.gap_ns = self.gap_ns.max(gap.as_ns());
        self.idle.record(given.as_ns());
        self.idle_in[bucket] = self.idle_in[bucket].saturating_add(given.as_ns());
    }

    pub fn shifted(&mut self, span: Span) {
        self.shift_ns = self.shift_ns.max(span.as_ns());
    }

    pub fn overslept(&mut self, span: Span) {
        self.overslept.record(span.as_ns());
    }

    pub fn add(&mut self, other: &Rests) {
        self.shift_ns = self.shift_ns.max(other.shift_ns);
        self.gap_ns = self.gap_ns.max(other.gap_ns);
        self.idle.add(&other.idle);
        self.overslept.add(&other.overslept);
        let pairs = self.idle_in.iter_mut().zip(&other.idle_in);
        pairs.for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
    }

    pub fn clear(&mut self) {
        (self.shift_ns, self.gap_ns) = (0, 0);
        (self.idle, self.overslept) = (Pauses::default(), Pauses::default());
        self.idle_in.fill(0);
    }

    /// For the log; `None` when nothing was late.
    pub fn lateness(&self, target: u16) -> Option<Lateness> {
        let Rests { shift_ns, gap_ns, idle, overslept, .. } = *self;
        let idle_in = Timing::sparse(&self.idle_in);
        let late = shift_ns > 0 || idle.count > 0 || overslept.count > 0;
        late.then_some(Lateness { target, shift_ns, gap_ns, idle, idle_in, overslept })
    }
}
