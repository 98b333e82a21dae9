//! What is in the cache, and where: which slot holds which block, without the data.

use crate::shape::Shape;
use assay_base::cached::Place;
use std::collections::HashMap;

/// A slot without a block.
const EMPTY: u64 = u64::MAX;
/// The bit that marks a used block in the words of [`Index::to_stored`].
const USED: u64 = 1 << 63;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slot {
    block: u64,
    /// Whether the block was read since the hand last passed it.
    used: bool,
}

/// The index of a cache.
#[derive(Clone, Debug)]
pub struct Index {
    shape: Shape,
    at: HashMap<Place, u32>,
    slots: Vec<Slot>,
    /// The segment that the hand looks at next.
    hand: u32,
}

/// A segment in which room was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Swept {
    pub segment: u32,
    /// The free slots of the segment in descending order.
    pub free: Vec<u32>,
    /// Number of blocks in it that stay, because they were used.
    pub kept: u32,
    /// Number of blocks that were evicted.
    pub evicted: u32,
    /// Number of segments that were skipped, because all their blocks had been used or the segment was busy.
    pub skipped: u32,
    /// How often the hand came back to the first segment.
    pub wraps: u32,
}

impl Index {
    /// An empty cache.
    pub fn new(shape: Shape) -> Index {
        let slots = vec![Slot { block: EMPTY, used: false }; shape.slot_count() as usize];
        Index { shape, at: HashMap::new(), slots, hand: 0 }
    }

    /// How the cache divides its target.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Number of blocks in the cache.
    pub fn len(&self) -> usize {
        self.at.len()
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The slot that holds a block.
    pub(crate) fn slot_of_block(&self, block: Place) -> Option<u32> {
        self.at.get(&block).copied()
    }

    /// Marks the block in the slot as used, because a read has found it.
    pub(crate) fn mark_used(&mut self, slot: u32) {
        self.slots[slot as usize].used = true;
    }

    /// Removes a block; says whether it was in the cache.
    pub(crate) fn remove_block(&mut self, block: Place) -> bool {
        let slot = self.at.remove(&block);
        if let Some(slot) = slot {
            self.slots[slot as usize] = Slot { block: EMPTY, used: false };
        }
        slot.is_some()
    }

    /// Puts a block into a free slot. The block must not be in the cache yet.
    pub(crate) fn put_block(&mut self, block: Place, slot: u32) {
        let there = std::mem::replace(&mut self.slots[slot as usize], Slot { block: block.0, used: false });
        assert_eq!(there.block, EMPTY, "a slot is given to one block at a time");
        let before = self.at.insert(block, slot);
        assert_eq!(before, None, "a block has one slot");
    }

    /// Removes all blocks.
    pub(crate) fn remove_all(&mut self) {
        *self = Index::new(self.shape);
    }

    /// Makes room in the next segment that is not `busy`: blocks that were not used since the hand last passed them are
    /// evicted. Returns `None` if the hand went all the way round and found no room.
    pub(crate) fn sweep_segment(&mut self, mut busy: impl FnMut(u32) -> bool) -> Option<Swept> {
        let (mut skipped, mut wraps) = (0, 0);
        // The hand goes round twice, because in the first round all blocks may be marked as used.
        for _ in 0..2 * self.shape.segments {
            let segment = self.hand;
            self.hand = (self.hand + 1) % self.shape.segments;
            wraps += u32::from(self.hand == 0);
            if busy(segment) {
                skipped += 1;
                continue;
            }
            let (mut free, mut kept, mut evicted) = (Vec::new(), 0, 0);
            let slots = segment * self.shape.blocks..(segment + 1) * self.shape.blocks;
            for slot in slots.rev() {
                let slot_state = &mut self.slots[slot as usize];
                if std::mem::take(&mut slot_state.used) {
                    kept += 1;
                    continue;
                }
                if slot_state.block != EMPTY {
                    evicted += 1;
                    self.at.remove(&Place(slot_state.block));
                    slot_state.block = EMPTY;
                }
                free.push(slot);
            }
            if !free.is_empty() {
                return Some(Swept { segment, free, kept, evicted, skipped, wraps });
            }
            skipped += 1;
        }
        None
    }

    /// The index as numbers: first the segment that the hand looks at next, then one number for each slot. That number
    /// is the name of the slot's block, with the highest bit set if the block was used, or 2⁶⁴ − 1 if the slot is
    /// empty.
    pub fn to_stored(&self) -> impl Iterator<Item = u64> + '_ {
        std::iter::once(u64::from(self.hand))
            .chain(self.slots.iter().map(|slot: &Slot| if slot.used { slot.block | USED } else { slot.block }))
    }

