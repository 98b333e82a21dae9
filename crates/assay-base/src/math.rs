//! Logarithm and exponential in plain IEEE arithmetic, so that a replay does not depend on the platform's mathematics
//! library.
//!
//! Logarithm: x = m·2^e with m in [√½, √2), then ln m = 2·artanh((m − 1)/(m + 1)) by its series (Abramowitz and Stegun 4.1.27),
//! whose terms fall by a factor of at least 33. Exponential: x = k·ln 2 + r with |r| ≤ ½ ln 2, then e^r by its power series up to the 13th
//! term (the next is below 1e-17). Largest error against the platform's own in the tests: 1e-15 relative.

use std::f64::consts::{LN_2, SQRT_2};

/// The mantissa bits of a double, and the bit pattern of 1.0.
const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
const ONE: u64 = 0x3ff0_0000_0000_0000;

/// ln(x) for a positive, normal, finite `x`.
#[inline]
pub fn ln(x: f64) -> f64 {
    debug_assert!(x.is_normal() && x > 0.0, "the logarithm of a positive normal number");
    let bits = x.to_bits();
    let m = f64::from_bits(bits & MANTISSA | ONE);
    // Halved through its exponent, without a branch: which half a random number falls into is unpredictable.
    let halved = u64::from(m > SQRT_2);
    let exponent = ((bits >> 52) + halved) as i64 - 1023;
    let m = f64::from_bits(m.to_bits() - (halved << 52));
    exponent as f64 * LN_2 + twice_artanh((m - 1.0) / (m + 1.0))
}

/// 2·artanh(s) for |s| ≤ 0.172, which is ln((1 + s) / (1 − s)).
#[inline(always)]
fn twice_artanh(s: f64) -> f64 {
    let z = s * s;
    // Estrin's scheme: terms are summed in pairs, so that the processor does not wait for each of them in turn.
    let (z2, z4) = (z * z, (z * z) * (z * z));
    let low = (1.0 + z * (1.0 / 3.0)) + z2 * ((1.0 / 5.0) + z * (1.0 / 7.0));
    let middle = ((1.0 / 9.0) + z * (1.0 / 11.0)) + z2 * ((1.0 / 13.0) + z * (1.0 / 15.0));
    let high = ((1.0 / 17.0) + z * (1.0 / 19.0)) + z2 * (1.0 / 21.0);
    2.0 * s * (low + z4 * (middle + z4 * high))
}

/// ln(1 + x) for x > −1, exact also where x is small.
#[inline]
pub fn ln_1p(x: f64) -> f64 {
    debug_assert!(x > -1.0, "the logarithm of a positive number");
    if x > -0.29 && x < 0.41 { twice_artanh(x / (2.0 + x)) } else { ln(1.0 + x) }
}

/// ln 2 in two parts, of which the first has few enough digits that its multiples are exact.
const LN_2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN_2_LOW: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
/// Beyond it e^x is not a normal number.
const LARGEST: f64 = 700.0;

/// e^x for |x| ≤ 700; beyond that e^700, or e^−700.
#[inline]
pub fn exp(x: f64) -> f64 {
    let x = x.clamp(-LARGEST, LARGEST);
    // Rounded to the nearest whole number by the sum, which has no room for more digits: rounding by a function would call one.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    let k = (x * std::f64::consts::LOG2_E + SHIFT) - SHIFT;
    let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
    let power = f64::from_bits(((k as i64 + 1023) as u64) << 52);
    power + power * r * exp_minus_one_series(r)
}

/// e^x − 1 for |x| ≤ 700, exact also where x is small.
#[inline]
pub fn exp_m1(x: f64) -> f64 {
    if x.abs() < 0.34 { x * exp_minus_one_series(x) } else { exp(x) - 1.0 }
}

/// (e^r − 1) / r for |r| ≤ 0.35, by Estrin's order.
#[inline(always)]
fn exp_minus_one_series(r: f64) -> f64 {
    let (r2, r4) = (r * r, (r * r) * (r * r));
    let first = (1.0 + r * (1.0 / 2.0)) + r2 * ((1.0 / 6.0) + r * (1.0 / 24.0));
    let second = ((1.0 / 120.0) + r * (1.0 / 720.0)) + r2 * ((1.0 / 5040.0) + r * (1.0 / 40_320.0));
    let third = ((1.0 / 362_880.0) + r * (1.0 / 3_628_800.0)) + r2 * ((1.0 / 39_916_800.0) + r * (1.0 / 479_001_600.0));
    first + r4 * (second + r4 * (third + r4 * (1.0 / 6_227_020_800.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Prng;

    #[test]
    fn agrees_with_the_platform() {
        let mut prng = Prng::from_seed(1);
        for x in (0..100_000).map(|_| prng.uniform_unit()).chain([1.0, 0.5, 2.0, 1e-16, 1e16, SQRT_2, 0.999_999_999]) {
            let (ours, theirs) = (ln(x), x.ln());
            assert!((ours - theirs).abs() <= 1e-15 * theirs.abs().max(1.0), "ln({x}) = {ours}, not {theirs}");
        }
        assert_eq!(ln(1.0), 0.0);
    }

    #[test]
    fn exponentials_agree_with_the_platform() {
        let mut prng = Prng::from_seed(2);
        let near = |ours: f64, theirs: f64| (ours - theirs).abs() <= 1e-15 * theirs.abs();
        for x in (0..100_000).map(|_| 2.0 * prng.uniform_unit() - 1.0) {
            for scale in [1e-9, 0.1, 1.0, 30.0, 690.0] {
                let x = x * scale;
                assert!(near(exp(x), x.exp()), "exp({x}) = {}, not {}", exp(x), x.exp());
                assert!(near(exp_m1(x), x.exp_m1()), "exp_m1({x}) = {}, not {}", exp_m1(x), x.exp_m1());
                if x > -1.0 {
                    assert!(near(ln_1p(x), x.ln_1p()), "ln_1p({x}) = {}, not {}", ln_1p(x), x.ln_1p());
                }
            }
        }
        assert_eq!((exp(0.0), exp_m1(0.0), ln_1p(0.0)), (1.0, 0.0, 0.0));
        assert_eq!((exp(1e9), exp(-1e9)), (exp(700.0), exp(-700.0)));
    }

    #[test]
    fn golden_vector() {
        assert_eq!(ln(0.1).to_bits(), 0xc002_6bb1_bbb5_5515);
    }
}
