//! How a cache divides its target.

use assay_base::cached::SEGMENT;

/// The fewest segments: one that is being filled, one that comes next, one that is being written, and one that holds
/// blocks.
const FEWEST: u64 = 4;
/// The largest block, in bytes.
const LARGEST: u32 = 1 << 20;

/// How a cache divides its target: into adjacent segments that all have the same number of blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Bytes of a block, a power of two.
    pub block: u32,
    /// Blocks of a segment.
    pub blocks: u32,
    /// Number of segments.
    pub segments: u32,
}

impl Shape {
    /// The shape of the cache that fits into `size` bytes, with blocks of `block` bytes, on a target whose own blocks
    /// have `own` bytes. The error says what is wrong and what to do.
    pub fn new(size: u64, block: u32, own: u32) -> Result<Shape, String> {
        if !block.is_power_of_two() || block < own || block > LARGEST {
            return Err(format!(
                "a block of {block} bytes: the blocks of a cache are a power of two, from {own}, the block of its device, to {LARGEST} bytes"
            ));
        }
        let segment = SEGMENT.max(block);
        let blocks = segment / block;
        let segments = size / u64::from(segment);
        if segments < FEWEST {
            let least = FEWEST * u64::from(segment);
            return Err(format!("{size} bytes are too few for a cache: it needs at least {least} bytes"));
        }
        if segments * u64::from(blocks) > u64::from(u32::MAX) - 1 {
            return Err(format!(
                "{size} bytes are more blocks of {block} bytes than a cache can have: choose larger blocks"
            ));
        }
        Ok(Shape { block, blocks, segments: segments as u32 })
    }

    /// Number of blocks that the cache can hold.
    pub fn slot_count(&self) -> u32 {
        self.segments * self.blocks
    }

    /// Bytes that the cache occupies on its target.
    pub fn occupied_bytes(&self) -> u64 {
        u64::from(self.slot_count()) * u64::from(self.block)
    }

    /// Bytes of a segment.
    pub(crate) fn segment_bytes(&self) -> u32 {
        self.blocks * self.block
    }

    /// The segment in which a slot lies.
    pub(crate) fn segment_of(&self, slot: u32) -> u32 {
        slot / self.blocks
    }

    /// The beginning of a slot on the target, in bytes.
    pub(crate) fn offset_of_slot(&self, slot: u32) -> u64 {
        u64::from(slot) * u64::from(self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_half_a_mebibyte_or_one_block() {
        let shape = Shape::new(10 << 20, 4096, 512).unwrap();
        assert_eq!(
            (shape.blocks, shape.segments, shape.slot_count(), shape.occupied_bytes()),
            (128, 20, 2560, 10 << 20)
        );
        assert_eq!((shape.segment_of(127), shape.segment_of(128), shape.offset_of_slot(128)), (0, 1, 512 << 10));
        let large = Shape::new((10 << 20) + 5, 1 << 20, 512).unwrap();
        assert_eq!((large.blocks, large.segments, large.occupied_bytes()), (1, 10, 10 << 20));
    }

    #[test]
    fn what_is_no_cache_is_refused() {
        for (size, block, own, what) in [
            (2 << 20, 4096, 512, ""),
            ((2 << 20) - 1, 4096, 512, "needs at least 2097152 bytes"),
            (10 << 20, 3000, 512, "power of two"),
            (10 << 20, 512, 4096, "from 4096"),
            (10 << 20, 2 << 20, 512, "to 1048576"),
            (u64::MAX, 512, 512, "choose larger blocks"),
        ] {
            let shape = Shape::new(size, block, own);
            assert_eq!(shape.is_ok(), what.is_empty(), "{size} {block} {own}: {shape:?}");
            assert!(shape.err().is_none_or(|said| said.contains(what)), "{size} {block} {own}");
        }
    }
}
