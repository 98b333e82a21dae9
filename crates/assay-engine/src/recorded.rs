//! The operations of a recording on one target as a source of block I/O: each at its time, at its place, of its size.
//!
//! Several workers take the operations in turn.

use crate::source::{Next, Source};
use assay_base::{Direction, Instant, Op};
use assay_model::arrival::Part;
use assay_model::recording::{Onto, Recording};

/// See the module.
#[derive(Debug)]
pub(crate) struct Recorded {
    flow: usize,
    target: u16,
    direction: Direction,
    durable: bool,
    recording: Recording,
    onto: Onto,
    begin: Instant,
    part: Part,
    /// Number of operations taken, and counted as scheduled.
    taken: u64,
    counted: u64,
}

impl Recorded {
    /// The operations of `part`, from `begin` on.
    pub(crate) fn new(
        (flow, target): (usize, u16),
        (recording, onto): (Recording, Onto),
        (direction, durable): (Direction, bool),
        begin: Instant,
        part: Part,
    ) -> Recorded {
        Recorded { flow, target, direction, durable, recording, onto, begin, part, taken: 0, counted: 0 }
    }

    /// When operation `number` of this part is wanted.
    fn wanted(&self, number: u64) -> Instant {
        let at = usize::try_from(self.part.index + number * self.part.of).ok();
        let line = at.and_then(|at| self.recording.lines().get(at));
        line.map_or(Instant::FAR, |line| self.begin + self.recording.wanted(line))
    }
}

impl Source for Recorded {
    type Request = Op;

    #[inline(never)]
    fn due(&self) -> Instant {
        self.wanted(self.taken)
    }

    fn next(&mut self, _now: Instant) -> Next {
        Next::Of(self.flow)
    }

    #[inline(never)]
    fn take(&mut self, _flow: usize) -> Op {
        let at = (self.part.index + self.taken * self.part.of) as usize;
        let (offset, len) = self.onto.place(&self.recording.lines()[at]);
        self.taken += 1;
        Op { target: self.target, direction: self.direction, durable: self.durable, offset, len }
    }

    fn returned(&mut self, _flow: usize, _completed: Instant) {}

    fn is_open_loop(&self) -> bool {
        true
    }

    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        let before = self.counted;
        self.counted = self.counted.max(self.taken);
        while self.wanted(self.counted) < end {
            self.counted += 1;
        }
        count(self.flow, self.counted - before, self.counted - self.taken);
    }
}
