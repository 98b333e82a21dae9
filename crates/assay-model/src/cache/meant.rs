//! A simulated cache in front of a target, as plans and run logs describe it.

use super::simulated::Policy;
use assay_base::{Bytes, Geometry};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the stream that writes evicted blocks.
pub(crate) const EVICTIONS: &str = "evictions";
/// The most bytes of an operation of that stream.
pub(crate) const LONGEST_EVICTION: u64 = 1 << 20;
/// Memory for each block in the cache, in bytes: its place in the order, and its entry in a map that is at least half full.
const MEMORY_OF_A_BLOCK: u64 = 96;

/// A simulated cache in front of each target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caching {
    /// How much data it holds.
    pub size: Bytes,
    /// The size of a block.
    pub block: Bytes,
    /// Which block is evicted.
    pub policy: Policy,
    /// What the cache does with writes.
    pub writes: Onward,
    /// Number of operations that fill the cache before the run, so that it does not begin empty.
    #[serde(default, skip_serializing_if = "is_none")]
    pub warm: u64,
}

fn is_none(operations: &u64) -> bool {
    *operations == 0
}

/// What a cache does with writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Onward {
    /// Write-through: writes go on to the target, and their blocks are put into the cache.
    #[default]
    Through,
    /// Write-around: writes go on to the target, and change nothing in the cache.
    Around,
    /// Write-back: writes stay in the cache until their blocks are evicted.
    Back,
}

impl Caching {
    /// Number of blocks that the cache holds in front of a target with blocks of `block` bytes.
    pub fn capacity_blocks(&self, block: u32) -> u64 {
        self.size.get() / self.block_on(block)
    }

    /// The most memory that the simulation of the cache takes in front of a target. No more blocks are in the cache
    /// than the target has.
    pub fn memory_before(&self, target: Geometry) -> Bytes {
        let most = target.size.div_ceil(self.block_on(target.block));
        Bytes::new(self.capacity_blocks(target.block).min(most).saturating_mul(MEMORY_OF_A_BLOCK))
    }

    /// The bytes of a block of the cache in front of a target with blocks of `block` bytes.
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
