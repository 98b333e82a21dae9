//! A simulated cache of blocks: which accesses of a stream would be hits, for one size or for all sizes at once.
//!
//! No data are kept, only which blocks are in the cache. An access is a block's number and a direction.

mod aside;
mod behind;
mod curve;
pub(crate) mod distances;
mod meant;
mod segments;
mod sides;
mod simulated;
mod taken;
mod trace;

pub use aside::CacheDevice;
pub use behind::LoadBehindCache;
pub use curve::{CacheCurve, Point, Settings};
pub use meant::{Caching, Onward};
pub(crate) use meant::{EVICTIONS, LONGEST_EVICTION};
pub use sides::{Did, Side, Sides, sides_of_cache};
pub use simulated::{Cache, Policy};
pub use trace::Trace;

use assay_base::Direction;
use serde::{Deserialize, Serialize};

/// What a write does with a block that is not in the cache.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// The block is put into the cache, as by a read.
    #[default]
    Allocate,
    /// The write bypasses the cache: nothing is put in, and a block in the cache stays where it is.
    Around,
}

impl Writes {
    /// Whether an access changes what is in the cache.
    fn changes_cache(self, direction: Direction) -> bool {
        direction == Direction::Read || self == Writes::Allocate
    }
}

/// A map whose keys are numbers of blocks. A cheap hash is enough, because nobody chooses the numbers so that they
/// collide.
pub(crate) type Blocks<V> = std::collections::HashMap<u64, V, std::hash::BuildHasherDefault<ByBlock>>;

/// The hasher of [`Blocks`].
#[derive(Debug, Default)]
pub(crate) struct ByBlock(u64);

impl std::hash::Hasher for ByBlock {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix_block(self.0 ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, block: u64) {
        self.0 = mix_block(block);
    }
}

/// Mixes the bits of a block's number. This hashes blocks, and chooses a sample of the blocks that is the same each
/// time (the finalizer of MurmurHash3 by Austin Appleby, public domain).
pub(crate) fn mix_block(block: u64) -> u64 {
    let mut x = block ^ 0x9e37_79b9_7f4a_7c15;
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
