//! How large the targets must be for a plan, and how much of them is used up where each place is seen only once.

use super::stream::{Block, Stream};
use super::whole::Plan;
use crate::address::Address;
use crate::tiles::PlannedTiles;
use assay_base::Bytes;

/// The smallest block that a target can have, in bytes.
const SMALLEST_BLOCK: u32 = 512;

impl Plan {
    /// How large a target must be for the streams that are on it, in bytes, for blocks of `block` bytes; [`Plan::check_fits`] says more where
    /// parts of targets are laid out together.
    pub fn smallest_target(&self, target: u16, block: u32) -> u64 {
        let mut most = self.load.tiles().map_or(0, PlannedTiles::needed_bytes);
        for (stream, _, need) in self.space_needs(block) {
            let is_here = stream.targets.is_empty() || stream.targets.contains(&target);
            if is_here && !stream.is_laid_out() {
                most = most.max(need);
            }
        }
        most
    }

    /// The size of the smallest target that one of its streams fits on.
    pub(crate) fn needed_by(&self, stream: u16, block: u32) -> u64 {
        let own = &self.load.streams[usize::from(stream)].name;
        self.space_needs(block).find(|(stream, ..)| stream.name == *own).map_or(0, |(_, _, need)| need)
    }

    /// Refuses a range that is too small on any target; the error says whose.
    pub(crate) fn fits_somewhere(&self) -> Result<(), String> {
        match self.space_needs(SMALLEST_BLOCK).find(|(_, _, need)| *need == u64::MAX) {
            Some((stream, within, _)) => Err(format!(
                "the range of the stream {} is too small: it needs {} there",
                stream.name,
                Bytes::new(within).human_text()
            )),
            None => Ok(()),
        }
    }

    /// Of each stream how much of a target it needs for itself, and how large that target has to be.
    fn space_needs(&self, block: u32) -> impl Iterator<Item = (&Stream, u64, u64)> {
        (0..).zip(&self.load.streams).filter_map(move |(at, stream)| {
            let own = Stream::as_block(stream)?;
            let largest = own.size.in_blocks(block).largest_size();
            let set = if let Address::WorkingSet { size, .. } = own.address { size.get() } else { 0 };
            let recorded = stream.arrival.played_recording().filter(|recording| !recording.scaled);
            let reaches = recorded.map_or(0, |recording| recording.reaches.get());
            let within =
                largest.max(own.address.offset_unit().get()).max(set).max(self.seen_once(at, block)).max(reaches);
            Some((stream, within, own.extent.map_or(within, |extent| extent.smallest_target(within, block))))
        })
    }

    /// How many bytes of each of its targets a stream goes through at most, where it goes to each place once; zero elsewhere.
    pub fn seen_once(&self, stream: u16, block: u32) -> u64 {
        let described = &self.load.streams[usize::from(stream)];
        let Some(Block { address: Address::NeverSeen { unit, reread }, .. }) = described.as_block() else { return 0 };
        let back = reread.map_or(0.0, |reread| reread.share.as_f64().min(1.0));
        let targets = self.load.targets_of(stream).count().max(1) as f64;
        let operations = described.arrival.most_in(self.timing.total_length()).unwrap_or(0.0) / targets;
        // Six standard deviations of which of them go back, and what workers are apart.
        let new = operations * (1.0 - back) + 6.0 * (operations * back).sqrt() + 1024.0;
        let unit = unit.get().next_multiple_of(u64::from(block));
        (new.ceil() as u64).saturating_mul(unit)
    }

    /// The value of [`CarriedOver::seen`] after this plan has run, for blocks of `block` bytes.
    pub fn seen_after(&self, block: u32) -> Bytes {
        let once = (0..self.load.streams.len() as u16).map(|stream| self.seen_once(stream, block)).max();
        Bytes::new(self.carried_over.seen.get().saturating_add(once.unwrap_or(0)))
    }

    /// The largest operation in bytes, for blocks of `block` bytes.
    pub fn largest_operation(&self, block: u32) -> u64 {
        let own = self.load.block_streams().map(|it| it.size.in_blocks(block).largest_size()).max().unwrap_or(0);
        // A cache reads whole blocks at both ends.
        own + self.caches.simulated.map_or(0, |cache| 2 * cache.block.get().next_multiple_of(block.into()))
    }
}
