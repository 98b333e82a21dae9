//! One log of all ranks, made while each of them writes its own.
//!
//! Each rank hears the lines of its own log as they are written ([`RankLog::hear_line`]). Intervals and distributions are added up
//! over all ranks by the link, as rows of integers, so that rank 0 gets the same numbers whatever the order in which parts arrive;
//! the other lines go to rank 0 as letters. The same code makes the log once more from the files of all ranks.
//!
//! All ranks go through the same rounds, one for each interval: which of them have something, the distributions behind the interval
//! before, the interval. Who has ended adds zeros until all have.

mod clock_watch;
mod letter;
mod rank_log;
mod rounds;
mod silence;
#[cfg(test)]
mod tests;

pub use clock_watch::{ClockLimits, Strayed};
pub use letter::sign_of_life;
pub use rank_log::{RankLog, Stepped};
pub use silence::Patience;

use assay_base::Span;
use assay_record::{Close, Event, Header, Histograms, Interval};

/// What a rank learns from the others. The joint lines come in the order in which they stand in the joint log, and to rank 0 alone.
#[derive(Clone, Debug, PartialEq)]
pub enum JointNews {
    /// All ranks have begun a segment, with these headers.
    SegmentBegins(Vec<Header>),
    /// The interval of all ranks.
    Interval(Box<Interval>),
    /// The distributions of all ranks.
    Distributions(Histograms),
    /// All ranks can begin, and do so when the clock of rank 0 shows this, in nanoseconds. To every rank.
    Start {
        /// On the time line by which rank 0 steps.
        ns: u64,
    },
    /// Something has happened on a rank.
    Event {
        /// The rank.
        rank: usize,
        /// What it has written in its log.
        event: Event,
    },
    /// All ranks have closed the segment, each with this line.
    SegmentEnds(Vec<Close>),
    /// A rank has ended its part before its time: the others' parts are not the whole load, and must end too. To every rank.
    EndsEarly,
    /// Nothing has been heard of a rank for so long: by rank 0 of any other one, by the others of rank 0.
    Silent {
        /// The rank.
        rank: usize,
        /// For how long.
        quiet_for: Span,
    },
    /// Nothing has been heard of a rank for so long that it is given up: by rank 0 of any other one, by the others of rank 0.
    Lost {
        /// The rank.
        rank: usize,
        /// For how long.
        quiet_for: Span,
    },
    /// The own clock has strayed from that of rank 0. To this rank alone.
    ClockStrayed(Strayed),
    /// A rank cannot go on. To every rank.
    Failed {
        /// The rank.
        rank: usize,
        /// Why.
        why: String,
    },
}
