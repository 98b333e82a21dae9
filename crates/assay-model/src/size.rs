//! How many bytes an operation moves: one size, or uniform between two, always in whole blocks of the target.

use assay_base::{Bytes, Prng};
use serde::Serialize;
use std::fmt;

/// Sizes as the model means them; a target rounds them up to its blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Size {
    /// Smallest.
    pub from: Bytes,
    /// Largest; equal to `from` for a fixed size.
    pub to: Bytes,
}

impl Size {
    /// Always `bytes`.
    pub const fn fixed(bytes: Bytes) -> Size {
        Size { from: bytes, to: bytes }
    }

    /// The sizes in whole blocks of `block` bytes: from `ceil(from / block)` to `ceil(to / block)` of them, each as likely as
    /// the others (ACT's rule for record ranges).
    pub fn in_blocks(self, block: u32) -> BlockSizes {
        let blocks = |bytes: Bytes| bytes.get().div_ceil(u64::from(block)).max(1);
        BlockSizes { block, least: blocks(self.from), span: blocks(self.to) - blocks(self.from) + 1 }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from == self.to {
            f.pad(&self.from.to_string())
        } else {
            f.pad(&format!("{} to {}", self.from, self.to))
        }
    }
}

/// Sizes on one target.
#[derive(Clone, Copy, Debug)]
pub struct BlockSizes {
    block: u32,
    least: u64,
    span: u64,
}

impl BlockSizes {
    /// The next size in bytes.
    #[inline]
    pub fn next(&self, prng: &mut Prng) -> u32 {
        let blocks = if self.span == 1 { self.least } else { self.least + prng.below(self.span) };
        blocks as u32 * self.block
    }

    /// The largest size in bytes.
    pub fn largest(&self) -> u64 {
        (self.least + self.span - 1) * u64::from(self.block)
    }

    /// The mean size in bytes.
    pub fn mean(&self) -> f64 {
        (self.least as f64 + (self.span - 1) as f64 / 2.0) * f64::from(self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_blocks_and_uniform() {
        for (from, to, block, least, largest) in [
            (1536, 1536, 512, 1536, 1536),
            (1536, 1536, 4096, 4096, 4096),
            (1, 1, 512, 512, 512),
            (1500, 4000, 512, 1536, 4096),
        ] {
            let sizes = Size { from: Bytes::new(from), to: Bytes::new(to) }.in_blocks(block);
            let mut prng = Prng::seeded(1);
            let drawn: Vec<u32> = (0..60_000).map(|_| sizes.next(&mut prng)).collect();
            assert_eq!(drawn.iter().min(), Some(&least));
            assert_eq!(drawn.iter().max(), Some(&largest));
            assert_eq!(sizes.largest(), u64::from(largest));
            let mean = drawn.iter().map(|&n| f64::from(n)).sum::<f64>() / drawn.len() as f64;
            assert!((mean / sizes.mean() - 1.0).abs() < 0.01, "{mean} against {}", sizes.mean());
        }
    }
}
