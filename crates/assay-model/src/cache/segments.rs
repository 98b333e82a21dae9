//! What is in a cache device, which appends everything to a log of segments: the policy `log`.
//!
//! It does what the crate `assay-cache` does with a device that answers at once: a segment is filled slot by slot; when a
//! quarter of it is left, the hand empties the next one, except for blocks that were read since it last came by; and a
//! block that is written again leaves its slot. Two segments are therefore never full, which shows in small caches.

use super::Blocks;
use assay_base::Direction;
use std::collections::VecDeque;

/// The fewest segments of a cache device. A cache that is too small for them has smaller segments.
const FEWEST: u32 = 4;
/// The block number of an empty slot. No target is so large that it has this block.
const EMPTY: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Slot {
    block: u64,
    /// Whether the block was read since the hand last passed it.
    used: bool,
    /// Whether the block was written and is not on the target yet.
    dirty: bool,
}

const VACANT: Slot = Slot { block: EMPTY, used: false, dirty: false };

/// A segment that is being filled, or is filled next.
#[derive(Debug)]
struct Filling {
    segment: u32,
    /// Its free slots, in descending order.
    free: Vec<u32>,
}

/// The segments of a cache device.
#[derive(Debug)]
pub(super) struct Segments {
    at: Blocks<u32>,
    slots: Vec<Slot>,
    /// Slots of a segment.
    size: u32,
    count: u32,
    /// The segment that the hand looks at next.
    hand: u32,
    open: Option<Filling>,
    next: Option<Filling>,
}

impl Segments {
    /// Empty segments of `size` blocks, as many as `capacity` blocks hold.
    pub(super) fn new(capacity: u32, size: u64) -> Segments {
        let most = (capacity / FEWEST).max(1);
        let size = u32::try_from(size).unwrap_or(most).clamp(1, most);
        let count = capacity / size;
        let slots = vec![VACANT; (count * size) as usize];
        Segments { at: Blocks::default(), slots, size, count, hand: 0, open: None, next: None }
    }

    pub(super) fn has_block(&self, block: u64) -> bool {
        self.at.contains_key(&block)
    }

    /// Removes a block; says whether it was there, and dirty.
    pub(super) fn forget_block(&mut self, block: u64) -> Option<bool> {
        let slot = self.at.remove(&block)?;
        Some(std::mem::replace(&mut self.slots[slot as usize], VACANT).dirty)
    }

    /// Whether an access is a hit. Afterwards the block is there; if `stays` is set, it is dirty. Dirty blocks that made
    /// room are added to `evicted`.
    pub(super) fn pass_access(
        &mut self,
        block: u64,
        direction: Direction,
        stays: bool,
        evicted: &mut VecDeque<u64>,
    ) -> bool {
        if direction == Direction::Read
            && let Some(slot) = self.at.get(&block)
        {
            let slot = &mut self.slots[*slot as usize];
            (slot.used, slot.dirty) = (true, slot.dirty || stays);
            return true;
        }
        let before = self.forget_block(block);
        let dirty = stays || before == Some(true);
        match self.take_room(evicted) {
            Some(slot) => {
                self.slots[slot as usize] = Slot { block, used: false, dirty };
                self.at.insert(block, slot);
            }
            None => evicted.extend(dirty.then_some(block)),
        }
        before.is_some()
    }

    /// A free slot of the open segment.
    fn take_room(&mut self, evicted: &mut VecDeque<u64>) -> Option<u32> {
        if self.open.as_ref().is_none_or(|open| open.free.is_empty()) {
            self.open = None;
            self.prepare_segment(evicted);
            self.open = Some(self.next.take()?);
        }
        let open = self.open.as_mut()?;
        let slot = open.free.pop();
        if open.free.len() as u32 == self.size / 4 {
            self.prepare_segment(evicted);
        }
        slot
    }

