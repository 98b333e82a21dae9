//! One call of a thread of a server, and what ends with it.

use crate::extents::Version;
use assay_base::{Code, Instant, Span};
use assay_model::files::service::ServiceCall;

/// A call on the kernel: all that the shell must know to make it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileCall {
    /// What is done.
    pub call: ServiceCall,
    /// On which file, by its index in [`super::ServiceFiles`].
    pub file: usize,
    /// The place of its kind in the description.
    pub kind: usize,
    /// Where; of a truncation the new size.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// What is written; `None` for zeros.
    pub version: Option<Version>,
    /// The number of the new name of a rename.
    pub new_name: Option<u64>,
    /// The flow that counts it.
    pub flow: usize,
    /// When it is wanted, where that is not as soon as the call before has returned.
    pub wanted: Option<Instant>,
}

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceNext {
    /// Something, whose first call could be issued from this moment on.
    Begin {
        /// Not before it was wanted, and not before the thread was free.
        may_issue: Instant,
    },
    /// Nothing until this moment, unless another thread wakes it.
    WaitUntil(Instant),
    /// Nothing more in this phase.
    Over,
}

/// Why a call did not do what it was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallFailure {
    /// The kernel said so.
    Error(Code),
    /// It wrote fewer bytes than it was given.
    Short,
}

/// Commits that are durable, or of which this is not known because a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitGroup {
    /// When each was wanted.
    pub intended: Vec<Instant>,
    /// When the writer could have begun: when the first was wanted and the group before was done, or would have been if
    /// the process had not stood still.
    pub free: Instant,
    /// When its first call was issued.
    pub issued: Instant,
    /// When its last call returned.
    pub completed: Instant,
    /// What was added behind its first call because of ourselves: calls that were issued too late, or that the process
    /// stood still in.
    pub own_within: Span,
    /// What failed.
    pub failed: Option<CallFailure>,
}

/// When a call was made, and what of that is because of ourselves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallTimes {
    /// When it was issued.
    pub issued: Instant,
    /// When it returned.
    pub completed: Instant,
    /// By how much it was issued too late.
    pub own_lag: Span,
    /// How long the process stood still in it, and from when it could have been issued until it returned.
    pub stood: Span,
    /// See `stood`.
    pub stood_in_all: Span,
}

impl CallTimes {
    /// Those of a call in which the process ran.
    pub fn new(issued: Instant, completed: Instant, own_lag: Span) -> CallTimes {
        CallTimes { issued, completed, own_lag, stood: Span::ZERO, stood_in_all: Span::ZERO }
    }
}

/// The time from one step to another, as a stream of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanDone {
    /// The flow that counts it.
    pub flow: usize,
    /// When the first call of the first step was issued.
    pub issued: Instant,
    /// When the last call of the last step returned.
    pub completed: Instant,
    /// What calls in it were issued too late by, or returned too late by, because of ourselves.
    pub own_lag: Span,
    /// What failed.
    pub failed: Option<CallFailure>,
}
