//! A rate that changes over time. Evenly spaced, the k-th operation is due when the integral of the rate reaches k; with independent
//! clients, when it reaches the k-th time of a Poisson process of rate 1 (the time change of an inhomogeneous process, D. R. Cox
//! 1955). The rate consists of straight lines, and the integral is inverted for one line after the other.

use super::curve::{Curve, Piece};
use super::part::Part;
use assay_base::{Instant, Prng, Rate, Span, math};

/// See the module.
#[derive(Clone, Debug)]
pub struct Varying {
    due: Instant,
    pieces: Box<[Piece]>,
    /// The integral of each piece, in nanoseconds of full rate.
    areas: Box<[f64]>,
    piece: usize,
    /// When the current piece begins, in nanoseconds of the run; negative before the run.
    begin: i64,
    /// The integral over the part of the piece that has passed, in nanoseconds of full rate.
    reached: f64,
    /// The mean integral between two operations of this part, in nanoseconds of full rate.
    gap: f64,
    /// The random generator, for independent clients.
    prng: Option<Prng>,
    /// Whether the curve is repeated.
    around: bool,
}

/// The position in a curve at which a run begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurveStart {
    /// The beginning of the run.
    pub start: Instant,
    /// Time of the run before the curve's time zero: the warm-up.
    pub until_zero: Span,
    /// Time of the curve that has passed before the run.
    pub before: Span,
}

impl Varying {
    /// The part's operations of a stream whose rate is `rate` at 100 % of `curve`: evenly spaced and shifted by so many 1024ths of an
    /// operation, or drawn from a random generator. `None` when the rate is zero or the curve is not possible.
    pub fn new(
        standing: CurveStart,
        rate: Rate,
        curve: &Curve,
        part: Part,
        spaced: Result<u64, Prng>,
    ) -> Option<Varying> {
        if rate.is_zero() || part.of == 0 || curve.points.is_empty() || !curve.is_whole() {
            return None;
        }
        let pieces = curve.pieces_from_zero().into_boxed_slice();
        let operation = 1e9 / rate.as_f64();
        let (first, prng) = match spaced {
            Ok(shift) => (operation * (part.index as f64 + shift as f64 / 1024.0), None),
            Err(prng) => (0.0, Some(prng)),
        };
        let mut varying = Varying {
            due: standing.start,
            areas: pieces.iter().map(Piece::area_ns).collect(),
            pieces,
            piece: 0,
            begin: standing.start.as_ns() as i64 + standing.until_zero.as_ns() as i64 - standing.before.as_ns() as i64,
            reached: 0.0,
            gap: operation * part.of as f64,
            prng,
            around: curve.every.is_some(),
        };
        varying.move_to_start(standing.start);
        match varying.prng {
            Some(_) => varying.advance_to_next(),
            None => varying.advance_by_gap(first),
        }
        Some(varying)
    }

    /// Moves to the position of the curve at `start`.
    fn move_to_start(&mut self, start: Instant) {
        let start = start.as_ns() as i64;
        let around: u64 = self.pieces.iter().filter_map(|piece| piece.length).sum();
        if self.around {
            // The repetition that `start` lies in.
            self.begin += (start - self.begin).div_euclid(around as i64) * around as i64;
        } else if self.begin > start {
            // Before its beginning a curve has the value of its first point.
            let first =
                Piece { length: Some((self.begin - start) as u64), from: self.pieces[0].from, to: self.pieces[0].from };
            self.pieces = std::iter::once(first).chain(self.pieces.iter().copied()).collect();
            self.areas = self.pieces.iter().map(Piece::area_ns).collect();
            self.begin = start;
        }
        while let Some(length) = self.pieces[self.piece].length.filter(|length| self.begin + *length as i64 <= start) {
            self.begin += length as i64;
            self.piece += 1;
        }
        let piece = self.pieces[self.piece];
        let passed = (start - self.begin) as f64;
        let slope = piece.length.map_or(0.0, |length| (piece.to - piece.from) / length as f64);
        self.reached = passed * (piece.from + 0.5 * slope * passed);
    }

    #[inline]
    pub(super) fn next_due(&self) -> Instant {
        self.due
    }

    #[inline]
    pub(super) fn advance_to_next(&mut self) {
        let gap = match &mut self.prng {
            Some(prng) => -math::ln(prng.uniform_unit()) * self.gap,
            None => self.gap,
        };
        self.advance_by_gap(gap);
    }

    #[inline]
    fn advance_by_gap(&mut self, gap: f64) {
        self.reached += gap;
        while self.reached >= self.areas[self.piece] {
            self.next_piece();
        }
        let piece = &self.pieces[self.piece];
        let due = if piece.length.is_none() && piece.from == 0.0 {
            Instant::FAR
        } else {
            // A float beyond i64 saturates, which is later than the end of any run.
            Instant::from_ns(self.begin.saturating_add(piece.time_to_area(self.reached) as i64).max(0) as u64)
        };
        self.due = self.due.max(due);
    }

