//! How often blocks of 4 KiB are begun with, for all blocks as long as there are few, and for fewer and fewer of them as
//! more come: which are kept is decided by a hash of their numbers, so that a block that is kept was counted from its
//! first request on.

use crate::cache::{Blocks, mix_block};

/// Size of a block, as a power of two.
pub(super) const BLOCK: u32 = 12;
/// Upper bound on the blocks that are kept.
const BLOCKS_MAX: usize = 65_536;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct StartSample {
    counts: Blocks<u32>,
    /// One block of 2^this is kept.
    halved: u32,
}

/// Whether a block is among those that are kept.
#[inline]
pub(super) fn is_kept(block: u64, halved: u32) -> bool {
    mix_block(block).trailing_zeros() >= halved
}

impl StartSample {
    pub(super) fn add_start(&mut self, place: u64) {
        let block = place >> BLOCK;
        if !is_kept(block, self.halved) {
            return;
        }
        *self.counts.entry(block).or_default() += 1;
        while self.counts.len() > BLOCKS_MAX {
            self.halved += 1;
            let halved = self.halved;
            self.counts.retain(|block, _| is_kept(*block, halved));
        }
    }

    /// The counts of the blocks that are kept.
    pub(super) fn kept_counts(&self) -> impl Iterator<Item = u64> + '_ {
        self.counts.values().map(|count| u64::from(*count))
    }

    /// The share of the blocks that are kept.
    pub(super) fn kept_share(&self) -> f64 {
        0.5f64.powi(self.halved as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_are_kept_were_counted_from_the_first_on() {
        let mut sample = StartSample::default();
        for _ in 0..3 {
            (0..300_000u64).for_each(|block| sample.add_start(block << BLOCK));
        }
        assert!(sample.counts.len() <= BLOCKS_MAX && sample.kept_share() == 0.125);
        assert!(sample.kept_counts().all(|count| count == 3));
        let expected = 300_000.0 * sample.kept_share();
        assert!((sample.counts.len() as f64 - expected).abs() < 4.0 * expected.sqrt());
    }
}
