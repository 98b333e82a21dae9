//! The streams and loops of a plan as sources of block I/O.

use crate::closed::Closed;
use crate::flushing::Flushing;
use crate::joint::Joined;
use crate::living::{Living, Within};
use crate::looped::Looped;
use crate::recorded::Recorded;
use crate::scheduled::Scheduled;
use crate::source::{Lived, Next, Slots, Source};
use assay_base::{Instant, Op, Span};
use assay_model::cache::Behind;
use assay_model::generator::Generator;
use assay_model::journal::Journal;
use assay_model::oltp::Load;

/// A source of block I/O on one target, as one of several workers issues it.
#[derive(Debug)]
pub struct Blocks(pub(crate) Kind);

/// Which kind of source it is.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all sources are single streams, and a box is a step more for each operation"
)]
pub(crate) enum Kind {
    /// A stream with a number in flight.
    Closed(Closed),
    /// A stream with a schedule.
    Scheduled(Scheduled),
    /// A stream that plays a recording.
    Recorded(Box<Recorded>),
    /// A copy of a closed loop over several streams.
    Loop(Box<Looped>),
    /// A copy of a closed loop, with a flush after a number of its writes.
    Flushing(Box<Flushing>),
    /// Any of these that begins or ends within the run.
    Living(Box<Living<Blocks>>),
    /// The streams of a target behind a cache: a part of their operations goes on to it.
    Behind(Box<Joined<Behind>>),
    /// The streams of an OLTP load on a target.
    Oltp(Box<Joined<Load>>),
    /// A log on a target, and the streams that follow it.
    Journal(Box<Joined<Journal>>),
}

/// Calls the same method of the source, whichever kind it is.
macro_rules! either {
    ($it:expr, $one:ident => $call:expr) => {
        match $it {
            Kind::Closed($one) => $call,
            Kind::Scheduled($one) => $call,
            Kind::Recorded($one) => $call,
            Kind::Loop($one) => $call,
            Kind::Flushing($one) => $call,
            Kind::Living($one) => $call,
            Kind::Behind($one) => $call,
            Kind::Oltp($one) => $call,
            Kind::Journal($one) => $call,
        }
    };
}

impl Source for Blocks {
    type Request = Op;

    #[inline(always)]
    fn due(&self) -> Instant {
        either!(&self.0, it => it.due())
    }

    #[inline(always)]
    fn next(&mut self, now: Instant) -> Next {
        either!(&mut self.0, it => it.next(now))
    }

    #[inline(always)]
    fn take(&mut self, flow: usize) -> Op {
        either!(&mut self.0, it => it.take(flow))
    }

    fn draws_ahead(&self) -> bool {
        either!(&self.0, it => it.draws_ahead())
    }

    #[inline]
    fn draw(&mut self, now: Instant) -> (usize, Op) {
        either!(&mut self.0, it => it.draw(now))
    }

    #[inline]
    fn take_drawn(&mut self, flow: usize) {
        either!(&mut self.0, it => it.take_drawn(flow));
    }

    #[inline]
    fn follow(&mut self, flow: usize) {
        either!(&mut self.0, it => it.follow(flow));
    }

    #[inline(always)]
    fn returned(&mut self, flow: usize, completed: Instant) {
        either!(&mut self.0, it => it.returned(flow, completed));
    }

    fn operations(&self) -> Option<u64> {
        either!(&self.0, it => it.operations())
    }

    fn is_open_loop(&self) -> bool {
        either!(&self.0, it => it.is_open_loop())
    }

    fn pause(&self) -> Span {
        either!(&self.0, it => it.pause())
    }

    fn slots(&self) -> u32 {
        either!(&self.0, it => it.slots())
    }

    fn free_slots(&mut self, at: Instant) -> Slots {
        either!(&mut self.0, it => it.free_slots(at))
    }

    fn count_until(&mut self, end: Instant, count: impl FnMut(usize, u64, u64)) {
        either!(&mut self.0, it => it.count_until(end, count));
    }

    fn life(&self) -> Option<Lived> {
        either!(&self.0, it => it.life())
    }

    fn begin(&mut self, now: Instant) -> Instant {
        either!(&mut self.0, it => it.begin(now))
    }
}

impl Within for Blocks {
    fn generator(&self) -> Option<&Generator> {
        if let Kind::Scheduled(scheduled) = &self.0 { Some(scheduled.generator()) } else { None }
    }

    fn adds_flushes(&self) -> bool {
        matches!(self.0, Kind::Flushing(_))
    }
}
