//! A copy of a closed loop with flushes: one follows after every N of its writes, as the copy's next operation.
//!
//! It wraps the loop, so that loops without flushes need no code for it. If several workers share a copy, each counts
//! the writes that it issues.

use crate::generator::Generator;
use crate::source::closed_loop::LoopSource;
use assay_base::source::{FreeSlotTimes, NextRequest, Source};
use assay_base::{Direction, Instant, Op, Span};

/// A copy of a loop, with the generator of its flushes.
#[derive(Debug)]
pub(super) struct LoopWithFlushes {
    inner: LoopSource,
    flow: usize,
    flushes: Generator,
    every: u32,
    /// Writes since the last flush.
    writes: u32,
    /// The number of flushes that were issued, and the number of those that were counted as scheduled.
    issued: u64,
    counted: u64,
}

impl LoopWithFlushes {
    /// `inner`, with an operation of `flushes` after every `every` of its writes. That operation belongs to `flow`.
    pub(super) fn new(inner: LoopSource, flow: usize, flushes: Generator, every: u32) -> LoopWithFlushes {
        LoopWithFlushes { inner, flow, flushes, every: every.max(1), writes: 0, issued: 0, counted: 0 }
    }
}

impl Source for LoopWithFlushes {
    type Request = Op;

    #[inline(never)]
    fn next_due(&self) -> Instant {
        self.inner.next_due()
    }

    #[inline(never)]
    fn next(&mut self, now: Instant) -> NextRequest {
        if self.writes >= self.every { NextRequest::Of(self.flow) } else { self.inner.next(now) }
    }

    #[inline(never)]
    fn take_request(&mut self, flow: usize) -> Op {
        if flow == self.flow {
            self.writes = 0;
            self.issued += 1;
            let wanted = self.inner.take_slot();
            return self.flushes.next_operation(wanted);
        }
        let op = self.inner.take_request(flow);
        self.writes += u32::from(op.direction == Direction::Write);
        op
    }

    #[inline(never)]
    fn note_completed(&mut self, flow: usize, completed: Instant) {
        if flow == self.flow {
            self.inner.give_slot_back(completed);
        } else {
            self.inner.note_completed(flow, completed);
        }
    }

    fn is_open_loop(&self) -> bool {
        false
    }

    fn pause_after_completion(&self) -> Span {
        self.inner.pause_after_completion()
    }

    fn slot_count(&self) -> u32 {
        self.inner.slot_count()
    }

    fn free_slots(&mut self, at: Instant) -> FreeSlotTimes {
        self.inner.free_slots(at)
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        self.inner.count_until(end, &mut count);
        count(self.flow, self.issued - self.counted, 0);
        self.counted = self.issued;
    }
}
