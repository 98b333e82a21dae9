//! Operations through pread and pwrite, one thread per slot: for hosts where io_uring is not permitted.
//!
//! Which time is counted as whose? A system call of a thread is both submission and completion, so the pool thread
//! reads `issued` just before the call and `completed` just after it: service is the time of the call. The time from
//! the worker to the woken thread is the generator's and counts as lag, and `accepted` equals `issued`: time in a call
//! that blocks is the device's in any case, but for what the thread spends in it without a processor
//! ([`crate::run_delay`]). With a thread for every slot no operation ever waits for a free thread.
//!
//! In a closed loop an operation follows when another one has completed. If each completion went to the worker, which then
//! woke a thread for the next one, a fast target would rest most of the time. So operations are prepared: a thread that
//! has completed one goes on with the next one of its stock by itself, and the worker hears of both later.
//!
//! The worker itself never makes a system call on a target, so a hung device makes only pool threads hang: waiting,
//! giving up and ending the process still work, and the threads' memory stays mapped.

mod pool;
mod stock;
#[cfg(test)]
mod tests;

use crate::arena::Arena;
use crate::clock::{Clock, sharpen_sleeps};
use crate::facts::{EngineError, EngineFacts, Slots};
use crate::open::Target;
use assay_base::{BlockDevice, Code, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};
use pool::{Job, Outcome, Shared};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Upper bound on the threads, and so on the slots, of one worker. Each costs a stack of [`STACK`] bytes of address
/// space.
const THREADS_MOST: u32 = 1024;

/// A pool thread has shallow calls only; glibc itself needs at most 16 KiB.
const STACK: usize = 128 * 1024;

/// A ticket as the worker sees it.
#[derive(Clone, Copy, Default)]
struct TicketState {
    /// It is between submit and completion, or prepared.
    is_taken: bool,
    /// For how long its thread could not run while it carried it.
    kept: Span,
    /// The prepared ticket that its thread went on with.
    follower: Option<Ticket>,
}

/// The thread-pool engine.
pub struct Threads {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
    /// For each ticket, what its last operation came to.
    tickets: Vec<TicketState>,
    /// The seats of threads that have nothing to do.
    idle: Vec<u32>,
    in_flight: u32,
    /// True until the first sleep.
    fresh: bool,
    /// The next place in the queue of finished tickets, and what was urgent when the queue was last emptied.
    head: u32,
    seen: u32,
    /// Completions without a system call: refused operations.
    found: Done,
    facts: EngineFacts,
}

impl Threads {
    /// A pool over `targets` with a thread and a buffer for each slot, and a buffer for each spare one. Fails when there
    /// are more slots than the pool may have threads, or when the system provides no threads or no memory; nothing is
    /// left behind then.
    pub fn new(targets: Vec<Target>, slots: Slots, clock: Clock) -> Result<Threads, EngineError> {
        if slots.count == 0 || slots.count > THREADS_MOST {
            return Err(EngineError::Slots { engine: "threads", asked: slots.count, most: THREADS_MOST });
        }
        let all = Slots { count: slots.count + slots.spare, spare: 0, bytes: slots.bytes };
        let mut pool = Threads {
            shared: Arc::new(Shared::new(targets, Arena::new(all)?, slots.count, clock)),
            handles: Vec::with_capacity(slots.count as usize),
            tickets: vec![TicketState::default(); all.count as usize],
            idle: (0..slots.count).rev().collect(),
            in_flight: 0,
            fresh: true,
            head: 0,
            seen: 0,
            found: Done::with_capacity(all.count as usize),
            facts: EngineFacts {
                name: "threads",
                flags: Vec::new(),
                registered_files: false,
                registered_buffers: false,
                threads: slots.count,
                slots,
                clock: clock.source_name(),
                notes: Vec::new(),
            },
        };
        without_signals(|| pool.start_threads())?;
        Ok(pool)
    }

    /// The facts about this engine that the log states.
    pub fn engine_facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// Adds what a reader of the log should know.
    pub(crate) fn add_note(&mut self, note: String) {
        self.facts.notes.push(note);
    }

    fn start_threads(&mut self) -> Result<(), EngineError> {
        let wanted = self.facts.slots.count;
        for seat in 0..wanted {
            let shared = Arc::clone(&self.shared);
            let builder = Builder::new().name(format!("io-{seat}")).stack_size(STACK);
            let handle = builder.spawn(move || shared.serve_seat(seat)).map_err(|e| EngineError::Threads {
                started: seat,
                wanted,
                errno: Code(e.raw_os_error().unwrap_or(libc::EAGAIN)),
            })?;
            self.handles.push(handle);
        }
        Ok(())
    }

