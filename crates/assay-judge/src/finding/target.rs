//! Findings about a target: what its block device counted, what it reports about its health, and whether its data were
//! ever written.

use crate::finding::class::Class;
use crate::words::percent_text;
use assay_base::Bytes;
use std::fmt;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TargetFinding {
    /// Its block device counted other numbers than the run.
    Mismatch(Mismatch),
    /// Others wrote this many bytes to it after its preparation.
    Foreign { target: String, bytes: u64, prepared: String },
    /// Reads of blocks that were never written.
    Blank { target: String, blank: u64, sampled: u64 },
    /// For none of the reads it is known whether their blocks were ever written.
    Unseen { stream: String, target: String, reads: u64 },
    /// It reports more media errors than before the run.
    MediaErrors { target: String, before: u128, after: u128 },
    /// Nothing that was read could be verified.
    NothingVerified,
    /// What the run left does not fulfil a condition.
    Condition(String),
    /// Somebody else changed what the run worked on.
    Disturbed(String),
    /// What the run left could not be checked.
    Unchecked(String),
    /// Operations said that data were durable, and they cannot have been.
    NotDurable(Box<NotDurable>),
}

/// Operations that ended when data were durable, and were not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NotDurable {
    /// The target.
    pub(crate) target: String,
    /// How many there were: `7 syncs`.
    pub(crate) syncs: String,
    /// The device that was to be flushed.
    pub(crate) device: String,
    /// How that is known.
    pub(crate) why: WhyNotDurable,
}

/// How it is known that nothing, or not all, was made durable.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WhyNotDurable {
    /// Nothing there ever is; why.
    Never(String),
    /// The device counted no flush.
    NoFlush,
    /// The device counted fewer flushes than such operations need, of which so many can wait for one.
    TooFewFlushes { flushes: u64, at_once: u64 },
}

/// What a block device counted, compared with what the run issued.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mismatch {
    /// The target.
    pub(crate) target: String,
    /// `reads`, `bytes written` …
    pub(crate) of: &'static str,
    /// Counted by the device.
    pub(crate) theirs: u64,
    /// Counted by the run.
    pub(crate) own: u64,
    /// The difference as a share of the run's own count.
    pub(crate) share: f64,
}

impl TargetFinding {
    /// How severe it is.
    pub(crate) fn severity_class(&self) -> Class {
        match self {
            TargetFinding::Mismatch(_) | TargetFinding::Disturbed(_) | TargetFinding::NotDurable(_) => Class::Between,
            TargetFinding::MediaErrors { .. } | TargetFinding::Condition(_) => Class::Errors,
            TargetFinding::Foreign { .. }
            | TargetFinding::Blank { .. }
            | TargetFinding::Unseen { .. }
            | TargetFinding::NothingVerified
            | TargetFinding::Unchecked(_) => Class::Unproven,
        }
    }
}

impl fmt::Display for TargetFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TargetFinding::Mismatch(found) => {
                let cause = if found.theirs < found.own {
                    "something cached, so that the device itself was not tested"
                } else {
                    "somebody else used it at the same time"
                };
                write!(f, "{found}: {cause}")
            }
            TargetFinding::Foreign { target, bytes, prepared } => write!(
                f,
                "{target}: others wrote {} to it after its preparation of {prepared}, and what they wrote is read as if it had \
                 been prepared; prepare it again",
                Bytes::new(*bytes).human_text()
            ),
            TargetFinding::Blank { target, blank, sampled } => write!(
                f,
                "{target}: {blank} of {sampled} sampled reads met blocks that were never written, which a device answers without \
                 looking; prepare it first"
            ),
            TargetFinding::Unseen { stream, target, reads } => write!(
                f,
                "{stream} on {target}: it is not known whether any of its {reads} reads met data that was ever written: none \
                 covered the beginning of a block of 4 KiB"
            ),
            TargetFinding::MediaErrors { target, before, after } => {
                write!(f, "{target} reports {after} media errors, {before} before the run")
            }
            TargetFinding::NothingVerified => f.write_str(
                "nothing that was read could be verified: no block of it carries the seal of a run that verifies",
            ),
            TargetFinding::NotDurable(found) => found.fmt(f),
            TargetFinding::Condition(text) | TargetFinding::Disturbed(text) | TargetFinding::Unchecked(text) => {
                f.write_str(text)
            }
        }
    }
}

/// What may be between a sync and its device.
const SWALLOWED: &str = "what was asked for is lost on its way: a mount without barriers (nobarrier, barrier=0), a library or a \
                         file system that swallows syncs, or a device that does not pass flushes on";

impl fmt::Display for NotDurable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NotDurable { target, syncs, device, why } = self;
        match why {
            WhyNotDurable::Never(why) => {
                write!(
                    f,
                    "nothing was made durable: {syncs} on {target} came back, and {why}; test a directory on a disk"
                )
            }
            WhyNotDurable::NoFlush => write!(
                f,
                "nothing was made durable: {syncs} on {target} came back, and no flush reached {device}, which has a write \
                 cache; {SWALLOWED}"
            ),
            WhyNotDurable::TooFewFlushes { flushes, at_once } => write!(
                f,
                "not all was made durable: {syncs} on {target} came back, at most {at_once} of them waited at one time, and only \
                 {flushes} flushes reached {device}, which has a write cache; {SWALLOWED}"
            ),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { target, of, theirs, own, share } = self;
        let share = percent_text(*share);
        write!(f, "{target}: its block device counted {theirs} {of} where the run made {own} (a difference of {share})")
    }
}
