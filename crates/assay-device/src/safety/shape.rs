//! Size and blocks of an open target.

use assay_base::Geometry;
use std::fmt;

/// Size and blocks of an open target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Usable bytes, from offset 0.
    pub size: u64,
    /// Offsets and lengths are multiples of this.
    pub logical_block: u32,
    /// The unit in which the medium writes.
    pub physical_block: u32,
    /// Addresses of buffers are multiples of this.
    pub dma_alignment: u32,
    /// Whether it is open for direct I/O.
    pub direct: bool,
}

impl Shape {
    /// The geometry that the engine needs.
    pub fn engine_geometry(&self) -> Geometry {
        Geometry { size: self.size, block: self.logical_block }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { size, logical_block, physical_block, .. } = self;
        write!(f, "{size} bytes, blocks of {logical_block} (physical {physical_block})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_is_told_in_words() {
        let shape = Shape { size: 1 << 20, logical_block: 512, physical_block: 4096, dma_alignment: 4, direct: true };
        assert_eq!(shape.to_string(), "1048576 bytes, blocks of 512 (physical 4096)");
        assert_eq!(shape.engine_geometry(), Geometry { size: 1 << 20, block: 512 });
    }
}
