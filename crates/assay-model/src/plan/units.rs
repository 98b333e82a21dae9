//! The common units of the lengths and offsets of the operations of a load.

use super::load::PlannedLoad;
use super::stream::{Block, Stream};
use crate::address::{Address, common_power};
use crate::seal;
use assay_base::Direction;

impl PlannedLoad {
    /// The common unit of all reads and writes on a target with blocks of `block` bytes: the largest power of two that
    /// divides all their lengths and offsets. `None` when that is less than the smallest granule of a seal.
    pub fn common_granule(&self, block: u32) -> Option<u64> {
        let common = self.common_unit(block, |_| true).min(seal::LARGEST);
        (common >= seal::SMALLEST).then_some(common)
    }

    /// The common unit of the writes, or of the reads where nothing is written: one generation is counted for each
    /// unit.
    pub fn generation_unit(&self, block: u32) -> u64 {
        let writes = self.writes_targets();
        self.common_unit(block, |it| (it.direction == Direction::Write) == writes)
    }

    fn common_unit(&self, block: u32, which: impl Fn(&Block) -> bool) -> u64 {
        let mut all = 0;
        for (at, stream) in (0..).zip(&self.streams) {
            let Some(own) = stream.as_block().filter(|own| which(own)) else { continue };
            if own.address != Address::Written {
                all |= own.extent.map_or(0, |extent| extent.start_step(block)) | self.step_of(at, block);
            }
        }
        common_power(all)
    }

    /// The lowest bit of the answer is the common unit of the lengths and offsets of a stream (by its index), counted from
    /// the begin of its part of the target. Zero if it moves no blocks.
    pub(crate) fn step_of(&self, stream: u16, block: u32) -> u64 {
        let own = self.streams[usize::from(stream)].as_block().map_or(0, |it| it.common_step(block));
        own | self.sharing_cursor(stream).fold(0, |all, it| all | it.common_step(block))
    }

    /// The largest operation, in bytes, of those that go on from each other's places: a stream's own, and those of the
    /// streams that share its cursor. Zero if it moves no blocks.
    pub(crate) fn largest_at_cursor(&self, stream: u16, block: u32) -> u64 {
        let own = self.streams[usize::from(stream)].as_block();
        let all = own.into_iter().chain(self.sharing_cursor(stream));
        all.map(|own| own.size.in_blocks(block).largest_size()).max().unwrap_or(0)
    }

    /// The streams whose operations move the cursor of a stream on: those of its loop that share its places.
    fn sharing_cursor(&self, stream: u16) -> impl Iterator<Item = &Block> {
        let own = &self.streams[usize::from(stream)];
        let name = own.as_block().filter(|it| it.address.has_cursor()).and_then(|it| it.places.as_ref());
        let of_loop = self
            .streams
            .iter()
            .filter(move |other| name.is_some() && other.arrival.loop_name() == own.arrival.loop_name());
        let others = of_loop.filter_map(Stream::as_block);
        others.filter(move |it| it.address.has_cursor() && it.places.as_ref() == name)
    }
}
