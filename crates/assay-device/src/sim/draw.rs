//! Random times for the simulated devices: exponential, geometric and log-normal draws.
//!
//! They are written out here, including the exponential function, with only the four basic operations and square roots:
//! IEEE 754 defines the results of those to the bit, so a replay does not depend on a mathematics library or a
//! processor. Sources: M. J. Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied
//! Statistics 37 (1988) for the normal quantile (relative error about 1e-16), Taylor's series for the exponential
//! function.

use assay_base::math::ln;
use assay_base::{Prng, Span};
use std::f64::consts::LN_2;

/// e to the power of `x`; `x` is limited to −700 … 700, where the result is a normal number.
pub(super) fn exp_clamped(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let power = (x / LN_2).round();
    let rest = x - power * LN_2;
    let series = (1..18).rev().fold(1.0, |sum, i| 1.0 + sum * rest / f64::from(i));
    series * f64::from_bits(((power as i64 + 1023) as u64) << 52)
}

/// A quotient of two polynomials, coefficients from the constant term upwards.
fn polynomial_ratio(x: f64, above: &[f64; 8], below: &[f64; 8]) -> f64 {
    let [above, below] = [above, below].map(|terms| terms.iter().rev().fold(0.0, |sum, term| sum * x + term));
    above / below
}

const CENTRE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
const FLANK: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
];
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
];

/// The standard normal value below which a share `p` of all draws lies; `p` is strictly between 0 and 1.
pub(super) fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        return q * polynomial_ratio(0.180_625 - q * q, &CENTRE[0], &CENTRE[1]);
    }
    let tail = (-ln(if q < 0.0 { p } else { 1.0 - p })).sqrt();
    let size = if tail <= 5.0 {
        polynomial_ratio(tail - 1.6, &FLANK[0], &FLANK[1])
    } else {
        polynomial_ratio(tail - 5.0, &FAR[0], &FAR[1])
    };
    if q < 0.0 { -size } else { size }
}

/// An exponential draw of the given mean.
pub(super) fn draw_exponential(prng: &mut Prng, mean: f64) -> f64 {
    -ln(prng.uniform_unit()) * mean
}

/// The number of trials until and including the first success, when each trial succeeds with probability `part /
/// whole`; `part` is at least 1 and at most `whole`.
pub(super) fn draw_geometric(prng: &mut Prng, part: u64, whole: u64) -> u64 {
    if part >= whole {
        return 1;
    }
    let miss = ln((whole - part) as f64 / whole as f64);
    1 + (ln(prng.uniform_unit()) / miss) as u64
}

const CELLS: usize = 1024;

/// A log-normal time, drawn from a table of its quantiles.
///
/// Between two of the 1023 inner quantiles the draw is linear (no logarithm on the hot path); in the outermost 1/1024
/// on either side it is computed exactly, so that the tail is exact.
#[derive(Clone, Debug)]
pub(super) struct LogNormal {
    median: f64,
    sigma: f64,
    knots: Box<[u64; CELLS]>,
}

impl LogNormal {
    /// The distribution of `median × e^(sigma × Z)`, Z standard normal.
    pub(super) fn new(median: Span, sigma: f64) -> LogNormal {
        let mut made = LogNormal { median: median.as_ns() as f64, sigma, knots: Box::new([0; CELLS]) };
        for i in 1..CELLS {
            made.knots[i] = made.quantile_ns(i as f64 / CELLS as f64);
        }
        made
    }

    /// The time below which a share `p` of the draws lies, in nanoseconds; never 0, so that time advances.
    fn quantile_ns(&self, p: f64) -> u64 {
        ((self.median * exp_clamped(self.sigma * normal_quantile(p)) + 0.5) as u64).max(1)
    }

    /// One draw in nanoseconds.
    #[inline]
    pub(super) fn draw_ns(&self, prng: &mut Prng) -> u64 {
        let bits = prng.next_u64();
        let cell = (bits >> 54) as usize;
        let within = (bits >> 22) & 0xffff_ffff;
        if cell == 0 || cell == CELLS - 1 {
            return self.outer_quantile(cell, within);
        }
        let (low, high) = (self.knots[cell], self.knots[cell + 1]);
        low + (((high - low) as u128 * within as u128) >> 32) as u64
    }

