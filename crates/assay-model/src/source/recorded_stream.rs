//! The operations of a recording on one target as a source of block I/O: each at its time, at its place, of its size.
//!
//! Several workers take the operations in turn.

use crate::arrival::Part;
use crate::recording::{Recording, RecordingPlacement};
use assay_base::source::{NextRequest, Source};
use assay_base::{Direction, Instant, Op};

/// The operations of a recording that one worker issues on one target.
#[derive(Debug)]
pub(super) struct RecordedStream {
    flow: RecordedFlow,
    recording: Recording,
    onto: RecordingPlacement,
    begin: Instant,
    part: Part,
    /// Number of operations taken, and counted as scheduled.
    taken: u64,
    counted: u64,
}

/// The facts that all operations of a recorded stream on one target share.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordedFlow {
    /// The index of the flow.
    pub(super) index: usize,
    pub(super) target: u16,
    pub(super) direction: Direction,
    pub(super) durable: bool,
}

impl RecordedStream {
    /// The operations of `part` in `recording`, from `begin` on; `onto` moves their places onto the target.
    pub(super) fn new(
        flow: RecordedFlow,
        recording: Recording,
        onto: RecordingPlacement,
        begin: Instant,
        part: Part,
    ) -> RecordedStream {
        RecordedStream { flow, recording, onto, begin, part, taken: 0, counted: 0 }
    }

    /// When operation `number` of this part is wanted.
    fn wanted_at(&self, number: u64) -> Instant {
        let at = usize::try_from(self.part.index + number * self.part.of).ok();
        let line = at.and_then(|at| self.recording.recorded_lines().get(at));
        line.map_or(Instant::FAR, |line| self.begin + self.recording.wanted_after(line))
    }
}

impl Source for RecordedStream {
    type Request = Op;

    #[inline(never)]
    fn next_due(&self) -> Instant {
        self.wanted_at(self.taken)
    }

    #[inline]
    fn next(&mut self, _now: Instant) -> NextRequest {
        NextRequest::Of(self.flow.index)
    }

    #[inline(never)]
    fn take_request(&mut self, _flow: usize) -> Op {
        let at = (self.part.index + self.taken * self.part.of) as usize;
        let (offset, len) = self.onto.place_on_target(&self.recording.recorded_lines()[at]);
        self.taken += 1;
        let RecordedFlow { target, direction, durable, .. } = self.flow;
        Op { target, direction, durable, offset, len }
    }

    #[inline]
    fn note_completed(&mut self, _flow: usize, _completed: Instant) {}

    fn is_open_loop(&self) -> bool {
        true
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let before = self.counted;
        self.counted = self.counted.max(self.taken);
        while self.wanted_at(self.counted) < end {
            self.counted += 1;
        }
        count(self.flow.index, self.counted - before, self.counted - self.taken);
    }
}
