//! What the worker and its pool threads share: a lane per ticket, a seat per thread, stocks of prepared operations, and a
//! queue of finished tickets with a futex that wakes the worker.
//!
//! There are no locks: the worker owns a lane while nobody carries its ticket, and the thread that carries it owns it
//! until it has put the ticket into the queue. The state of a seat says whether its thread has work. A thread that has
//! completed an operation of a stock goes on with the next one of it, without the worker. At most one entry per ticket
//! can be in the queue of finished ones, so the queue can neither overflow nor be overtaken.

use super::stock::{Stock, TakenTicket};
use crate::arena::Arena;
use crate::call::carry_out;
use crate::clock::Clock;
use crate::open::Target;
use crate::run_delay::RunDelay;
use assay_base::{Code, Completion, Direction, Instant, Op, Request, STOCKS_MOST, Span, Ticket};
use rustix::thread::{Timespec, futex};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// The thread has nothing to do.
const IDLE: u32 = 0;
/// The thread carries an operation.
const WORK: u32 = 1;
/// The thread is to end.
const STOP: u32 = 2;

/// An operation as its thread gets it.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) op: Op,
    /// Its offset in the file, or why it has none: then it fails with that, without a system call.
    pub(super) offset: Result<u64, Code>,
    /// The stock that the thread goes on with.
    pub(super) stock: Option<u16>,
}

/// The account that a thread gives of an operation that it carried.
#[derive(Clone, Copy)]
pub(super) struct Outcome {
    pub(super) completion: Completion,
    /// For how long the thread could not run meanwhile.
    pub(super) kept: Span,
    /// The prepared operation that the thread went on with.
    pub(super) follower: Option<Ticket>,
    /// The seat of the thread.
    pub(super) seat: u32,
}

/// The lane of one ticket, on cache lines of its own.
#[repr(align(128))]
struct Lane {
    job: UnsafeCell<Job>,
    outcome: UnsafeCell<Outcome>,
}

/// The seat of one thread, on cache lines of its own.
#[repr(align(128))]
struct ThreadSeat {
    state: AtomicU32,
    /// The ticket that the worker hands over.
    ticket: AtomicU32,
}

/// Everything that both sides use.
pub(super) struct Shared {
    pub(super) targets: Vec<Target>,
    pub(super) arena: Arena,
    clock: Clock,
    lanes: Vec<Lane>,
    seats: Vec<ThreadSeat>,
    stocks: Vec<Stock>,
    /// No thread goes on with a prepared operation after one that completed at this time or later, in nanoseconds.
    end_of_stock: AtomicU64,
    /// Finished tickets plus one; zero is a free place.
    finished: Vec<AtomicU32>,
    /// Number of places taken so far.
    tail: AtomicU32,
    /// How often a thread had something for the worker that cannot wait.
    urgent: AtomicU32,
    /// 1 while the worker sleeps or is about to.
    bell: AtomicU32,
    stop: AtomicBool,
}

// SAFETY: only the side that owns a lane accesses its `job` and `outcome`: the worker before it hands the ticket over or
// lays it into a stock, the thread that got it from there, the worker again once the ticket came out of `finished` or of
// the stock. Seats, stocks and queue order the accesses.
unsafe impl Sync for Shared {}

impl Shared {
    /// `threads` seats for the tickets of the arena; where there are more tickets, stocks for operations that are prepared.
    pub(super) fn new(targets: Vec<Target>, arena: Arena, threads: u32, clock: Clock) -> Shared {
        let count = arena.slot_layout().count;
        let op = Op { target: 0, direction: Direction::Read, durable: false, offset: 0, len: 0 };
        let never = Instant::ZERO;
        let completion =
            Completion { ticket: Ticket(0), result: Ok(0), issued: never, accepted: never, completed: never };
        let lane = |_| Lane {
            job: UnsafeCell::new(Job { op, offset: Ok(0), stock: None }),
            outcome: UnsafeCell::new(Outcome { completion, kept: Span::ZERO, follower: None, seat: 0 }),
        };
        let stocks = if count > threads { STOCKS_MOST } else { 0 };
        Shared {
            targets,
            arena,
            clock,
            lanes: (0..count).map(lane).collect(),
            seats: (0..threads)
                .map(|_| ThreadSeat { state: AtomicU32::new(IDLE), ticket: AtomicU32::new(0) })
                .collect(),
            stocks: (0..stocks).map(|_| Stock::new()).collect(),
            end_of_stock: AtomicU64::new(u64::MAX),
            finished: (0..count.next_power_of_two()).map(|_| AtomicU32::new(0)).collect(),
            tail: AtomicU32::new(0),
            urgent: AtomicU32::new(0),
            bell: AtomicU32::new(0),
            stop: AtomicBool::new(false),
        }
    }