    /// The operation as its thread gets it; it has no offset where it must fail.
    fn job_for_thread(&self, ticket: Ticket, op: &Op, stock: Option<usize>) -> Job {
        assert!(!self.tickets[ticket.0 as usize].is_taken, "a ticket is used again only after its completion");
        let offset = match self.shared.targets.get(usize::from(op.target)) {
            Some(target) if op.len <= self.facts.slots.bytes => target.file_offset(op),
            _ => Err(Code(libc::EINVAL)),
        };
        Job { op: *op, offset, stock: stock.map(|stock| stock as u16) }
    }

    fn hand_over(&mut self, now: Instant, ticket: Ticket, op: &Op, stock: Option<usize>) {
        let job = self.job_for_thread(ticket, op, stock);
        self.tickets[ticket.0 as usize] = TicketState { is_taken: job.offset.is_ok(), ..TicketState::default() };
        if let Err(e) = job.offset {
            self.found.push(Completion { ticket, result: Err(e), issued: now, accepted: now, completed: now });
            return;
        }
        let seat = self.idle.pop().expect("there is a thread for each operation in flight");
        self.in_flight += 1;
        self.shared.hand_over(seat, ticket, job);
    }

    fn note_outcome(&mut self, outcome: Outcome) {
        let Outcome { completion, kept, follower, seat } = outcome;
        self.tickets[completion.ticket.0 as usize] = TicketState { is_taken: false, kept, follower };
        if follower.is_none() {
            self.in_flight -= 1;
            self.idle.push(seat);
        }
    }
}

impl Device for Threads {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        self.hand_over(now, ticket, op, None);
    }

    fn submit_with_stock(&mut self, now: Instant, stock: usize, ticket: Ticket, op: &Op) {
        self.hand_over(now, ticket, op, Some(stock));
    }

    fn spare_tickets(&self) -> u32 {
        self.facts.slots.spare
    }

    fn prepare_request(&mut self, stock: usize, ticket: Ticket, op: &Op) {
        let job = self.job_for_thread(ticket, op, Some(stock));
        self.tickets[ticket.0 as usize] = TicketState { is_taken: true, ..TicketState::default() };
        self.shared.prepare_in_stock(stock, ticket, job);
    }

    fn withdraw_prepared(&mut self, stock: usize) -> Option<Ticket> {
        let ticket = self.shared.withdraw_oldest(stock)?;
        self.tickets[ticket.0 as usize].is_taken = false;
        Some(ticket)
    }

    #[inline]
    fn follower_ticket(&self, ticket: Ticket) -> Option<Ticket> {
        self.tickets[ticket.0 as usize].follower
    }

    fn set_end_of_stock(&mut self, end: Instant) {
        self.shared.set_end_of_stock(end);
    }

    fn knows_kept_from_running(&self) -> bool {
        true
    }

    #[inline]
    fn kept_from_running(&self, ticket: Ticket) -> Span {
        self.tickets[ticket.0 as usize].kept
    }

    fn poll_completions(&mut self, _now: Instant, done: &mut Done) {
        done.append(&mut self.found);
        self.seen = self.shared.urgency_count();
        while let Some(outcome) = self.shared.take_finished(self.head) {
            self.head = self.head.wrapping_add(1);
            self.note_outcome(outcome);
            done.push(outcome.completion);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn wait_for_completion(&mut self, span: Span) {
        if self.found.is_empty() && !span.is_zero() {
            if std::mem::take(&mut self.fresh) {
                sharpen_sleeps();
            }
            self.shared.sleep_until_urgent(self.seen, span);
        }
    }
}

impl BlockDevice for Threads {
    fn target_geometry(&self, target: u16) -> Geometry {
        self.shared.targets[usize::from(target)].geometry()
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        assert!(!self.tickets[ticket.0 as usize].is_taken, "the buffer of an operation in flight is its thread's");
        let at = self.shared.arena.slot_start(ticket);
        // SAFETY: the ticket is not in flight, so no thread uses its slot; `&mut self` guarantees this while the slice
        // exists.
        unsafe { std::slice::from_raw_parts_mut(at, self.facts.slots.bytes as usize) }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.stop_threads();
        if self.in_flight == 0 {
            for handle in self.handles.drain(..) {
                // A thread that panicked has reported it itself; nothing is left to do here.
                let _ = handle.join();
            }
        }
        // With operations in flight, the threads are left running: waiting for one that hangs in the kernel would make
        // us hang. They keep the shared memory until they end.
    }
}

/// Runs `start` with all signals blocked, so that the threads it starts never receive one.
fn without_signals<T>(start: impl FnOnce() -> T) -> T {
    let mut before = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are local and initialised by the calls; blocking a set of valid signals cannot fail.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = start();
    // SAFETY: `before` was filled above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut()) };
    result
}
