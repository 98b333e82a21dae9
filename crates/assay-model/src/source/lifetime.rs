//! A source with a lifetime of its own: it begins later than the run, or ends before the run does.
//!
//! It wraps another source, so that sources that last as long as the run need no code for it.

use crate::generator::Generator;
use crate::source::gates::Gate;
use assay_base::source::{FreeSlotTimes, Lifetime, NextRequest, Source};
use assay_base::{Instant, Op, Span};
use std::fmt;
use std::sync::Arc;

/// How long a source that waits for others waits before it asks again whether they have ended.
const TIME_BETWEEN_QUESTIONS: Span = Span::from_ms(1);

/// Makes the wrapped source for a given beginning.
pub(super) type MakeSource<S> = Box<dyn Fn(Instant) -> S>;

/// A source that can be wrapped.
pub(super) trait Wrapped: Source<Request = Op> {
    /// The generator of its next requests, if it has a schedule and nothing else decides about them.
    fn plain_generator(&self) -> Option<&Generator>;

    /// Whether it adds flushes that do not count towards its numbers.
    fn adds_flushes(&self) -> bool;
}

/// A source that begins or ends within the run.
#[derive(Debug)]
pub(super) struct WithLifetime<S> {
    inner: S,
    /// What it waits for, until it begins.
    waits: Option<Waiting<S>>,
    /// When it began, if it had to wait.
    begun: Option<Instant>,
    /// No request that is intended at or after this time is issued.
    until: Instant,
    left: WorkLeft,
    /// The number of requests that were taken, and the number of those that were counted as scheduled.
    taken: u64,
    counted: u64,
    in_flight: u64,
    end: End,
    last: Instant,
    /// When it ended.
    ended: Instant,
    /// They learn when the source has ended and none of its requests is in flight; empty if nobody waits for that.
    gates: Vec<Arc<Gate>>,
}

/// How the source has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// It has not ended.
    NotYet,
    /// It has taken all its requests.
    ByNumber,
    /// Its time is over.
    ByTime,
}

/// How many operations and bytes the source still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WorkLeft {
    pub operations: u64,
    pub bytes: u64,
}

impl WorkLeft {
    fn is_nothing(self) -> bool {
        self.operations == 0 || self.bytes == 0
    }

    fn less_operation(self, op: &Op) -> WorkLeft {
        let bytes = if self.bytes == u64::MAX { u64::MAX } else { self.bytes.saturating_sub(op.len.into()) };
        WorkLeft { operations: self.operations - 1, bytes }
    }
}

/// What a source waits for, and what happens afterwards.
pub(super) struct Waiting<S> {
    pub gate: Arc<Gate>,
    /// The source begins this long after the others' end, and ends `lasts` after its beginning.
    pub start: Span,
    pub lasts: Option<Span>,
    /// When the source asks next.
    pub asks: Instant,
    pub make: MakeSource<S>,
}

impl<S> fmt::Debug for Waiting<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waiting({:?}, asks {:?})", self.gate, self.asks)
    }
}

impl<S: Wrapped> WithLifetime<S> {
    /// Wraps `inner` in a life that ends at `until`, or after `left`, or with the run; `gates` learn of its end.
    pub(super) fn new(
        inner: S,
        waits: Option<Waiting<S>>,
        until: Instant,
        left: WorkLeft,
        mut gates: Vec<Arc<Gate>>,
    ) -> WithLifetime<S> {
        let end = if left.is_nothing() { End::ByNumber } else { End::NotYet };
        gates.retain(|_| end == End::NotYet);
        gates.iter().for_each(|gate| gate.add_source());
        let (taken, counted, in_flight, last, ended) = (0, 0, 0, Instant::ZERO, Instant::ZERO);
        WithLifetime { inner, waits, begun: None, until, left, taken, counted, in_flight, end, last, ended, gates }
    }

    /// Begins because the others have ended at `at`: now, or later if `start` is not over yet.
    fn begin_after(&mut self, now: Instant, at: Instant) {
        let Some(waits) = self.waits.take() else { return };
        // Not earlier than now: if this source noticed the end late, that is not lag of its requests.
        let begin = (at + waits.start).max(now);
        self.inner = (waits.make)(begin);
        self.until = waits.lasts.map_or(Instant::FAR, |lasts| begin + lasts);
        self.begun = Some(begin);
    }

    /// Notes that the source has no more requests since `at`. Streams that wait for it may begin when those in flight
    /// have completed.
    fn finish_source(&mut self, end: End, at: Instant) {
        self.end = end;
        self.ended = at;
        self.open_gates();
    }