    /// The cache that `words` describe, in the form of [`to_stored`](Index::to_stored). `None` if they do not describe a cache
    /// of this shape.
    pub fn from_stored(shape: Shape, words: impl IntoIterator<Item = u64>) -> Option<Index> {
        let mut words = words.into_iter();
        let mut index = Index::new(shape);
        index.hand = words.next().and_then(|hand| u32::try_from(hand).ok()).filter(|hand| *hand < shape.segments)?;
        for slot in 0..shape.slot_count() {
            let word = words.next()?;
            if word == EMPTY {
                continue;
            }
            let block = word & !USED;
            index.slots[slot as usize] = Slot { block, used: word != block };
            if index.at.insert(Place(block), slot).is_some() {
                return None;
            }
        }
        words.next().is_none().then_some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(segments: u32) -> Shape {
        Shape { block: 4096, blocks: 2, segments }
    }

    #[test]
    fn what_was_used_gets_a_second_chance() {
        let mut index = Index::new(shape(3));
        for block in 0..6 {
            index.put_block(Place(block), block as u32);
        }
        assert_eq!(index.len(), 6);
        // Slots 0 and 1 were used, so their segment is skipped; 2 is evicted and 3 stays.
        [0, 1, 3].into_iter().for_each(|slot| index.mark_used(slot));
        let swept = index.sweep_segment(|_| false).unwrap();
        assert_eq!(swept, Swept { segment: 1, free: vec![2], kept: 1, evicted: 1, skipped: 1, wraps: 0 });
        assert_eq!(
            (index.slot_of_block(Place(2)), index.slot_of_block(Place(3)), index.slot_of_block(Place(0))),
            (None, Some(3), Some(0))
        );
        // Segment 2 is busy; the second chance of segment 0 is over.
        let swept = index.sweep_segment(|segment| segment == 2).unwrap();
        assert_eq!(swept, Swept { segment: 0, free: vec![1, 0], kept: 0, evicted: 2, skipped: 1, wraps: 1 });
        assert!(!index.remove_block(Place(0)) && index.remove_block(Place(3)) && !index.remove_block(Place(3)));
        assert_eq!(index.sweep_segment(|_| true), None, "all are busy");
        assert_eq!(index.sweep_segment(|_| false).unwrap().segment, 1);
        assert_eq!(index.len(), 2);
        index.remove_all();
        assert!(index.is_empty());
    }

    #[test]
    fn a_cache_whose_blocks_were_all_used_makes_room_the_second_time() {
        let mut index = Index::new(shape(2));
        for block in 0..4 {
            index.put_block(Place(block), block as u32);
            index.mark_used(block as u32);
        }
        let swept = index.sweep_segment(|_| false).unwrap();
        assert_eq!((swept.segment, swept.evicted, swept.skipped, swept.wraps), (0, 2, 2, 1));
    }

    #[test]
    fn words_read_back() {
        let mut index = Index::new(shape(2));
        index.put_block(Place(9), 0);
        index.put_block(Place(5), 3);
        index.mark_used(3);
        index.sweep_segment(|segment| segment == 1);
        index.put_block(Place(9), 1);
        let words: Vec<u64> = index.to_stored().collect();
        assert_eq!(words, [1, EMPTY, 9, EMPTY, 5 | USED]);
        let again = Index::from_stored(shape(2), words.clone()).unwrap();
        assert!(
            again.to_stored().eq(words.iter().copied()) && again.slot_of_block(Place(5)) == Some(3) && again.len() == 2
        );
        let wrong: [&[u64]; 5] = [
            &words[..4],
            &[&words[..], &[EMPTY]].concat(),
            &[2, EMPTY, EMPTY, EMPTY, EMPTY],
            // The same block in two slots.
            &[0, 7, 7 | USED, EMPTY, EMPTY],
            &[],
        ];
        for words in wrong {
            assert!(Index::from_stored(shape(2), words.iter().copied()).is_none(), "{words:?}");
        }
    }
}
