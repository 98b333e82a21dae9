//! Which operations in flight may put what they carried into the cache.
//!
//! A read that misses and a write to the same block can overtake each other, and so can two writes. The operation that
//! completes last does not always carry the data that are then on the target. So a read may put a block into the cache
//! only if no write of that block was in flight at any moment while the read was, and a write only if no other write of
//! it was.

use assay_base::cached::Place;
use std::collections::HashMap;

/// A logical time: it counts the beginnings and ends of operations, and tells which of two was earlier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Moment(u64);

/// The operations in flight on a block.
#[derive(Default, Debug)]
struct Busy {
    /// Operations in flight that will ask, when they end, whether they may put the block into the cache.
    holders: u32,
    /// How many of these are writes.
    writes: u32,
    /// The moment at which a write last began or ended.
    last: Moment,
}

/// The operations in flight, by block.
#[derive(Default, Debug)]
pub(crate) struct Racing {
    blocks: HashMap<Place, Busy>,
    now: Moment,
}

impl Racing {
    fn next_moment(&mut self) -> Moment {
        self.now.0 += 1;
        self.now
    }

    /// A read that missed these blocks begins.
    pub(crate) fn read_begins(&mut self, first: Place, count: u32) -> Moment {
        let moment = self.next_moment();
        for n in 0..count {
            self.blocks.entry(first.advanced_by_blocks(n)).or_default().holders += 1;
        }
        moment
    }

    /// A write of these blocks begins.
    pub(crate) fn write_begins(&mut self, first: Place, count: u32) -> Moment {
        let moment = self.next_moment();
        for n in 0..count {
            let busy = self.blocks.entry(first.advanced_by_blocks(n)).or_default();
            busy.holders += 1;
            busy.writes += 1;
            busy.last = moment;
        }
        moment
    }

    /// The read that began at `began` has ended for this block. Says whether what it read may be put into the cache.
    pub(crate) fn read_ends(&mut self, block: Place, began: Moment) -> bool {
        let Some(busy) = self.blocks.get_mut(&block) else { return false };
        let alone = busy.writes == 0 && busy.last <= began;
        self.release_block(block);
        alone
    }

    /// The write that began at `began` has ended for this block. Says whether what it wrote may be put into the cache.
    pub(crate) fn write_ends(&mut self, block: Place, began: Moment) -> bool {
        let moment = self.next_moment();
        let Some(busy) = self.blocks.get_mut(&block) else { return false };
        busy.writes -= 1;
        let alone = busy.writes == 0 && busy.last <= began;
        busy.last = moment;
        self.release_block(block);
        alone
    }

    fn release_block(&mut self, block: Place) {
        if let Some(busy) = self.blocks.get_mut(&block) {
            busy.holders -= 1;
            if busy.holders == 0 {
                self.blocks.remove(&block);
            }
        }
    }

    /// Number of blocks with operations in flight.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: Place = Place(7);

    #[test]
    fn what_is_alone_may_put_its_block_in() {
        let mut racing = Racing::default();
        let (a, b) = (racing.read_begins(BLOCK, 1), racing.read_begins(BLOCK, 2));
        assert!(
            racing.read_ends(BLOCK, a)
                && racing.read_ends(BLOCK, b)
                && racing.read_ends(BLOCK.advanced_by_blocks(1), b)
        );
        let write = racing.write_begins(BLOCK, 1);
        assert!(racing.write_ends(BLOCK, write));
        let (write, other) = (racing.write_begins(BLOCK, 1), racing.write_begins(BLOCK.advanced_by_blocks(1), 1));
        assert!(racing.write_ends(BLOCK.advanced_by_blocks(1), other) && racing.write_ends(BLOCK, write));
        assert_eq!(racing.len(), 0, "nothing is kept of what has ended");
        assert!(!racing.read_ends(BLOCK, a), "an end without a beginning proves nothing");
    }

    #[test]
    fn a_read_beside_a_write_may_not_whatever_the_order() {
        // Whether the write begins before the read, and whether it ends before the read.
        for (begins_before, ends_before) in [(true, true), (true, false), (false, true), (false, false)] {
            let mut racing = Racing::default();
            let mut began = [Moment::default(); 2];
            for write in [begins_before, !begins_before] {
                began[usize::from(write)] =
                    if write { racing.write_begins(BLOCK, 1) } else { racing.read_begins(BLOCK, 1) };
            }
            let mut put = [true; 2];
            for write in [ends_before, !ends_before] {
                put[usize::from(write)] =
                    if write { racing.write_ends(BLOCK, began[1]) } else { racing.read_ends(BLOCK, began[0]) };
            }
            assert_eq!(put, [false, true], "begins before: {begins_before}, ends before: {ends_before}");
            assert_eq!(racing.len(), 0);
        }
    }

    #[test]
    fn of_writes_that_overlap_none_may_and_the_next_one_alone_may() {
        for first_ends_first in [true, false] {
            let mut racing = Racing::default();
            let (a, b) = (racing.write_begins(BLOCK, 1), racing.write_begins(BLOCK, 1));
            let (first, last) = if first_ends_first { (a, b) } else { (b, a) };
            assert!(!racing.write_ends(BLOCK, first) && !racing.write_ends(BLOCK, last));
            let c = racing.write_begins(BLOCK, 1);
            assert!(racing.write_ends(BLOCK, c));
        }
        // A write begins after another one has ended, while a read of the block is still in flight.
        let mut racing = Racing::default();
        let (a, read) = (racing.write_begins(BLOCK, 1), racing.read_begins(BLOCK, 1));
        assert!(racing.write_ends(BLOCK, a));
        let b = racing.write_begins(BLOCK, 1);
        assert!(racing.write_ends(BLOCK, b) && !racing.read_ends(BLOCK, read));
    }
}
