//! Reuse in a region of an ASU: a random walk over leaves of eight blocks, in which steps to near leaves are frequent
//! and steps to far ones are rare.

use assay_base::{Direction, Prng};

/// Blocks of a leaf.
const LEAF: u64 = 8;
/// The lowest level of the aligned subtree within which a step stays: it has at least 2⁶ leaves.
const LOWEST: u32 = 6;
/// The subtree of a step has one more level with this probability, in hundredths; this is drawn again for each level.
const HIGHER: u64 = 44;
/// How many times a leaf is drawn before the walk gives up looking for one within the region and takes any leaf.
const ATTEMPTS: u32 = 100;
/// Writes go to every eighth leaf only.
const WRITTEN: u64 = 8;
/// The next write repeats a write with this probability, in hundredths.
const REPEATED: u64 = 15;
/// A region has this many hundredths of its ASU.
const SHARE: u64 = 5;

/// The leaves of a region, and which of their blocks was read last.
#[derive(Clone, Debug)]
pub(super) struct Region {
    begin: u64,
    leaves: u64,
    /// The level of the smallest tree that has all leaves; a tree of level n has 2ⁿ leaves.
    top: u32,
    /// For each leaf, the number of the block that was read last plus one; 0 if none was read.
    read: Vec<u8>,
}

/// The position of one stream in its region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Walker {
    leaf: u64,
    /// The block that the next write writes again, if it repeats one.
    again: Option<u64>,
}

impl Region {
    /// The region that begins at `percent` hundredths of an ASU of `size` blocks.
    ///
    /// It has one leaf more than fit into its hundredths, as far as the tree reaches that holds those: this is what the
    /// published generator used of ASUs of 24 sizes from 72 to 117,964 blocks.
    pub(super) fn new(size: u64, percent: u64) -> Region {
        let fit = (size * SHARE / (100 * LEAF)).max(1);
        let top = fit.next_power_of_two().ilog2();
        let leaves = (fit + 1).min(1 << top);
        // The published generator multiplies floating numbers: of 23,040 blocks, 70 % are 16,127. In a store that is modelled at
        // twice its size, leaves that begin at odd blocks lie on five of its blocks and others on four, which shows in
        // the hits of small caches.
        let begin = (size as f64 * (percent as f64 / 100.0)) as u64;
        Region { begin, leaves, top, read: vec![0; leaves as usize] }
    }

    /// A walk that starts at a random leaf.
    pub(super) fn new_walker(&self, prng: &mut Prng) -> Walker {
        Walker { leaf: prng.uniform_below(self.leaves), again: None }
    }

    /// The block of the walker's next operation.
    pub(super) fn next_block(&mut self, walker: &mut Walker, direction: Direction, prng: &mut Prng) -> u64 {
        let within = match direction {
            Direction::Read => self.next_read(walker, prng),
            Direction::Write => self.next_write(walker, prng),
        };
        self.begin + within
    }

    /// The block of the next read: the next one in cyclic order of the leaf to which the walk goes.
    fn next_read(&mut self, walker: &mut Walker, prng: &mut Prng) -> u64 {
        walker.leaf = self.next_leaf(walker.leaf, prng);
        let last = &mut self.read[walker.leaf as usize];
        let block = u64::from(*last) % LEAF;
        *last = block as u8 + 1;
        walker.leaf * LEAF + block
    }

    /// The block of the next write: either that of the write before it again, or a block of the leaf to which the walk
    /// goes, rounded down to a multiple of eight leaves: any block, or the one that was read there last.
    fn next_write(&mut self, walker: &mut Walker, prng: &mut Prng) -> u64 {
        if let Some(again) = walker.again.take() {
            return again;
        }
        walker.leaf = self.next_leaf(walker.leaf, prng) / WRITTEN * WRITTEN;
        let read = self.read[walker.leaf as usize];
        let block = match prng.uniform_below(2) {
            1 if read > 0 => u64::from(read) - 1,
            _ => prng.uniform_below(LEAF),
        };
        let written = walker.leaf * LEAF + block;
        walker.again = (prng.uniform_below(100) < REPEATED).then_some(written);
        written
    }

    /// The leaf after `leaf`: a random leaf of the aligned subtree that contains it and whose level is drawn. If that
    /// leaf lies beyond the region, the next attempt begins from it.
    fn next_leaf(&self, leaf: u64, prng: &mut Prng) -> u64 {
        let mut leaf = leaf;
        for _ in 0..ATTEMPTS {
            let mut level = LOWEST.min(self.top);
            while level < self.top && prng.uniform_below(100) < HIGHER {
                level += 1;
            }
            leaf = (leaf >> level << level) + prng.uniform_below(1 << level);
            if leaf < self.leaves {
                return leaf;
            }
        }
        prng.uniform_below(self.leaves)
    }
}
