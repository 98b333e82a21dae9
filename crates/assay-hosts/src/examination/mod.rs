//! What `assay doctor --hosts` does: every rank says what it is, the clocks are compared, numbers are added up over all ranks
//! as a run does each second, and pairs of ranks send each other large messages.
//!
//! Rank 0 has a [`Coordinator`], and every rank, rank 0 too, a [`Member`]. The stages follow each other: hello, clocks, sums,
//! messages in one direction, in the other, clocks once more.

mod coordinator;
mod letter;
mod member;
#[cfg(test)]
mod tests;

pub use coordinator::Coordinator;
pub use member::Member;

use crate::clock::{ClockMap, ClockReading};
use crate::link::LinkError;
use assay_base::Span;
use serde::{Deserialize, Serialize};

/// What a rank says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Version of this program.
    pub version: String,
    /// Name of the host.
    pub host: String,
    /// Which boot of which host: ranks on one host have the same.
    pub boot_id: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Model of the processors.
    pub cpu_model: String,
    /// Processors that are online.
    pub processors: u32,
    /// Processors that this process may use.
    pub allowed_processors: u32,
    /// What the library that joins the ranks says of itself.
    pub library: String,
    /// The kernel's name of the clock that is compared.
    #[serde(default)]
    pub clock_source: String,
    /// What that clock showed where the readings have their zero, in nanoseconds: with it they can be held against other programs'.
    #[serde(default)]
    pub clock_origin_ns: u64,
}

/// How an examination is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// For how long pairs send messages, in each direction.
    pub messages_for: Span,
    /// After how long without progress the ranks are asked whether they are there.
    pub patience: Span,
    /// Who has not answered by then is lost.
    pub answer_within: Span,
}

impl Settings {
    /// After how long without a letter a rank may say that rank 0 is lost: which gives up all others before, and tells them. Pairs
    /// send one after the other, and a rank without a partner hears nothing meanwhile.
    pub fn longest_silence(&self) -> Span {
        self.messages_for + self.messages_for + self.patience + self.patience + self.answer_within
    }
}

/// How fast large messages were.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throughput {
    /// Bytes that the other rank has acknowledged.
    pub bytes: u64,
    /// Nanoseconds from the first message to the last acknowledgement.
    pub ns: u64,
}

impl Throughput {
    /// Bytes in a second; nothing where no time has passed.
    pub fn bytes_per_second(self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes as f64 * 1e9 / self.ns as f64)
    }
}

/// What was found of one rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankFound {
    /// What it says of itself; `None` where it has said nothing.
    pub facts: Option<HostFacts>,
    /// What the first and the second comparison with rank 0's clock found.
    pub readings: Vec<ClockReading>,
    /// The rank it sent large messages to, and how fast these were.
    pub sent: Option<(usize, Throughput)>,
}

impl RankFound {
    /// The clock of rank 0 as this rank knows it.
    pub fn clock_map(&self) -> Option<ClockMap> {
        let (earlier, later) = (*self.readings.first()?, *self.readings.get(1)?);
        ClockMap::of_two_readings(earlier, later)
    }
}

/// What was found of the sums over all ranks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SumsFound {
    /// How long each sum and maximum took rank 0, in nanoseconds.
    pub took_ns: Vec<u64>,
    /// How many of them were wrong.
    pub wrong: usize,
}

/// What an examination has found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    /// Each rank.
    pub ranks: Vec<RankFound>,
    /// Sums and maxima over all ranks.
    pub sums: SumsFound,
    /// Versions of this program differ, so that nothing else was tried.
    pub versions_differ: bool,
    /// It did not go on, and was ended for that.
    pub has_stalled: bool,
    /// Ranks that did not answer then.
    pub lost: Vec<usize>,
}

/// What a step has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Messages may follow within microseconds: step again at once.
    Busy,
    /// There is nothing to do before others do something.
    Waiting,
    /// This side has done all it had to.
    Finished,
}

/// The other rank of its pair: rank k is paired with rank k + half of all. `None` for the last rank of an odd number.
pub(crate) fn partner_of(rank: usize, world_size: usize) -> Option<usize> {
    let half = world_size / 2;
    match rank {
        rank if rank < half => Some(rank + half),
        rank if rank < 2 * half => Some(rank - half),
        _ => None,
    }
}

pub(crate) fn is_first_of_pair(rank: usize, world_size: usize) -> bool {
    rank < world_size / 2
}

/// A letter that nobody expects.
pub(crate) fn unexpected(from: usize, what: &str) -> LinkError {
    LinkError { what: format!("rank {from} sent {what}, which nobody expected") }
}
