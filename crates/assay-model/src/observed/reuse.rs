//! How soon blocks are used again: the share of the reads that a cache of a size would not answer (miss ratio), for an LRU
//! cache of blocks of 4 KiB into which writes are put as well.
//!
//! Distances are those of `cache/distances.rs`. Only a sample of the blocks is followed, which becomes a smaller part of
//! all blocks as more of them come, so that the memory does not grow (C. A. Waldspurger, N. Park, A. Garthwaite, I. Ahmad,
//! "Efficient MRC construction with SHARDS", FAST 2015, section 2.3). Where fewer or more requests fell on the sample than
//! its part of the blocks says, the difference are requests with no distance: the hottest blocks are few, and a sample has
//! none or too many of them (section 3.1 there).

use super::sample::{BLOCK, is_kept};
use crate::cache::distances::Distances;
use assay_base::Direction;

/// Upper bound on the blocks that are followed.
const BLOCKS_MAX: u64 = 65_536;
/// Sizes of caches, in blocks: powers of two, from 1 MiB on.
const SMALLEST: u32 = 8;
/// Number of sizes.
const SIZES: usize = 20;
/// Upper bound on the blocks of one request that are looked at.
const BLOCKS_OF_ONE: u64 = 16_384;

/// The share of the reads that a cache does not answer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MissRatio {
    /// Size of the cache in bytes.
    pub cache: u64,
    /// From 0 to 1.
    pub misses: f64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Reuse {
    distances: Option<Distances>,
    halved: u32,
    /// Blocks read, and what of them the sample stands for.
    reads: u64,
    sampled: f64,
    /// Reads whose distance fits into a cache of each size and not into the size before, as what they stand for.
    hits: [f64; SIZES],
}

impl Reuse {
    pub(super) fn access_request(&mut self, place: u64, bytes: u64, direction: Direction) {
        let first = place >> BLOCK;
        let last = place.saturating_add(bytes.max(1) - 1) >> BLOCK;
        for block in first..=last.min(first + BLOCKS_OF_ONE) {
            self.access_block(block, direction);
        }
    }

    #[inline]
    fn access_block(&mut self, block: u64, direction: Direction) {
        let is_read = direction == Direction::Read;
        self.reads += u64::from(is_read);
        if !is_kept(block, self.halved) {
            return;
        }
        let distances = self.distances.get_or_insert_with(Distances::new);
        let distance = distances.access_block(block);
        if is_read {
            let stands_for = (1u64 << self.halved) as f64;
            self.sampled += stands_for;
            if let Some(size) = distance.and_then(|distance| size_that_holds(distance << self.halved)) {
                self.hits[size] += stands_for;
            }
        }
        if distances.blocks_seen() > BLOCKS_MAX {
            self.halved += 1;
            let halved = self.halved;
            distances.retain_blocks(|block| is_kept(block, halved));
        }
    }

    /// For each size.
    pub(super) fn miss_ratios(&self) -> Vec<MissRatio> {
        if self.reads == 0 {
            return Vec::new();
        }
        let mut hits = self.reads as f64 - self.sampled;
        let ratios = self.hits.iter().enumerate().map(|(at, more)| {
            hits += more;
            let misses = (1.0 - hits / self.reads as f64).clamp(0.0, 1.0);
            MissRatio { cache: 1 << (SMALLEST + BLOCK + at as u32), misses }
        });
        ratios.collect()
    }
}

/// The smallest size of a cache that has a block of this distance.
fn size_that_holds(distance: u64) -> Option<usize> {
    let power = u64::BITS - distance.leading_zeros();
    let at = power.saturating_sub(SMALLEST) as usize;
    (at < SIZES).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Zipf;
    use crate::cache::{CacheCurve, Policy, Settings, Writes};
    use assay_base::Prng;

    #[test]
    fn a_sample_gives_the_curve_of_all_blocks() {
        for (exponent, blocks, operations) in
            [(0.8, 400_000, 600_000u64), (1.2, 1 << 24, 400_000), (0.0, 20_000, 200_000)]
        {
            let (mut reuse, mut law, mut prng) = (Reuse::default(), Zipf::new(blocks, exponent), Prng::from_seed(3));
            let sizes = (0..SIZES as u32).map(|at| 1 << (SMALLEST + at)).collect();
            let settings = Settings { policy: Policy::Lru, writes: Writes::Allocate, one_of: 1, segment: 1 };
            let mut whole = CacheCurve::new(settings, sizes);
            for at in 0..operations {
                let direction = if at % 5 == 0 { Direction::Write } else { Direction::Read };
                let block = law.next(&mut prng);
                reuse.access_request(block << BLOCK, 4096, direction);
                whole.access_block(block, direction);
            }
            for (ours, point) in reuse.miss_ratios().iter().zip(whole.curve_points()) {
                let off = (ours.misses - (1.0 - point.hits)).abs();
                assert!(off < 0.01 && ours.cache == point.blocks * 4096, "{exponent}: {ours:?} {point:?}");
            }
        }
    }

    #[test]
    fn distances_and_sizes() {
        for (distance, size) in [(0, Some(0)), (255, Some(0)), (256, Some(1)), (511, Some(1)), (512, Some(2))] {
            assert_eq!(size_that_holds(distance), size, "{distance}");
        }
        assert_eq!(size_that_holds(u64::MAX), None);
        assert!(Reuse::default().miss_ratios().is_empty());
    }
}
