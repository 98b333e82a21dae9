//! Operations through io_uring: one ring per worker, no allocation, lock or system call per operation beside the enter that
//! carries a batch of them.
//!
//! Whose time is it? `issued` is read just before the enter that carries the operation and `accepted` just after it, so a
//! submit that blocks in the kernel is told from the generator's lag. `completed` is read when completions are found: after
//! that same enter, after a wait, or at the poll that sees them; with deferred completions the kernel hands them over only
//! then. An enter carries at most [`BATCH`] operations: on a device that works inside the enter (zram, tmpfs) all operations
//! of one enter share their stamps, and a longer batch would be measured as a slower device.
//!
//! Failing submissions (EAGAIN, EBUSY, EINTR, ENOMEM) are repeated at each poll, without blocking it, for [`PATIENCE`]; then, or
//! at any other error, the ring counts as broken: what was not accepted completes as not submitted, and so does everything
//! submitted later; [`Uring::refused_with`] says why. What the kernel did accept is still waited for. Buffers of operations that never came back stay mapped.

mod setup;
#[cfg(test)]
mod tests;

use crate::arena::Arena;
use crate::clock::{Clock, sharpen_sleeps};
use crate::facts::{EngineError, EngineFacts, Health, Slots};
use crate::open::Target;
use assay_base::{Completion, Device, Direction, Done, Errno, Geometry, Instant, Op, Span, Ticket};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode};
use setup::errno;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

/// The most operations one enter carries. Measured with 128 reads in flight on zram and a loop device: 16, 32 and 128 give the
/// same operations per second within the noise of 5 %.
const BATCH: usize = 16;

/// How long a submission is repeated that the kernel asks to repeat.
const PATIENCE: Span = Span::from_secs(5);

/// The io_uring engine.
pub struct Uring {
    ring: IoUring,
    targets: Vec<Target>,
    /// What the ring knows each target by: its registered index, or its descriptor.
    handles: Vec<Fd>,
    file_flags: Flags,
    slots_per_buffer: Option<u32>,
    arena: ManuallyDrop<Arena>,
    clock: Clock,
    /// State of each ticket.
    flights: Vec<Flight>,
    /// Tickets in the submission queue, in its order.
    queued: Vec<Ticket>,
    /// Completions found but not yet fetched by `poll`.
    found: Done,
    in_kernel: u32,
    /// No thread has used it yet.
    unbound: bool,
    /// The kernel waits for the thread that enables the ring.
    disabled: bool,
    refused_since: Option<Instant>,
    patience: Span,
    health: Health,
    facts: EngineFacts,
}

/// One ticket's stamps; `flying` from submit to completion.
#[derive(Clone, Copy, Default)]
struct Flight {
    issued: Instant,
    accepted: Instant,
    flying: bool,
}

impl Uring {
    /// A ring over `targets` with memory for `slots`. It may be moved to another thread until its first use and belongs to
    /// that thread from then on. Fails when the kernel refuses io_uring, or has no memory for the buffers.
    pub fn new(targets: Vec<Target>, slots: Slots, clock: Clock) -> Result<Uring, EngineError> {
        let arena = Arena::new(slots)?;
        let (ring, granted) = setup::ring(&targets, &arena)?;
        let handle =
            |(index, target): (usize, &Target)| Fd(if granted.files { index as i32 } else { target.fd().as_raw_fd() });
        Ok(Uring {
            ring,
            handles: targets.iter().enumerate().map(handle).collect(),
            file_flags: if granted.files { Flags::FIXED_FILE } else { Flags::empty() },
            slots_per_buffer: granted.slots_per_buffer,
            flights: vec![Flight::default(); slots.count as usize],
            queued: Vec::with_capacity(slots.count as usize),
            found: Done::with_capacity(slots.count as usize),
            in_kernel: 0,
            unbound: true,
            disabled: granted.starts_disabled,
            refused_since: None,
            patience: PATIENCE,
            health: Health::default(),
            facts: EngineFacts {
                name: "io_uring",
                flags: granted.flags,
                registered_files: granted.files,
                registered_buffers: granted.slots_per_buffer.is_some(),
                threads: 0,
                slots,
                clock: clock.source(),
                notes: granted.notes,
            },
            targets,
            arena: ManuallyDrop::new(arena),
            clock,
        })
    }

    /// What the log says of this engine.
    pub fn describe(&self) -> &EngineFacts {
        &self.facts
    }

