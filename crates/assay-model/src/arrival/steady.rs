//! Evenly spaced operations: the k-th at `start + (k + shift) / rate`, exact for any rate, without drift.
//!
//! The spacing is kept as whole nanoseconds and a remainder, so that the k-th time is `floor` of the exact one for every k.

use super::part::Part;
use assay_base::{Instant, Rate, Span};

/// See the module.
#[derive(Clone, Debug)]
pub struct Steady {
    due: Instant,
    step: Span,
    remainder: u64,
    step_remainder: u64,
    denominator: u64,
}

/// Number of parts of a period in which shifts are given.
const SHIFTS: u128 = 1024;

impl Steady {
    /// See [`super::Schedule::from_steady`].
    pub fn new(start: Instant, rate: Rate, part: Part, shift: u64) -> Option<Steady> {
        let (operations, seconds) = rate.as_ratio();
        if operations == 0 || part.of == 0 {
            return None;
        }
        let period = u128::from(seconds) * 1_000_000_000;
        // All times use the common denominator `operations × SHIFTS`.
        let denominator = u64::try_from(u128::from(operations) * SHIFTS).ok()?;
        let first = period.checked_mul(u128::from(part.index) * SHIFTS + u128::from(shift))?;
        let step = period.checked_mul(u128::from(part.of) * SHIFTS)?;
        let divisor = u128::from(denominator);
        Some(Steady {
            due: start + Span::from_ns(u64::try_from(first / divisor).ok()?),
            step: Span::from_ns(u64::try_from(step / divisor).ok()?),
            remainder: (first % divisor) as u64,
            step_remainder: (step % divisor) as u64,
            denominator,
        })
    }

    #[inline]
    pub(super) fn next_due(&self) -> Instant {
        self.due
    }

    #[inline]
    pub(super) fn advance_to_next(&mut self) {
        self.due += self.step;
        let (sum, wrapped) = self.remainder.overflowing_add(self.step_remainder);
        if wrapped || sum >= self.denominator {
            self.due += Span::from_ns(1);
            self.remainder = sum.wrapping_sub(self.denominator);
        } else {
            self.remainder = sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: Rate, part: Part, shift: u64, n: usize) -> Vec<u64> {
        let mut steady = Steady::new(Instant::ZERO, rate, part, shift).unwrap();
        (0..n).map(|_| (steady.next_due().as_ns(), steady.advance_to_next()).0).collect()
    }

    #[test]
    fn every_time_is_the_floor_of_the_exact_one() {
        for (operations, seconds) in [(2000, 1), (400, 17), (1, 3), (7, 1), (3_000_000_000, 1), (1, 86_400)] {
            let rate = Rate::from_ratio(operations, seconds).unwrap();
            for (k, ns) in times(rate, Part { index: 0, of: 1 }, 0, 10_000).into_iter().enumerate() {
                assert_eq!(u128::from(ns), k as u128 * seconds * 1_000_000_000 / operations, "{rate}: operation {k}");
            }
        }
    }

    #[test]
    fn parts_interleave_to_the_whole_for_any_number_of_them() {
        let rate = Rate::from_ratio(400, 17).unwrap();
        let whole = times(rate, Part { index: 0, of: 1 }, 100, 840);
        for of in 1..=7u64 {
            let mut merged: Vec<u64> =
                (0..of).flat_map(|index| times(rate, Part { index, of }, 100, 840 / of as usize)).collect();
            merged.sort_unstable();
            assert_eq!(merged, whole, "{of} parts");
        }
    }

    #[test]
    fn an_hour_holds_exactly_rate_times_time() {
        let hour = 3_600_000_000_000;
        for shift in [0, 1, 512, 1023] {
            let mut steady =
                Steady::new(Instant::ZERO, Rate::per_second(997), Part { index: 0, of: 1 }, shift).unwrap();
            let mut n = 0;
            while steady.next_due().as_ns() < hour {
                n += 1;
                steady.advance_to_next();
            }
            assert_eq!(n, 997 * 3600, "shift {shift}");
        }
    }

    #[test]
    fn rates_that_schedule_nothing_or_do_not_fit() {
        let part = Part { index: 0, of: 1 };
        assert!(Steady::new(Instant::ZERO, Rate::ZERO, part, 0).is_none());
        assert!(Steady::new(Instant::ZERO, Rate::per_second(u64::MAX), part, 0).is_none());
        assert!(Steady::new(Instant::ZERO, Rate::per_second(1), Part { index: 0, of: 0 }, 0).is_none());
    }
}
