//! Findings about the log itself: what is missing in it, what is damaged, and where it contradicts itself.

use crate::finding::class::Class;
use std::fmt;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LogFinding {
    /// Two statements in it cannot both be true.
    Contradiction(Contradiction),
    /// A line was changed; the text is the reader's.
    Damaged(String),
    /// The last line is incomplete.
    TornTail(String),
    /// The intervals from the first number to the last are missing.
    Intervals(u64, u64),
    /// The closing line says the first number of intervals, and the log has the second.
    Count(u64, u64),
}

/// Two statements in the log that cannot both be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Contradiction {
    /// An interval does not begin where the one before it ended, or follows the closing line.
    Apart { index: u64, start_ns: u64, end_ns: u64 },
    /// An interval that was already read.
    Again { index: u64 },
    /// An interval has figures for a wrong number of flows.
    Flows { index: u64, found: usize, of: usize },
    /// The counts of a flow do not agree.
    Counts { index: u64, stream: String, target: String, why: Unbalanced },
    /// The clock readings of an interval contradict it.
    Clocks { index: u64, why: ClockFault },
    /// The run was closed before its last interval ended.
    Closed { at_ns: u64 },
    /// The sums in the closing line differ from those of the intervals.
    Sums { stated: Sums, found: Sums },
}

/// How the counts of a flow in one interval fail to agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unbalanced {
    /// The operations that came in are not those that went out.
    Operations { carried: u64, scheduled: u64, out: u128 },
    /// Not every time was counted.
    Lengths { of: &'static str, counted: u64, operations: u64 },
    /// A floor is larger than the time it belongs to.
    Floor { of: &'static str },
    /// This many damaged places were counted, but no read failed because of one.
    Damage(u64),
}

/// How the clocks of one machine contradict each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ClockFault {
    /// They were read before the end of the interval that they belong to.
    Early,
    /// They advanced by different numbers of nanoseconds.
    Differ { ran: i128, monotonic: i128, boot: i128 },
}

/// Operations over a whole segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    /// Issued.
    pub(crate) issued: u64,
    /// Completed in any way.
    pub(crate) completed: u64,
    /// Never completed.
    pub(crate) stuck: u64,
}

impl LogFinding {
    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
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
            LogFinding::Count(stated, found) => {
                write!(f, "the closing line says {stated} intervals, the log has {found}")
            }
        }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log does not add up: ")?;
        match self {
            Contradiction::Apart { index, start_ns, end_ns } => {
                write!(
                    f,
                    "interval {index} from {start_ns} ns to {end_ns} ns does not continue from the interval before it"
                )
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
            Contradiction::Sums { stated, found } => write!(
                f,
                "the closing line says {} issued, {} completed, {} stuck; the intervals add up to {}, {}, {}",
                stated.issued, stated.completed, stated.stuck, found.issued, found.completed, found.stuck
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
