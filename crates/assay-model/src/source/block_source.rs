//! The streams and loops of a plan as sources of block I/O.

use crate::cache::LoadBehindCache;
use crate::generator::Generator;
use crate::journal::Journal;
use crate::oltp::Load;
use crate::source::closed_loop::LoopSource;
use crate::source::closed_stream::ClosedStream;
use crate::source::drawn_together::DrawnTogether;
use crate::source::grouped_stream::GroupedStream;
use crate::source::lifetime::{WithLifetime, Wrapped};
use crate::source::loop_with_flushes::LoopWithFlushes;
use crate::source::read_back::WrittenPlaces;
use crate::source::recorded_stream::RecordedStream;
use crate::source::scheduled_stream::ScheduledStream;
use assay_base::source::{FreeSlotTimes, Lifetime, NextRequest, Source};
use assay_base::{Instant, Op, Span};

/// A source of block I/O, as one of several workers issues it. `W` knows what the run has written, for streams that
/// read it back.
#[derive(Debug)]
pub struct BlockSource<W>(pub(super) Variant<W>);

/// The forms that a source of block I/O has.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all sources are single streams, and a box is a step more for each operation"
)]
pub(super) enum Variant<W> {
    /// A stream with a number in flight.
    Closed(ClosedStream<W>),
    /// A stream with a schedule.
    Scheduled(ScheduledStream),
    /// A stream of groups of commits.
    Grouped(Box<GroupedStream>),
    /// A stream that plays a recording.
    Recorded(Box<RecordedStream>),
    /// A copy of a closed loop over several streams.
    Loop(Box<LoopSource>),
    /// A copy of a closed loop, with a flush after a number of its writes.
    Flushing(Box<LoopWithFlushes>),
    /// Any of these that begins or ends within the run.
    Living(Box<WithLifetime<BlockSource<W>>>),
    /// The streams of a target behind a cache: the cache passes a part of their operations on to the target.
    Behind(Box<DrawnTogether<LoadBehindCache>>),
    /// The streams of an OLTP load on a target.
    Oltp(Box<DrawnTogether<Load>>),
    /// A log on a target, and the streams that follow it.
    Journal(Box<DrawnTogether<Journal>>),
}

/// Calls the same method of the source, whichever form it has.
macro_rules! either {
    ($source:expr, $one:ident => $call:expr) => {
        match $source {
            Variant::Closed($one) => $call,
            Variant::Scheduled($one) => $call,
            Variant::Grouped($one) => $call,
            Variant::Recorded($one) => $call,
            Variant::Loop($one) => $call,
            Variant::Flushing($one) => $call,
            Variant::Living($one) => $call,
            Variant::Behind($one) => $call,
            Variant::Oltp($one) => $call,
            Variant::Journal($one) => $call,
        }
    };
}

impl<W: WrittenPlaces> Source for BlockSource<W> {
    type Request = Op;

    #[inline(always)]
    fn next_due(&self) -> Instant {
        either!(&self.0, source => source.next_due())
    }

    #[inline(always)]
    fn next(&mut self, now: Instant) -> NextRequest {
        either!(&mut self.0, source => source.next(now))
    }

    #[inline(always)]
    fn take_request(&mut self, flow: usize) -> Op {
        either!(&mut self.0, source => source.take_request(flow))
    }

    fn draws_ahead(&self) -> bool {
        either!(&self.0, source => source.draws_ahead())
    }

    #[inline]
    fn draw_ahead(&mut self, now: Instant) -> (usize, Op) {
        either!(&mut self.0, source => source.draw_ahead(now))
    }

    #[inline]
    fn take_drawn(&mut self, flow: usize) {
        either!(&mut self.0, source => source.take_drawn(flow));
    }

    #[inline]
    fn note_followed(&mut self, flow: usize) {
        either!(&mut self.0, source => source.note_followed(flow));
    }

    #[inline(always)]
    fn note_completed(&mut self, flow: usize, completed: Instant) {
        either!(&mut self.0, source => source.note_completed(flow, completed));
    }

    fn total_operations(&self) -> Option<u64> {
        either!(&self.0, source => source.total_operations())
    }

    fn is_open_loop(&self) -> bool {
        either!(&self.0, source => source.is_open_loop())
    }

    fn pause_after_completion(&self) -> Span {
        either!(&self.0, source => source.pause_after_completion())
    }

    fn slot_count(&self) -> u32 {
        either!(&self.0, source => source.slot_count())
    }

    fn free_slots(&mut self, at: Instant) -> FreeSlotTimes {
        either!(&mut self.0, source => source.free_slots(at))
    }

    fn count_until(&mut self, end: Instant, count: impl FnMut(usize, u64, u64)) {
        either!(&mut self.0, source => source.count_until(end, count));
    }

    fn lifetime_progress(&self) -> Option<Lifetime> {
        either!(&self.0, source => source.lifetime_progress())
    }

    fn begin_after_others(&mut self, now: Instant) -> Instant {
        either!(&mut self.0, source => source.begin_after_others(now))
    }
}

impl<W: WrittenPlaces> Wrapped for BlockSource<W> {
    fn plain_generator(&self) -> Option<&Generator> {
        if let Variant::Scheduled(scheduled) = &self.0 { Some(scheduled.flow_generator()) } else { None }
    }

    fn adds_flushes(&self) -> bool {
        matches!(self.0, Variant::Flushing(_))
    }
}
