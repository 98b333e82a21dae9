//! A stream with a number of operations in flight on one target as a source of block I/O. Each operation is intended when
//! the one before it in its slot has completed, or after a pause.

use crate::generator::Generator;
use crate::plan::READ_BACK_DEPTH;
use crate::source::free_slots::FreeSlots;
use crate::source::read_back::{NextWritten, WrittenPlaces};
use assay_base::source::{FreeSlotTimes, NextRequest, Source};
use assay_base::{Instant, Op, Span};
use std::sync::Arc;

/// Upper bound on the places of a target that are searched in one step for something to read back.
const SEARCHED_AT_ONCE: u64 = 1 << 16;

/// One stream on one target, as one of several workers issues it: an operation follows when another one completes.
#[derive(Debug)]
pub(super) struct ClosedStream<W> {
    flow: usize,
    target: u16,
    generator: Generator,
    /// For a read-back: what was written, and the offset and length of the next place that was found.
    written: Option<Arc<W>>,
    found: (u64, u32),
    /// The slots that are free, or pause until they are; never more than operations are left.
    free: FreeSlots,
    /// Time that slots have paused, or will, since it was last counted.
    paused: Span,
    /// Number of operations that it has from here on, and had when they were counted last, and at its beginning.
    left: u64,
    left_when_counted: u64,
    all: u64,
}

impl<W> ClosedStream<W> {
    pub(super) fn new(
        flow: usize,
        target: u16,
        generator: Generator,
        written: Option<Arc<W>>,
        start: Instant,
    ) -> ClosedStream<W> {
        let all = generator.operations;
        ClosedStream {
            flow,
            target,
            free: FreeSlots::new(u64::from(generator.in_flight).min(all) as u32, start),
            paused: Span::ZERO,
            generator,
            written,
            found: (0, 0),
            left: all,
            left_when_counted: all,
            all,
        }
    }
}

impl<W: WrittenPlaces> ClosedStream<W> {
    /// Searches for the next place to read back.
    #[cold]
    fn find_written(&mut self, now: Instant) -> NextRequest {
        let Some(written) = &self.written else { return NextRequest::Over };
        match written.next_written(self.target, SEARCHED_AT_ONCE) {
            NextWritten::Range { offset, len } => {
                self.found = (offset, len);
                NextRequest::Of(self.flow)
            }
            // The search continues in the next step, because completions are waiting.
            NextWritten::SearchFurther => NextRequest::Later(now + Span::from_ns(1)),
            NextWritten::NoMore => NextRequest::Over,
        }
    }
}

impl<W: WrittenPlaces> Source for ClosedStream<W> {
    type Request = Op;

    #[inline(always)]
    fn next_due(&self) -> Instant {
        self.free.first_free_since()
    }

    #[inline(always)]
    fn next(&mut self, now: Instant) -> NextRequest {
        if self.written.is_some() { self.find_written(now) } else { NextRequest::Of(self.flow) }
    }

    #[inline(always)]
    fn take_request(&mut self, _flow: usize) -> Op {
        let intended = self.free.take_first();
        self.left -= 1;
        match self.written {
            None => self.generator.next_operation(intended),
            Some(_) => self.generator.operation_at(self.found.0, self.found.1),
        }
    }

    fn draws_ahead(&self) -> bool {
        let endless = self.all == u64::MAX && self.written.is_none();
        endless && self.generator.pause.is_zero() && !self.generator.moves_with_time()
    }

    #[inline]
    fn draw_ahead(&mut self, now: Instant) -> (usize, Op) {
        (self.flow, self.generator.next_operation(now))
    }

    #[inline]
    fn take_drawn(&mut self, _flow: usize) {
        self.free.take_first();
        self.left -= 1;
    }

    #[inline]
    fn note_followed(&mut self, _flow: usize) {
        self.left -= 1;
    }

    #[inline(always)]
    fn note_completed(&mut self, _flow: usize, completed: Instant) {
        if u64::from(self.free.len()) < self.left {
            self.free.add_slot(completed + self.generator.pause);
            self.paused = self.paused + self.generator.pause;
        }
    }

    fn total_operations(&self) -> Option<u64> {
        (self.left == 0).then_some(self.all)
    }

    fn is_open_loop(&self) -> bool {
        false
    }

    fn pause_after_completion(&self) -> Span {
        self.generator.pause
    }