    /// What went wrong between this engine and the kernel so far.
    pub fn health(&mut self) -> Health {
        self.health.submissions_dropped = self.ring.submission().dropped();
        self.health.completions_overflowed = self.ring.completion().overflow();
        self.health
    }

    /// The error with which the kernel refused for good; `None` while it takes operations.
    pub fn refused_with(&self) -> Option<Errno> {
        self.health.refused
    }

    /// The queue entry of `op` at `offset` of its file.
    #[inline]
    fn entry(&self, ticket: Ticket, op: &Op, offset: u64) -> Entry {
        let fd = self.handles[usize::from(op.target)];
        let (at, len) = (self.arena.at(ticket), op.len);
        let flags = if op.durable { libc::RWF_DSYNC } else { 0 };
        let entry = match (op.direction, self.slots_per_buffer) {
            (Direction::Read, Some(shift)) => {
                opcode::ReadFixed::new(fd, at, len, (ticket.0 >> shift) as u16).offset(offset).build()
            }
            (Direction::Write, Some(shift)) => {
                let write = opcode::WriteFixed::new(fd, at, len, (ticket.0 >> shift) as u16);
                write.offset(offset).rw_flags(flags).build()
            }
            (Direction::Read, None) => opcode::Read::new(fd, at, len).offset(offset).build(),
            (Direction::Write, None) => opcode::Write::new(fd, at, len).offset(offset).rw_flags(flags).build(),
        };
        entry.flags(self.file_flags).user_data(u64::from(ticket.0))
    }

    /// The offset in its file if the kernel may see `op` at all.
    #[inline]
    fn admit(&self, op: &Op) -> Result<u64, Errno> {
        if self.health.refused.is_some() {
            return Err(Errno::NOT_SUBMITTED);
        }
        if op.len > self.facts.slots.bytes {
            return Err(Errno(libc::EINVAL));
        }
        self.targets.get(usize::from(op.target)).ok_or(Errno(libc::EINVAL))?.place(op)
    }

    /// Makes the ring this thread's own.
    fn bind(&mut self) -> Result<(), Errno> {
        self.unbound = false;
        sharpen_sleeps();
        if self.disabled { self.ring.submitter().register_enable_rings().map_err(|e| errno(&e)) } else { Ok(()) }
    }

    /// One `io_uring_enter` that hands over `count` entries, never waits, and lets the kernel deliver completions.
    fn enter(&self, count: usize) -> Result<usize, Errno> {
        // SAFETY: no argument is passed; the entries in the queue point to slots of the arena, which outlives them.
        let outcome = unsafe {
            self.ring.submitter().enter::<libc::sigset_t>(count as u32, 0, EnterFlags::GETEVENTS.bits(), None)
        };
        outcome.map_err(|e| errno(&e))
    }

    /// Hands queued operations over, a batch per enter, as long as the kernel takes them.
    fn flush(&mut self) {
        while !self.queued.is_empty() && self.flush_batch() {}
    }

    /// Hands one batch over; false when the kernel took nothing.
    fn flush_batch(&mut self) -> bool {
        if self.unbound
            && let Err(e) = self.bind()
        {
            let now = self.clock.now();
            self.give_up(e, now, now);
            return false;
        }
        let issued = self.clock.now();
        let outcome = self.enter(self.queued.len().min(BATCH));
        let accepted = self.clock.now();
        let taken = *outcome.as_ref().unwrap_or(&0);
        for ticket in self.queued.drain(..taken) {
            self.flights[ticket.0 as usize] = Flight { issued, accepted, flying: true };
        }
        self.in_kernel += taken as u32;
        if taken > 0 {
            self.refused_since = None;
        } else {
            self.refused(outcome.err().unwrap_or(Errno(libc::EAGAIN)), issued, accepted);
        }
        self.reap(accepted);
        taken > 0
    }

    /// Decides what a refused submission means: another try at the next poll, or the end of this ring.
    fn refused(&mut self, errno: Errno, issued: Instant, accepted: Instant) {
        let passing = matches!(errno.0, libc::EAGAIN | libc::EBUSY | libc::EINTR | libc::ENOMEM);
        let since = *self.refused_since.get_or_insert(issued);
        self.health.submit_retries += 1;
        if !passing || accepted.since(since) >= self.patience {
            self.give_up(errno, issued, accepted);
        }
    }