    #[cold]
    fn next_piece(&mut self) {
        self.reached -= self.areas[self.piece];
        self.begin += self.pieces[self.piece].length.unwrap_or(0) as i64;
        self.piece += 1;
        if self.piece == self.pieces.len() {
            self.piece = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Share;

    const HOUR: u64 = 3_600_000_000_000;

    fn day() -> Curve {
        let point = |(hour, percent)| (Span::from_ns(hour * HOUR), Share::from_percent(percent));
        Curve {
            points: [(0, 30), (9, 100), (17, 100), (20, 50)].map(point).to_vec(),
            every: Some(Span::from_ns(24 * HOUR)),
        }
    }

    fn standing(until_zero: u64, before: u64) -> CurveStart {
        CurveStart { start: Instant::from_ns(77), until_zero: Span::from_ns(until_zero), before: Span::from_ns(before) }
    }

    /// Operations in each hour of the run.
    fn hours(mut varying: Varying, hours: usize) -> Vec<u64> {
        let mut counts = vec![0; hours];
        let mut last = Instant::ZERO;
        while let Some(count) = counts.get_mut(((varying.next_due().as_ns() - 77) / HOUR) as usize) {
            assert!(varying.next_due() >= last, "times ascend");
            last = varying.next_due();
            *count += 1;
            varying.advance_to_next();
        }
        counts
    }

    fn wanted(curve: &Curve, hour: u64) -> f64 {
        let until = |hour: u64| curve.mean_share(Some(Span::from_ns(hour * HOUR))) * hour as f64 * 3600.0;
        until(hour + 1) - if hour == 0 { 0.0 } else { until(hour) }
    }

    const WHOLE: Part = Part { index: 0, of: 1 };

    #[test]
    fn counts_per_hour_over_two_days() {
        let (rate, curve) = (Rate::per_second(10), day());
        let even = hours(Varying::new(standing(0, 0), rate, &curve, WHOLE, Ok(512)).unwrap(), 48);
        let drawn = hours(Varying::new(standing(0, 0), rate, &curve, WHOLE, Err(Prng::from_seed(1))).unwrap(), 48);
        for hour in 0..48 {
            let wanted = 10.0 * wanted(&curve, hour as u64 % 24);
            assert!((even[hour] as f64 - wanted).abs() <= 1.001, "hour {hour}: {} of {wanted}", even[hour]);
            assert!(
                (drawn[hour] as f64 - wanted).abs() < 4.0 * wanted.sqrt(),
                "hour {hour}: {} of {wanted}",
                drawn[hour]
            );
        }
        // No operation is lost: the mean over 24 h is 69.27 % of the full rate.
        let day: u64 = even[..24].iter().sum();
        assert!((day as f64 - 864_000.0 * curve.mean_share(None)).abs() <= 1.001, "{day}");
    }

    #[test]
    fn parts_make_the_whole_over_one_to_seven_workers() {
        let (rate, curve) = (Rate::per_second(3), day());
        let times = |part, n: usize| {
            let mut varying = Varying::new(standing(0, 0), rate, &curve, part, Ok(100)).unwrap();
            (0..n).map(|_| (varying.next_due().as_ns(), varying.advance_to_next()).0).collect::<Vec<u64>>()
        };
        let whole = times(WHOLE, 8400);
        for of in 2..=7 {
            let mut merged: Vec<u64> =
                (0..of).flat_map(|index| times(Part { index, of }, 8400 / of as usize)).collect();
            merged.sort_unstable();
            assert!(merged.iter().zip(&whole).all(|(a, b)| a.abs_diff(*b) <= 1), "{of} parts");
        }
    }

    #[test]
    fn it_stands_where_the_run_begins() {
        let (rate, curve) = (Rate::per_second(10), day());
        let from = |until_zero, before| {
            hours(Varying::new(standing(until_zero, before), rate, &curve, WHOLE, Ok(0)).unwrap(), 24)
        };
        // Two hours of warm-up are the last two hours of the day before; a run continued at 9 h is at 9 h of the curve.
        for (run, first) in [(from(2 * HOUR, 0), 22), (from(0, 9 * HOUR), 9), (from(HOUR, 30 * HOUR), 5)] {
            for (hour, count) in run.iter().enumerate() {
                let wanted = 10.0 * wanted(&curve, (first + hour as u64) % 24);
                assert!((*count as f64 - wanted).abs() <= 1.001, "{first}, hour {hour}: {count} of {wanted}");
            }
        }
    }

    #[test]
    fn a_ramp_that_does_not_come_again() {
        let point = |(hour, percent)| (Span::from_ns(hour * HOUR), Share::from_percent(percent));
        let ramp = |points: &[(u64, u64)]| Curve { points: points.iter().copied().map(point).collect(), every: None };
        let run = |curve: &Curve, until| {
            hours(Varying::new(standing(until, 0), Rate::per_second(1), curve, WHOLE, Ok(0)).unwrap(), 5)
        };
        assert_eq!(run(&ramp(&[(0, 0), (2, 200)]), 0), [1800, 5400, 7200, 7200, 7200]);
        assert_eq!(run(&ramp(&[(0, 100), (1, 100), (1, 300)]), HOUR), [3600, 3600, 10_800, 10_800, 10_800]);
        let ends = ramp(&[(0, 100), (1, 100), (1, 0)]);
        let mut varying = Varying::new(standing(0, 0), Rate::per_second(1), &ends, WHOLE, Ok(0)).unwrap();
        (0..3600).for_each(|_| varying.advance_to_next());
        assert_eq!(varying.next_due(), Instant::FAR);
    }

    #[test]
    fn rates_that_schedule_nothing() {
        let none = |rate, curve: &Curve| Varying::new(standing(0, 0), rate, curve, WHOLE, Ok(0)).is_none();
        assert!(none(Rate::ZERO, &day()));
        assert!(none(Rate::per_second(1), &Curve { points: vec![], every: None }));
    }

    #[test]
    fn golden_vector() {
        let mut varying =
            Varying::new(standing(0, 0), Rate::per_second(1000), &day(), WHOLE, Err(Prng::from_seed(1))).unwrap();
        let first: Vec<u64> = (0..3).map(|_| (varying.next_due().as_ns(), varying.advance_to_next()).0).collect();
        assert_eq!(first, [695_852, 1_667_685, 9_337_939]);
    }
}
