//! What is done at each time of an OLTP load: the next operation of one of its streams.

use super::stream::{self, Place, ReadShares, STREAMS};
use super::walk::{Region, Walker};
use assay_base::{Direction, Prng};

/// Number of blocks of the smallest store (ASU 1 or 2) that is modelled at its own size. A smaller one is modelled at the
/// smallest multiple of its size that has as many blocks, and positions are divided by that multiple. The log is always
/// modelled at its own size, so that its writes are adjacent.
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
pub fn trimmed_sizes(storage: [u64; 3], pieces: u64) -> Option<[u64; 3]> {
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
    asus: [Modelled; 3],
    /// The regions of reuse of each context: one for each stream that reuses blocks.
    regions: Vec<[Region; 3]>,
    bsus: Vec<Bsu>,
    prng: Prng,
}

/// An ASU, and how it is modelled.
#[derive(Clone, Copy, Debug)]
struct Modelled {
    /// Its own size in blocks.
    blocks: u64,
    /// It is modelled as if it were this many times as large.
    times: u64,
}

impl Modelled {
    fn from_store(blocks: u64) -> Modelled {
        Modelled { blocks, times: SMALLEST.div_ceil(blocks.max(1)).max(1) }
    }

    fn from_log(blocks: u64) -> Modelled {
        Modelled { blocks, times: 1 }
    }

    /// The number of blocks with which it is modelled.
    fn modelled_size(self) -> u64 {
        self.blocks * self.times
    }

    /// The first block of an operation of `blocks` blocks that begins at the modelled block `at`.
    fn first_block(self, at: u64, blocks: u64) -> u64 {
        (at / self.times).min(self.blocks - blocks)
    }
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
    pub fn new(asus: [u64; 3], bsus: u32, contexts: u32, shares: ReadShares, prng: Prng) -> Sequence {
        let [data, user, log] = asus;
        let asus = [Modelled::from_store(data), Modelled::from_store(user), Modelled::from_log(log)];
        let regions = stream::REGIONS.map(|(asu, from)| Region::new(asus[asu].modelled_size(), from));
        let mut prng = prng;
        let mut all = Vec::new();
        for _ in 0..bsus.max(1) {
            all.push(Bsu { walkers: regions.each_ref().map(|region| region.new_walker(&mut prng)), runs: [(0, 0); 3] });
        }
        Sequence { shares, asus, regions: vec![regions; contexts.max(1) as usize], bsus: all, prng }
    }

    /// The next operation.
    pub fn next_access(&mut self) -> Access {
        let drawn = self.prng.uniform_below(1000);
        let at = STREAMS.iter().position(|stream| drawn < stream.below).unwrap_or(STREAMS.len() - 1);
        let stream = &STREAMS[at];
        let bsu = self.prng.uniform_below(self.bsus.len() as u64) as usize;
        let context = bsu % self.regions.len();
        let is_read = self.prng.uniform_below(100) < stream.reads[self.shares as usize];
        let direction = if is_read { Direction::Read } else { Direction::Write };
        let asu = self.asus[stream.asu];
        let modelled = asu.modelled_size();
        let (block, blocks) = match stream.place {
            Place::Anywhere { step } => (self.prng.uniform_below(modelled / step) * step, 1),
            Place::Reuse { .. } => {
                let region = stream::reuse_region(at);
                let walker = &mut self.bsus[bsu].walkers[region];
                (self.regions[context][region].next_block(walker, direction, &mut self.prng), 1)
            }
            Place::Run { ref starts, length } => {
                let run = stream::sequential_run(at);
                let blocks = stream::draw_length(&mut self.prng);
                let (next, end) = &mut self.bsus[bsu].runs[run];
                if *next + blocks > *end {
                    let [first, last] = starts.map(|percent| modelled * percent / 100);
                    *next = first + self.prng.uniform_below(last - first);
                    *end = *next + modelled * length / 100;
                }
                *next += blocks;
                (*next - blocks, blocks)
            }
        };
        Access { stream: at, asu: stream.asu, direction, block: asu.first_block(block, blocks), blocks: blocks as u32 }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

#[cfg(test)]
#[path = "traced_tests.rs"]
mod traced_tests;