    /// Makes room in the segment that is filled next.
    fn prepare_segment(&mut self, evicted: &mut VecDeque<u64>) {
        let open = self.open.as_ref().map(|open| open.segment);
        // The hand goes round twice, because in the first round all blocks may be marked as used.
        for _ in 0..2 * self.count {
            if self.next.is_some() {
                return;
            }
            let segment = self.hand;
            self.hand = (self.hand + 1) % self.count;
            if open != Some(segment) {
                self.next = self.sweep_segment(segment, evicted);
            }
        }
    }

    /// Evicts the blocks of a segment that were not read since the hand last passed them. `None` if that gives no room.
    fn sweep_segment(&mut self, segment: u32, evicted: &mut VecDeque<u64>) -> Option<Filling> {
        let mut free = Vec::new();
        for slot in (segment * self.size..(segment + 1) * self.size).rev() {
            let place = &mut self.slots[slot as usize];
            if std::mem::take(&mut place.used) {
                continue;
            }
            let left = std::mem::replace(place, VACANT);
            if left.block != EMPTY {
                self.at.remove(&left.block);
                evicted.extend(left.dirty.then_some(left.block));
            }
            free.push(slot);
        }
        (!free.is_empty()).then_some(Filling { segment, free })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(segments: &mut Segments, accesses: &[(u64, Direction)]) -> Vec<bool> {
        let mut evicted = VecDeque::new();
        accesses
            .iter()
            .map(|(block, direction)| segments.pass_access(*block, *direction, false, &mut evicted))
            .collect()
    }

    const READ: Direction = Direction::Read;
    const WRITE: Direction = Direction::Write;

    /// Eight slots in four segments: with the eighth block the last segment is full, and the first one is emptied.
    #[test]
    fn a_segment_is_emptied_before_it_is_needed_and_what_was_read_stays() {
        let mut segments = Segments::new(8, 128);
        assert_eq!((segments.size, segments.count), (2, 4));
        let reads = |blocks: std::ops::Range<u64>| blocks.map(|block| (block, READ)).collect::<Vec<_>>();
        assert!(hits(&mut segments, &reads(1..7)).iter().all(|hit| !hit));
        // 1 is read again, so that only 2 makes room.
        assert_eq!(
            hits(&mut segments, &[(1, READ), (7, READ), (8, READ), (1, READ), (2, READ)]),
            [true, false, false, true, false]
        );
    }

    #[test]
    fn what_is_written_again_leaves_its_slot_and_what_is_written_in_part_its_cache() {
        let mut segments = Segments::new(8, 2);
        assert_eq!(hits(&mut segments, &[(1, WRITE), (2, WRITE), (1, WRITE), (1, READ)]), [false, false, true, true]);
        assert_eq!(segments.at[&1], 2, "the third slot");
        assert_eq!(
            (segments.forget_block(1), segments.forget_block(1), segments.has_block(1)),
            (Some(false), None, false)
        );
        assert_eq!(hits(&mut segments, &[(1, READ)]), [false]);
    }

    /// Whatever comes, a cache never has more than its slots, and every dirty block leaves it once for each time that it
    /// became dirty.
    #[test]
    fn nothing_dirty_is_lost_and_the_smallest_caches_work() {
        for capacity in [1, 2, 3, 5, 8, 1000] {
            let mut segments = Segments::new(capacity, 128);
            let (mut evicted, mut prng) = (VecDeque::new(), assay_base::Prng::from_seed(5));
            let mut dirty = std::collections::BTreeSet::new();
            for _ in 0..20_000 {
                let block = prng.uniform_below(2000).min(prng.uniform_below(2000));
                let is_write = prng.uniform_below(3) == 0;
                let direction = if is_write { WRITE } else { READ };
                let hit = segments.has_block(block);
                if is_write {
                    dirty.insert(block);
                }
                assert_eq!(segments.pass_access(block, direction, is_write, &mut evicted), hit);
                for left in evicted.drain(..) {
                    assert!(dirty.remove(&left), "{left} was written and is not on the target yet");
                }
                assert!(segments.at.len() <= capacity as usize);
            }
            assert!(dirty.iter().all(|block| segments.has_block(*block)), "{capacity}");
        }
    }
}
