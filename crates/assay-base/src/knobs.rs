//! The numbers of a profile that a fit changes, so that a drive under test does what production's drive did.

use crate::{Rate, Share};
use std::fmt;

/// The numbers that a profile's measurements leave open, for one drive. The first four are keys of ACT's guide.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Knobs {
    /// Position of the size of a read in its bucket of a histogram: 100 % is the lower bound (`read-size-offset`).
    pub read_position: Share,
    /// The same for a write (`write-size-offset`).
    pub write_position: Share,
    /// Factor on the rate of large-block reads (`lbr-req-offset`), where nobody has counted them.
    pub read_scale: Share,
    /// Factor on the rate of large-block writes (`lbw-req-offset`), where nobody has counted them.
    pub write_scale: Share,
    /// Reads per second that reach the drive beside those that were counted.
    #[cfg_attr(feature = "serde", serde(default = "no_rate", skip_serializing_if = "is_no_rate"))]
    pub other_reads: Rate,
    /// The same for writes.
    #[cfg_attr(feature = "serde", serde(default = "no_rate", skip_serializing_if = "is_no_rate"))]
    pub other_writes: Rate,
}

#[cfg(feature = "serde")]
fn no_rate() -> Rate {
    Rate::ZERO
}

#[cfg(feature = "serde")]
fn is_no_rate(rate: &Rate) -> bool {
    rate.is_zero()
}

impl Default for Knobs {
    /// A profile as it was imported.
    fn default() -> Knobs {
        let whole = Share::WHOLE;
        Knobs {
            read_position: whole,
            write_position: whole,
            read_scale: whole,
            write_scale: whole,
            other_reads: Rate::ZERO,
            other_writes: Rate::ZERO,
        }
    }
}

/// The value of a knob.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KnobValue {
    /// A position or a factor.
    Share(Share),
    /// Operations per second.
    Rate(Rate),
}

impl KnobValue {
    /// As a number: 1 for 100 %, or operations per second.
    pub fn as_f64(self) -> f64 {
        match self {
            KnobValue::Share(share) => share.as_f64(),
            KnobValue::Rate(rate) => rate.as_f64(),
        }
    }
}

impl fmt::Display for KnobValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KnobValue::Share(share) => share.fmt(f),
            KnobValue::Rate(rate) => rate.fmt(f),
        }
    }
}

impl Knobs {
    /// Each knob with its name in words.
    pub fn named_values(&self) -> [(&'static str, KnobValue); 6] {
        [
            ("position of reads", KnobValue::Share(self.read_position)),
            ("position of writes", KnobValue::Share(self.write_position)),
            ("large-block reads", KnobValue::Share(self.read_scale)),
            ("large-block writes", KnobValue::Share(self.write_scale)),
            ("other reads", KnobValue::Rate(self.other_reads)),
            ("other writes", KnobValue::Rate(self.other_writes)),
        ]
    }
}
