//! The free slots of a closed loop: each knows since when it is free, because the time from then on until its next
//! operation has completed is that operation's response.

use assay_base::{Instant, Span};
use std::collections::VecDeque;

/// Slots that became free at the same time, as those of completions of one poll do.
#[derive(Clone, Copy, Debug)]
struct FreeTogether {
    since: Instant,
    /// Number of slots.
    slots: u32,
}

/// Free slots, in the order of the times from which they may be used.
#[derive(Clone, Debug)]
pub(super) struct FreeSlots {
    /// Those that are free longest; [`Instant::FAR`] and none, if no slot is free. Nearly always all of them: they are kept
    /// apart from the others, which saves a tenth of a closed loop's time on the null device.
    first: FreeTogether,
    /// The others. Empty unless there are first ones.
    others: VecDeque<FreeTogether>,
    /// Number of all free slots.
    all: u32,
}

const NONE: FreeTogether = FreeTogether { since: Instant::FAR, slots: 0 };

impl FreeSlots {
    /// `slots` slots that are free from `start` on.
    pub(super) fn new(slots: u32, start: Instant) -> FreeSlots {
        let first = if slots > 0 { FreeTogether { since: start, slots } } else { NONE };
        FreeSlots { first, others: VecDeque::with_capacity(slots as usize), all: slots }
    }

    /// Since when the first of them is free; [`Instant::FAR`] if there is none.
    #[inline(always)]
    pub(super) fn first_free_since(&self) -> Instant {
        self.first.since
    }

    /// Since when the last of them is free; the beginning of time if there is none.
    pub(super) fn last_free_since(&self) -> Instant {
        match self.others.back() {
            Some(last) => last.since,
            None if self.all == 0 => Instant::ZERO,
            None => self.first.since,
        }
    }

    /// How many there are.
    #[inline(always)]
    pub(super) fn len(&self) -> u32 {
        self.all
    }

    /// A slot is free from `at` on.
    #[inline(always)]
    pub(super) fn add_slot(&mut self, at: Instant) {
        if self.all == 0 {
            self.first = FreeTogether { since: at, slots: 1 };
        } else if self.first.since == at {
            self.first.slots += 1;
        } else {
            self.add_other(at);
        }
        self.all += 1;
    }

    /// Adds a slot to free ones, the first of which are not free since `at`. Completions of several threads are not found in
    /// their order.
    fn add_other(&mut self, at: Instant) {
        if at < self.first.since {
            self.others.push_front(self.first);
            self.first = FreeTogether { since: at, slots: 1 };
            return;
        }
        match self.others.back_mut() {
            Some(last) if last.since == at => last.slots += 1,
            Some(last) if last.since > at => {
                let behind = self.others.partition_point(|other| other.since <= at);
                self.others.insert(behind, FreeTogether { since: at, slots: 1 });
            }
            _ => self.others.push_back(FreeTogether { since: at, slots: 1 }),
        }
    }

    /// Uses the first slot, and returns since when it was free. There must be one.
    #[inline(always)]
    pub(super) fn take_first(&mut self) -> Instant {
        assert!(self.all > 0, "a loop is asked when a slot is free");
        let since = self.first.since;
        self.all -= 1;
        self.first.slots -= 1;
        if self.first.slots == 0 {
            self.first = self.others.pop_front().unwrap_or(NONE);
        }
        since
    }

    /// The sum of the times for which they are free at `at`; what is free only later counts negative.
    pub(super) fn open_time(&self, at: Instant) -> i64 {
        std::iter::once(&self.first).chain(&self.others).fold(0, |sum: i64, together| {
            sum.saturating_add(signed_difference(at, together.since).saturating_mul(i64::from(together.slots)))
        })
    }
}

/// Nanoseconds from `from` to `to`, negative if `to` is earlier.
#[inline]
pub fn signed_difference(to: Instant, from: Instant) -> i64 {
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
        assert_eq!((free.first_free_since(), free.open_time(at(15)), free.open_time(at(4))), (at(10), 10, -12));
        assert_eq!((free.take_first(), free.take_first(), free.first_free_since()), (at(10), at(10), Instant::FAR));
        [30, 20, 30, 25, 20].into_iter().for_each(|ns| free.add_slot(at(ns)));
        let order = [0; 5].map(|_| free.take_first().as_ns());
        assert_eq!(order, [20, 20, 25, 30, 30]);
        assert_eq!(
            (free.open_time(at(9)), free.len(), FreeSlots::new(0, at(1)).first_free_since()),
            (0, 0, Instant::FAR)
        );
    }

    #[test]
    fn times_far_apart_do_not_overflow() {
        assert_eq!(signed_difference(at(u64::MAX), at(0)), i64::MAX);
        assert_eq!(signed_difference(at(0), at(u64::MAX)), -i64::MAX);
        let free = FreeSlots::new(1000, at(0));
        assert_eq!((free.len(), free.open_time(at(u64::MAX))), (1000, i64::MAX));
    }
}