    #[cold]
    fn outer_quantile(&self, cell: usize, within: u64) -> u64 {
        self.quantile_ns((cell as f64 + (within as f64 + 0.5) / 4_294_967_296.0) / CELLS as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_agrees_with_the_platform() {
        for x in [-700.0, -20.0, -1.0, -1e-9, 0.0, 0.3, 1.0, 20.0, 700.0] {
            let (ours, theirs) = (exp_clamped(x), f64::exp(x));
            assert!((ours - theirs).abs() <= 1e-13 * theirs, "exp {x}: {ours} {theirs}");
        }
    }

    #[test]
    fn normal_quantiles() {
        // Tables of the normal distribution; the last value is the worked example of AS 241 itself.
        for (p, z) in [
            (0.5, 0.0),
            (0.975, 1.959_963_984_540_054),
            (0.001, -3.090_232_306_167_813_5),
            (0.25, -0.674_489_750_196_081_7),
            (1e-20, -9.262_340_089_798_408),
        ] {
            assert!((normal_quantile(p) - z).abs() < 1e-13, "{p}: {}", normal_quantile(p));
        }
    }

    #[test]
    fn golden_vectors() {
        let mut prng = Prng::from_seed(1);
        let exponential: Vec<u64> = (0..4).map(|_| draw_exponential(&mut prng, 1e6) as u64).collect();
        let geometric: Vec<u64> = (0..4).map(|_| draw_geometric(&mut prng, 1, 1000)).collect();
        let log_normal = LogNormal::new(Span::from_us(90), 0.25);
        let log_normal: Vec<u64> = (0..4).map(|_| log_normal.draw_ns(&mut prng)).collect();
        // The first two lists are exact in any language; the log-normal draws differ from the formula itself (65009,
        // 68254, 127960, 81376) because of the linear interpolation, by less than 1 part in 10 000.
        assert_eq!(exponential, [208_732, 291_549, 2_301_077, 292_739]);
        assert_eq!(geometric, [1689, 527, 14, 648]);
        assert_eq!(log_normal, [65_008, 68_253, 127_960, 81_376]);
    }

    /// Pearson's statistic of `draws` over cells of equal probability, cut at `bounds`.
    fn chi_square(draws: impl Iterator<Item = f64>, bounds: &[f64]) -> f64 {
        let mut counts = vec![0u32; bounds.len() + 1];
        let mut total = 0;
        for draw in draws {
            counts[bounds.partition_point(|bound| *bound <= draw)] += 1;
            total += 1;
        }
        let expected = f64::from(total) / counts.len() as f64;
        counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn goodness_of_fit() {
        // 19 degrees of freedom: one seed in a thousand exceeds 43.8.
        let shares = || (1..20).map(|i| f64::from(i) / 20.0);
        let mut prng = Prng::from_seed(7);
        let bounds: Vec<f64> = shares().map(|p| -(1.0 - p).ln() * 5.0).collect();
        let drawn = chi_square((0..200_000).map(|_| draw_exponential(&mut prng, 5.0)), &bounds);
        assert!(drawn < 43.8, "exponential: {drawn}");
        for sigma in [0.05, 0.25, 1.0] {
            let log_normal = LogNormal::new(Span::from_ms(1), sigma);
            let bounds: Vec<f64> = shares().map(|p| 1e6 * (sigma * normal_quantile(p)).exp()).collect();
            let drawn = chi_square((0..200_000).map(|_| log_normal.draw_ns(&mut prng) as f64), &bounds);
            assert!(drawn < 43.8, "log-normal {sigma}: {drawn}");
        }
        let mean = (0..200_000).map(|_| draw_geometric(&mut prng, 1, 50) as f64).sum::<f64>() / 200_000.0;
        assert!((mean - 50.0).abs() < 0.5, "geometric: {mean}");
    }

    #[test]
    fn the_tail_is_the_true_one() {
        let log_normal = LogNormal::new(Span::from_us(100), 0.5);
        let mut prng = Prng::from_seed(3);
        let bound = 100e3 * (0.5 * normal_quantile(0.9999)).exp();
        let over = (0..2_000_000).filter(|_| log_normal.draw_ns(&mut prng) as f64 > bound).count();
        assert!((140..=260).contains(&over), "200 of 2 million expected, {over} drawn");
    }

    #[test]
    fn extremes_stay_in_range() {
        let mut prng = Prng::from_seed(5);
        assert!((0..1000).all(|_| draw_geometric(&mut prng, 1, 1) == 1));
        let narrow = LogNormal::new(Span::from_ns(1), 0.0);
        assert!((0..10_000).all(|_| narrow.draw_ns(&mut prng) == 1));
        let wide = LogNormal::new(Span::from_secs(60), 2.0);
        assert!((0..100_000).all(|_| wide.draw_ns(&mut prng) < 1 << 58));
    }
}
