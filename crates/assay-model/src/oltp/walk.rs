//! Reuse in a region of an ASU: a walk over leaves of eight blocks, in which near leaves come often and far ones rarely.

use assay_base::{Direction, Prng};

/// Blocks of a leaf.
const LEAF: u64 = 8;
/// A step stays within an aligned subtree of at least 2⁶ leaves.
const LOWEST: u32 = 6;
/// The subtree has one level more with this probability, in hundredths, again and again.
const HIGHER: u64 = 44;
/// How often a leaf beyond the region is drawn again.
const ATTEMPTS: u32 = 100;
/// Writes go to every eighth leaf only.
const WRITTEN: u64 = 8;
/// The next write repeats a write with this probability, in hundredths.
const REPEATED: u64 = 15;
/// A region has this many hundredths of its ASU.
const SHARE: u64 = 5;

/// The leaves of a region, with what was read in them.
#[derive(Clone, Debug)]
pub(super) struct Region {
    begin: u64,
    leaves: u64,
    /// Level of the smallest tree with all leaves.
    top: u32,
    /// For each leaf, one more than the block that was read last; 0 where none was.
    read: Vec<u8>,
}

/// The position of one stream in its region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walker {
    leaf: u64,
    /// The block that the next write repeats.
    again: Option<u64>,
}

impl Region {
    /// The region of an ASU of `size` blocks that begins at a hundredth of it.
    pub(super) fn new(size: u64, percent: u64) -> Region {
        let leaves = (size * SHARE).div_ceil(100 * LEAF).max(1);
        let top = leaves.next_power_of_two().ilog2();
        Region { begin: size * percent / 100, leaves, top, read: vec![0; leaves as usize] }
    }

    /// A walk from a leaf anywhere.
    pub(super) fn walker(&self, prng: &mut Prng) -> Walker {
        Walker { leaf: prng.below(self.leaves), again: None }
    }

    /// The block of the walker's next operation.
    pub(super) fn next(&mut self, walker: &mut Walker, direction: Direction, prng: &mut Prng) -> u64 {
        let within = match direction {
            Direction::Read => self.read(walker, prng),
            Direction::Write => self.write(walker, prng),
        };
        self.begin + within
    }

    /// The leaf's next block in cyclic order.
    fn read(&mut self, walker: &mut Walker, prng: &mut Prng) -> u64 {
        walker.leaf = self.step(walker.leaf, prng);
        let last = &mut self.read[walker.leaf as usize];
        let block = u64::from(*last) % LEAF;
        *last = block as u8 + 1;
        walker.leaf * LEAF + block
    }

    /// The block of the write before it or, in every eighth leaf, any block or the one that was read there last.
    fn write(&mut self, walker: &mut Walker, prng: &mut Prng) -> u64 {
        if let Some(again) = walker.again.take() {
            return again;
        }
        walker.leaf = self.step(walker.leaf, prng) / WRITTEN * WRITTEN;
        let read = self.read[walker.leaf as usize];
        let block = match prng.below(2) {
            1 if read > 0 => u64::from(read) - 1,
            _ => prng.below(LEAF),
        };
        let written = walker.leaf * LEAF + block;
        walker.again = (prng.below(100) < REPEATED).then_some(written);
        written
    }

    /// The leaf after `leaf`: any one of the aligned subtree around it whose level is drawn. One that lies beyond the region is
    /// where the next attempt begins.
    fn step(&self, leaf: u64, prng: &mut Prng) -> u64 {
        let mut leaf = leaf;
        for _ in 0..ATTEMPTS {
            let mut level = LOWEST.min(self.top);
            while level < self.top && prng.below(100) < HIGHER {
                level += 1;
            }
            leaf = (leaf >> level << level) + prng.below(1 << level);
            if leaf < self.leaves {
                return leaf;
            }
        }
        prng.below(self.leaves)
    }
}
