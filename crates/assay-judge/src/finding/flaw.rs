//! Reasons why a window proves nothing, whatever its figures are.

use crate::finding::log::Contradiction;
use crate::words::human_time;
use crate::words::percent_text;
use assay_base::{Direction, Span};
use std::fmt;

/// Why a window does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// The log contradicts itself there.
    Contradiction(Contradiction),
    /// The machine changed during the window; the text is the run's.
    Changed(String),
    /// The machine slept for this many nanoseconds.
    Slept(u64),
    /// Operations are counted in a bucket with this number, which does not exist.
    NoBucket(u64),
    /// In a closed loop, rate × mean response is not what was asked for in flight; both in tenths of an operation.
    Little { of: String, asked: i64, made: i64 },
    /// The generator issued a hundredth of all operations this many nanoseconds too late, or later.
    OwnLag(u64),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Flaw::Contradiction(contradiction) => contradiction.fmt(f),
            Flaw::Changed(how) => f.write_str(how),
            Flaw::Slept(ns) => write!(f, "the machine slept for {}", Span::from_ns(*ns).human_text()),
            Flaw::NoBucket(bucket) => write!(f, "a count for bucket {bucket}, which does not exist"),
            Flaw::Little { of, asked, made } => {
                write!(
                    f,
                    "the log does not add up: the closed loop {of} asked for {:.1} in flight, and rate × response makes {:.1}",
                    from_tenths(*asked),
                    from_tenths(*made)
                )
            }
            Flaw::OwnLag(ns) => {
                let lag = Span::from_ns(*ns).human_text();
                write!(f, "the test machine issued 1% of all operations {lag} or more too late")
            }
        }
    }
}

fn from_tenths(tenths: i64) -> f64 {
    tenths as f64 / 10.0
}

/// Why a window that keeps its bounds does not prove that they hold: the generator was late on one target.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Late {
    /// The target.
    pub(crate) target: String,
    /// The consequence.
    pub(crate) what: LateBy,
}

/// The consequence of a late generator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LateBy {
    /// The target had no work for this share of the window, and for this many nanoseconds at a time.
    Rest { share: f64, longest_ns: u64 },
    /// A closed loop asked for less than it should, for this share of the window and this many nanoseconds at a time.
    Overslept { share: f64, longest_ns: u64 },
    /// Slots of a closed loop had no operation, for this share of their time and this many nanoseconds at a time.
    LeftIdle { share: f64, longest_ns: u64 },
    /// The block device counted fewer operations than the run issued.
    Merged { direction: Direction, counted: u64, own: u64 },
    /// The block device counted fewer flushes than there were durable writes.
    Flushes { counted: u64, durable: u64 },
}

impl fmt::Display for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.target;
        match &self.what {
            LateBy::Rest { share, longest_ns } => write!(
                f,
                "the test machine left {name} without work for {} of the time, up to {} at once, although operations were due",
                percent_text(*share),
                human_time(*longest_ns)
            ),
            LateBy::Overslept { share, longest_ns } => write!(
                f,
                "the test machine looked for completions too late for {} of the time, up to {} at once, in which its closed \
                 loop on {name} asked for less",
                percent_text(*share),
                human_time(*longest_ns)
            ),
            LateBy::LeftIdle { share, longest_ns } => write!(
                f,
                "the test machine left slots of its closed loop on {name} without an operation for {} of their time, up to {} \
                 at once, so that it asked for less",
                percent_text(*share),
                human_time(*longest_ns)
            ),
            LateBy::Merged { direction, counted, own } => write!(
                f,
                "the test machine was late, and {name} counted {counted} {direction}s where the run made {own}: operations \
                 that came in bunches were merged on their way"
            ),
            LateBy::Flushes { counted, durable } => write!(
                f,
                "the test machine was late, and {name} counted {counted} flushes where {durable} writes were to be durable: \
                 one flush served several"
            ),
        }
    }
}
