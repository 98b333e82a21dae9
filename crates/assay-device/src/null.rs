//! A device that does nothing and completes at once: it measures the cost of the generator itself.
//!
//! Every operation within the given geometry succeeds; it completes at the next poll with a service time of zero. No clock
//! is read: at 20 million operations per second a reading for each would be half of the cost.

use crate::arena::Arena;
use crate::clock::sharpen_sleeps;
use crate::facts::{EngineError, EngineFacts, Slots};
use crate::open::check_fits;
use assay_base::{BlockDevice, Code, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};
use rustix::thread::{Timespec, nanosleep};

/// The null device.
pub struct Null {
    targets: Vec<Geometry>,
    pending: Vec<Completion>,
    arena: Option<Arena>,
    real_time: bool,
}

impl Null {
    /// Targets of the given geometry, in virtual time and without data: `buffer` is empty, so no payload is generated.
    pub fn new(targets: Vec<Geometry>) -> Null {
        Null { targets, pending: Vec::new(), arena: None, real_time: false }
    }

    /// The same with a real clock: `wait` sleeps when nothing is pending. Must be called in the thread that will use
    /// it.
    pub fn in_real_time(mut self) -> Null {
        sharpen_sleeps();
        self.real_time = true;
        self
    }

    /// The same with buffers, so that the cost of payload is measured too; data written there are kept until the
    /// ticket's next use. Fails when there is not enough memory for them.
    pub fn with_buffers(mut self, slots: Slots) -> Result<Null, EngineError> {
        self.pending.reserve(slots.count as usize);
        self.arena = Some(Arena::new(slots)?);
        Ok(self)
    }

    /// The facts about this engine that the log states.
    pub fn engine_facts(&self) -> EngineFacts {
        EngineFacts {
            name: "null",
            flags: Vec::new(),
            registered_files: false,
            registered_buffers: false,
            threads: 0,
            slots: self.arena.as_ref().map_or(Slots { count: u32::MAX, spare: 0, bytes: 0 }, Arena::slot_layout),
            clock: "none",
            notes: Vec::new(),
        }
    }
}

impl Device for Null {
    type Request = Op;

    #[inline]
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let fit = self.targets.get(usize::from(op.target)).ok_or(Code(libc::EINVAL)).and_then(|g| check_fits(*g, op));
        let result = fit.map(|()| op.len);
        self.pending.push(Completion { ticket, result, issued: now, accepted: now, completed: now });
    }

    #[inline]
    fn poll_completions(&mut self, _now: Instant, done: &mut Done) {
        done.append(&mut self.pending);
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.first().map(|first| first.completed)
    }

    fn wait_for_completion(&mut self, span: Span) {
        if self.real_time && self.pending.is_empty() {
            let ns = span.as_ns();
            let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
            // A signal ends the sleep early: the caller looks at its clock anyway.
            let _ = nanosleep(&time);
        }
    }
}

impl BlockDevice for Null {
    fn target_geometry(&self, target: u16) -> Geometry {
        self.targets[usize::from(target)]
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        self.arena.as_mut().map_or(&mut [], |arena| arena.slot_bytes(ticket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Direction;

    #[test]
    fn completes_at_the_next_poll_with_no_service_and_refuses_what_does_not_fit() {
        let mut null = Null::new(vec![Geometry { size: 8192, block: 4096 }]);
        let mut done = Done::new();
        let now = Instant::from_ns(77);
        for (ticket, target, offset, result) in [(0, 0, 4096, Ok(4096)), (1, 0, 8192, Err(22)), (2, 1, 0, Err(22))] {
            let op = Op { target, direction: Direction::Write, durable: true, offset, len: 4096 };
            assert!(null.slot_buffer(Ticket(ticket)).is_empty());
            null.submit_request(now, Ticket(ticket), &op);
            assert_eq!(null.next_wakeup(), Some(now));
            null.poll_completions(Instant::from_ns(99), &mut done);
            let wanted = Completion {
                ticket: Ticket(ticket),
                result: result.map_err(Code),
                issued: now,
                accepted: now,
                completed: now,
            };
            assert_eq!(done.pop(), Some(wanted));
        }
        assert_eq!(null.next_wakeup(), None);
        null.submit_request(now, Ticket(0), &Op::flush_on_target(0));
        null.poll_completions(now, &mut done);
        assert_eq!(done.pop().map(|completion| completion.result), Some(Ok(0)), "a flush");
    }

    #[test]
    fn buffers_are_there_when_asked_for() {
        let null = Null::new(vec![Geometry { size: 8192, block: 4096 }]);
        let mut null = null.with_buffers(Slots { count: 2, spare: 0, bytes: 1536 }).unwrap();
        null.slot_buffer(Ticket(1)).fill(7);
        assert_eq!(null.slot_buffer(Ticket(0)), [0; 1536]);
        assert_eq!(null.slot_buffer(Ticket(1)), [7; 1536]);
    }
}
