//! A part of a target: its start and length, in bytes or as a share of the target.

use crate::skip::is_zero_bytes;
use assay_base::{Bytes, Share};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Bytes, or a share of a target's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Amount {
    /// A number of bytes.
    Bytes(Bytes),
    /// A share of the target.
    Share(Share),
}

impl Amount {
    /// Zero bytes.
    pub const ZERO: Amount = Amount::Bytes(Bytes::new(0));

    /// In bytes, on a target of `size` bytes.
    fn bytes_on(self, size: u64) -> u64 {
        match self {
            Amount::Bytes(bytes) => bytes.get(),
            Amount::Share(share) => (u128::from(size) * u128::from(share.as_ppb()) / 1_000_000_000) as u64,
        }
    }

    /// Whether it is possible for a target: no more than the whole.
    pub fn is_within(self) -> bool {
        !matches!(self, Amount::Share(share) if share > Share::WHOLE)
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        matches!(self, Amount::Bytes(bytes) if bytes.get() == 0)
            || matches!(self, Amount::Share(share) if share.as_ppb() == 0)
    }
}

impl FromStr for Amount {
    type Err = String;
    fn from_str(text: &str) -> Result<Amount, String> {
        let amount =
            if text.trim().ends_with('%') { text.parse().map(Amount::Share) } else { text.parse().map(Amount::Bytes) };
        amount.map_err(|_| {
            let text: String = text.chars().take(60).collect();
            format!(
                "\"{}\" is not a part of a target; write a size or a share of it, such as \"10GiB\" or \"50%\"",
                text.escape_debug()
            )
        })
    }
}

impl TryFrom<String> for Amount {
    type Error = String;
    fn try_from(text: String) -> Result<Amount, String> {
        text.parse()
    }
}

impl From<Amount> for String {
    fn from(amount: Amount) -> String {
        amount.to_string()
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Bytes(bytes) => bytes.fmt(f),
            Amount::Share(share) => share.fmt(f),
        }
    }
}

/// What of a target a part is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Frame {
    /// All of it.
    #[default]
    Whole,
    /// All of it but for so much at its end.
    ButLast(Bytes),
    /// So much at its end.
    Last(Bytes),
}

impl Frame {
    fn is_whole(&self) -> bool {
        *self == Frame::Whole
    }

    /// Begin and end on a target of `size` bytes, where what is at its end begins at a multiple of `unit`. Too small a target ends before the
    /// end of the frame.
    fn bounds_within(self, size: u64, unit: u64) -> (u64, u64) {
        match self {
            Frame::Whole => (0, size),
            Frame::ButLast(last) => (0, size.saturating_sub(last.get()) / unit * unit),
            Frame::Last(last) => match size.checked_sub(last.get()) {
                Some(begin) => (begin / unit * unit, size),
                None => (0, last.get()),
            },
        }
    }

    /// Whether two such frames have nothing in common.
    fn is_apart_from(self, other: Frame) -> bool {
        self.ends_before(other) || other.ends_before(self)
    }

    /// Whether this frame leaves out the end of the target that the other one takes.
    fn ends_before(self, other: Frame) -> bool {
        match (self, other) {
            (Frame::ButLast(without), Frame::Last(last)) => last <= without,
            _ => false,
        }
    }
}

/// A part of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Its start, rounded up to the target's blocks.
    pub begin: Amount,
    /// Its length, rounded down to the target's blocks; to the end of the target if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<Amount>,
    /// What it is a part of: its start is counted from there, and shares are of that.
    #[serde(default, skip_serializing_if = "Frame::is_whole")]
    pub of: Frame,
    /// Start and length are multiples of this rather than of the target's blocks.
    #[serde(default, skip_serializing_if = "is_zero_bytes")]
    pub unit: Bytes,
}

impl Extent {
    /// A part of the whole target.
    pub const fn new(begin: Amount, length: Option<Amount>) -> Extent {
        Extent { begin, length, of: Frame::Whole, unit: Bytes::new(0) }
    }

    /// The same part of something else, in multiples of `unit`.
    pub const fn with_frame(self, of: Frame, unit: Bytes) -> Extent {
        Extent { of, unit, ..self }
    }

    /// What start and length are multiples of.
    fn block_unit(self, block: u32) -> u64 {
        // No target is as large as a unit that does not fit.
        self.unit.get().checked_next_multiple_of(block.into()).unwrap_or(1 << 63).max(block.into())
    }

    /// Start and length in bytes on a target of `size` bytes in blocks of `block`.
    pub fn range_within(self, size: u64, block: u32) -> (u64, u64) {
        let unit = self.block_unit(block);
        let (from, until) = self.of.bounds_within(size, unit);
        let begin = from.saturating_add(self.begin.bytes_on(until - from));
        let begin = begin.checked_next_multiple_of(unit).unwrap_or(u64::MAX / unit * unit);
        let rest = until.saturating_sub(begin);
        let length = match self.length {
            None => rest,
            Some(Amount::Bytes(bytes)) => bytes.get(),
            // Rounding may lead up to a unit beyond the end.
            Some(share) => share.bytes_on(until - from).min(rest),
        };
        (begin, length / unit * unit)
    }

