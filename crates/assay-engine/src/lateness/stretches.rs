//! Periods in which something delayed the worker, and how much of a given time they cover: the sums are kept, so that the
//! answer does not depend on how many periods lie within.

use assay_base::{HandOver, Instant, Span};
use std::collections::VecDeque;

/// Upper bound on the periods that are kept; of a time before them nothing is covered.
const MOST: usize = 1024;

/// One period, and the sum of all before it.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: Instant,
    until: Instant,
    before: Span,
}

impl Stretch {
    /// The sum of all periods up to `at`, which is not before its beginning.
    fn sum_at(&self, at: Instant) -> Span {
        self.before + at.min(self.until).since(self.from)
    }
}

/// Periods one behind the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretches {
    kept: VecDeque<Stretch>,
    /// The end of the latest one.
    last: Instant,
}

impl Stretches {
    /// Adds a period. A part of it that is not behind all others is left out.
    #[inline]
    pub(crate) fn add_period(&mut self, from: Instant, until: Instant) {
        let from = from.max(self.last);
        if from >= until {
            return;
        }
        if self.kept.len() >= MOST {
            self.kept.pop_front();
        }
        let before = self.sum_at(from);
        self.kept.push_back(Stretch { from, until, before });
        self.last = until;
    }

    /// How much of the time from `from` to `to` lies within a period.
    #[inline(always)]
    pub(crate) fn time_within(&self, from: Instant, to: Instant) -> Span {
        if self.last <= from { Span::ZERO } else { self.covered_time(from, to) }
    }

    #[inline(never)]
    fn covered_time(&self, from: Instant, to: Instant) -> Span {
        self.sum_at(to.max(from)).saturating_sub(self.sum_at(from))
    }

    /// The sum of all periods up to `at`. Most calls are about the latest periods.
    fn sum_at(&self, at: Instant) -> Span {
        let begun = self.kept.iter().rev().find(|stretch| stretch.from <= at);
        begun
            .or(self.kept.front())
            .map_or(Span::ZERO, |stretch| if stretch.from <= at { stretch.sum_at(at) } else { stretch.before })
    }

    /// Takes the time from `from` to `until` out of all periods.
    #[cold]
    pub(crate) fn remove_period(&mut self, from: Instant, until: Instant) {
        let first = self.kept.partition_point(|stretch| stretch.until <= from);
        let later: Vec<Stretch> = self.kept.drain(first..).collect();
        let last = self.last;
        self.last = self.kept.back().map_or(Instant::ZERO, |stretch| stretch.until);
        if self.kept.is_empty()
            && let Some(oldest) = later.first()
        {
            // The sum of what was forgotten stays.
            self.kept.push_back(Stretch { from: oldest.from, until: oldest.from, before: oldest.before });
        }
        for stretch in later {
            self.add_period(stretch.from, stretch.until.min(from));
            self.add_period(stretch.from.max(until), stretch.until);
        }
        self.last = last;
    }

    /// Adds hand-overs, but for what `others` cover of them.
    #[inline]
    pub(crate) fn add_all(&mut self, hand_overs: &mut Vec<HandOver>, others: &Stretches) {
        for HandOver { from, until } in hand_overs.drain(..) {
            self.add_period(from, until);
            let overlapping = others
                .kept
                .iter()
                .rev()
                .take_while(|stretch| stretch.until > from)
                .filter(|stretch| stretch.from < until);
            overlapping.for_each(|stretch| self.remove_period(stretch.from, stretch.until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_ns(us * 1000)
    }

    fn us(us: u64) -> Span {
        Span::from_us(us)
    }

    fn stretches_of(periods: &[(u64, u64)]) -> Stretches {
        let mut stretches = Stretches::default();
        periods.iter().for_each(|(from, until)| stretches.add_period(at(*from), at(*until)));
        stretches
    }

    #[test]
    fn what_lies_within_is_the_sum_of_the_parts() {
        let stretches = stretches_of(&[(10, 20), (30, 35), (35, 40), (100, 200)]);
        for (from, to, within) in [
            (0, 5, 0),
            (0, 10, 0),
            (0, 15, 5),
            (12, 15, 3),
            (12, 33, 11),
            (0, 300, 120),
            (20, 30, 0),
            (39, 101, 2),
            (150, 160, 10),
            (200, 300, 0),
            (160, 150, 0),
        ] {
            assert_eq!(stretches.time_within(at(from), at(to)), us(within), "{from} to {to}");
        }
        assert_eq!(Stretches::default().time_within(at(0), at(9)), us(0));
    }

    #[test]
    fn periods_do_not_count_twice() {
        let stretches = stretches_of(&[(10, 20), (15, 25), (5, 12), (30, 30)]);
        assert_eq!(stretches.time_within(at(0), at(100)), us(15));
    }

    #[test]
    fn what_is_taken_out_counts_no_more() {
        for (from, until, left) in
            [(0, 100, 0), (12, 15, 22), (15, 35, 15), (20, 30, 25), (0, 15, 20), (45, 60, 25), (10, 20, 15)]
        {
            let mut stretches = stretches_of(&[(10, 20), (30, 40), (40, 45)]);
            stretches.remove_period(at(from), at(until));
            assert_eq!(stretches.time_within(at(0), at(100)), us(left), "{from} to {until}");
            stretches.add_period(at(50), at(60));
            assert_eq!(stretches.time_within(at(47), at(100)), us(10), "and what comes later does");
        }
    }

    #[test]
    fn the_oldest_are_forgotten_and_not_their_sum() {
        let mut stretches = Stretches::default();
        (0..3000).for_each(|n| stretches.add_period(at(n * 10), at(n * 10 + 4)));
        assert_eq!(stretches.kept.len(), MOST);
        assert_eq!(stretches.time_within(at(29_000), at(30_000)), us(400));
        assert_eq!(
            stretches.time_within(at(0), at(30_000)),
            us(4 * MOST as u64),
            "of what was forgotten nothing is covered"
        );
        stretches.remove_period(at(0), at(30_000));
        assert_eq!(stretches.time_within(at(0), at(40_000)), us(0));
    }

    #[test]
    fn hand_overs_are_added_without_what_others_cover() {
        let stopped = stretches_of(&[(12, 14), (50, 90)]);
        let mut blocked = Stretches::default();
        let hand = |from, until| HandOver { from: at(from), until: at(until) };
        let mut found = vec![hand(1, 5), hand(10, 20), hand(40, 60)];
        blocked.add_all(&mut found, &stopped);
        assert!(found.is_empty());
        assert_eq!(blocked.time_within(at(0), at(100)), us(4 + 8 + 10));
    }
}
