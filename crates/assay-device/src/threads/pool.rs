//! What the worker and its pool threads share: a lane per ticket, and a queue of finished tickets with a futex that
//! wakes the worker.
//!
//! There are no locks: the worker owns a lane while it is idle, its thread owns it while it works, and the state says
//! who does. At most one entry per ticket can be in the queue of finished ones, so the queue can neither overflow nor
//! be overtaken.

use crate::arena::Arena;
use crate::call::carry_out;
use crate::clock::Clock;
use crate::open::Target;
use assay_base::{Completion, Direction, Instant, Op, Span, Ticket};
use rustix::thread::{Timespec, futex};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The lane belongs to the worker.
const IDLE: u32 = 0;
/// The lane belongs to its thread.
const WORK: u32 = 1;
/// The thread is to end.
const STOP: u32 = 2;

/// The lane of one ticket, on cache lines of its own.
#[repr(align(128))]
struct Lane {
    state: AtomicU32,
    /// The operation, and its offset in the file.
    job: UnsafeCell<(Op, u64)>,
    /// Its completion.
    outcome: UnsafeCell<Completion>,
}

/// Everything that both sides use.
pub(super) struct Shared {
    pub(super) targets: Vec<Target>,
    pub(super) arena: Arena,
    clock: Clock,
    lanes: Vec<Lane>,
    /// Finished tickets plus one; zero is a free place.
    finished: Vec<AtomicU32>,
    /// Number of places taken so far.
    tail: AtomicU32,
    /// 1 while the worker sleeps or is about to.
    bell: AtomicU32,
    stop: AtomicBool,
}

// SAFETY: only the side that owns a lane accesses its `job` and `outcome`: the worker while its state is IDLE, its
// thread while it is WORK, the worker again once the ticket came out of `finished`. State and queue order the accesses.
unsafe impl Sync for Shared {}

impl Shared {
    pub(super) fn new(targets: Vec<Target>, arena: Arena, clock: Clock) -> Shared {
        let count = arena.slots().count;
        let nothing = Op { target: 0, direction: Direction::Read, durable: false, offset: 0, len: 0 };
        let never = Completion {
            ticket: Ticket(0),
            result: Ok(0),
            issued: Instant::ZERO,
            accepted: Instant::ZERO,
            completed: Instant::ZERO,
        };
        let lane = |_| Lane {
            state: AtomicU32::new(IDLE),
            job: UnsafeCell::new((nothing, 0)),
            outcome: UnsafeCell::new(never),
        };
        Shared {
            targets,
            arena,
            clock,
            lanes: (0..count).map(lane).collect(),
            finished: (0..count.next_power_of_two()).map(|_| AtomicU32::new(0)).collect(),
            tail: AtomicU32::new(0),
            bell: AtomicU32::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Worker: hands an operation to its thread. The caller has checked that the ticket is idle.
    pub(super) fn hand_over(&self, ticket: Ticket, op: &Op, offset: u64) {
        let lane = &self.lanes[ticket.0 as usize];
        assert_eq!(lane.state.load(Ordering::Relaxed), IDLE, "a ticket has one operation at a time");
        // SAFETY: the lane is idle, so the worker owns it.
        unsafe { *lane.job.get() = (*op, offset) };
        lane.state.store(WORK, Ordering::Release);
        let _ = futex::wake(&lane.state, futex::Flags::PRIVATE, 1);
    }

    /// Worker: the finished ticket at place `head` of the queue, if there is one.
    pub(super) fn take(&self, head: u32) -> Option<Completion> {
        let place = &self.finished[head as usize & (self.finished.len() - 1)];
        let ticket = place.load(Ordering::SeqCst).checked_sub(1)?;
        place.store(0, Ordering::Relaxed);
        // SAFETY: the thread returned the lane before it put the ticket into the queue.
        Some(unsafe { *self.lanes[ticket as usize].outcome.get() })
    }

    /// Worker: sleeps until an operation finishes, at most `span`; returns immediately when place `head` is already
    /// taken.
    pub(super) fn sleep(&self, head: u32, span: Span) {
        self.bell.store(1, Ordering::SeqCst);
        if self.finished[head as usize & (self.finished.len() - 1)].load(Ordering::SeqCst) == 0 {
            let ns = span.as_ns();
            let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
            // The time is over, a signal came, or the worker was already woken: the caller looks in any case.
            let _ = futex::wait(&self.bell, futex::Flags::PRIVATE, 1, Some(&time));
        }
        self.bell.store(0, Ordering::SeqCst);
    }

    /// Worker: tells every thread to end; threads at work end after their operation.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for lane in &self.lanes {
            let _ = lane.state.compare_exchange(IDLE, STOP, Ordering::SeqCst, Ordering::SeqCst);
            let _ = futex::wake(&lane.state, futex::Flags::PRIVATE, 1);
        }
    }

    /// The main function of a thread: serves `ticket` until it is told to stop.
    pub(super) fn serve(&self, ticket: Ticket) {
        let lane = &self.lanes[ticket.0 as usize];
        while self.next_job(lane) {
            // SAFETY: the state is WORK, so this thread owns the lane.
            unsafe {
                let (op, offset) = *lane.job.get();
                *lane.outcome.get() = self.carry_out(ticket, &op, offset);
            }
            lane.state.store(IDLE, Ordering::SeqCst);
            self.finish(ticket);
        }
    }

    /// Sleeps until there is work; false when the thread is to end.
    fn next_job(&self, lane: &Lane) -> bool {
        loop {
            match lane.state.load(Ordering::Acquire) {
                WORK => return true,
                _ if self.stop.load(Ordering::SeqCst) => return false,
                state => {
                    let _ = futex::wait(&lane.state, futex::Flags::PRIVATE, state, None);
                }
            }
        }
    }

    fn finish(&self, ticket: Ticket) {
        // The worker frees places with a plain store. One of the tickets that finished since then was handed over after
        // that store, because there are no more tickets than places. This operation orders that store before the one
        // below, which it must not undo.
        let place = self.tail.fetch_add(1, Ordering::AcqRel) as usize & (self.finished.len() - 1);
        self.finished[place].store(ticket.0 + 1, Ordering::SeqCst);
        if self.bell.load(Ordering::SeqCst) == 1 && self.bell.swap(0, Ordering::SeqCst) == 1 {
            let _ = futex::wake(&self.bell, futex::Flags::PRIVATE, 1);
        }
    }

    /// The system call, between two readings of the clock.
    ///
    /// # Safety
    /// The ticket's slot belongs to the calling thread.
    unsafe fn carry_out(&self, ticket: Ticket, op: &Op, offset: u64) -> Completion {
        let target = &self.targets[usize::from(op.target)];
        // SAFETY: this thread owns the slot, and the worker accepts no operation longer than a slot.
        let data = unsafe { std::slice::from_raw_parts_mut(self.arena.at(ticket), op.len as usize) };
        carry_out(target, self.clock, ticket, op, offset, data)
    }
}
