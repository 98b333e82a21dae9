//! A source with a life of its own: it begins later than the run, or ends before the run does.
//!
//! It wraps another source, so that sources that last as long as the run need no code for it.

use crate::gate::Gate;
use crate::source::{Lived, Next, Slots, Source};
use assay_base::{Instant, Op, Span};
use assay_model::generator::Generator;
use std::fmt;
use std::sync::Arc;

/// How often a source that waits for others asks whether they have ended.
const ASKS: Span = Span::from_ms(1);

/// Makes the wrapped source for a given beginning.
pub(crate) type Make<S> = Box<dyn Fn(Instant) -> S>;

/// A source that can be wrapped.
pub(crate) trait Within: Source<Request = Op> {
    /// The generator of its next requests, if it has a schedule and nothing else decides about them.
    fn generator(&self) -> Option<&Generator>;

    /// Whether it adds flushes that do not count towards its numbers.
    fn adds_flushes(&self) -> bool;
}

/// A source that begins or ends within the run.
#[derive(Debug)]
pub(crate) struct Living<S> {
    inner: S,
    /// What it waits for, until it begins.
    waits: Option<Waits<S>>,
    /// When it began, if it had to wait.
    begun: Option<Instant>,
    /// No request that is intended at or after this time is issued.
    until: Instant,
    left: Numbers,
    /// The number of requests that were taken, and the number of those that were counted as scheduled.
    taken: u64,
    counted: u64,
    in_flight: u64,
    over: Over,
    last: Instant,
    /// When it ended.
    ended: Instant,
    /// Told when the source has ended and none of its requests is in flight; empty if nobody waits for that.
    gates: Vec<Arc<Gate>>,
}

/// Whether it has ended, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Not,
    /// It has taken all its requests.
    ByNumber,
    /// Its time is over.
    ByTime,
}

/// How many operations and bytes the source still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbers {
    pub operations: u64,
    pub bytes: u64,
}

impl Numbers {
    fn is_nothing(self) -> bool {
        self.operations == 0 || self.bytes == 0
    }

    fn less(self, op: &Op) -> Numbers {
        let bytes = if self.bytes == u64::MAX { u64::MAX } else { self.bytes.saturating_sub(op.len.into()) };
        Numbers { operations: self.operations - 1, bytes }
    }
}

/// What a source waits for, and what happens afterwards.
pub(crate) struct Waits<S> {
    pub gate: Arc<Gate>,
    /// The source begins this long after the others' end, and ends `lasts` after its beginning.
    pub start: Span,
    pub lasts: Option<Span>,
    /// When the source asks next.
    pub asks: Instant,
    pub make: Make<S>,
}

impl<S> fmt::Debug for Waits<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Waits({:?}, asks {:?})", self.gate, self.asks)
    }
}

impl<S: Within> Living<S> {
    /// Wraps `inner` in a life that ends at `until`, or after `left`, or with the run; its end is told to `gates`.
    pub(crate) fn new(
        inner: S,
        waits: Option<Waits<S>>,
        (until, left): (Instant, Numbers),
        mut gates: Vec<Arc<Gate>>,
    ) -> Living<S> {
        let over = if left.is_nothing() { Over::ByNumber } else { Over::Not };
        gates.retain(|_| over == Over::Not);
        gates.iter().for_each(|gate| gate.enter());
        let (taken, counted, in_flight, last, ended) = (0, 0, 0, Instant::ZERO, Instant::ZERO);
        Living { inner, waits, begun: None, until, left, taken, counted, in_flight, over, last, ended, gates }
    }

    /// Begins because the others have ended at `at`: now, or later if `start` is not over yet.
    fn begins(&mut self, now: Instant, at: Instant) {
        let Some(waits) = self.waits.take() else { return };
        // Not earlier than now: if this source noticed the end late, that is not lag of its requests.
        let begin = (at + waits.start).max(now);
        self.inner = (waits.make)(begin);
        self.until = waits.lasts.map_or(Instant::FAR, |lasts| begin + lasts);
        self.begun = Some(begin);
    }

