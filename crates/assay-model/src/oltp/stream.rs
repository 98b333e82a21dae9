//! The eight streams of a BSU.

use assay_base::Prng;

/// Which shares of reads the streams have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ReadShares {
    /// Those of the text of the SPC-1 specification, version 1: about 39 % of all operations.
    #[default]
    Specification = 0,
    /// Those of the published load generator: 55.2 % of all operations.
    Published = 1,
}

/// One stream.
#[derive(Debug)]
pub(super) struct Stream {
    /// Its share of the operations and those of the streams before it, in thousandths.
    pub(super) below: u64,
    /// Reads in a hundred of its operations, by [`ReadShares`].
    pub(super) reads: [u64; 2],
    pub(super) asu: usize,
    pub(super) address: Where,
}

/// Where a stream's operations go.
#[derive(Debug)]
pub(super) enum Where {
    /// Any multiple of `step` blocks, with equal probability.
    Anywhere { step: u64 },
    /// Leaves near those that were used before: see [`Region`](super::walk::Region).
    Reuse { region: usize },
    /// Runs of `length` hundredths of the ASU, from starts between two hundredths of it.
    Run { run: usize, starts: [u64; 2], length: u64 },
}

/// The ASU of each region of reuse, and the hundredth of the ASU at which it begins. It has 5 hundredths.
pub(super) const REGIONS: [(usize, u64); 3] = [(0, 15), (0, 70), (1, 47)];

const fn stream(below: u64, reads: [u64; 2], asu: usize, address: Where) -> Stream {
    Stream { below, reads, asu, address }
}

pub(super) const STREAMS: [Stream; 8] = [
    stream(35, [50, 75], 0, Where::Anywhere { step: 1 }),
    stream(316, [50, 75], 0, Where::Reuse { region: 0 }),
    stream(386, [100, 100], 0, Where::Run { run: 0, starts: [20, 60], length: 10 }),
    stream(596, [50, 75], 0, Where::Reuse { region: 1 }),
    stream(614, [30, 60], 1, Where::Anywhere { step: 2 }),
    stream(684, [30, 60], 1, Where::Reuse { region: 2 }),
    stream(719, [100, 100], 1, Where::Run { run: 1, starts: [20, 60], length: 10 }),
    stream(1000, [0, 0], 2, Where::Run { run: 2, starts: [0, 70], length: 30 }),
];

/// Lengths of sequential operations in blocks, and the hundredths of operations that are at most so long.
const LENGTHS: [(u64, u64); 5] = [(40, 1), (64, 2), (84, 4), (92, 8), (100, 16)];
/// The longest operation in blocks.
pub(super) const LONGEST: u64 = 16;

/// The length of a sequential operation, in blocks.
pub(super) fn length(prng: &mut Prng) -> u64 {
    let drawn = prng.below(100);
    LENGTHS.iter().find(|(below, _)| drawn < *below).map_or(LONGEST, |(_, length)| *length)
}
