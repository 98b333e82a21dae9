//! The figures of iostat: what is expected of them, what was counted, and how far they are from production's.

use crate::verdict::Verdict;
use assay_base::{Direction, Knobs};
use serde::{Deserialize, Serialize};

/// One figure of iostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Figure {
    /// Reads per second.
    #[serde(rename = "r/s")]
    Reads,
    /// Writes per second.
    #[serde(rename = "w/s")]
    Writes,
    /// Bytes read per second.
    #[serde(rename = "rkB/s")]
    ReadBytes,
    /// Bytes written per second.
    #[serde(rename = "wkB/s")]
    WrittenBytes,
}

impl Figure {
    /// In iostat's order, which is also that of [`Figures`].
    pub const ALL: [Figure; 4] = [Figure::Reads, Figure::Writes, Figure::ReadBytes, Figure::WrittenBytes];

    /// Its name in iostat.
    pub fn iostat_name(self) -> &'static str {
        match self {
            Figure::Reads => "r/s",
            Figure::Writes => "w/s",
            Figure::ReadBytes => "rkB/s",
            Figure::WrittenBytes => "wkB/s",
        }
    }

    /// The direction that it counts.
    pub fn counted_direction(self) -> Direction {
        match self {
            Figure::Reads | Figure::ReadBytes => Direction::Read,
            Figure::Writes | Figure::WrittenBytes => Direction::Write,
        }
    }

    /// Whether it counts bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Figure::ReadBytes | Figure::WrittenBytes)
    }

    /// The figures of a direction: operations and bytes.
    pub fn of_direction(direction: Direction) -> [Figure; 2] {
        match direction {
            Direction::Read => [Figure::Reads, Figure::ReadBytes],
            Direction::Write => [Figure::Writes, Figure::WrittenBytes],
        }
    }
}

/// Operations and bytes per second, in the order of [`Figure::ALL`].
pub type Figures = [f64; 4];

/// What the plan asks of the drive at one setting of the knobs.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Expected {
    /// Per second.
    pub figures: Figures,
    /// Standard deviation of the count of one second, as a share of the figure.
    pub spread: Figures,
    /// Factor by which rounding up to blocks of the device increases the bytes read and written: 1 where it adds
    /// nothing.
    pub rounding: [f64; 2],
}

/// Returns what is expected at each setting of the knobs.
pub trait Load {
    /// What the plan asks of the drive with these knobs.
    fn expected_counts(&self, knobs: &Knobs) -> Expected;

    /// Whether the large blocks that are read, and those that are written, were counted. A fit leaves such a number as it
    /// is, and moves the operations beside those that were counted.
    fn counts_large_blocks(&self) -> [bool; 2] {
        [false; 2]
    }
}

impl<F: Fn(&Knobs) -> Expected> Load for F {
    fn expected_counts(&self, knobs: &Knobs) -> Expected {
        self(knobs)
    }
}

/// The counts of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What the generator issued and got back.
    pub own: Figures,
    /// What the device counted; `None` where it has no counters.
    pub device: Option<Figures>,
    /// Flushes per second that were subtracted from the writes it counted.
    pub flushes: f64,
    /// Length of the round.
    pub seconds: f64,
    /// The verdict on its log.
    pub verdict: Verdict,
    /// Whether the device carried the load.
    pub delivered: bool,
}

impl Measured {
    /// What is compared with production.
    pub fn compared_figures(&self) -> &Figures {
        self.device.as_ref().unwrap_or(&self.own)
    }

    /// Ratio of what the device counts to what was issued.
    pub(super) fn made_of_one(&self) -> Figures {
        std::array::from_fn(|at| ratio_or_one(self.compared_figures()[at], self.own[at]))
    }
}

/// A figure beside production's, both in a second; bytes are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// Which.
    pub figure: Figure,
    /// What production's drive did.
    pub production: f64,
    /// What this one did.
    pub measured: f64,
    /// How far that is off, as a share of production's.
    pub difference: f64,
    /// What counting alone varies by: two standard deviations of a round, as a share.
    pub counting: f64,
    /// What is allowed: the tolerance and `counting`.
    pub allowed: f64,
}

impl Compared {
    /// Whether it is near enough.
    pub fn agrees(&self) -> bool {
        self.difference.abs() <= self.allowed
    }
}

/// The difference as a share of theirs. Something where theirs is zero counts as a difference of the whole.
pub(super) fn relative_difference(ours: f64, theirs: f64) -> f64 {
    if theirs > 0.0 { ours / theirs - 1.0 } else { f64::from(u8::from(ours > 0.0)) }
}

/// The ratio of the two; 1 where it is not defined.
pub(super) fn ratio_or_one(these: f64, those: f64) -> f64 {
    if these > 0.0 && those > 0.0 { these / those } else { 1.0 }
}