    /// Worker: hands an operation to the thread of a seat. The caller has checked that nobody carries the ticket, and
    /// that the thread has nothing to do.
    pub(super) fn hand_over(&self, seat: u32, ticket: Ticket, job: Job) {
        let seat = &self.seats[seat as usize];
        assert_eq!(seat.state.load(Ordering::Relaxed), IDLE, "a thread has one operation at a time");
        // SAFETY: nobody carries the ticket, so the worker owns its lane.
        unsafe { *self.lanes[ticket.0 as usize].job.get() = job };
        seat.ticket.store(ticket.0, Ordering::Relaxed);
        seat.state.store(WORK, Ordering::Release);
        let _ = futex::wake(&seat.state, futex::Flags::PRIVATE, 1);
    }

    /// Worker: lays an operation into a stock. The caller has checked that nobody carries the ticket.
    pub(super) fn prepare_in_stock(&self, stock: usize, ticket: Ticket, job: Job) {
        // SAFETY: nobody carries the ticket, so the worker owns its lane.
        unsafe { *self.lanes[ticket.0 as usize].job.get() = job };
        self.stocks[stock].lay_ticket(ticket);
    }

    /// Worker: takes the operation back that lies in a stock longest.
    pub(super) fn withdraw_oldest(&self, stock: usize) -> Option<Ticket> {
        Some(self.stocks[stock].take_oldest()?.ticket)
    }

    /// Worker: no thread goes on by itself after an operation that completes at `end` or later.
    pub(super) fn set_end_of_stock(&self, end: Instant) {
        self.end_of_stock.store(end.as_ns(), Ordering::SeqCst);
    }

    /// Worker: the finished ticket at place `head` of the queue, if there is one.
    pub(super) fn take_finished(&self, head: u32) -> Option<Outcome> {
        let place = &self.finished[head as usize & (self.finished.len() - 1)];
        let ticket = place.load(Ordering::SeqCst).checked_sub(1)?;
        place.store(0, Ordering::Relaxed);
        // SAFETY: the thread was done with the lane before it put the ticket into the queue.
        Some(unsafe { *self.lanes[ticket as usize].outcome.get() })
    }

    /// Worker: a number that changes when a thread has something that cannot wait. To be asked before the queue is
    /// emptied.
    pub(super) fn urgency_count(&self) -> u32 {
        self.urgent.load(Ordering::SeqCst)
    }

    /// Worker: sleeps until a thread has something that cannot wait, at most `span`; returns immediately when
    /// [`Shared::urgent`] is not `seen` any more.
    pub(super) fn sleep_until_urgent(&self, seen: u32, span: Span) {
        self.bell.store(1, Ordering::SeqCst);
        if self.urgency_count() == seen {
            let ns = span.as_ns();
            let time = Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
            // The time is over, a signal came, or the worker was already woken: the caller looks in any case.
            let _ = futex::wait(&self.bell, futex::Flags::PRIVATE, 1, Some(&time));
        }
        self.bell.store(0, Ordering::SeqCst);
    }

    /// Worker: tells every thread to end; threads at work end after their operation.
    pub(super) fn stop_threads(&self) {
        self.set_end_of_stock(Instant::ZERO);
        self.stop.store(true, Ordering::SeqCst);
        for seat in &self.seats {
            let _ = seat.state.compare_exchange(IDLE, STOP, Ordering::SeqCst, Ordering::SeqCst);
            let _ = futex::wake(&seat.state, futex::Flags::PRIVATE, 1);
        }
    }