    /// The smallest target that this part fits in with at least `least` bytes.
    pub(crate) fn smallest_target(self, least: u64, block: u32) -> u64 {
        let (mut low, mut high) = (0, 1u64 << 62);
        if !self.fits_on(high, least, block) {
            return u64::MAX;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            (low, high) = if self.fits_on(middle, least, block) { (low, middle) } else { (middle + 1, high) };
        }
        high
    }

    /// The unit of its start, for blocks of `block` bytes; zero where it depends on the target.
    pub(crate) fn start_step(self, block: u32) -> u64 {
        match (self.begin, self.of) {
            (begin, Frame::Whole | Frame::ButLast(_)) if begin.is_zero() => 0,
            (Amount::Bytes(bytes), Frame::Whole | Frame::ButLast(_)) => {
                bytes.get().next_multiple_of(self.block_unit(block))
            }
            (Amount::Share(_), _) | (_, Frame::Last(_)) => self.block_unit(block),
        }
    }

    /// Whether the two may overlap on a target of unknown size.
    pub(crate) fn may_meet(self, other: Extent) -> bool {
        if self.of != other.of {
            return !self.of.is_apart_from(other.of);
        }
        !self.ends_before(other) && !other.ends_before(self)
    }

    /// Whether it is certain that this part ends before the other one begins, on a target of any size.
    fn ends_before(self, other: Extent) -> bool {
        match (self.begin, self.length, other.begin) {
            (Amount::Bytes(begin), Some(Amount::Bytes(length)), Amount::Bytes(next)) => {
                begin.get().saturating_add(length.get()) <= next.get()
            }
            (Amount::Share(begin), Some(Amount::Share(length)), Amount::Share(next)) => {
                begin.as_ppb().saturating_add(length.as_ppb()) <= next.as_ppb()
            }
            // From the start: a share of it, and a part that begins where that share ends.
            (begin, Some(Amount::Share(length)), Amount::Share(next)) if begin.is_zero() => length <= next,
            _ => false,
        }
    }

    /// Whether a target of `size` bytes has this part with at least `least` bytes.
    fn fits_on(self, size: u64, least: u64, block: u32) -> bool {
        let (begin, length) = self.range_within(size, block);
        let (_, until) = self.of.bounds_within(size, self.block_unit(block));
        length >= least && begin.saturating_add(length) <= until.min(size)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.length {
            Some(length) => write!(f, "within {length} from {} on", self.begin)?,
            None => write!(f, "from {} on", self.begin)?,
        }
        match self.of {
            Frame::Whole => Ok(()),
            Frame::ButLast(last) => write!(f, " of all but the last {last}"),
            Frame::Last(last) => write!(f, " of the last {last}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(begin: &str, length: Option<&str>) -> Extent {
        Extent::new(begin.parse().unwrap(), length.map(|text| text.parse().unwrap()))
    }

    #[test]
    fn parts_of_a_target() {
        for (begin, length, within, smallest) in [
            ("0B", None, (0, 1_048_576), 8192),
            ("50%", None, (524_288, 524_288), 16_384),
            ("50%", Some("25%"), (524_288, 262_144), 32_768),
            ("1000B", Some("9000B"), (4096, 8192), 12_288),
            ("0%", Some("100%"), (0, 1_048_576), 8192),
        ] {
            let extent = extent(begin, length);
            assert_eq!(extent.range_within(1 << 20, 4096), within, "{extent}");
            assert_eq!(extent.smallest_target(8192, 4096), smallest, "{extent}");
            let text = serde_json::to_string(&extent).unwrap();
            assert_eq!(serde_json::from_str::<Extent>(&text).unwrap(), extent);
        }
        assert_eq!(extent("0B", Some("4KiB")).smallest_target(8192, 4096), u64::MAX, "it never fits");
        for bad in ["", "5", "five%", "1e3B", "-1%"] {
            assert!(bad.parse::<Amount>().unwrap_err().contains("10GiB"), "{bad}");
        }
    }

    #[test]
    fn what_may_share_a_byte() {
        for (one, other, meet) in [
            (("0B", Some("1MiB")), ("1MiB", None), false),
            (("0B", Some("1MiB")), ("1023KiB", None), true),
            (("0%", Some("50%")), ("50%", Some("50%")), false),
            (("0%", Some("51%")), ("50%", Some("50%")), true),
            (("0B", Some("50%")), ("50%", None), false),
            // On a target of 10 GiB they do not overlap.
            (("0%", Some("50%")), ("5GiB", None), true),
            (("0B", None), ("99%", None), true),
        ] {
            let (one, other) = (extent(one.0, one.1), extent(other.0, other.1));
            assert_eq!((one.may_meet(other), other.may_meet(one)), (meet, meet), "{one} and {other}");
        }
    }
}
