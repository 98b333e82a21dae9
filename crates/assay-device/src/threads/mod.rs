//! Operations through pread and pwrite, one thread per slot: for hosts where io_uring is not permitted.
//!
//! Which time is counted as whose? A system call of a thread is both submission and completion, so the pool thread
//! reads `issued` just before the call and `completed` just after it: service is the time of the call. The time from
//! the worker to the woken thread is the generator's and counts as lag, and `accepted` equals `issued`: time in a call
//! that blocks is the device's in any case. With a thread for every slot no operation ever waits for a free thread.
//!
//! The worker itself never makes a system call on a target, so a hung device makes only pool threads hang: waiting,
//! giving up and ending the process still work, and the threads' memory stays mapped.

mod pool;
#[cfg(test)]
mod tests;

use crate::arena::Arena;
use crate::clock::{Clock, sharpen_sleeps};
use crate::facts::{EngineError, EngineFacts, Slots};
use crate::open::Target;
use assay_base::{BlockDevice, Code, Completion, Device, Done, Geometry, Instant, Op, Span, Ticket};
use pool::Shared;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Upper bound on the threads, and so on the slots, of one worker. Each costs a stack of [`STACK`] bytes of address
/// space.
const THREADS_MOST: u32 = 1024;

/// A pool thread has shallow calls only; glibc itself needs at most 16 KiB.
const STACK: usize = 128 * 1024;

/// The thread-pool engine.
pub struct Threads {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
    /// For each ticket, whether it is between submit and completion.
    flying: Vec<bool>,
    in_flight: u32,
    /// True until the first sleep.
    fresh: bool,
    /// The next place in the queue of finished tickets.
    head: u32,
    /// Completions without a system call: refused operations.
    found: Done,
    facts: EngineFacts,
}

impl Threads {
    /// A pool over `targets` with a thread and a buffer for each slot. Fails when there are more slots than the pool
    /// may have threads, or when the system provides no threads or no memory; nothing is left behind then.
    pub fn new(targets: Vec<Target>, slots: Slots, clock: Clock) -> Result<Threads, EngineError> {
        if slots.count == 0 || slots.count > THREADS_MOST {
            return Err(EngineError::Slots { engine: "threads", asked: slots.count, most: THREADS_MOST });
        }
        let mut pool = Threads {
            shared: Arc::new(Shared::new(targets, Arena::new(slots)?, clock)),
            handles: Vec::with_capacity(slots.count as usize),
            flying: vec![false; slots.count as usize],
            in_flight: 0,
            fresh: true,
            head: 0,
            found: Done::with_capacity(slots.count as usize),
            facts: EngineFacts {
                name: "threads",
                flags: Vec::new(),
                registered_files: false,
                registered_buffers: false,
                threads: slots.count,
                slots,
                clock: clock.source(),
                notes: Vec::new(),
            },
        };
        without_signals(|| pool.start())?;
        Ok(pool)
    }

    /// What the log says about this engine.
    pub fn describe(&self) -> &EngineFacts {
        &self.facts
    }

    /// Adds what a reader of the log should know.
    pub(crate) fn note(&mut self, note: String) {
        self.facts.notes.push(note);
    }

    fn start(&mut self) -> Result<(), EngineError> {
        let wanted = self.facts.slots.count;
        for ticket in (0..wanted).map(Ticket) {
            let shared = Arc::clone(&self.shared);
            let builder = Builder::new().name(format!("io-{}", ticket.0)).stack_size(STACK);
            let handle = builder.spawn(move || shared.serve(ticket)).map_err(|e| EngineError::Threads {
                started: ticket.0,
                wanted,
                errno: Code(e.raw_os_error().unwrap_or(libc::EAGAIN)),
            })?;
            self.handles.push(handle);
        }
        Ok(())
    }

    fn admit(&self, ticket: Ticket, op: &Op) -> Result<u64, Code> {
        assert!(!self.flying[ticket.0 as usize], "a ticket is used again only after its completion");
        if op.len > self.facts.slots.bytes {
            return Err(Code(libc::EINVAL));
        }
        self.shared.targets.get(usize::from(op.target)).ok_or(Code(libc::EINVAL))?.place(op)
    }
}

impl Device for Threads {
    type Request = Op;

    fn submit(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        match self.admit(ticket, op) {
            Ok(offset) => {
                self.flying[ticket.0 as usize] = true;
                self.in_flight += 1;
                self.shared.hand_over(ticket, op, offset);
            }
            Err(e) => {
                self.found.push(Completion { ticket, result: Err(e), issued: now, accepted: now, completed: now });
            }
        }
    }

    fn poll(&mut self, _now: Instant, done: &mut Done) {
        done.append(&mut self.found);
        while let Some(completion) = self.shared.take(self.head) {
            self.head = self.head.wrapping_add(1);
            self.flying[completion.ticket.0 as usize] = false;
            self.in_flight -= 1;
            done.push(completion);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn wait(&mut self, span: Span) {
        if self.found.is_empty() && !span.is_zero() {
            if std::mem::take(&mut self.fresh) {
                sharpen_sleeps();
            }
            self.shared.sleep(self.head, span);
        }
    }
}

impl BlockDevice for Threads {
    fn geometry(&self, target: u16) -> Geometry {
        self.shared.targets[usize::from(target)].geometry()
    }

    fn buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        assert!(!self.flying[ticket.0 as usize], "the buffer of an operation in flight is its thread's");
        let at = self.shared.arena.at(ticket);
        // SAFETY: the ticket is not in flight, so no thread uses its slot; `&mut self` guarantees this while the slice
        // exists.
        unsafe { std::slice::from_raw_parts_mut(at, self.facts.slots.bytes as usize) }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.shared.stop();
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