    fn open_gates(&mut self) {
        if self.in_flight == 0 {
            let at = self.last.max(self.ended);
            self.gates.drain(..).for_each(|gate| gate.note_source_end(at));
        }
    }

    /// How many of `waiting` requests, which wait for a slot, are within the numbers that the source still has.
    fn limit_waiting(&self, waiting: u64) -> u64 {
        let waiting = waiting.min(self.left.operations);
        let Some(generator) = self.inner.plain_generator() else { return waiting };
        if self.left.bytes == u64::MAX {
            return waiting;
        }
        // Sizes are drawn, so only drawing the next ones shows how many requests the remaining bytes allow.
        let (mut generator, mut bytes) = (generator.clone(), self.left.bytes);
        let drawn = (0..waiting).find(|_| {
            bytes = bytes.saturating_sub(generator.next_operation(self.until).len.into());
            bytes == 0
        });
        drawn.map_or(waiting, |last| last + 1)
    }
}

impl<S: Wrapped> Source for WithLifetime<S> {
    type Request = Op;

    fn next_due(&self) -> Instant {
        match &self.waits {
            _ if self.end != End::NotYet => Instant::FAR,
            Some(waits) => waits.asks,
            // It is asked once more at its end, so that it can say that it is over.
            None => self.inner.next_due().min(self.until),
        }
    }

    fn next(&mut self, now: Instant) -> NextRequest {
        if let Some(waits) = &mut self.waits {
            let Some(at) = waits.gate.opened_at() else {
                waits.asks = now + TIME_BETWEEN_QUESTIONS;
                return NextRequest::Later(waits.asks);
            };
            self.begin_after(now, at);
            return NextRequest::Later(self.next_due());
        }
        if self.inner.next_due() >= self.until && now >= self.until {
            self.finish_source(End::ByTime, self.until);
            return NextRequest::Over;
        }
        self.inner.next(now)
    }

    fn take_request(&mut self, flow: usize) -> Op {
        let op = self.inner.take_request(flow);
        self.taken += 1;
        self.in_flight += 1;
        // A flush that follows the writes of a loop does not count towards the operations of the loop.
        if !(op.is_flush() && self.inner.adds_flushes()) {
            self.left = self.left.less_operation(&op);
        }
        if self.left.is_nothing() {
            self.end = End::ByNumber;
        }
        op
    }

    fn note_completed(&mut self, flow: usize, completed: Instant) {
        self.inner.note_completed(flow, completed);
        self.in_flight -= 1;
        self.last = self.last.max(completed);
        if self.end != End::NotYet {
            self.open_gates();
        }
    }

    fn is_open_loop(&self) -> bool {
        self.inner.is_open_loop()
    }

    fn total_operations(&self) -> Option<u64> {
        (self.end != End::NotYet).then_some(self.taken)
    }

    fn pause_after_completion(&self) -> Span {
        self.inner.pause_after_completion()
    }

    fn slot_count(&self) -> u32 {
        self.inner.slot_count()
    }

    /// Before it begins and after it has ended its slots wait for nothing.
    fn free_slots(&mut self, at: Instant) -> FreeSlotTimes {
        let slots = self.inner.free_slots(at);
        let lives = self.waits.is_none() && self.end == End::NotYet;
        if lives { slots } else { FreeSlotTimes { open_ns: 0, ..slots } }
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        if self.waits.is_some() {
            return;
        }
        let end = end.min(self.until);
        if !self.inner.is_open_loop() {
            // A trait object, because the wrapped source may be of the same type as this one: a closure would get a new
            // type at each level.
            let count: &mut dyn FnMut(usize, u64, u64) = &mut count;
            return self.inner.count_until(end, count);
        }
        let mut found = None;
        let find: &mut dyn FnMut(usize, u64, u64) = &mut |flow, _, waiting| found = Some((flow, waiting));
        self.inner.count_until(end, find);
        let Some((flow, waiting)) = found else { return };
        let waiting = if self.end == End::ByNumber { 0 } else { self.limit_waiting(waiting) };
        let scheduled = (self.taken + waiting).saturating_sub(self.counted);
        self.counted = self.counted.max(self.taken + waiting);
        count(flow, scheduled, waiting);
    }

    fn lifetime_progress(&self) -> Option<Lifetime> {
        let (begun, end, last) = (self.begun, self.end, self.last);
        Some(Lifetime { begun, over: end != End::NotYet, done: end == End::ByNumber, last })
    }
}
