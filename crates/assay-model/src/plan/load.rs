//! What a plan asks of its targets.

use super::application::PlannedApplication;
use super::groups::Group;
use super::lanes::Lane;
use super::stream::{Block, Stream};
use crate::mix::Loop;
use assay_base::cached::Range;
use assay_base::{Direction, Geometry, Multiple};

/// Upper bound on the streams of one workload.
pub const MOST_STREAMS: usize = 256;

/// The load of a plan: its streams at their rates, and what they share.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedLoad {
    /// The multiple by which the rates of the streams are already multiplied. Several workloads with different
    /// multiples have 1x here, and theirs in `multiples`.
    pub multiple: Multiple,
    /// The multiples of several workloads that run together, in their order, because multiples of different workloads
    /// have no sum. Empty for a single workload.
    pub multiples: Vec<Multiple>,
    /// The seed of every random choice.
    pub seed: u64,
    /// Number of targets over which the streams' rates are spread.
    pub targets: u16,
    /// The streams.
    pub streams: Vec<Stream>,
    /// Upper bound on operations in flight per target. A full queue makes operations wait, and the wait counts.
    pub in_flight_bound: u32,
    /// Groups of streams that have slots of their own on each target.
    pub lanes: Vec<Lane>,
    /// Streams whose figures are also shown together.
    pub groups: Vec<Group>,
    /// Closed loops over several streams.
    pub loops: Vec<Loop>,
    /// The application whose load the streams are; absent where they stand for themselves.
    pub application: Option<PlannedApplication>,
}

impl PlannedLoad {
    /// Why a plan without any rate cannot run at another load, and what to do.
    pub const ONLY_CLOSED_LOOPS: &str = "every stream of the workload is a closed loop (in_flight), which has no rate to \
                                         multiply; give a stream a rate";

    /// Whether its load can be multiplied, because some stream has a rate.
    pub fn can_be_scaled(&self) -> bool {
        self.streams.iter().any(|stream| stream.arrival.offered_rate().is_some())
    }

    /// Streams in a direction whose rate depends on the target: closed loops, without a bound on what they move. The
    /// read-back moves what was written, once, and is not included.
    pub fn unbounded_streams(&self, direction: Direction) -> impl Iterator<Item = &Stream> {
        let own = self.streams.iter().filter(move |stream| stream.data_direction() == Some(direction));
        own.filter(|stream| stream.arrival.offered_rate().is_none() && !stream.reads_back())
    }

    /// The loop of a stream.
    pub fn loop_of(&self, stream: u16) -> Option<&Loop> {
        let name = self.streams[usize::from(stream)].arrival.loop_name()?;
        self.loops.iter().find(|known| known.name == *name)
    }

    /// The load in words: `30x`; of several workloads `1x each`, or `2x and 1x` in their order.
    pub fn multiple_in_words(&self) -> String {
        let texts: Vec<String> = self.multiples.iter().map(Multiple::to_string).collect();
        match texts.split_last() {
            None => self.multiple.to_string(),
            Some((last, others)) if others.iter().all(|other| other == last) => format!("{last} each"),
            Some((last, others)) => format!("{} and {last}", others.join(", ")),
        }
    }

    /// Whether a stream reads back what the run has written.
    pub fn reads_back(&self, stream: u16) -> bool {
        self.streams[usize::from(stream)].reads_back()
    }

    /// True when running it destroys what the targets hold.
    pub fn writes_targets(&self) -> bool {
        self.streams.iter().any(Stream::writes_blocks)
    }

    /// The first stream whose places are those of a stream, by index: itself where it shares them with none.
    pub fn places_of(&self, stream: u16) -> u16 {
        let Some(own) = self.streams[usize::from(stream)].name_of_places() else { return stream };
        let first = self.streams.iter().position(|other| other.name_of_places() == Some(own));
        first.map_or(stream, |first| first as u16)
    }

    /// The targets that a stream is on.
    pub fn targets_of(&self, stream: u16) -> impl Iterator<Item = u16> + '_ {
        let named = &self.streams[usize::from(stream)].targets;
        (0..self.targets).filter(|target| named.is_empty() || named.contains(target))
    }

    /// Flows (stream, target) in the order in which intervals list them: all targets of the first stream, then of the
    /// second.
    pub fn stream_targets(&self) -> impl Iterator<Item = (u16, u16)> + '_ {
        (0..self.streams.len() as u16).flat_map(|stream| self.targets_of(stream).map(move |target| (stream, target)))
    }

    /// The parts of the targets that a cache in front of them takes, be it a device or simulated: of an OLTP load data
    /// store and user store, of any other load whole targets.
    pub fn cacheable_ranges(&self, geometries: &[Geometry]) -> Result<Vec<Range>, String> {
        match self.oltp() {
            Some(oltp) => oltp.store_ranges(geometries),
            None => Ok((0..).zip(geometries).map(|(target, it)| Range { target, start: 0, end: it.size }).collect()),
        }
    }

    pub(super) fn block_streams(&self) -> impl Iterator<Item = &Block> {
        self.streams.iter().filter_map(Stream::as_block)
    }
}
