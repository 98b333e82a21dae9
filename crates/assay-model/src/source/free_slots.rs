//! The free slots of a closed loop: each knows since when it is free, because the time from then on until its next
//! operation has completed is that operation's response.

use assay_base::{Instant, Span};
use std::collections::VecDeque;

/// Free slots, in the order of the times from which they may be used. Slots that became free together, as completions of
/// one poll do, are one entry.
#[derive(Clone, Debug, Default)]
pub(super) struct FreeSlots {
    runs: VecDeque<(Instant, u32)>,
    all: u32,
}

impl FreeSlots {
    /// `slots` slots that are free from `start` on.
    pub(super) fn new(slots: u32, start: Instant) -> FreeSlots {
        let mut free = FreeSlots { runs: VecDeque::with_capacity(slots as usize), all: slots };
        free.runs.extend((slots > 0).then_some((start, slots)));
        free
    }

    /// Since when the first of them is free; [`Instant::FAR`] if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> Instant {
        self.runs.front().map_or(Instant::FAR, |(at, _)| *at)
    }

    /// Since when the last of them is free; the beginning of time if there is none.
    pub(super) fn last(&self) -> Instant {
        self.runs.back().map_or(Instant::ZERO, |(at, _)| *at)
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.all
    }

    /// A slot is free from `at` on.
    #[inline(always)]
    pub(super) fn add(&mut self, at: Instant) {
        self.all += 1;
        match self.runs.back_mut() {
            Some((last, slots)) if *last == at => *slots += 1,
            Some((last, _)) if *last > at => self.insert(at),
            _ => self.runs.push_back((at, 1)),
        }
    }

    /// Completions of several threads are not found in their order.
    #[cold]
    fn insert(&mut self, at: Instant) {
        let behind = self.runs.partition_point(|(other, _)| *other <= at);
        self.runs.insert(behind, (at, 1));
    }

    /// Uses the first slot, and returns since when it was free. There must be one.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Instant {
        let (at, slots) = self.runs.front_mut().expect("a loop is asked when a slot is free");
        let at = *at;
        self.all -= 1;
        *slots -= 1;
        if *slots == 0 {
            self.runs.pop_front();
        }
        at
    }

    /// The sum of the times for which they are free at `at`; what is free only later counts negative.
    pub(super) fn open(&self, at: Instant) -> i64 {
        self.runs.iter().fold(0, |sum: i64, (since, slots)| {
            sum.saturating_add(difference(at, *since).saturating_mul(i64::from(*slots)))
        })
    }
}

/// Nanoseconds from `from` to `to`, negative if `to` is earlier.
#[inline]
pub fn difference(to: Instant, from: Instant) -> i64 {
    if to >= from { capped_ns(to.since(from)) } else { -capped_ns(from.since(to)) }
}

/// Nanoseconds, at most the largest signed number.
#[inline]
fn capped_ns(span: Span) -> i64 {
    i64::try_from(span.as_ns()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn the_slot_that_is_free_longest_comes_first() {
        let mut free = FreeSlots::new(2, at(10));
        assert_eq!((free.first(), free.open(at(15)), free.open(at(4))), (at(10), 10, -12));
        assert_eq!((free.take(), free.take(), free.first()), (at(10), at(10), Instant::FAR));
        [30, 20, 30, 25, 20].into_iter().for_each(|ns| free.add(at(ns)));
        let order = [0; 5].map(|_| free.take().as_ns());
        assert_eq!(order, [20, 20, 25, 30, 30]);
        assert_eq!((free.open(at(9)), free.len(), FreeSlots::new(0, at(1)).first()), (0, 0, Instant::FAR));
    }

    #[test]
    fn times_far_apart_do_not_overflow() {
        assert_eq!(difference(at(u64::MAX), at(0)), i64::MAX);
        assert_eq!(difference(at(0), at(u64::MAX)), -i64::MAX);
        let free = FreeSlots::new(1000, at(0));
        assert_eq!((free.len(), free.open(at(u64::MAX))), (1000, i64::MAX));
    }
}
