//! What the cache remembers of each operation of its caller that is in flight.

use crate::racing::Moment;
use assay_base::cached::TouchedBlocks;
use assay_base::{Instant, Op};

/// An operation in flight.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Flight {
    /// The operation as the caller asked for it.
    pub op: Op,
    pub kind: FlightKind,
    /// When the operation was issued, if its completion does not say so: it was put together from parts, or it was
    /// first issued to the cache's device and then to its target.
    pub issued: Option<Instant>,
}

/// How an operation in flight is answered.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) enum FlightKind {
    /// No operation is in flight.
    #[default]
    None,
    /// It bypasses the cache.
    Through,
    /// A read of blocks that are not in the cache.
    Miss(TouchedBlocks, Moment),
    /// A write of blocks that may be cached.
    Write(TouchedBlocks, Moment),
    /// A read that the device of the cache answers; all its blocks are in this segment.
    Hit { segment: u32 },
    /// A read whose data come from several places; `left` of its requests are not answered yet.
    Parts { left: u32, last: Instant, result: Result<u32, assay_base::Code> },
}
