//! Zipf's law: rank r of N (from 1) has a probability proportional to r^−θ, for any N up to 2^52 and θ from 0 to 10,
//! including 1.
//!
//! Method: rejection-inversion (W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from monotone
//! discrete distributions", ACM TOMACS 6(3), 1996), with H(x) = ∫₁ˣ t^−θ dt computed by ln, e^x − 1 and ln(1 + x), so
//! that it is exact near θ = 1. It is exact for every rank: it has no table and no truncated sum. Ranks are drawn
//! several at a time: their logarithms are independent, so processors compute them in parallel.

use assay_base::{Prng, math};

/// Bound on 1 − θ: above it, the rounding of 1 + u · (1 − θ) changes a rank by at most a part in 10^13.
const NEAR: f64 = 1e-3;
/// Lower bound on the argument of the logarithm: rounding may lead slightly below its range.
const LEAST: f64 = 1e-16;

/// See the module.
#[derive(Clone, Debug)]
pub struct Zipf {
    n: u64,
    /// 1 − θ.
    slope: f64,
    /// 1 / (1 − θ) if the short formula is exact enough, which it is not near θ = 1.
    per_slope: Option<f64>,
    /// H after the last rank, and how far before it the first rank begins.
    last: f64,
    range: f64,
    /// A rank is accepted at once if the real number that it was rounded from is at most this much below it.
    sure: f64,
    /// Ranks that were drawn in advance, and the index of the first unused one.
    drawn: [u64; AT_A_TIME],
    at: usize,
}

/// Ranks drawn at a time.
const AT_A_TIME: usize = 8;

impl Zipf {
    /// The law over `n` ranks (at least 1) with exponent `exponent`.
    pub fn new(n: u64, exponent: f64) -> Zipf {
        let (n, slope) = (n.max(1), 1.0 - exponent);
        let last = integral_to(n as f64 + 0.5, slope);
        let range = integral_to(1.5, slope) - 1.0 - last;
        let sure = 2.0 - inverse_integral(integral_to(2.5, slope) - weight_at(2.0, slope), slope);
        let per_slope = (slope.abs() > NEAR).then(|| 1.0 / slope);
        Zipf { n, slope, per_slope, last, range, sure, drawn: [0; AT_A_TIME], at: AT_A_TIME }
    }

    /// The next rank, from 0.
    #[inline]
    pub fn next(&mut self, prng: &mut Prng) -> u64 {
        if self.at == AT_A_TIME {
            self.draw_uniform(prng);
        }
        self.at += 1;
        self.drawn[self.at - 1]
    }

    #[inline(never)]
    fn draw_uniform(&mut self, prng: &mut Prng) {
        let areas: [f64; AT_A_TIME] = std::array::from_fn(|_| self.last + prng.uniform_unit() * self.range);
        let places = areas.map(|area| self.place_at_area(area));
        for at in 0..AT_A_TIME {
            let (mut area, mut place) = (areas[at], places[at]);
            self.drawn[at] = loop {
                if let Some(rank) = self.rank_of_place(area, place) {
                    break rank;
                }
                area = self.last + prng.uniform_unit() * self.range;
                place = self.place_at_area(area);
            };
        }
        self.at = 0;
    }

    /// The point at which H reaches an area.
    #[inline(always)]
    fn place_at_area(&self, area: f64) -> f64 {
        match self.per_slope {
            // Without a branch that depends on the random value.
            Some(per_slope) => math::exp(math::ln((1.0 + area * self.slope).max(LEAST)) * per_slope),
            None => inverse_integral(area, self.slope),
        }
    }

    /// The rank of a place, from 0, unless it is rejected.
    #[inline(always)]
    fn rank_of_place(&self, area: f64, place: f64) -> Option<u64> {
        // The cast saturates for a float beyond the integers, and for NaN.
        let rank = ((place + 0.5) as u64).clamp(1, self.n);
        (rank as f64 - place <= self.sure || self.is_below(rank as f64, area)).then_some(rank - 1)
    }

    #[inline(never)]
    fn is_below(&self, rank: f64, area: f64) -> bool {
        area >= integral_to(rank + 0.5, self.slope) - weight_at(rank, self.slope)
    }
}

/// x^−θ.
#[inline(always)]
fn weight_at(x: f64, slope: f64) -> f64 {
    math::exp((slope - 1.0) * math::ln(x))
}

/// The integral of t^−θ from 1 to x: (x^(1−θ) − 1) / (1 − θ), and ln x for θ = 1.
#[inline(always)]
fn integral_to(x: f64, slope: f64) -> f64 {
    let ln = math::ln(x);
    let power = slope * ln;
    if power.abs() < 1e-9 { ln * (1.0 + 0.5 * power) } else { math::exp_m1(power) / slope }
}

