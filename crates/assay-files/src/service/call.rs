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

/// Commits that are durable, or of which this is not known because a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommitGroup {
    /// When each was wanted.
    pub intended: Vec<Instant>,
    /// When the writer could begin: when the first was wanted and the group before was done.
    pub free: Instant,
    /// When its first call was issued.
    pub issued: Instant,
    /// When its last call returned.
    pub completed: Instant,
    /// What its calls were issued too late by because of ourselves.
    pub own_lag: Span,
    /// What failed.
    pub failed: Option<Code>,
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
    /// What calls in it were issued too late by because of ourselves.
    pub own_lag: Span,
    /// What failed.
    pub failed: Option<Code>,
}
