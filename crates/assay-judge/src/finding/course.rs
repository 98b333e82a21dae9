//! Findings about the course of a run: how it ended, which part of it is missing, and whether the machine could carry
//! it.

use crate::finding::class::Class;
use crate::finding::others::OthersUse;
use crate::verdict::Verdict;
use assay_base::{Criterion, Span};
use std::fmt;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CourseFinding {
    /// Why the last segment ended, and what the run recorded about it.
    Ended(Ending, Option<String>),
    /// The last segment was cut off, or ended before its time.
    Short(Cut, Reached),
    /// Nothing was measured.
    NothingMeasured,
    /// The plan has no measured phase.
    NoMeasuredPhase,
    /// How many of the planned slices are complete, and whether there was an interruption.
    Slices { complete: u64, planned: u64, interrupted: bool },
    /// The same for the windows of a criterion.
    Windows { complete: u64, planned: u64, criterion: Criterion },
    /// No operation was scheduled in any slice.
    NoOperation,
    /// A stream waited until the end for another one.
    NeverBegan { stream: String, after: String },
    /// The warm-up did not reach a steady load; the text says why.
    NotSteady(String),
    /// The engine lost operations; the text is the run's.
    LostCount(String),
    /// An operation failed that belongs to no stream of the log.
    UnknownFlow,
    /// One of several ranks does not pass by itself; the text says which one and why.
    RankAlone { verdict: Verdict, why: String },
    /// One of several ranks has not said what its own part proves.
    RankUnjudged { rank: u32, host: String },
    /// What one of several ranks did is not known, or not of the time of the others; the text says which rank, and why.
    RankUnproven(String),
    /// None of so many operations of a figure per minute counts for it.
    NothingCounted { figure: String, target: String, scheduled: u64 },
}

/// How a segment ended, where that is a reason against PASS.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ending {
    /// The target was lost.
    TargetLost,
    /// The run gave up a database that somebody else had locked.
    Locked,
    /// The schedule fell behind before anything was issued.
    NothingIssued,
    /// The schedule fell behind; the generator caused up to this many nanoseconds of it.
    GeneratorBehind(u64),
    /// The device was too slow.
    DeviceTooSlow,
    /// The schedule fell behind while others used the device.
    BesideOthers(OthersUse),
    /// The generator was too slow.
    GeneratorTooSlow,
    /// The engine failed.
    EngineFailed,
}

/// Why a run is shorter than planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// There is no closing line.
    Off,
    /// It was interrupted; the text is what the run recorded about it.
    Interrupted(String),
    /// The log could not be written; the text is what the run recorded about it.
    LogFailed(String),
}

/// How much of the planned time was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Measured nanoseconds.
    pub(crate) ns: u64,
    /// Planned nanoseconds.
    pub(crate) of_ns: u64,
}

impl CourseFinding {
    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
        match self {
            CourseFinding::Ended(Ending::TargetLost, _) | CourseFinding::UnknownFlow => Class::Errors,
            CourseFinding::Ended(Ending::DeviceTooSlow, _)
            | CourseFinding::RankAlone { verdict: Verdict::Fail, .. } => Class::Broken,
            CourseFinding::RankAlone { verdict: Verdict::Incomplete, .. } => Class::Missing,
            CourseFinding::Ended(..)
            | CourseFinding::NoMeasuredPhase
            | CourseFinding::NoOperation
            | CourseFinding::NeverBegan { .. }
            | CourseFinding::NotSteady(_)
            | CourseFinding::NothingCounted { .. }
            | CourseFinding::RankAlone { .. }
            | CourseFinding::RankUnjudged { .. }
            | CourseFinding::RankUnproven(_)
            | CourseFinding::LostCount(_) => Class::Unproven,
            CourseFinding::Short(..)
            | CourseFinding::NothingMeasured
            | CourseFinding::Slices { .. }
            | CourseFinding::Windows { .. } => Class::Missing,
        }
    }
}

impl fmt::Display for CourseFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CourseFinding::Ended(ending, why) => {
                ending.fmt(f)?;
                why.as_ref().map_or(Ok(()), |why| write!(f, ": {why}"))
            }
            CourseFinding::Short(cut, reached) => cut.fmt_after(*reached, f),
            CourseFinding::NothingMeasured => f.write_str("nothing was measured"),
            CourseFinding::NoMeasuredPhase => f.write_str("the plan holds no measured phase"),
            CourseFinding::Slices { complete, planned, interrupted } => {
                let gap = if *interrupted { "; one that holds an interruption does not count" } else { "" };
                write!(f, "{complete} of {planned} slices are complete{gap}")
            }
            CourseFinding::Windows { complete, planned, criterion } => {
                write!(f, "{complete} of {planned} slices of \"{criterion}\" are complete")
            }
            CourseFinding::NoOperation => {
                f.write_str("no operation was scheduled in any slice, so that nothing is proven")
            }
            CourseFinding::NeverBegan { stream, after } => {
                write!(f, "{stream} never began, because {after} had not ended when the run was over")
            }
            CourseFinding::NotSteady(why) => {
                write!(f, "never reached a steady state before it was measured: {why}")
            }
            CourseFinding::LostCount(text) => write!(f, "the engine lost count of its operations: {text}"),
            CourseFinding::NothingCounted { figure, target, scheduled } => write!(
                f,
                "{figure} of {target} is 0: none of {scheduled} operations that were due was committed, so that nothing is proven"
            ),
            CourseFinding::RankAlone { why, .. } | CourseFinding::RankUnproven(why) => f.write_str(why),
            CourseFinding::RankUnjudged { rank, host } => {
                write!(f, "rank {rank} on {host} has not said what its own part proves")
            }
            CourseFinding::UnknownFlow => f.write_str("an operation failed, of no stream that the log names"),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::TargetLost => f.write_str("the target was lost"),
            Ending::Locked => f.write_str("the run gave up, because somebody else held a lock on the database"),
            Ending::NothingIssued => f.write_str("nothing was issued before the schedule fell behind"),
            Ending::GeneratorBehind(ns) => {
                let behind = Span::from_ns(*ns).human_text();
                write!(f, "the schedule fell behind, by up to {behind} because the test machine was late")
            }
            Ending::DeviceTooSlow => {
                f.write_str("the load was not held: the device was too slow, and the schedule fell behind")
            }
            Ending::BesideOthers(others) => {
                write!(f, "the load was not held, and the schedule fell behind, but {others}")
            }
            Ending::GeneratorTooSlow => f.write_str("the test machine was too slow and let the schedule fall behind"),
            Ending::EngineFailed => f.write_str("the engine failed"),
        }
    }
}

impl Cut {
    fn fmt_after(&self, reached: Reached, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ns, of] = [reached.ns, reached.of_ns].map(|ns| Span::from_ns(ns).human_text());
        let (what, said) = match self {
            Cut::Off => return write!(f, "the run was cut off after {ns} of {of}: its log has no closing line"),
            Cut::Interrupted(said) => ("the run was interrupted", said),
            Cut::LogFailed(said) => ("the log could not be kept", said),
        };
        write!(f, "{what} after {ns} of {of}")?;
        if said.is_empty() { Ok(()) } else { write!(f, " ({said})") }
    }
}
