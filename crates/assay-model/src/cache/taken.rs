//! What a cache does with an operation of a load, before anything is known about what is in the cache: one rule for the
//! curve of hits and for the load behind a simulated cache, and for the policy `log` that of the cache device.

use super::Policy;
use assay_base::cached::{Ranges, TouchedBlocks};
use assay_base::{Direction, Op};

/// What becomes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheDecision {
    /// It bypasses the cache and goes on to its target.
    Beside,
    /// The cache takes all of its blocks.
    Blocks(TouchedBlocks),
    /// It goes on to its target, and the cache removes the blocks that it touches: it holds whole blocks only, and they
    /// were written in part.
    Removed(TouchedBlocks),
}

impl CacheDecision {
    /// What a cache of `policy` for the blocks in `ranges` does with `op`. A simulated cache takes whatever touches its
    /// blocks alone; with the policy `log` it is a cache device, which answers and keeps whole blocks only.
    pub(super) fn new(policy: Policy, ranges: &Ranges, op: &Op) -> CacheDecision {
        let Some(touched) = ranges.touched_blocks(op) else { return CacheDecision::Beside };
        match (policy, op.direction) {
            (Policy::Log, _) if touched.whole => CacheDecision::Blocks(touched),
            (Policy::Log, Direction::Write) => CacheDecision::Removed(touched),
            (Policy::Log, Direction::Read) => CacheDecision::Beside,
            _ if ranges.contain_every_block(op) => CacheDecision::Blocks(touched),
            _ => CacheDecision::Beside,
        }
    }
}

/// The names of the blocks of an operation, in order.
pub(super) fn block_names(touched: TouchedBlocks) -> impl Iterator<Item = u64> {
    (0..touched.count).map(move |at| touched.first.advanced_by_blocks(at).0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::cached::Range;

    #[test]
    fn a_cache_takes_what_lies_in_its_ranges_and_a_device_whole_blocks_of_it() {
        let ranges = Ranges::new(&[Range { target: 0, start: 0, end: 40_960 }], 2, 4096);
        let op = |target, direction, offset, len| Op { target, direction, durable: false, offset, len };
        let (read, write) = (Direction::Read, Direction::Write);
        // In words, with the number of blocks: of a cache with the policy lru, and with the policy log.
        let word = |taken: CacheDecision| match taken {
            CacheDecision::Beside => "beside".to_owned(),
            CacheDecision::Blocks(touched) => format!("{} blocks", touched.count),
            CacheDecision::Removed(touched) => format!("removed {}", touched.count),
        };
        for (op, lru, log) in [
            (op(0, read, 8192, 8192), "2 blocks", "2 blocks"),
            (op(0, write, 8192, 8192), "2 blocks", "2 blocks"),
            (op(0, read, 8192, 512), "1 blocks", "beside"),
            (op(0, write, 8191, 2), "2 blocks", "removed 2"),
            // Beyond the end of what is cached.
            (op(0, read, 36_864, 8192), "beside", "beside"),
            (op(0, write, 36_864, 8192), "beside", "removed 1"),
            (op(0, write, 40_960, 4096), "beside", "beside"),
            (op(1, write, 0, 4096), "beside", "beside"),
        ] {
            assert_eq!(word(CacheDecision::new(Policy::Lru, &ranges, &op)), lru, "{op:?}");
            assert_eq!(word(CacheDecision::new(Policy::Log, &ranges, &op)), log, "{op:?}");
        }
    }
}