    /// Notes that the source has no more requests since `at`. Streams that wait for it may begin when those in flight
    /// have completed.
    fn ends(&mut self, over: Over, at: Instant) {
        self.over = over;
        self.ended = at;
        self.opens();
    }

    fn opens(&mut self) {
        if self.in_flight == 0 {
            let at = self.last.max(self.ended);
            self.gates.drain(..).for_each(|gate| gate.leave(at));
        }
    }

    /// How many of `waiting` requests, which wait for a slot, are within the numbers that the source still has.
    fn waiting(&self, waiting: u64) -> u64 {
        let waiting = waiting.min(self.left.operations);
        let Some(generator) = self.inner.generator() else { return waiting };
        if self.left.bytes == u64::MAX {
            return waiting;
        }
        // Sizes are drawn, so only drawing the next ones shows how many requests the remaining bytes allow.
        let (mut generator, mut bytes) = (generator.clone(), self.left.bytes);
        let drawn = (0..waiting).find(|_| {
            bytes = bytes.saturating_sub(generator.operation(self.until).len.into());
            bytes == 0
        });
        drawn.map_or(waiting, |last| last + 1)
    }
}

impl<S: Within> Source for Living<S> {
    type Request = Op;

    fn due(&self) -> Instant {
        match &self.waits {
            _ if self.over != Over::Not => Instant::FAR,
            Some(waits) => waits.asks,
            // It is asked once more at its end, so that it can say that it is over.
            None => self.inner.due().min(self.until),
        }
    }

    fn next(&mut self, now: Instant) -> Next {
        if let Some(waits) = &mut self.waits {
            let Some(at) = waits.gate.opened() else {
                waits.asks = now + ASKS;
                return Next::Later(waits.asks);
            };
            self.begins(now, at);
            return Next::Later(self.due());
        }
        if self.inner.due() >= self.until && now >= self.until {
            self.ends(Over::ByTime, self.until);
            return Next::Over;
        }
        self.inner.next(now)
    }

    fn take(&mut self, flow: usize) -> Op {
        let op = self.inner.take(flow);
        self.taken += 1;
        self.in_flight += 1;
        // A flush that follows the writes of a loop does not count towards the operations of the loop.
        if !(op.is_flush() && self.inner.adds_flushes()) {
            self.left = self.left.less(&op);
        }
        if self.left.is_nothing() {
            self.over = Over::ByNumber;
        }
        op
    }

    fn returned(&mut self, flow: usize, completed: Instant) {
        self.inner.returned(flow, completed);
        self.in_flight -= 1;
        self.last = self.last.max(completed);
        if self.over != Over::Not {
            self.opens();
        }
    }

    fn is_open_loop(&self) -> bool {
        self.inner.is_open_loop()
    }

    fn operations(&self) -> Option<u64> {
        (self.over != Over::Not).then_some(self.taken)
    }

    fn pause(&self) -> Span {
        self.inner.pause()
    }

    fn slots(&self) -> u32 {
        self.inner.slots()
    }

    /// Before it begins and after it has ended its slots wait for nothing.
    fn free_slots(&mut self, at: Instant) -> Slots {
        let slots = self.inner.free_slots(at);
        let lives = self.waits.is_none() && self.over == Over::Not;
        if lives { slots } else { Slots { open_ns: 0, ..slots } }
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
        let waiting = if self.over == Over::ByNumber { 0 } else { self.waiting(waiting) };
        let scheduled = (self.taken + waiting).saturating_sub(self.counted);
        self.counted = self.counted.max(self.taken + waiting);
        count(flow, scheduled, waiting);
    }

    fn life(&self) -> Option<Lived> {
        let (begun, over, last) = (self.begun, self.over, self.last);
        Some(Lived { begun, over: over != Over::Not, done: over == Over::ByNumber, last })
    }
}
