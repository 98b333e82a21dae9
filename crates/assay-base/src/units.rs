//! Quantities with their units: sizes, rates, shares. Rates are exact fractions, so that no load is lost to rounding.

use crate::number::{UnitError, number_and_unit, parse_scaled_decimal};
use std::fmt;
use std::str::FromStr;

/// A number of bytes. Its text carries a unit: `8KiB`, `1536B`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(u64);

const BYTE_UNITS: [(&str, u64); 9] = [
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
];

impl Bytes {
    /// `n` bytes.
    pub const fn new(n: u64) -> Self {
        Bytes(n)
    }
    /// `n` KiB.
    pub const fn from_kib(n: u64) -> Self {
        Bytes(n << 10)
    }
    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
    /// Rounded for people, binary units: `1.23 GiB`.
    pub fn human_text(self) -> String {
        for (name, size) in &BYTE_UNITS[..4] {
            if self.0 >= *size {
                let value = self.0 as f64 / *size as f64;
                let digits = if value >= 100.0 || self.0.is_multiple_of(*size) { 0 } else { 2 };
                return format!("{value:.digits$} {name}");
            }
        }
        format!("{} B", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = BYTE_UNITS[..4].iter().find(|(_, size)| self.0 != 0 && self.0.is_multiple_of(*size));
        let (name, size) = unit.unwrap_or(&("B", 1));
        f.pad(&format!("{}{name}", self.0 / size))
    }
}

/// The error for a text that is not a size.
fn size_error(text: &str, what: &'static str) -> UnitError {
    UnitError::new(text, what, "a size with its unit, such as 1536B, 8KiB or 2GiB")
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let (number, unit) = number_and_unit(text);
        if unit.is_empty() {
            return Err(size_error(text, "the unit is missing"));
        }
        let size = BYTE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| size_error(text, "unknown unit"))?.1;
        parse_scaled_decimal(number, size)
            .map(Bytes)
            .ok_or_else(|| size_error(text, "not a whole number of bytes in range"))
    }
}

/// Operations per second as an exact fraction; never zero operations per zero seconds.
///
/// Kept in lowest terms, so equal rates compare equal. A rate of zero is representable (a stream that is switched off);
/// workload files refuse it where it makes no sense.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate {
    operations: u64,
    seconds: u64,
}

impl Rate {
    /// No operations.
    pub const ZERO: Rate = Rate { operations: 0, seconds: 1 };

    /// `n` operations per second.
    pub const fn per_second(n: u64) -> Rate {
        Rate { operations: n, seconds: 1 }
    }

    /// `operations` per `seconds`, in lowest terms; `None` when `seconds` is 0 or the lowest terms do not fit 64 bits.
    pub fn from_ratio(operations: u128, seconds: u128) -> Option<Rate> {
        if seconds == 0 {
            return None;
        }
        let divisor = gcd(operations, seconds);
        Some(Rate {
            operations: u64::try_from(operations / divisor).ok()?,
            seconds: u64::try_from(seconds / divisor).ok()?,
        })
    }

    /// Numerator (operations) and denominator (seconds) in lowest terms.
    pub const fn as_ratio(self) -> (u64, u64) {
        (self.operations, self.seconds)
    }

    /// True for the rate zero, which schedules nothing.
    pub const fn is_zero(self) -> bool {
        self.operations == 0
    }

    /// This rate times `numerator / denominator`; `None` when it does not fit.
    pub fn scaled_by(self, numerator: u64, denominator: u64) -> Option<Rate> {
        let operations = u128::from(self.operations).checked_mul(u128::from(numerator))?;
        Rate::from_ratio(operations, u128::from(self.seconds).checked_mul(u128::from(denominator))?)
    }

    /// The sum of two rates; `None` when it does not fit.
    pub fn checked_plus(self, other: Rate) -> Option<Rate> {
        let (a, b) = (u128::from(self.operations), u128::from(self.seconds));
        let (c, d) = (u128::from(other.operations), u128::from(other.seconds));
        Rate::from_ratio(a.checked_mul(d)?.checked_add(c.checked_mul(b)?)?, b.checked_mul(d)?)
    }

    /// How many operations a steady schedule has in `span` if the first one is due at its start: `ceil(rate × span)`.
    pub fn operations_in(self, span: crate::Span) -> u64 {
        let scaled = u128::from(self.operations) * u128::from(span.as_ns());
        u64::try_from(scaled.div_ceil(u128::from(self.seconds) * 1_000_000_000)).unwrap_or(u64::MAX)
    }

    /// Operations per second, for display and ratios only.
    pub fn as_f64(self) -> f64 {
        self.operations as f64 / self.seconds as f64
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

impl fmt::Display for Rate {
    /// A decimal where it is exact to six places, otherwise the fraction itself (`400/17/s`), so that it reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millionths = u128::from(self.operations) * 1_000_000;
        if !millionths.is_multiple_of(u128::from(self.seconds)) {
            return f.pad(&format!("{}/{}/s", self.operations, self.seconds));
        }
        let millionths = millionths / u128::from(self.seconds);
        let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
        f.pad(&format!("{}/s", text.trim_end_matches('0').trim_end_matches('.')))
    }
}

/// The error for a text that is not a rate.
fn rate_error(text: &str, what: &'static str) -> UnitError {
    UnitError::new(text, what, "a rate per second, such as 2000/s or 0.5/s")
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        let number = text.trim().strip_suffix("/s").ok_or_else(|| rate_error(text, "the unit is missing"))?;
        if let Some((operations, seconds)) = number.split_once('/') {
            let (operations, seconds) = (operations.parse::<u64>().ok(), seconds.parse::<u64>().ok());
            let ratio = operations.zip(seconds).and_then(|(o, s)| Rate::from_ratio(o.into(), s.into()));
            return ratio.ok_or_else(|| rate_error(text, "not a fraction of whole numbers"));
        }
        let millionths =
            parse_scaled_decimal(number.trim(), 1_000_000).ok_or_else(|| rate_error(text, "not a number in range"))?;
        Rate::from_ratio(u128::from(millionths), 1_000_000).ok_or_else(|| rate_error(text, "out of range"))
    }
}

