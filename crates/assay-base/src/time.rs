//! Time as an argument: a monotonic instant and a duration, both in whole nanoseconds.
//!
//! No clock is read here. `assay-device::clock` reads the only real clock; the virtual shell computes its own time.

use crate::number::{UnitError, number_and_unit, parse_scaled_decimal};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};
use std::str::FromStr;

/// A point on a run's own monotonic time line, in nanoseconds since that line's origin.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// The origin of the time line.
    pub const ZERO: Instant = Instant { ns: 0 };
    /// Later than everything else: "no wake-up is due".
    pub const FAR: Instant = Instant { ns: u64::MAX };

    /// The instant `ns` nanoseconds after the origin.
    pub const fn from_ns(ns: u64) -> Self {
        Instant { ns }
    }

    /// Nanoseconds since the origin.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// How long after `earlier` this is; zero when it is not after it.
    pub const fn since(self, earlier: Instant) -> Span {
        Span { ns: self.ns.saturating_sub(earlier.ns) }
    }
}

impl Add<Span> for Instant {
    type Output = Instant;
    fn add(self, span: Span) -> Instant {
        Instant { ns: self.ns.saturating_add(span.ns) }
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Instant {
    type Output = Instant;
    fn sub(self, span: Span) -> Instant {
        Instant { ns: self.ns.saturating_sub(span.ns) }
    }
}

/// A duration in nanoseconds. Its text is a number and a unit: `1ms`, `1.5s`, `24h`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Span {
    ns: u64,
}

/// Unit names and their nanoseconds, the largest first. `µs` is accepted as well as `us`.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl Span {
    /// A duration of zero.
    pub const ZERO: Span = Span { ns: 0 };

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Span { ns }
    }
    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Span { ns: us.saturating_mul(1_000) }
    }
    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Span { ns: ms.saturating_mul(1_000_000) }
    }
    /// `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Span { ns: s.saturating_mul(1_000_000_000) }
    }
    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }
    /// Seconds, for display and ratios only.
    pub fn as_secs_f64(self) -> f64 {
        self.ns as f64 / 1e9
    }
    /// True for a duration of zero.
    pub const fn is_zero(self) -> bool {
        self.ns == 0
    }
    /// `self - other`, zero when `other` is longer.
    pub const fn saturating_sub(self, other: Span) -> Span {
        Span { ns: self.ns.saturating_sub(other.ns) }
    }
    /// Rounded for people: at most three significant digits in the largest unit that keeps it at least 1 (`1.23 ms`).
    pub fn human_text(self) -> String {
        let units = [("h", 3600e9), ("min", 60e9), ("s", 1e9), ("ms", 1e6), ("µs", 1e3)];
        let ns = self.ns as f64;
        for (name, size) in units {
            if ns >= size {
                let value = ns / size;
                let digits = if value >= 99.95 || (value - value.round()).abs() < 0.005 {
                    0
                } else if value >= 9.995 {
                    1
                } else {
                    2
                };
                return format!("{value:.digits$} {name}");
            }
        }
        format!("{} ns", self.ns)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span { ns: self.ns.saturating_add(other.ns) }
    }
}

impl fmt::Display for Span {
    /// Exact text: the largest unit in which the span is a whole number, so that the text reads back to the same span.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ns == 0 {
            return f.pad("0s");
        }
        // Days would surprise a reader who thinks in hours ("24h").
        let (name, size) = UNITS[1..].iter().find(|(_, size)| self.ns.is_multiple_of(*size)).unwrap_or(&("ns", 1));
        f.pad(&format!("{}{name}", self.ns / size))
    }
}

/// The error for a text that is not a time.
fn time_error(text: &str, what: &'static str) -> UnitError {
    UnitError::new(text, what, "a time with its unit, such as 1ms, 30s or 24h")
}

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        let (number, unit) = number_and_unit(text);
        if number == "0" && unit.is_empty() {
            return Ok(Span::ZERO);
        }
        let unit = match unit {
            "µs" => "us",
            "m" if parse_scaled_decimal(number, 1_000_000).is_some() => {
                let meant = format!("{number}min, or {number}ms for milliseconds");
                return Err(UnitError::new(text, "\"m\" could mean minutes or milli", meant));
            }
            other => other,
        };
        if unit.is_empty() {
            return Err(time_error(text, "the unit is missing"));
        }
        let size = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(|| time_error(text, "unknown unit"))?.1;
        let ns = parse_scaled_decimal(number, size)
            .ok_or_else(|| time_error(text, "not a number of whole nanoseconds in range"))?;
        Ok(Span { ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_reads_back_to_the_same_span() {
        for text in ["1ms", "1500us", "24h", "1ns", "90s", "30min", "0s", "8ms"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span, "{text}");
        }
        assert_eq!("1.5s".parse::<Span>().unwrap(), Span::from_ms(1500));
        assert_eq!("1d".parse::<Span>().unwrap().to_string(), "24h");
        assert_eq!("250µs".parse::<Span>().unwrap(), Span::from_us(250));
    }

    #[test]
    fn refused_texts_say_why() {
        for (text, why) in [
            ("10", "unit is missing"),
            ("10m", "minutes or milli"),
            ("x", "unknown unit"),
            ("-1s", "unknown unit"),
            ("1.5ns", "whole nanoseconds"),
            ("99999999999h", "in range"),
            ("", "unit is missing"),
            ("1e6s", "unknown unit"),
        ] {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn human_text_keeps_three_digits() {
        for (ns, text) in [
            (999, "999 ns"),
            (1_000, "1 µs"),
            (1_234_567, "1.23 ms"),
            (12_345_678, "12.3 ms"),
            (123_456_789, "123 ms"),
            (3_600_000_000_000, "1 h"),
        ] {
            assert_eq!(Span::from_ns(ns).human_text(), text);
        }
    }
}