    /// Nothing is handed over any more. The entries left in the queue are never entered again.
    fn give_up(&mut self, errno: Errno, issued: Instant, accepted: Instant) {
        self.health.refused = Some(errno);
        for ticket in self.queued.drain(..) {
            self.flights[ticket.0 as usize].flying = false;
            let result = Err(Errno::NOT_SUBMITTED);
            self.found.push(Completion { ticket, result, issued, accepted, completed: accepted });
        }
    }

    /// Takes what lies in the completion queue; it was there at `completed`.
    fn reap(&mut self, completed: Instant) {
        for entry in self.ring.completion() {
            let ticket = Ticket(entry.user_data() as u32);
            let flight = &mut self.flights[ticket.0 as usize];
            assert!(flight.flying, "the kernel completes an operation once");
            flight.flying = false;
            self.in_kernel -= 1;
            let moved = entry.result();
            let result = if moved < 0 { Err(Errno(-moved)) } else { Ok(moved as u32) };
            let (issued, accepted) = (flight.issued, flight.accepted);
            self.found.push(Completion { ticket, result, issued, accepted, completed });
        }
    }

    /// Lets the kernel deliver if it says that it has something, and takes what is there. No system call otherwise.
    fn collect(&mut self) {
        if self.in_kernel == 0 {
            return;
        }
        let waiting = {
            let submission = self.ring.submission();
            submission.taskrun() || submission.cq_overflow()
        };
        if waiting {
            // A refusal leaves the completions where they are, for the next poll.
            let _ = self.enter(0);
        }
        if !self.ring.completion().is_empty() {
            self.reap(self.clock.now());
        }
    }

    /// Sleeps until the kernel has a completion, at most `span`.
    fn sleep(&mut self, span: Span) {
        let ns = span.as_ns();
        let time = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
        let args = SubmitArgs::new().timespec(&time);
        let flags = (EnterFlags::GETEVENTS | EnterFlags::EXT_ARG).bits();
        // SAFETY: the flags say that the argument is a `SubmitArgs`, and it lives across the call.
        // The error is "time is up" or "a signal came": the caller looks at its clock either way.
        let _ = unsafe { self.ring.submitter().enter(0, 1, flags, Some(&args)) };
    }
}

impl Device for Uring {
    fn geometry(&self, target: u16) -> Geometry {
        self.targets[usize::from(target)].geometry()
    }

    fn buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        assert!(!self.flights[ticket.0 as usize].flying, "the buffer of an operation in flight is the kernel's");
        self.arena.slot(ticket)
    }

    #[inline]
    fn submit(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let flight = &mut self.flights[ticket.0 as usize];
        assert!(!flight.flying, "a ticket is used again only after its completion");
        match self.admit(op) {
            Ok(offset) => {
                let entry = self.entry(ticket, op, offset);
                self.flights[ticket.0 as usize].flying = true;
                // SAFETY: the entry points to the ticket's slot, which stays mapped and untouched until its completion.
                unsafe { self.ring.submission().push(&entry) }
                    .expect("the queue holds as many entries as there are tickets");
                self.queued.push(ticket);
                if self.queued.len() == BATCH {
                    self.flush();
                }
            }
            Err(e) => {
                self.found.push(Completion { ticket, result: Err(e), issued: now, accepted: now, completed: now });
            }
        }
    }

    fn poll(&mut self, _now: Instant, done: &mut Done) {
        if self.queued.is_empty() {
            self.collect();
        } else {
            self.flush();
        }
        done.append(&mut self.found);
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn wait(&mut self, span: Span) {
        // Handing over and sleeping are two calls: in one, the sleep would count as time the kernel took to accept.
        self.flush();
        self.collect();
        if !self.found.is_empty() || span.is_zero() {
            return;
        }
        if self.unbound && self.bind().is_err() {
            return;
        }
        // A submission that must be repeated is tried again soon.
        let span = if self.queued.is_empty() { span } else { span.min(Span::from_us(100)) };
        self.sleep(span);
        self.collect_after_sleep();
    }
}

impl Uring {
    /// Stamps what a sleep brought before anything else happens.
    fn collect_after_sleep(&mut self) {
        if !self.ring.completion().is_empty() {
            self.reap(self.clock.now());
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.in_kernel == 0 {
            // SAFETY: the kernel holds no operation on these buffers, and the arena is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.arena) };
        }
        // Otherwise a late completion may still write there: the memory stays mapped until the process ends.
    }
}
