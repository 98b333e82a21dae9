//! The eight streams of a BSU.

use assay_base::Prng;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Size of a block in bytes.
pub const BLOCK: u64 = 4096;
/// Operations per second of one BSU.
pub const RATE: u64 = 50;
/// The streams, by name.
pub const NAMES: [&str; 8] = ["asu1-1", "asu1-2", "asu1-3", "asu1-4", "asu2-1", "asu2-2", "asu2-3", "asu3-1"];

/// Which shares of reads the streams have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadShares {
    /// The shares in the text of the SPC-1 specification, version 1: about 39 % of all operations are reads.
    #[default]
    Spc1 = 0,
    /// The shares of the published load generator: 55.2 % of all operations are reads.
    Published = 1,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// The sum of the shares of this stream and those before it, in thousandths of all operations.
    pub(super) below: u64,
    /// How many of a hundred of its operations are reads, indexed by [`ReadShares`].
    pub(super) reads: [u64; 2],
    pub(super) asu: usize,
    pub(super) place: Place,
}

/// Where in its ASU a stream's operations go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// To any multiple of `step` blocks, with equal probability.
    Anywhere {
        /// The distance between two possible places, in blocks.
        step: u64,
    },
    /// To leaves of eight blocks near those that were used before, in a region of 5 hundredths of the ASU.
    Reuse {
        /// The hundredth of the ASU at which the region begins.
        from: u64,
    },
    /// Sequentially through `length` hundredths of the ASU, then again from another start.
    Run {
        /// The hundredths of the ASU between which starts lie.
        starts: [u64; 2],
        /// The length of a run, in hundredths of the ASU.
        length: u64,
    },
}

impl Place {
    /// Whether each operation begins where the one before it ended.
    pub fn is_sequential(self) -> bool {
        matches!(self, Place::Run { .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Anywhere { step: 1 } => f.write_str("uniform over the blocks"),
            Place::Anywhere { step } => write!(f, "uniform over every {step}nd block"),
            Place::Reuse { from } => write!(f, "reuse, a walk over leaves of 8 blocks in {from}% to {}%", from + 5),
            Place::Run { starts: [from, to], length } => {
                write!(f, "sequential runs of {length}%, from starts in {from}% to {to}%,")
            }
        }
    }
}

/// The ASU of each region of reuse, and the hundredth of the ASU at which it begins.
pub(super) const REGIONS: [(usize, u64); 3] = [(0, 15), (0, 70), (1, 47)];

const fn define_stream(below: u64, reads: [u64; 2], asu: usize, place: Place) -> Stream {
    Stream { below, reads, asu, place }
}

pub(super) const STREAMS: [Stream; 8] = [
    define_stream(35, [50, 75], 0, Place::Anywhere { step: 1 }),
    define_stream(316, [50, 75], 0, Place::Reuse { from: REGIONS[0].1 }),
    define_stream(386, [100, 100], 0, Place::Run { starts: [20, 60], length: 10 }),
    define_stream(596, [50, 75], 0, Place::Reuse { from: REGIONS[1].1 }),
    define_stream(614, [30, 60], 1, Place::Anywhere { step: 2 }),
    define_stream(684, [30, 60], 1, Place::Reuse { from: REGIONS[2].1 }),
    define_stream(719, [100, 100], 1, Place::Run { starts: [20, 60], length: 10 }),
    define_stream(1000, [0, 0], 2, Place::Run { starts: [0, 70], length: 30 }),
];

/// Which region of reuse a stream has; `stream` is an index into [`STREAMS`].
pub(super) const fn reuse_region(stream: usize) -> usize {
    match stream {
        1 => 0,
        3 => 1,
        _ => 2,
    }
}

/// Which of the sequential runs a stream has.
pub(super) const fn sequential_run(stream: usize) -> usize {
    match stream {
        2 => 0,
        6 => 1,
        _ => 2,
    }
}

/// Lengths of sequential operations in blocks, and how many hundredths of these operations have each length.
pub(super) const LENGTHS: [(u64, u64); 5] = [(1, 40), (2, 24), (4, 20), (8, 8), (16, 8)];
/// The longest operation in blocks.
pub(super) const LONGEST: u64 = 16;

/// Draws the length of a sequential operation, in blocks.
pub(super) fn draw_length(prng: &mut Prng) -> u64 {
    let mut drawn = prng.uniform_below(100);
    for (length, share) in LENGTHS {
        match drawn.checked_sub(share) {
            None => return length,
            Some(rest) => drawn = rest,
        }
    }
    LONGEST
}
