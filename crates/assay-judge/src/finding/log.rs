//! Findings about the log itself: what is missing of it, what is damaged, and where it contradicts itself.

use crate::finding::class::Class;
use std::fmt;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogFinding {
    /// Two things that it says cannot both be true.
    Contradiction(Contradiction),
    /// A line is not what was written; the text is the reader's.
    Damaged(String),
    /// The last line was never finished.
    TornTail(String),
    /// These intervals, from the first to the last, are not there.
    Intervals(u64, u64),
    /// The closing line speaks of so many intervals, and so many are there.
    Count(u64, u64),
}

/// Two things in the log that cannot both be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// An interval does not begin where the one before it ended, or stands behind the closing line.
    Apart { index: u64, start_ns: u64, end_ns: u64 },
    /// An interval was there already.
    Again { index: u64 },
    /// An interval has figures for another number of flows than there are.
    Flows { index: u64, found: usize, of: usize },
    /// The counts of a flow.
    Counts { index: u64, stream: String, target: String, why: Unbalanced },
    /// The readings of the clocks beside an interval.
    Clocks { index: u64, why: ClockFault },
    /// The run was closed before its last interval ended.
    Closed { at_ns: u64 },
    /// The closing line has other sums than the intervals.
    Sums { told: Sums, found: Sums },
}

/// How the counts of a flow in one interval fail to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unbalanced {
    /// What came in is not what went out.
    Operations { carried: u64, scheduled: u64, out: u128 },
    /// Not every length was counted.
    Lengths { of: &'static str, counted: u64, operations: u64 },
    /// What is left of a length is more than it was.
    Floor { of: &'static str },
    /// So many damaged places, and no read that failed for one.
    Damage(u64),
}

/// How the clocks of one machine contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClockFault {
    /// They were read before the interval ended with which they were collected.
    Early,
    /// They went on by so many nanoseconds.
    Differ { ran: i128, monotonic: i128, boot: i128 },
}

/// Operations over a whole segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Handed over.
    pub(crate) issued: u64,
    /// Came back.
    pub(crate) completed: u64,
    /// Never came back.
    pub(crate) stuck: u64,
}

impl LogFinding {
    /// Its weight.
    pub(crate) fn class(&self) -> Class {
        match self {
            LogFinding::Contradiction(_) | LogFinding::Damaged(_) => Class::Unproven,
            LogFinding::TornTail(_) | LogFinding::Intervals(..) | LogFinding::Count(..) => Class::Missing,
        }
    }
}

impl fmt::Display for LogFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogFinding::Contradiction(contradiction) => contradiction.fmt(f),
            LogFinding::Damaged(place) => write!(f, "the log is damaged: {place}"),
            LogFinding::TornTail(place) => write!(f, "the log ends in the middle of a line ({place})"),
            LogFinding::Intervals(first, last) if first == last => write!(f, "interval {first} is missing"),
            LogFinding::Intervals(first, last) => write!(f, "intervals {first} to {last} are missing"),
            LogFinding::Count(told, found) => {
                write!(f, "the closing line speaks of {told} intervals, {found} are there")
            }
        }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log does not add up: ")?;
        match self {
            Contradiction::Apart { index, start_ns, end_ns } => {
                write!(f, "interval {index} from {start_ns} ns to {end_ns} ns does not follow what stands before it")
            }
            Contradiction::Again { index } => write!(f, "interval {index} comes twice or too late"),
            Contradiction::Flows { index, found, of } => {
                write!(f, "interval {index} has figures for {found} flows of {of}")
            }
            Contradiction::Counts { index, stream, target, why } => {
                write!(f, "interval {index}, {stream} on {target}: {why}")
            }
            Contradiction::Clocks { index, why } => {
                write!(f, "interval {index}: the clocks beside it contradict each other: {why}")
            }
            Contradiction::Closed { at_ns } => {
                write!(f, "the run was closed at {at_ns} ns, before its last interval ended")
            }
            Contradiction::Sums { told, found } => write!(
                f,
                "the closing line speaks of {} issued, {} completed, {} stuck; the intervals of {}, {}, {}",
                told.issued, told.completed, told.stuck, found.issued, found.completed, found.stuck
            ),
        }
    }
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unbalanced::Operations { carried, scheduled, out } => {
                write!(f, "{carried} carried in and {scheduled} scheduled, but {out} accounted for")
            }
            Unbalanced::Lengths { of, counted, operations } => {
                write!(f, "{counted} lengths of {of} for {operations} operations")
            }
            Unbalanced::Floor { of } => write!(f, "the floor of {of} is more than {of} itself"),
            Unbalanced::Damage(places) => write!(f, "{places} damaged places and no read that met one"),
        }
    }
}

impl fmt::Display for ClockFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClockFault::Early => f.write_str("they were read before it ended"),
            ClockFault::Differ { ran, monotonic, boot } => {
                write!(f, "the run went on by {ran} ns, CLOCK_MONOTONIC by {monotonic} ns, CLOCK_BOOTTIME by {boot} ns")
            }
        }
    }
}
