//! What of a load goes through a cache: which parts of the targets are cached, which blocks of them an operation touches,
//! and how the blocks are named. The cache device and the simulated caches follow this one rule, so that the curve of a
//! cache is about the blocks that the cache really takes.

use crate::op::Op;

/// The bytes of a segment of a cache device, unless a block is larger: the device is written in whole segments.
pub const SEGMENT: u32 = 512 << 10;

/// A part of a target that is cached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Index of the target.
    pub target: u16,
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
}

/// The name of a block, which consists of its target and its number there. The value is below 2⁶³.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(pub u64);

/// Bits of the number of a block within its target.
const NUMBER: u32 = 47;

impl Place {
    /// The most blocks of a target that have names.
    pub const MOST: u64 = 1 << NUMBER;

    /// The block of `bytes` bytes that holds the byte `offset` of a target.
    pub fn new(target: u16, offset: u64, bytes: u32) -> Place {
        let number = offset / u64::from(bytes);
        assert!(number < Place::MOST, "a block beyond the largest target");
        Place(u64::from(target) << NUMBER | number)
    }

    /// The block that lies `n` blocks further on the same target.
    pub fn advanced_by_blocks(self, n: u32) -> Place {
        Place(self.0 + u64::from(n))
    }
}

/// The blocks of an operation that lie in a cached part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TouchedBlocks {
    /// The first cached block that the operation touches.
    pub first: Place,
    /// The number of cached blocks that it touches; they are adjacent.
    pub count: u32,
    /// Whether the operation consists of exactly these blocks.
    pub whole: bool,
}

/// All cached parts, by target.
#[derive(Clone, Debug)]
pub struct Ranges {
    /// The cached part of each target, in whole blocks.
    parts: Vec<Option<(u64, u64)>>,
    block: u32,
}

impl Ranges {
    /// The whole blocks of `block` bytes in these ranges of targets with indexes below `targets`. If a target has several
    /// ranges, everything from their first byte to their last byte is cached.
    pub fn new(ranges: &[Range], targets: u16, block: u32) -> Ranges {
        let mut parts: Vec<Option<(u64, u64)>> = vec![None; usize::from(targets)];
        let unit = u64::from(block);
        for range in ranges {
            let (start, end) = (range.start.next_multiple_of(unit), range.end / unit * unit);
            let part = &mut parts[usize::from(range.target)];
            if start < end {
                *part = Some(part.map_or((start, end), |(a, b)| (a.min(start), b.max(end))));
            }
        }
        Ranges { parts, block }
    }

    /// The number of blocks that are cached, of all targets together.
    pub fn block_count(&self) -> u64 {
        self.parts.iter().flatten().map(|(start, end)| (end - start) / u64::from(self.block)).sum()
    }

    /// Whether every block that an operation touches is cached.
    pub fn contain_every_block(&self, op: &Op) -> bool {
        let Some(Some((start, end))) = self.parts.get(usize::from(op.target)).copied() else { return false };
        let (unit, to) = (u64::from(self.block), op.offset.saturating_add(op.len.into()));
        op.len > 0 && op.offset >= start && to.div_ceil(unit) <= end / unit
    }

    /// The cached blocks that an operation touches; `None` if it touches none.
    pub fn touched_blocks(&self, op: &Op) -> Option<TouchedBlocks> {
        let (start, end) = (*self.parts.get(usize::from(op.target))?)?;
        let (from, to) = (op.offset, op.offset.checked_add(op.len.into())?);
        let unit = u64::from(self.block);
        let whole = from >= start && to <= end && (from | to).is_multiple_of(unit);
        let (first, last) = (from.max(start) / unit * unit, to.min(end).next_multiple_of(unit));
        if op.len == 0 || from >= end || to <= start {
            return None;
        }
        let count = ((last - first) / unit) as u32;
        Some(TouchedBlocks { first: Place::new(op.target, first, self.block), count, whole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Direction;

    #[test]
    fn an_operation_touches_every_block_that_it_overlaps() {
        let ranges = [Range { target: 1, start: 4000, end: 41_000 }, Range { target: 2, start: 0, end: 100 }];
        let ranges = Ranges::new(&ranges, 3, 4096);
        for (target, offset, len, touched) in [
            (1, 4096, 4096, Some((1, 1, true))),
            (1, 8192, 8192, Some((2, 2, true))),
            (1, 8704, 512, Some((2, 1, false))),
            (1, 8191, 2, Some((1, 2, false))),
            (1, 0, 4096, None),
            (1, 0, 8192, Some((1, 1, false))),
            (1, 36_864, 8192, Some((9, 1, false))),
            (1, 40_960, 4096, None),
            (1, 4096, 0, None),
            (0, 4096, 4096, None),
            // Less than one block of this target is cached.
            (2, 0, 4096, None),
            (9, 0, 4096, None),
        ] {
            let op = Op { target, direction: Direction::Read, durable: false, offset, len };
            let touched = touched.map(|(number, count, whole)| TouchedBlocks {
                first: Place::new(target, number * 4096, 4096),
                count,
                whole,
            });
            assert_eq!(ranges.touched_blocks(&op), touched, "{len} at {offset} of {target}");
            let inside = touched.is_some() && offset >= 4096 && offset + u64::from(len) <= 40_960;
            assert_eq!(ranges.contain_every_block(&op), inside, "{len} at {offset} of {target}");
        }
        // Nine blocks of the one target, none of the other.
        assert_eq!(ranges.block_count(), 9);
        assert_ne!(Place::new(1, 0, 4096), Place::new(0, 1 << 40, 4096));
    }
}