    fn slot_count(&self) -> u32 {
        self.generator.in_flight
    }

    fn free_slots(&mut self, at: Instant) -> FreeSlotTimes {
        FreeSlotTimes { open_ns: self.free.open_time(at), paused: std::mem::take(&mut self.paused) }
    }

    fn count_until(&mut self, _end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        count(self.flow, std::mem::replace(&mut self.left_when_counted, self.left) - self.left, 0);
    }

    fn begin_after_others(&mut self, now: Instant) -> Instant {
        self.free = FreeSlots::new(READ_BACK_DEPTH, now);
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Part;
    use crate::source::read_back::NothingWritten;
    use crate::workload;
    use assay_base::Geometry;

    fn flow(keys: &str) -> ClosedStream<NothingWritten> {
        let file =
            format!("model = \"streams\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}");
        let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
        let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
        let geometry = Geometry { size: 1 << 20, block: 512 };
        let generator = Generator::new(&plan, 0, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
        ClosedStream::new(0, 0, generator, None, Instant::ZERO)
    }

    fn counted(flow: &mut ClosedStream<NothingWritten>) -> (u64, u64) {
        let mut counted = None;
        flow.count_until(Instant::FAR, |_, scheduled, waiting| counted = Some((scheduled, waiting)));
        counted.unwrap()
    }

    #[test]
    fn it_has_no_more_after_its_operations() {
        let mut closed = flow("in_flight = 2\noperations = 3");
        assert_eq!(closed.total_operations(), None);
        closed.take_request(0);
        closed.take_request(0);
        assert_eq!(closed.next_due(), Instant::FAR);
        closed.note_completed(0, Instant::from_ns(7));
        assert_eq!((closed.next_due(), closed.total_operations()), (Instant::from_ns(7), None));
        closed.note_completed(0, Instant::from_ns(8));
        assert_eq!(
            (closed.next_due(), closed.total_operations()),
            (Instant::from_ns(7), None),
            "one is left, for the first slot"
        );
        closed.take_request(0);
        assert_eq!((closed.next_due(), closed.total_operations()), (Instant::FAR, Some(3)), "no fourth one");
        closed.note_completed(0, Instant::from_ns(9));
        assert_eq!((closed.next_due(), counted(&mut closed)), (Instant::FAR, (3, 0)));
        assert_eq!(counted(&mut closed), (0, 0), "each is counted once");
        assert_eq!(flow("in_flight = 2").total_operations(), None);
    }

    #[test]
    fn fewer_operations_than_it_keeps_in_flight() {
        let mut closed = flow("in_flight = 4\noperations = 1");
        closed.take_request(0);
        assert_eq!((closed.next_due(), closed.total_operations()), (Instant::FAR, Some(1)));
    }

    #[test]
    fn it_keeps_its_number_in_flight() {
        let mut closed = flow("in_flight = 2");
        assert_eq!(closed.next_due(), Instant::ZERO);
        closed.take_request(0);
        closed.take_request(0);
        assert_eq!(closed.next_due(), Instant::FAR);
        closed.note_completed(0, Instant::from_ns(7));
        assert_eq!(closed.next_due(), Instant::from_ns(7));
        assert_eq!(counted(&mut closed), (2, 0));
        let mut paced = flow("in_flight = 1\npause = \"1ms\"");
        paced.take_request(0);
        paced.note_completed(0, Instant::from_ns(5));
        assert_eq!(paced.next_due(), Instant::from_ns(1_000_005));
        let slots = paced.free_slots(Instant::from_ns(1_000_000));
        assert_eq!((slots.open_ns, slots.paused), (-5, Span::from_ms(1)), "it pauses for 5 ns more");
        assert_eq!(paced.free_slots(Instant::from_ns(1_000_010)).paused, Span::ZERO, "each pause is counted once");
    }

    #[test]
    fn each_slot_goes_on_from_its_own_completion() {
        let mut closed = flow("in_flight = 3");
        (0..3).for_each(|_| _ = closed.take_request(0));
        [7, 9, 8].into_iter().for_each(|ns| closed.note_completed(0, Instant::from_ns(ns)));
        let order = [0; 3].map(|_| {
            let due = closed.next_due();
            closed.take_request(0);
            due.as_ns()
        });
        assert_eq!(order, [7, 8, 9]);
    }
}
