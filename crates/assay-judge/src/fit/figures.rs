//! The figures of iostat: what is expected of them, what was counted, and how far they are from production's.

use crate::verdict::Verdict;
use assay_base::{Direction, Knobs};
use serde::{Deserialize, Serialize};

/// One figure of iostat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Figure {
    /// Reads a second.
    #[serde(rename = "r/s")]
    Reads,
    /// Writes a second.
    #[serde(rename = "w/s")]
    Writes,
    /// Bytes read a second.
    #[serde(rename = "rkB/s")]
    ReadBytes,
    /// Bytes written a second.
    #[serde(rename = "wkB/s")]
    WrittenBytes,
}

impl Figure {
    /// In iostat's order, which is that of [`Figures`].
    pub const ALL: [Figure; 4] = [Figure::Reads, Figure::Writes, Figure::ReadBytes, Figure::WrittenBytes];

    /// As iostat calls it.
    pub fn name(self) -> &'static str {
        match self {
            Figure::Reads => "r/s",
            Figure::Writes => "w/s",
            Figure::ReadBytes => "rkB/s",
            Figure::WrittenBytes => "wkB/s",
        }
    }

    /// Whose figure it is.
    pub fn direction(self) -> Direction {
        match self {
            Figure::Reads | Figure::ReadBytes => Direction::Read,
            Figure::Writes | Figure::WrittenBytes => Direction::Write,
        }
    }

    /// Whether it counts bytes.
    pub fn is_bytes(self) -> bool {
        matches!(self, Figure::ReadBytes | Figure::WrittenBytes)
    }

    /// Operations and bytes of a direction.
    pub fn of(direction: Direction) -> [Figure; 2] {
        match direction {
            Direction::Read => [Figure::Reads, Figure::ReadBytes],
            Direction::Write => [Figure::Writes, Figure::WrittenBytes],
        }
    }
}

/// Operations and bytes a second, in the order of [`Figure::ALL`].
pub type Figures = [f64; 4];

/// What the plan asks of the drive at one setting of the knobs.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Expected {
    /// In a second.
    pub figures: Figures,
    /// Standard deviation of what is counted in one second, as a share of it.
    pub spread: Figures,
    /// What rounding sizes up to blocks of the device adds to the bytes read and written: 1 for nothing.
    pub rounding: [f64; 2],
}

/// Tells what is to be expected at each setting of the knobs.
pub trait Load {
    /// What the plan asks of the drive then.
    fn expected(&self, knobs: &Knobs) -> Expected;
}

impl<F: Fn(&Knobs) -> Expected> Load for F {
    fn expected(&self, knobs: &Knobs) -> Expected {
        self(knobs)
    }
}

/// What a round counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// What the generator handed over and got back.
    pub own: Figures,
    /// What the device counted; `None` where nothing counts for it.
    pub device: Option<Figures>,
    /// Flushes a second that were taken off what it counted as writes.
    pub flushes: f64,
    /// Length of the round.
    pub seconds: f64,
    /// What its log proves.
    pub verdict: Verdict,
    /// Whether the load was carried.
    pub delivered: bool,
}

impl Measured {
    /// What is compared with production.
    pub fn figures(&self) -> &Figures {
        self.device.as_ref().unwrap_or(&self.own)
    }

    /// How much the device counts of what it is handed.
    pub(super) fn made_of_one(&self) -> Figures {
        std::array::from_fn(|at| ratio(self.figures()[at], self.own[at]))
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

/// How far ours is from theirs, as a share of theirs. Something where there should be nothing is as far as all of it.
pub(super) fn difference(ours: f64, theirs: f64) -> f64 {
    match theirs > 0.0 {
        true => ours / theirs - 1.0,
        false => f64::from(u8::from(ours > 0.0)),
    }
}

/// How many of these there are for each of those; 1 where nothing can be said.
pub(super) fn ratio(these: f64, those: f64) -> f64 {
    if these > 0.0 && those > 0.0 { these / those } else { 1.0 }
}
