//! Decides how long a worker sleeps before something is due, and how long it spins because sleeps end late.

use assay_base::{Instant, Span};

/// The way in which a real run waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The time for which a worker spins before an operation is due, instead of sleeping, because a sleep ends late.
    pub spin: Spin,
}

/// The time to spin before an operation is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spin {
    /// Always this long.
    Fixed(Span),
    /// As long as sleeps were found to end late, at most this long, and at most a quarter of all time: at rates whose
    /// gaps are all shorter than a sleep is late, a processor would otherwise spin all the time.
    Learned(Span),
    /// Never, and a sleep takes at least this long: operations that become due within that time after the first are
    /// issued after the same wake-up, and the wait counts as own lag. This costs least where a sleep ends late or is
    /// expensive.
    Together(Span),
}

/// Learns how late sleeps end: keeps an estimate of the quantile [`Sleeps::SHARE`] of all observed values, by a step up
/// after a larger value and a smaller step down otherwise (stochastic approximation of a quantile: Robbins and Monro,
/// "A stochastic approximation method", 1951).
#[derive(Debug)]
pub(super) struct Sleeps {
    ns: i64,
    most: i64,
    learns: bool,
    /// The shortest sleep.
    together: Span,
    /// Time that may still be spent spinning, in nanoseconds.
    credit: i64,
    /// When the credit was last updated.
    counted: Instant,
}

impl Sleeps {
    /// This many of a hundred sleeps end within the estimate.
    const SHARE: i64 = 90;
    /// The step up after a larger value, in nanoseconds; the step down is smaller by the odds of the share.
    const UP: i64 = 900;
    const DOWN: i64 = Self::UP * (100 - Self::SHARE) / Self::SHARE;
    /// One of this many nanoseconds may be spent spinning.
    const OF: i64 = 4;
    /// Upper bound on the credit, in nanoseconds.
    const CREDIT: i64 = 1_000_000;

    pub(super) fn new(spin: Spin, now: Instant) -> Sleeps {
        let (most, together) = match spin {
            Spin::Fixed(most) | Spin::Learned(most) => (most, Span::ZERO),
            Spin::Together(together) => (Span::ZERO, together),
        };
        let most = i64::try_from(most.as_ns()).unwrap_or(i64::MAX);
        let learns = matches!(spin, Spin::Learned(_));
        Sleeps { ns: if learns { most / 2 } else { most }, most, learns, together, credit: 0, counted: now }
    }

    /// The time before an operation is due at which a sleep must end.
    fn wake_ahead(&self) -> Span {
        if self.learns && self.credit <= 0 { Span::ZERO } else { self.wake_margin() }
    }

    /// The time to sleep at `now` before something is due at `wake`; zero means not at all.
    pub(super) fn sleep_span(&self, now: Instant, wake: Instant) -> Span {
        let sleep = wake.since(now).saturating_sub(self.wake_ahead());
        if sleep.is_zero() { sleep } else { sleep.max(self.together) }
    }

    fn wake_margin(&self) -> Span {
        Span::from_ns(self.ns.unsigned_abs())
    }

    /// A sleep ended `late` after its time.
    pub(super) fn learn_lateness(&mut self, late: Span) {
        if self.learns {
            let step = if late > self.wake_margin() { Self::UP } else { -Self::DOWN };
            self.ns = (self.ns + step).clamp(0, self.most);
        }
    }

    /// Counts the time up to `now`, which was `spun` or not.
    pub(super) fn count_time(&mut self, now: Instant, spun: bool) {
        let passed = i64::try_from(now.since(self.counted).as_ns()).unwrap_or(i64::MAX / 2);
        let cost = if spun { passed } else { 0 };
        self.credit = (self.credit + passed / Self::OF - cost).clamp(-Self::CREDIT, Self::CREDIT);
        self.counted = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learns_how_late_most_sleeps_end() {
        let mut lateness = Sleeps::new(Spin::Learned(Span::from_us(50)), Instant::ZERO);
        let mut prng = assay_base::Prng::from_seed(1);
        for _ in 0..100_000 {
            lateness.learn_lateness(Span::from_ns(prng.uniform_below(40_000)));
        }
        // Nine of ten values are below 36 µs.
        assert!((33_000..39_000).contains(&lateness.ns), "{lateness:?}");
        for _ in 0..100_000 {
            lateness.learn_lateness(Span::from_ms(1));
        }
        assert_eq!(lateness.wake_margin(), Span::from_us(50), "never more than allowed");
        for _ in 0..1_000_000 {
            lateness.learn_lateness(Span::ZERO);
        }
        assert_eq!(lateness.wake_margin(), Span::ZERO);
    }

    #[test]
    fn spins_a_quarter_of_the_time_at_most() {
        let mut lateness = Sleeps::new(Spin::Learned(Span::from_us(50)), Instant::ZERO);
        let mut spun = 0;
        for us in 1..=1_000_000 {
            let spins = !lateness.wake_ahead().is_zero();
            spun += u64::from(spins);
            lateness.count_time(Instant::from_ns(us * 1000), spins);
        }
        assert!((200_000..=251_000).contains(&spun), "{spun} of a million");
    }

    #[test]
    fn a_sleep_is_long_enough_for_several_operations_or_it_is_none() {
        let lateness = Sleeps::new(Spin::Together(Span::from_us(20)), Instant::ZERO);
        let us = |us: u64| Instant::from_ns(us * 1000);
        for (wake, sleep) in [(100, 0), (99, 0), (101, 20), (120, 20), (150, 50)] {
            assert_eq!(lateness.sleep_span(us(100), us(wake)), Span::from_us(sleep), "{wake}");
        }
        let spins = Sleeps::new(Spin::Fixed(Span::from_us(20)), Instant::ZERO);
        assert_eq!(spins.sleep_span(us(100), us(119)), Span::ZERO);
    }

    #[test]
    fn what_was_asked_for_is_kept() {
        let mut lateness = Sleeps::new(Spin::Fixed(Span::from_us(7)), Instant::ZERO);
        lateness.learn_lateness(Span::from_ms(1));
        assert_eq!(lateness.wake_margin(), Span::from_us(7));
    }
}
