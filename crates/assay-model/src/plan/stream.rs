//! A stream: a named flow of operations of one kind, and what each of them does.

use super::arrival::Arrival;
use crate::address::Address;
use crate::extent::Extent;
use crate::flush::Flush;
use crate::life::Life;
use crate::size::Size;
use crate::skip::is_zero_share;
use assay_base::{Direction, Geometry, Share};
use serde::{Deserialize, Serialize};

/// A named flow of operations of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Its name, unique in the plan: `reads`, `large-block-writes` …
    pub name: String,
    /// What an operation does.
    #[serde(flatten)]
    pub work: Work,
    /// When operations are intended, over all targets of the stream together.
    pub arrival: Arrival,
    /// Whether tables in the form of ACT also have a column for it on each device.
    pub per_target: bool,
    /// The targets of the plan that it runs on, in ascending order; all targets if the list is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<u16>,
    /// When it begins and ends. A stream of a loop has none: the loop has one for all of its streams.
    #[serde(flatten)]
    pub life: Life,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Work {
    /// Reads or writes blocks.
    Block(Block),
    /// Flushes the target.
    Flush(Flush),
    /// An operation with this name, for another kind of device.
    Other {
        /// `new-order`, `rename` …
        operation: String,
    },
}

/// A read or a write of blocks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// Read or write.
    pub direction: Direction,
    /// Whether a write must be on stable media to be complete (O_DSYNC).
    pub durable: bool,
    /// The byte that fills what is written, behind its stamp; without it written data are unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filled_with: Option<u8>,
    /// Size of an operation, before rounding up to the target's blocks.
    pub size: Size,
    /// The addresses of the operations.
    pub address: Address,
    /// The part of the target that the operations stay in; the whole target where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extent: Option<Extent>,
    /// Name of its places: streams with the same name have the same hot places, and in one loop the same cursor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub places: Option<String>,
    /// The share of their size that written data compress to; 100 % for incompressible data.
    pub compress_to: Share,
    /// The share of its blocks of 4 KiB that are copies of one of its earlier blocks.
    #[serde(default, skip_serializing_if = "is_zero_share")]
    pub duplicates: Share,
}

impl Stream {
    /// Its reads or writes of blocks; `None` for a stream of flushes or of other operations.
    pub fn as_block(&self) -> Option<&Block> {
        match &self.work {
            Work::Block(block) => Some(block),
            Work::Flush(_) | Work::Other { .. } => None,
        }
    }

    /// Its flushes; `None` for every other stream.
    pub fn as_flush(&self) -> Option<Flush> {
        match self.work {
            Work::Flush(flush) => Some(flush),
            Work::Block(_) | Work::Other { .. } => None,
        }
    }

    /// The name of its operation where it neither reads nor writes blocks.
    pub fn operation_name(&self) -> Option<&str> {
        match &self.work {
            Work::Block(_) => None,
            Work::Flush(_) => Some(Flush::WORD),
            Work::Other { operation } => Some(operation),
        }
    }

    /// The direction in which it moves data; `None` if it moves none.
    pub fn data_direction(&self) -> Option<Direction> {
        self.as_block().map(|block| block.direction)
    }

    /// Whether it overwrites blocks.
    pub fn writes_blocks(&self) -> bool {
        self.data_direction() == Some(Direction::Write)
    }

    /// Whether its operations take places that no earlier run has used (`never_seen`).
    pub fn goes_once(&self) -> bool {
        self.as_block().is_some_and(|block| matches!(block.address, Address::NeverSeen { .. }))
    }

    /// Whether its operations are appended to those before them, and drawn together with the streams that follow it.
    pub fn is_appending(&self) -> bool {
        self.as_block().is_some_and(|block| matches!(block.address, Address::Appended))
    }

    /// Whether it reads back what the run has written.
    pub fn reads_back(&self) -> bool {
        self.as_block().is_some_and(|block| matches!(block.address, Address::Written))
    }

    /// Bytes per second that it moves over all its targets, for blocks of `block` bytes; `None` for a closed loop.
    /// Of groups of commits it is the most: what it is where each commit is a group by itself.
    pub fn bytes_per_second(&self, block: u32) -> Option<f64> {
        if let Arrival::Grouped(groups) = &self.arrival {
            return Some(groups.most_bytes_per_second(block));
        }
        Some(self.arrival.mean_rate()?.as_f64() * self.as_block()?.size.in_blocks(block).mean_size())
    }

    /// The name under which it shares its places with others.
    pub(super) fn name_of_places(&self) -> Option<&String> {
        self.as_block()?.places.as_ref()
    }

    /// Whether its places or its rate depend on how long the run has lasted.
    pub(super) fn changes_with_time(&self) -> bool {
        let moves = self.as_block().is_some_and(|block| matches!(block.address, Address::WorkingSet { .. }));
        moves || matches!(self.arrival, Arrival::Varying { .. })
    }
}

impl Block {
    /// The lowest bit of the answer is the common unit of its lengths and offsets, counted from the begin of its part of
    /// the target; zero for the read-back, which has the units of the writes.
    pub(crate) fn common_step(&self, block: u32) -> u64 {
        match self.address {
            Address::Written => 0,
            ref address => {
                let largest = self.size.in_blocks(block).largest_size();
                self.size.common_step(block) | address.offset_step(block.into(), largest)
            }
        }
    }

    /// How many operations go through its part of a target once, where all have one size; at least one.
    pub fn operations_per_pass(&self, target: Geometry) -> u64 {
        let length = self.extent.map_or(target.size, |extent| extent.range_within(target.size, target.block).1);
        (length / self.size.in_blocks(target.block).largest_size().max(1)).max(1)
    }
}
