//! Where requests come from: one source is a group of flows that share an arrival or a number in flight.
//!
//! A stream on one target is a group of one. A mix whose reads and writes share a queue depth, a deck of transactions dealt to
//! some sessions, a sequence of calls on one file are groups of several: which flow the next request belongs to is the source's
//! own affair, and all of them go to one target and take its slots.

use assay_base::{Instant, Span};

/// What a source answers when it is asked whose request is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// One of the flow with this index.
    Of(usize),
    /// None now; it is to be asked again then.
    Later(Instant),
    /// None any more.
    Over,
}

/// A group of flows. It is told no time but that of completions: a schedule runs whatever happens.
pub trait Source {
    /// What it asks for.
    type Request;

    /// When its next request is wanted; [`Instant::FAR`] while it waits for one to come back.
    fn due(&self) -> Instant;

    /// Whose request is the next, which is wanted `now` or before.
    fn next(&mut self, now: Instant) -> Next;

    /// Takes that request, of the flow that [`Source::next`] has named. The two are apart because a request that is a part of an answer
    /// goes through memory (10 % in virtual time).
    fn take(&mut self, flow: usize) -> Self::Request;

    /// A request of a flow came back at `completed`.
    fn returned(&mut self, flow: usize, completed: Instant);

    /// Whether its requests follow a schedule that knows no completions.
    fn is_open_loop(&self) -> bool;

    /// The pause between a completion and the next request; zero where that is wanted at once, or where there is a schedule. After a
    /// pause a request has a moment when it is wanted, and may be late.
    fn pause(&self) -> Span {
        Span::ZERO
    }

    /// Counts what was wanted before `end` and no earlier call has counted: `count` is told for each flow how much that is, and how
    /// much of what was counted so far is not taken yet.
    fn count_until(&mut self, end: Instant, count: impl FnMut(usize, u64, u64));

    /// Begins a source that comes after all others, alone among all workers.
    fn begin(&mut self, now: Instant) -> Instant {
        now
    }
}
