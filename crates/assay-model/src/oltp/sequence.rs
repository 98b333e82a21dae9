//! What is done at each time of an OLTP load: the next operation of one of its streams.

use super::stream::{self, Place, ReadShares, STREAMS};
use super::walk::{Region, Walker};
use assay_base::{Direction, Prng};

/// Number of blocks of the smallest ASU that is modelled at its own size. A smaller one is modelled with this size, and
/// positions are scaled down.
pub const SMALLEST: u64 = 20_480;

/// One operation of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Index of the stream in [`NAMES`].
    pub stream: usize,
    /// The ASU, 0 to 2.
    pub asu: usize,
    /// Read or write.
    pub direction: Direction,
    /// The first block within the ASU.
    pub block: u64,
    /// Number of blocks.
    pub blocks: u32,
}

/// Blocks that storage in pieces may lack: of each piece, a part of a block at its end, and a block that a file keeps for
/// the program's label.
const LOST_OF_A_PIECE: u64 = 2;

/// The used sizes of the three ASUs, in blocks, on storage of these sizes, of which the third consists of `pieces`: the
/// first two are equally large, and the third has a ninth of both together. Where [`LOST_OF_A_PIECE`] is all that the
/// third lacks, it has what is there, and the others have less. `None` if the third storage is too small, or if
/// the longest operation would not fit on the third ASU.
pub fn trimmed(storage: [u64; 3], pieces: u64) -> Option<[u64; 3]> {
    let stores = storage[0].min(storage[1]);
    let log = stores.checked_mul(2)? / 9;
    let used = match log.saturating_sub(storage[2]) {
        0 => [stores, stores, log],
        // The smallest stores of which a ninth of both together is this log.
        lacking if lacking <= pieces.saturating_mul(LOST_OF_A_PIECE) => {
            let stores = storage[2].checked_mul(9)?.div_ceil(2);
            [stores, stores, storage[2]]
        }
        _ => return None,
    };
    (used[2] >= stream::LONGEST).then_some(used)
}

/// The sequence of operations of a number of BSUs.
#[derive(Clone, Debug)]
pub struct Sequence {
    shares: ReadShares,
    /// For each ASU, its real size and the size with which it is modelled, in blocks.
    sizes: [(u64, u64); 3],
    /// The regions of reuse of each context: one for each stream that reuses blocks.
    regions: Vec<[Region; 3]>,
    bsus: Vec<Bsu>,
    prng: Prng,
}

/// The positions of one BSU's streams.
#[derive(Clone, Debug)]
struct Bsu {
    walkers: [Walker; 3],
    /// The next block and the end of each sequential run.
    runs: [(u64, u64); 3],
}

impl Sequence {
    /// The operations of `bsus` BSUs on ASUs of these sizes in blocks. The BSUs form `contexts` groups, and those of a
    /// group share the state of reuse.
    pub fn new(asus: [u64; 3], (bsus, contexts): (u32, u32), shares: ReadShares, prng: Prng) -> Sequence {
        let sizes = asus.map(|size| (size, size.max(SMALLEST)));
        let regions = stream::REGIONS.map(|(asu, from)| Region::new(sizes[asu].1, from));
        let mut prng = prng;
        let bsu = |_| Bsu { walkers: regions.each_ref().map(|region| region.walker(&mut prng)), runs: [(0, 0); 3] };
        let bsus = (0..bsus.max(1)).map(bsu).collect();
        Sequence { shares, sizes, regions: vec![regions; contexts.max(1) as usize], bsus, prng }
    }

    /// The next operation.
    pub fn next_access(&mut self) -> Access {
        let drawn = self.prng.below(1000);
        let at = STREAMS.iter().position(|stream| drawn < stream.below).unwrap_or(STREAMS.len() - 1);
        let stream = &STREAMS[at];
        let bsu = self.prng.below(self.bsus.len() as u64) as usize;
        let context = bsu % self.regions.len();
        let direction = match self.prng.below(100) < stream.reads[self.shares as usize] {
            true => Direction::Read,
            false => Direction::Write,
        };
        let (size, modelled) = self.sizes[stream.asu];
        let (block, blocks) = match stream.place {
            Place::Anywhere { step } => (self.prng.below(modelled / step) * step, 1),
            Place::Reuse { .. } => {
                let region = stream::region(at);
                let walker = &mut self.bsus[bsu].walkers[region];
                (self.regions[context][region].next(walker, direction, &mut self.prng), 1)
            }
            Place::Run { ref starts, length } => {
                let run = stream::run(at);
                let blocks = stream::length(&mut self.prng);
                let (next, end) = &mut self.bsus[bsu].runs[run];
                if *next + blocks > *end {
                    let [first, last] = starts.map(|percent| modelled * percent / 100);
                    *next = first + self.prng.below(last - first);
                    *end = *next + modelled * length / 100;
                }
                *next += blocks;
                (*next - blocks, blocks)
            }
        };
        let block =
            if size == modelled { block } else { (u128::from(block) * u128::from(size) / u128::from(modelled)) as u64 };
        Access { stream: at, asu: stream.asu, direction, block: block.min(size - blocks), blocks: blocks as u32 }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
