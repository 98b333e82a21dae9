//! A cache of blocks as a value: which of a stream of accesses it would have answered, for one size or for all sizes at once.
//!
//! No bytes are kept, only which blocks are there. An access is a block's number and a direction.

mod curve;
mod distances;
mod simulated;

pub use curve::{CacheCurve, Point, Settings};
pub use simulated::{Cache, Policy};

use assay_base::Direction;
use serde::{Deserialize, Serialize};

/// What a write does with a block that is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// It is put into the cache, as by a read.
    #[default]
    Allocate,
    /// It goes around the cache: nothing is put in, and a block that is there stays where it is.
    Around,
}

impl Writes {
    /// Whether an access changes what is in the cache.
    fn touches(self, direction: Direction) -> bool {
        direction == Direction::Read || self == Writes::Allocate
    }
}

/// Mixes the bits of a block's number, so that a part of all blocks can be chosen that is the same part each time
/// (the finalizer of MurmurHash3 by Austin Appleby, public domain).
fn mixed(block: u64) -> u64 {
    let mut x = block ^ 0x9e37_79b9_7f4a_7c15;
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}
