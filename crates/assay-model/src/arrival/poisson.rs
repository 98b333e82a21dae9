//! Independent clients: exponential inter-arrival times with mean 1/rate (a Poisson process).
//!
//! Time is summed in floating point and only then truncated to nanoseconds, so that the rate has no bias: over 24 h the
//! sum is exact to 0.02 ns. The logarithm is our own (`assay_base::math`), so that a replay is the same on every
//! platform.

use assay_base::{Instant, Prng, Rate, math};

/// Number of gaps drawn at a time.
const GAPS: usize = 8;

/// See the module.
#[derive(Clone, Debug)]
pub struct Poisson {
    start: Instant,
    due: Instant,
    elapsed_ns: f64,
    mean_ns: f64,
    /// The gaps after each of the next operations, and the index of the first unused gap. Several are drawn at a time,
    /// because their logarithms are independent, so that a processor computes them in parallel.
    gaps_ns: [f64; GAPS],
    gap: usize,
    prng: Prng,
}

impl Poisson {
    /// A process with `rate` that begins at `start`; `None` when the rate is zero.
    pub fn new(start: Instant, rate: Rate, prng: Prng) -> Option<Poisson> {
        if rate.is_zero() {
            return None;
        }
        let mean_ns = 1e9 / rate.as_f64();
        let mut poisson =
            Poisson { start, due: start, elapsed_ns: 0.0, mean_ns, gaps_ns: [0.0; GAPS], gap: GAPS, prng };
        poisson.advance_to_next();
        Some(poisson)
    }

    #[inline]
    pub(super) fn next_due(&self) -> Instant {
        self.due
    }

    #[inline]
    pub(super) fn advance_to_next(&mut self) {
        if self.gap == GAPS {
            self.draw_gap();
        }
        self.elapsed_ns += self.gaps_ns[self.gap];
        self.gap += 1;
        // A float beyond the range of i64, to which processors convert in one instruction, saturates: that is later
        // than any run lasts.
        self.due = Instant::from_ns(self.start.as_ns().saturating_add(self.elapsed_ns as i64 as u64));
    }

    #[inline(never)]
    fn draw_gap(&mut self) {
        self.gaps_ns = std::array::from_fn(|_| self.prng.uniform_unit());
        self.gaps_ns.iter_mut().for_each(|gap| *gap = -math::ln(*gap) * self.mean_ns);
        self.gap = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(rate: u64, seed: u64, seconds: u64) -> Vec<u64> {
        let mut poisson = Poisson::new(Instant::ZERO, Rate::per_second(rate), Prng::from_seed(seed)).unwrap();
        let mut times = Vec::new();
        while poisson.next_due().as_ns() < seconds * 1_000_000_000 {
            times.push(poisson.next_due().as_ns());
            poisson.advance_to_next();
        }
        times
    }

    #[test]
    fn count_is_within_four_standard_deviations() {
        for (rate, seed) in [(1000, 1), (50_000, 2), (200_000, 3)] {
            let (n, mean) = (times(rate, seed, 10).len() as f64, rate as f64 * 10.0);
            assert!((n - mean).abs() < 4.0 * mean.sqrt(), "{rate}/s: {n} in 10 s");
        }
    }

    #[test]
    fn gaps_are_exponential() {
        // Kolmogorov–Smirnov against 1 − exp(−x): 1.95/√n is the 0.1 % point.
        let times = times(100_000, 4, 1);
        let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e4).collect();
        gaps.sort_unstable_by(f64::total_cmp);
        let n = gaps.len() as f64;
        let distance = |(i, x): (usize, &f64)| (1.0 - (-x).exp() - i as f64 / n).abs();
        let worst = gaps.iter().enumerate().map(distance).fold(0.0, f64::max);
        assert!(worst < 1.95 / n.sqrt(), "{worst}");
    }

    #[test]
    fn counts_per_millisecond_have_the_variance_of_their_mean() {
        let mut counts = vec![0f64; 10_000];
        times(50_000, 5, 10).iter().for_each(|ns| counts[(ns / 1_000_000) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!((variance / mean - 1.0).abs() < 0.05, "variance/mean {}", variance / mean);
    }

    #[test]
    fn golden_vector() {
        assert_eq!(times(1000, 1, 1)[..3], [208_732, 500_282, 2_801_359]);
        assert!(Poisson::new(Instant::ZERO, Rate::ZERO, Prng::from_seed(1)).is_none());
    }
}