    /// The main function of a thread: serves its seat until it is told to stop.
    pub(super) fn serve_seat(&self, seat: u32) {
        let mut delay = RunDelay::of_this_thread(self.clock.now());
        while let Some(ticket) = self.next_job(&self.seats[seat as usize]) {
            // What it waited for a processor when it was woken is in the lag.
            let mut since = self.clock.now();
            delay.begin_call(since);
            let mut next = Some(ticket);
            while let Some(ticket) = next {
                next = self.serve_one(seat, ticket, &mut since, &mut delay);
            }
        }
    }

    /// Carries an operation, where the thread has been ready for it `since` then; returns the one to go on with.
    fn serve_one(&self, seat: u32, ticket: Ticket, since: &mut Instant, delay: &mut RunDelay) -> Option<Ticket> {
        let lane = &self.lanes[ticket.0 as usize];
        // SAFETY: the thread got the ticket from its seat or from a stock, so it owns the lane.
        let job = unsafe { *lane.job.get() };
        // SAFETY: as above.
        let completion = unsafe { self.carry_out(ticket, &job) };
        // The counter is not read before each call: what the thread may have waited since the last one is not the call's.
        let before = completion.issued.since(*since);
        let kept = delay.of_call(completion.issued, completion.completed).saturating_sub(before);
        *since = completion.completed;
        let next = self.next_in_stock(&job, &completion);
        let follower = next.map(|taken| taken.ticket);
        // SAFETY: as above.
        unsafe { *lane.outcome.get() = Outcome { completion, kept, follower, seat } };
        if follower.is_none() {
            self.seats[seat as usize].state.store(IDLE, Ordering::SeqCst);
        }
        self.finish_ticket(ticket, next.is_none_or(|taken| taken.is_low));
        follower
    }

    /// The prepared operation that follows one that completed in full. What fails or comes short, the worker looks at
    /// before anything follows.
    #[inline]
    fn next_in_stock(&self, job: &Job, completion: &Completion) -> Option<TakenTicket> {
        let stock = job.stock?;
        let whole = completion.result == Ok(job.op.expected_bytes());
        let may_follow = whole && completion.completed.as_ns() < self.end_of_stock.load(Ordering::SeqCst);
        if may_follow { self.stocks[usize::from(stock)].take_oldest() } else { None }
    }

    /// Sleeps until there is work; `None` when the thread is to end.
    fn next_job(&self, seat: &ThreadSeat) -> Option<Ticket> {
        loop {
            match seat.state.load(Ordering::Acquire) {
                WORK => return Some(Ticket(seat.ticket.load(Ordering::Relaxed))),
                _ if self.stop.load(Ordering::SeqCst) => return None,
                state => {
                    let _ = futex::wait(&seat.state, futex::Flags::PRIVATE, state, None);
                }
            }
        }
    }

    /// Puts a ticket into the queue; `urgent`: the worker should not sleep any longer.
    fn finish_ticket(&self, ticket: Ticket, urgent: bool) {
        // The worker frees places with a plain store. One of the tickets that finished since then was handed over after
        // that store, because there are no more tickets than places. This operation orders that store before the one
        // below, which it must not undo.
        let place = self.tail.fetch_add(1, Ordering::AcqRel) as usize & (self.finished.len() - 1);
        self.finished[place].store(ticket.0 + 1, Ordering::SeqCst);
        if !urgent {
            return;
        }
        self.urgent.fetch_add(1, Ordering::SeqCst);
        if self.bell.load(Ordering::SeqCst) == 1 && self.bell.swap(0, Ordering::SeqCst) == 1 {
            let _ = futex::wake(&self.bell, futex::Flags::PRIVATE, 1);
        }
    }

    /// The system call, between two readings of the clock.
    ///
    /// # Safety
    /// The ticket's slot belongs to the calling thread.
    unsafe fn carry_out(&self, ticket: Ticket, Job { op, offset, .. }: &Job) -> Completion {
        let offset = match offset {
            Ok(offset) => *offset,
            Err(code) => {
                let now = self.clock.now();
                return Completion { ticket, result: Err(*code), issued: now, accepted: now, completed: now };
            }
        };
        let target = &self.targets[usize::from(op.target)];
        // SAFETY: this thread owns the slot, and an operation longer than a slot has no offset.
        let data = unsafe { std::slice::from_raw_parts_mut(self.arena.slot_start(ticket), op.len as usize) };
        carry_out(target, self.clock, ticket, op, offset, data)
    }
}