/// Its inverse.
#[inline(always)]
fn inverse_integral(u: f64, slope: f64) -> f64 {
    let power = (u * slope).max(LEAST - 1.0);
    let ln = if power.abs() < 1e-9 { u * (1.0 - 0.5 * power) } else { math::ln_1p(power) / slope };
    math::exp(ln)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 1_000_000;

    #[test]
    fn the_law_by_chi_squared() {
        // There are at most 999 degrees of freedom; ranks with few draws are combined. The 0.1 % point is computed by
        // the approximation of Wilson and Hilferty.
        for (seed, exponent) in [0.5, 0.99, 1.0, 1.2, 2.0, 0.0, 10.0].into_iter().enumerate() {
            let (mut zipf, mut prng, mut counts) =
                (Zipf::new(1000, exponent), Prng::from_seed(seed as u64), vec![0f64; 1000]);
            (0..DRAWS).for_each(|_| counts[zipf.next(&mut prng) as usize] += 1.0);
            let weights: Vec<f64> = (1..=1000).map(|rank| f64::from(rank).powf(-exponent)).collect();
            let sum: f64 = weights.iter().sum();
            let (mut chi, mut cells, mut seen, mut expected) = (0.0, 0.0f64, 0.0, 0.0);
            for (rank, (count, weight)) in counts.iter().zip(&weights).enumerate() {
                (seen, expected) = (seen + count, expected + weight / sum * DRAWS as f64);
                if expected >= 20.0 || rank == 999 {
                    chi += (seen - expected).powi(2) / expected.max(1.0);
                    (cells, seen, expected) = (cells + 1.0, 0.0, 0.0);
                }
            }
            let free = (cells - 1.0f64).max(1.0);
            let most = free * (1.0 - 2.0 / (9.0 * free) + 3.09 * (2.0 / (9.0 * free)).sqrt()).powi(3);
            assert!(chi < most.max(16.0), "exponent {exponent}: {chi} of {most} over {cells} cells");
        }
    }

    /// The sum of r^−θ over the ranks up to `n`: the first terms are added, the rest is by the Euler–Maclaurin formula.
    fn harmonic(n: f64, exponent: f64) -> f64 {
        let from = n.min(1e6);
        let head: f64 = (1..=from as u64).rev().map(|rank| (rank as f64).powf(-exponent)).sum();
        let area = if exponent == 1.0 {
            (n / from).ln()
        } else {
            (n.powf(1.0 - exponent) - from.powf(1.0 - exponent)) / (1.0 - exponent)
        };
        head + if n > from { area + (n.powf(-exponent) - from.powf(-exponent)) / 2.0 } else { 0.0 }
    }

    #[test]
    fn the_mass_of_the_first_ranks_of_very_many() {
        let n = 1u64 << 40;
        for (seed, exponent) in [0.5, 0.8, 0.99, 1.0, 1.2, 2.0].into_iter().enumerate() {
            let (mut zipf, mut prng, mut found) =
                (Zipf::new(n, exponent), Prng::from_seed(50 + seed as u64), [0u32; 4]);
            let firsts = [1u64, 10, 1000, 1_000_000];
            for _ in 0..DRAWS {
                let rank = zipf.next(&mut prng);
                assert!(rank < n);
                firsts.iter().zip(&mut found).for_each(|(first, found)| *found += u32::from(rank < *first));
            }
            for (first, found) in firsts.iter().zip(found) {
                let mass = harmonic(*first as f64, exponent) / harmonic(n as f64, exponent);
                let (expected, spread) = (mass * DRAWS as f64, 4.0 * (mass * (1.0 - mass) * DRAWS as f64).sqrt());
                assert!(
                    (f64::from(found) - expected).abs() <= spread + 1.0,
                    "{exponent}, {first}: {found} not {expected}"
                );
            }
        }
    }

    #[test]
    fn the_smallest_and_the_largest() {
        let mut prng = Prng::from_seed(1);
        for exponent in [0.0, 1e-9, 0.5, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 3.0, 10.0] {
            for n in [0, 1, 2, 3, (1 << 52) - 1, 1 << 52] {
                let mut zipf = Zipf::new(n, exponent);
                assert!((0..1000).all(|_| zipf.next(&mut prng) < n.max(1)), "{n} {exponent}");
            }
        }
    }

    #[test]
    fn golden_vector() {
        let (mut zipf, mut prng) = (Zipf::new(1 << 20, 1.1), Prng::from_seed(1));
        let first: Vec<u64> = (0..6).map(|_| zipf.next(&mut prng)).collect();
        assert_eq!(first, [2, 4, 63_061, 4, 9622, 23]);
    }
}
