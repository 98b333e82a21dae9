//! A cache before a target as it is meant: in a plan and in a log.

use super::simulated::Policy;
use assay_base::{Bytes, Geometry};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the stream of written blocks that made room for others.
pub const EVICTIONS: &str = "evictions";
/// Most bytes of such an operation.
pub const LONGEST_EVICTION: u64 = 1 << 20;
/// Memory for each block in the cache, in bytes: its place in the order, and its entry in a map that is at least half full.
const MEMORY_OF_A_BLOCK: u64 = 96;

/// A simulated cache before each target, as it is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caching {
    /// How much it holds.
    pub size: Bytes,
    /// The size of a block.
    pub block: Bytes,
    /// Which block makes room for another.
    pub policy: Policy,
    /// What becomes of writes.
    pub writes: Onward,
    /// Operations that pass it before the run, so that it does not begin empty.
    #[serde(default, skip_serializing_if = "is_none")]
    pub warm: u64,
}

fn is_none(operations: &u64) -> bool {
    *operations == 0
}

/// What becomes of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Onward {
    /// They go on to the target, and their blocks are in the cache.
    #[default]
    Through,
    /// They go on to the target, and change nothing in the cache.
    Around,
    /// They stay in the cache until their blocks make room for others.
    Back,
}

impl Caching {
    /// Number of blocks that it holds before a target with blocks of `block` bytes.
    pub fn blocks(&self, block: u32) -> u64 {
        self.size.get() / self.block_on(block)
    }

    /// The memory that it takes before a target at most: no more blocks are in it than the target has.
    pub fn memory_before(&self, target: Geometry) -> Bytes {
        let most = target.size.div_ceil(self.block_on(target.block));
        Bytes::new(self.blocks(target.block).min(most).saturating_mul(MEMORY_OF_A_BLOCK))
    }

    /// Its block on a target with blocks of `block` bytes.
    pub(super) fn block_on(&self, block: u32) -> u64 {
        self.block.get().max(1).next_multiple_of(u64::from(block.max(1)))
    }
}

impl fmt::Display for Onward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Onward::Through => "writes go through it",
            Onward::Around => "writes go around it",
            Onward::Back => "writes stay in it until they make room",
        })
    }
}

impl fmt::Display for Caching {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Caching { size, block, policy, writes, warm } = self;
        write!(f, "{size} in blocks of {block}, {policy}, {writes}")?;
        match warm {
            0 => f.write_str(", empty at the beginning"),
            warm => write!(f, ", after {warm} operations"),
        }
    }
}
