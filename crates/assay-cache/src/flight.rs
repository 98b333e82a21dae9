//! What an operation in flight is for the cache.

use crate::racing::Moment;
use crate::range::Touched;
use assay_base::{Instant, Op};

/// See the module.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Flight {
    /// As it was asked for.
    pub op: Op,
    pub kind: Kind,
    /// When it was first handed over, where that was to another device than the one that answers it.
    pub issued: Option<Instant>,
}

/// See [`Flight`].
#[derive(Clone, Copy, Default, Debug)]
pub(crate) enum Kind {
    /// No operation is in flight.
    #[default]
    None,
    /// It passes the cache.
    Through,
    /// A read of blocks that are not in the cache.
    Miss(Touched, Moment),
    /// A write of blocks that may be cached.
    Write(Touched, Moment),
    /// A read of blocks that the device of the cache has, all in this segment.
    Hit { segment: u32 },
    /// A read of which the cache has a part: `left` requests are not answered yet.
    Parts { left: u32, last: Instant, result: Result<u32, assay_base::Code> },
}
