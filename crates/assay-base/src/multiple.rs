//! The load as a multiple of a model's 1x: `30x`, `1.5x`. An exact fraction, so that 1.5x of 2000/s is 3000/s.

use crate::Rate;
use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A positive multiple, exact to six decimal places.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Multiple {
    rate: Rate,
}

impl Multiple {
    /// The model's own load.
    pub const ONE: Multiple = Multiple { rate: Rate::per_second(1) };

    /// `n` times the model's load.
    pub const fn from_whole(n: u64) -> Multiple {
        Multiple { rate: Rate::per_second(n) }
    }

    /// `numerator / denominator` of it; `None` when that is not a positive number.
    pub fn from_ratio(numerator: u64, denominator: u64) -> Option<Multiple> {
        let rate = Rate::from_ratio(u128::from(numerator), u128::from(denominator)).filter(|rate| !rate.is_zero())?;
        Some(Multiple { rate })
    }

    /// `n` millionths; `None` when `n` is 0.
    pub fn from_millionths(n: u64) -> Option<Multiple> {
        Multiple::from_ratio(n, 1_000_000)
    }

    /// The number of whole millionths in it, at most `u64::MAX`; a search counts in them.
    pub fn as_millionths(self) -> u64 {
        let (numerator, denominator) = self.as_ratio();
        let millionths = u128::from(numerator) * 1_000_000 / u128::from(denominator);
        u64::try_from(millionths).unwrap_or(u64::MAX)
    }

    /// Numerator and denominator in lowest terms.
    pub fn as_ratio(self) -> (u64, u64) {
        self.rate.as_ratio()
    }

    /// `rate` times this; `None` when it does not fit.
    pub fn scaled_rate(self, rate: Rate) -> Option<Rate> {
        let (numerator, denominator) = self.as_ratio();
        rate.scaled_by(numerator, denominator)
    }

    /// How many times `other` goes into this; `None` when the result does not fit.
    pub fn divided_by(self, other: Multiple) -> Option<Multiple> {
        let ((a, b), (c, d)) = (self.as_ratio(), other.as_ratio());
        let rate = Rate::from_ratio(u128::from(a) * u128::from(d), u128::from(b) * u128::from(c))
            .filter(|rate| !rate.is_zero())?;
        Some(Multiple { rate })
    }

    /// The product of both; `None` when it does not fit.
    pub fn multiplied_by(self, other: Multiple) -> Option<Multiple> {
        self.scaled_rate(other.rate).filter(|rate| !rate.is_zero()).map(|rate| Multiple { rate })
    }

    /// For display and ratios only.
    pub fn as_f64(self) -> f64 {
        self.rate.as_f64()
    }
}

impl Ord for Multiple {
    fn cmp(&self, other: &Multiple) -> Ordering {
        let ((a, b), (c, d)) = (self.as_ratio(), other.as_ratio());
        (u128::from(a) * u128::from(d)).cmp(&(u128::from(c) * u128::from(b)))
    }
}

impl PartialOrd for Multiple {
    fn partial_cmp(&self, other: &Multiple) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.rate.to_string();
        f.pad(&format!("{}x", text.trim_end_matches("/s")))
    }
}

impl FromStr for Multiple {
    type Err = String;
    fn from_str(text: &str) -> Result<Multiple, String> {
        let number = text.trim().strip_suffix('x');
        let rate = number.and_then(|number| format!("{number}/s").parse::<Rate>().ok());
        let positive = rate.filter(|rate| !rate.is_zero()).map(|rate| Multiple { rate });
        positive.ok_or_else(|| format!("\"{}\" is not a multiple; write it like 30x or 1.5x", text.escape_debug()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        for (text, shown) in [("30x", "30x"), ("1.5x", "1.5x"), ("0.000001x", "0.000001x"), ("1x", "1x")] {
            assert_eq!(text.parse::<Multiple>().map(|m| m.to_string()), Ok(shown.to_owned()));
        }
        for bad in ["30", "x", "0x", "-1x", "1e3x", "", "30 times", "99999999999999999999x"] {
            assert!(bad.parse::<Multiple>().is_err(), "{bad}");
        }
        let order = ["0.000001x", "0.5x", "1x", "400/17x", "30x"].map(|text| text.parse::<Multiple>().unwrap());
        assert!(order.is_sorted() && order[0] < order[1], "{order:?}");
        assert_eq!(order.map(Multiple::as_millionths), [1, 500_000, 1_000_000, 23_529_411, 30_000_000]);
        assert_eq!(Multiple::from_millionths(1_500_000), "1.5x".parse().ok());
        assert_eq!((Multiple::from_millionths(0), Multiple::from_whole(u64::MAX).as_millionths()), (None, u64::MAX));
        assert_eq!(
            "1.5x".parse::<Multiple>().unwrap().scaled_rate(Rate::per_second(2000)),
            Some(Rate::per_second(3000))
        );
        let (three, thirty) = (Multiple::from_whole(3), Multiple::from_whole(30));
        assert_eq!(
            (thirty.divided_by(three), three.divided_by(thirty)),
            (Some(Multiple::from_whole(10)), "0.1x".parse().ok())
        );
        assert_eq!(Multiple::from_whole(u64::MAX).divided_by(order[0]), None);
    }
}
