//! Stack distances: for each access, how many different blocks were accessed since the last access to its block. An LRU
//! (least recently used) cache has a hit exactly when it holds more blocks than that (R. L. Mattson, J. Gecsei, D. R.
//! Slutz, I. L. Traiger, "Evaluation techniques for storage hierarchies", IBM Systems Journal 9 (2), 1970).
//!
//! Each block has a mark at the moment of its last access; the distance is the number of marks after that moment. A
//! binary indexed tree counts them in a time that grows with the logarithm of the number of moments (P. M. Fenwick,
//! Software: Practice and Experience 24 (3), 1994). When all moments are used, the marks are moved together, one per
//! block.

use super::Blocks;

/// Number of moments at the beginning; it doubles when blocks use more than half of them.
const FIRST: usize = 1 << 12;

/// The last access of each block.
#[derive(Clone, Debug)]
pub(crate) struct Distances {
    /// The moment of each block's last access.
    last: Blocks<u32>,
    /// A binary indexed tree over moments; a moment counts 1 if it is the last access to a block, otherwise 0.
    tree: Vec<u32>,
    /// The block that was accessed at each moment; valid if that is still the last access to the block.
    block: Vec<u64>,
    now: usize,
}

impl Distances {
    pub(crate) fn new() -> Distances {
        Distances { last: Blocks::default(), tree: vec![0; FIRST + 1], block: vec![0; FIRST], now: 0 }
    }

    /// Number of blocks seen so far.
    pub(crate) fn blocks_seen(&self) -> u64 {
        self.last.len() as u64
    }

    /// The stack distance of an access; `None` for the first access to a block.
    pub(crate) fn access_block(&mut self, block: u64) -> Option<u64> {
        let distance = self.stack_distance(block);
        if self.now == self.block.len() {
            self.compact_marks();
        }
        if let Some(before) = self.last.insert(block, self.now as u32) {
            self.add_marks(before as usize, u32::MAX);
        }
        self.add_marks(self.now, 1);
        self.block[self.now] = block;
        self.now += 1;
        distance
    }

    /// The distance that an access would have.
    pub(crate) fn stack_distance(&self, block: u64) -> Option<u64> {
        let last = *self.last.get(&block)? as usize;
        Some(self.last.len() as u64 - self.marks_until(last))
    }

    /// The number of marks up to and including a moment.
    fn marks_until(&self, moment: usize) -> u64 {
        let (mut at, mut sum) = (moment + 1, 0u64);
        while at > 0 {
            sum += u64::from(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Adds `n` at a moment; `u32::MAX` subtracts one.
    fn add_marks(&mut self, moment: usize, n: u32) {
        let mut at = moment + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(n);
            at += at & at.wrapping_neg();
        }
    }

    /// Forgets the blocks that are not to be kept.
    pub(crate) fn retain_blocks(&mut self, keep: impl Fn(u64) -> bool) {
        self.last.retain(|block, _| keep(*block));
        self.compact_marks();
    }

    /// Moves the marks together, keeping their order.
    fn compact_marks(&mut self) {
        let mut kept = 0;
        for moment in 0..self.now {
            let block = self.block[moment];
            if self.last.get(&block) == Some(&(moment as u32)) {
                self.last.insert(block, kept as u32);
                self.block[kept] = block;
                kept += 1;
            }
        }
        let moments = self.block.len().max((kept * 2).next_power_of_two().min(u32::MAX as usize));
        self.block.resize(moments, 0);
        self.now = kept;
        // A tree in which the first `kept` moments count 1.
        self.tree = (0..=moments)
            .map(|at| {
                let low = at & at.wrapping_neg();
                (at.min(kept) - (at - low).min(kept)) as u32
            })
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    /// Compares the distances with the positions in a list whose first block is the most recently used one.
    #[test]
    fn agrees_with_a_list() {
        let mut prng = Prng::from_seed(7);
        for blocks in [1, 3, 100, 5000] {
            let (mut distances, mut list) = (Distances::new(), Vec::<u64>::new());
            for _ in 0..20_000 {
                // Some blocks are far more frequent than others.
                let block = prng.uniform_below(blocks).min(prng.uniform_below(blocks));
                let expected = list.iter().position(|it| *it == block);
                assert_eq!(distances.stack_distance(block), expected.map(|at| at as u64));
                assert_eq!(distances.access_block(block), expected.map(|at| at as u64));
                if let Some(at) = expected {
                    list.remove(at);
                }
                list.insert(0, block);
            }
            assert_eq!(distances.blocks_seen(), list.len() as u64);
        }
    }
}
