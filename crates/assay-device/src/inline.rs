//! Operations by pread and pwrite of the worker itself, one at a time: the shortest path to a device that answers
//! within the call.
//!
//! A device in memory (zram, ram, pmem) does its work in the calling thread. io_uring hands each of its operations to a
//! kernel thread, which costs tens of microseconds that count as the device's; the plain call takes less than two. For
//! a device that sleeps this engine is wrong: there would never be more than one operation in flight, and one that
//! hangs would make the worker hang.
//!
//! `poll` carries out operations in the order of their submission, each with its own time stamps. Use it with one slot
//! for each target: then an operation that waits for another one waits for a full queue, which is the device's time and
//! not the generator's. An operation on another target waits for the call before it, as for a hand-over that blocks. What
//! the thread spends without a processor is not the device's ([`crate::run_delay`]).

use crate::arena::Arena;
use crate::call::carry_out;
use crate::clock::{Clock, sharpen_sleeps};
use crate::facts::{EngineError, EngineFacts, Slots};
use crate::open::Target;
use crate::run_delay::RunDelay;
use assay_base::{BlockDevice, Code, Completion, Device, Done, Geometry, HandOver, Instant, Op, Span, Ticket};
use rustix::thread::{Timespec, nanosleep};

/// The inline engine.
pub struct Inline {
    targets: Vec<Target>,
    arena: Arena,
    clock: Clock,
    /// Submitted and not yet carried out.
    queued: Vec<(Ticket, Op, u64)>,
    /// For each ticket, whether it is between submit and completion.
    flying: Vec<bool>,
    /// For each ticket, how much of its last call the thread could not run.
    delays: Vec<Span>,
    /// The calls that nobody has fetched yet.
    hand_overs: Vec<HandOver>,
    /// `None` until the first call.
    run_delay: Option<RunDelay>,
    /// Completions of operations refused without a system call.
    found: Done,
    /// True until the first sleep.
    fresh: bool,
    facts: EngineFacts,
}

impl Inline {
    /// An engine over `targets` with a buffer for each slot. Fails when there is not enough memory for them.
    pub fn new(targets: Vec<Target>, slots: Slots, clock: Clock) -> Result<Inline, EngineError> {
        let count = slots.count as usize;
        Ok(Inline {
            targets,
            arena: Arena::new(slots)?,
            clock,
            queued: Vec::with_capacity(count),
            flying: vec![false; count],
            delays: vec![Span::ZERO; count],
            hand_overs: Vec::new(),
            run_delay: None,
            found: Done::with_capacity(count),
            fresh: true,
            facts: EngineFacts {
                name: "inline",
                flags: Vec::new(),
                registered_files: false,
                registered_buffers: false,
                threads: 0,
                slots,
                clock: clock.source_name(),
                notes: Vec::new(),
            },
        })
    }

    /// The facts about this engine that the log states.
    pub fn engine_facts(&self) -> &EngineFacts {
        &self.facts
    }

    fn offset_if_admitted(&self, op: &Op) -> Result<u64, Code> {
        if op.len > self.facts.slots.bytes {
            return Err(Code(libc::EINVAL));
        }
        self.targets.get(usize::from(op.target)).ok_or(Code(libc::EINVAL))?.file_offset(op)
    }
}

impl Device for Inline {
    type Request = Op;

    #[inline]
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        assert!(!self.flying[ticket.0 as usize], "a ticket is used again only after its completion");
        match self.offset_if_admitted(op) {
            Ok(offset) => {
                self.flying[ticket.0 as usize] = true;
                self.queued.push((ticket, *op, offset));
            }
            Err(e) => {
                self.found.push(Completion { ticket, result: Err(e), issued: now, accepted: now, completed: now });
            }
        }
    }

    fn poll_completions(&mut self, _now: Instant, done: &mut Done) {
        done.append(&mut self.found);
        if self.queued.is_empty() {
            return;
        }
        let run_delay = self.run_delay.get_or_insert_with(|| RunDelay::of_this_thread(self.clock.now()));
        for (ticket, op, offset) in self.queued.drain(..) {
            let data = &mut self.arena.slot_bytes(ticket)[..op.len as usize];
            let target = &self.targets[usize::from(op.target)];
            let carried = carry_out(target, self.clock, ticket, &op, offset, data);
            let Completion { issued: from, completed, .. } = carried;
            let delay = run_delay.of_call(from, completed);
            self.hand_overs.push(HandOver { from, until: from + completed.since(from).saturating_sub(delay) });
            self.delays[ticket.0 as usize] = delay;
            self.flying[ticket.0 as usize] = false;
            done.push(carried);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    #[inline]
    fn take_hand_overs(&mut self, into: &mut Vec<HandOver>) {
        into.append(&mut self.hand_overs);
    }

    fn knows_kept_from_running(&self) -> bool {
        true
    }

    #[inline]
    fn kept_from_running(&self, ticket: Ticket) -> Span {
        self.delays[ticket.0 as usize]
    }

    fn wait_for_completion(&mut self, span: Span) {
        if !self.found.is_empty() || !self.queued.is_empty() || span.is_zero() {
            return;
        }
        if std::mem::take(&mut self.fresh) {
            sharpen_sleeps();
        }
        let ns = span.as_ns();
        let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        // A signal ends the sleep early: the caller looks at its clock anyway.
        let _ = nanosleep(&time);
    }
}

impl BlockDevice for Inline {
    fn target_geometry(&self, target: u16) -> Geometry {
        self.targets[usize::from(target)].geometry()
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        assert!(!self.flying[ticket.0 as usize], "the buffer of a submitted operation is not touched");
        self.arena.slot_bytes(ticket)
    }
}
