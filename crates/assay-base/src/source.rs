//! Where requests come from: a source is a group of flows that share an arrival or a number in flight.
//!
//! A stream on one target is a group of one. Groups of several are a mix whose reads and writes share a queue depth, a
//! deck of transactions that several sessions execute, or a sequence of calls on one file: the source decides which
//! flow the next request belongs to, and they take the slots of their target. All go to one target, except where a loop takes turns.

use crate::time::{Instant, Span};

/// The answer of a source about its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextRequest {
    /// It belongs to the flow with this index.
    Of(usize),
    /// There is none now; ask again at this time.
    Later(Instant),
    /// There are no more.
    Over,
}

/// The progress of a source that begins or ends within the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// The time at which it began, if it waited for another source.
    pub begun: Option<Instant>,
    /// Whether it has no more requests; some may still be in flight.
    pub over: bool,
    /// Whether it is over because all its requests were taken, and not because its time is over.
    pub done: bool,
    /// The time of the last completion so far; zero if there was none.
    pub last: Instant,
}

/// The state of those slots of a closed loop that have no request in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeSlotTimes {
    /// The sum of the times since the next request of each is intended, in nanoseconds; negative where it is intended
    /// later.
    pub open_ns: i64,
    /// The sum of the pauses that began since the last call, each with its whole length.
    pub paused: Span,
}

/// A group of flows. The only times it gets are those of completions: a schedule continues whatever happens.
pub trait Source {
    /// The kind of its requests.
    type Request;

    /// The time at which its next request is intended; [`Instant::FAR`] while it waits for a completion.
    fn next_due(&self) -> Instant;

    /// Which flow the next request belongs to; it is due `now` or earlier.
    fn next(&mut self, now: Instant) -> NextRequest;

    /// Takes that request, of the flow that [`Source::next`] returned. There are two methods because a request inside a
    /// return value would be passed through memory (10 % in virtual time).
    fn take_request(&mut self, flow: usize) -> Self::Request;

    /// Whether requests may be drawn before it is known when they are intended: it is a closed loop in which a request
    /// follows each completion at once, for as long as the run lasts.
    fn draws_ahead(&self) -> bool {
        false
    }

    /// Draws the next request, and its flow, at `now`; it is taken later, by one of the two calls below, in the order in
    /// which requests were drawn.
    fn draw_ahead(&mut self, _now: Instant) -> (usize, Self::Request) {
        unreachable!("only sources that draw ahead are asked")
    }

    /// Takes a request of a flow that was drawn, as [`Source::take_request`] does: it is intended when the source is due.
    fn take_drawn(&mut self, _flow: usize) {}

    /// A request of a flow that was drawn has followed one that completed: it has the slot of that one, for which
    /// [`Source::note_completed`] is not called.
    fn note_followed(&mut self, _flow: usize) {}

    /// A request of a flow completed at `completed`.
    fn note_completed(&mut self, flow: usize, completed: Instant);

    /// Whether its requests follow a schedule that does not depend on completions.
    fn is_open_loop(&self) -> bool;

    /// How many requests it had, where it has no more, however long the run lasts; some of them may be in flight.
    fn total_operations(&self) -> Option<u64> {
        None
    }

    /// The pause between a completion and the next request; zero where the next one follows immediately, or where there
    /// is a schedule. After pauses requests come one by one, so that a late one makes those behind it late.
    fn pause_after_completion(&self) -> Span {
        Span::ZERO
    }

    /// The number of its requests that are in flight at most; zero where there is a schedule.
    fn slot_count(&self) -> u32 {
        0
    }

    /// The state of the slots that have no request in flight at `at`. Called once for each interval.
    fn free_slots(&mut self, _at: Instant) -> FreeSlotTimes {
        FreeSlotTimes::default()
    }

    /// Counts the requests intended before `end` that no earlier call has counted: `count` gets, for each flow, their
    /// number, and how many of all requests counted so far were not taken yet.
    fn count_until(&mut self, end: Instant, count: impl FnMut(usize, u64, u64));

    /// The progress of a source that begins or ends within the run; `None` for any other source.
    fn lifetime_progress(&self) -> Option<Lifetime> {
        None
    }

    /// Begins a source that comes after all others; only one of all workers does this.
    fn begin_after_others(&mut self, now: Instant) -> Instant {
        now
    }
}