/// A share of a whole, exact in parts per billion. Its text is a percentage: `5%`, `0.1%`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Share {
    ppb: u64,
}

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share { ppb: 1_000_000_000 };

    /// `ppb` parts per billion; more than the whole is representable (a growth of 150 %).
    pub const fn from_ppb(ppb: u64) -> Share {
        Share { ppb }
    }
    /// `percent` percent.
    pub const fn from_percent(percent: u64) -> Share {
        Share { ppb: percent * 10_000_000 }
    }
    /// Parts per billion.
    pub const fn as_ppb(self) -> u64 {
        self.ppb
    }
    /// As a fraction of 1, for display and ratios only.
    pub fn as_f64(self) -> f64 {
        self.ppb as f64 / 1e9
    }
    /// True when `part` of `whole` is at most this share, decided in whole numbers. Zero of zero is within any share.
    pub fn allows_part(self, part: u64, whole: u64) -> bool {
        u128::from(part) * 1_000_000_000 <= u128::from(whole) * u128::from(self.ppb)
    }
    /// True when `part` of `whole` is strictly less than this share (ACT's "fewer than 5 %").
    pub fn is_above_part(self, part: u64, whole: u64) -> bool {
        u128::from(part) * 1_000_000_000 < u128::from(whole) * u128::from(self.ppb)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:07}", self.ppb / 10_000_000, self.ppb % 10_000_000);
        f.pad(&format!("{}%", text.trim_end_matches('0').trim_end_matches('.')))
    }
}

/// The error for a text that is not a share.
fn share_error(text: &str, what: &'static str) -> UnitError {
    UnitError::new(text, what, "a percentage, such as 5% or 0.1%")
}

impl FromStr for Share {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Share, UnitError> {
        let number = text.trim().strip_suffix('%').ok_or_else(|| share_error(text, "the % is missing"))?;
        parse_scaled_decimal(number.trim(), 10_000_000)
            .map(Share::from_ppb)
            .ok_or_else(|| share_error(text, "not a number in range"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Span;

    #[test]
    fn bytes_texts() {
        for (text, n, shown) in [
            ("1536B", 1536, "1536B"),
            ("8KiB", 8192, "8KiB"),
            ("1.5KiB", 1536, "1536B"),
            ("2 GiB", 2 << 30, "2GiB"),
            ("1kB", 1000, "1000B"),
            ("0B", 0, "0B"),
        ] {
            let bytes: Bytes = text.parse().unwrap();
            assert_eq!((bytes.get(), bytes.to_string().as_str()), (n, shown), "{text}");
        }
        for bad in ["8", "8K", "", "KiB", "-1B", "1e3B", "0.3B", "99999999999TiB", "8kib", "1.B"] {
            assert!(bad.parse::<Bytes>().is_err(), "{bad}");
        }
    }

    #[test]
    fn rates_are_exact() {
        // The worked example of ACT's README: 1504 B records, 1000 writes/s, 128 KiB blocks, defragmentation doubles it.
        let blocks = Rate::from_ratio(1000 * 1504 * 2, 128 * 1024).unwrap();
        assert_eq!(format!("{:.3}", blocks.as_f64()), "22.949");
        assert_eq!(blocks.to_string().parse::<Rate>().unwrap(), blocks);
        assert_eq!("2000/s".parse::<Rate>().unwrap(), Rate::per_second(2000));
        assert_eq!("0.5/s".parse::<Rate>().unwrap().as_ratio(), (1, 2));
        assert_eq!(Rate::per_second(2000).scaled_by(1, 3).unwrap().scaled_by(3, 1).unwrap(), Rate::per_second(2000));
        for bad in ["2000", "2000/h", "60k/s", "/s", "1/0/s", "-1/s", ""] {
            assert!(bad.parse::<Rate>().is_err(), "{bad}");
        }
        assert_eq!(Rate::from_ratio(1, 0), None);
        assert_eq!(Rate::from_ratio(u128::MAX, 1), None);
    }

    #[test]
    fn operations_in_a_span() {
        assert_eq!(Rate::per_second(2000).operations_in(Span::from_secs(3600)), 7_200_000);
        assert_eq!(Rate::from_ratio(1, 3).unwrap().operations_in(Span::from_secs(1)), 1);
        assert_eq!(Rate::ZERO.operations_in(Span::from_secs(1)), 0);
    }

    #[test]
    fn shares_decide_in_whole_numbers() {
        let five: Share = "5%".parse().unwrap();
        assert!(
            five.allows_part(50, 1000)
                && !five.allows_part(51, 1000)
                && !five.is_above_part(50, 1000)
                && five.is_above_part(49, 1000)
        );
        assert_eq!("0.1%".parse::<Share>().unwrap().to_string(), "0.1%");
        for bad in ["5", "%", "five%", "-1%"] {
            assert!(bad.parse::<Share>().is_err(), "{bad}");
        }
    }
}
