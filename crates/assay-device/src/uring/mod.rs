//! Operations through io_uring: one ring per worker, with no allocation, lock or system call per operation except the
//! enter that submits a batch of them.
//!
//! Which time is counted as whose? `issued` is read just before the enter that submits the operation and `accepted`
//! just after it, so a submit that blocks in the kernel is distinguished from the generator's lag. That time is the
//! kernel's, also for the operations that wait behind it to be handed over, except for what the thread spent without a
//! processor ([`crate::run_delay`]). `completed` is read
//! when completions are found: after that same enter, after a wait, or at the poll that sees them; with deferred
//! completions the kernel delivers them only then. An enter submits at most [`BATCH`] operations: on a device that
//! works inside the enter (zram, tmpfs) all operations of one enter share their stamps, and a longer batch would make
//! the device appear slower.
//!
//! Submissions that fail temporarily (EAGAIN, EBUSY, EINTR, ENOMEM) are repeated at each poll, without blocking it, for
//! [`PATIENCE`]; after that, or at any other error, the ring counts as broken: operations that were not accepted
//! complete as not submitted, and so does everything submitted later; [`Uring::refused_with`] gives the error.
//! Operations that the kernel did accept are still waited for. Buffers of operations that never completed stay mapped.
//!
//! A durable write to a device with a volatile cache consists of two entries, the write and a linked `fdatasync`, and
//! completes with the second: see [`crate::durable`]. Both are submitted in one enter, because a link does not extend
//! beyond the enter that submits it.

mod flight;
mod setup;
#[cfg(test)]
mod tests;

use crate::arena::Arena;
use crate::clock::{Clock, sharpen_sleeps};
use crate::facts::{EngineError, EngineFacts, Health, Slots};
use crate::open::Target;
use crate::run_delay::RunDelay;
use assay_base::{
    BlockDevice, Code, Completion, Device, Direction, Done, Geometry, HandOver, Instant, Op, Span, Ticket,
};
use flight::{Flight, QueueEntry};
use io_uring::squeue::{Entry, Flags};
use io_uring::types::{Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{EnterFlags, IoUring, opcode};
use setup::error_number;
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;

/// Upper bound on the operations submitted by one enter. Measured with 128 reads in flight on zram and a loop device:
/// 16, 32 and 128 give the same operations per second within the noise of 5 %.
const BATCH: usize = 16;

/// For how long a submission is repeated if the kernel asks to repeat it.
const PATIENCE: Span = Span::from_secs(5);

/// The io_uring engine.
pub struct Uring {
    ring: IoUring,
    targets: Vec<Target>,
    /// How the ring refers to each target: by its registered index, or by its descriptor.
    handles: Vec<Fd>,
    file_flags: Flags,
    slots_per_buffer: Option<u32>,
    arena: ManuallyDrop<Arena>,
    clock: Clock,
    /// State of each ticket.
    flights: Vec<Flight>,
    /// The ticket of each entry in the submission queue, in its order.
    queued: Vec<(Ticket, QueueEntry)>,
    /// Completions found but not yet fetched by `poll`.
    found: Done,
    /// Number of entries that the kernel has taken and not completed.
    in_kernel: u32,
    /// The hand-overs that nobody has fetched yet.
    hand_overs: Vec<HandOver>,
    /// How long the thread that uses it could not run; `None` until a thread has used it.
    run_delay: Option<RunDelay>,
    /// True while the kernel waits for the thread that enables the ring.
    disabled: bool,
    refused_since: Option<Instant>,
    patience: Span,
    health: Health,
    facts: EngineFacts,
}

impl Uring {
    /// A ring over `targets` with memory for `slots`. It may be moved to another thread until its first use and belongs
    /// to that thread from then on. Fails when the kernel refuses io_uring, or has not enough memory for the buffers.
    pub fn new(targets: Vec<Target>, slots: Slots, clock: Clock) -> Result<Uring, EngineError> {
        let arena = Arena::new(slots)?;
        let (ring, granted) = setup::create_ring(&targets, &arena)?;
        let handle = |(index, target): (usize, &Target)| {
            Fd(if granted.files { index as i32 } else { target.borrow_fd().as_raw_fd() })
        };
        Ok(Uring {
            ring,
            handles: targets.iter().enumerate().map(handle).collect(),
            file_flags: if granted.files { Flags::FIXED_FILE } else { Flags::empty() },
            slots_per_buffer: granted.slots_per_buffer,
            flights: vec![Flight::default(); slots.count as usize],
            queued: Vec::with_capacity(2 * slots.count as usize),
            found: Done::with_capacity(slots.count as usize),
            in_kernel: 0,
            hand_overs: Vec::new(),
            run_delay: None,
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
                clock: clock.source_name(),
                notes: granted.notes,
            },
            targets,
            arena: ManuallyDrop::new(arena),
            clock,
        })
    }

    /// The facts about this engine that the log states.
    pub fn engine_facts(&self) -> &EngineFacts {
        &self.facts
    }

    /// The troubles between this engine and the kernel so far.
    pub fn kernel_health(&mut self) -> Health {
        self.health.submissions_dropped = self.ring.submission().dropped();
        self.health.completions_overflowed = self.ring.completion().overflow();
        self.health
    }

    /// The error with which the kernel refused permanently; `None` while it takes operations.
    pub fn refused_with(&self) -> Option<Code> {
        self.health.refused
    }

    /// The queue entry of `op` at `offset` of its file.
    #[inline]
    fn queue_entry(&self, ticket: Ticket, op: &Op, offset: u64) -> Entry {
        let fd = self.handles[usize::from(op.target)];
        let (at, len) = (self.arena.slot_start(ticket), op.len);
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
        entry.flags(self.file_flags).user_data(QueueEntry::Transfer.user_data(ticket))
    }

    /// A flush of `ticket`: the operation itself, or what follows a durable write.
    fn flush_entry(&self, part: QueueEntry, ticket: Ticket, target: u16) -> Entry {
        let flush = opcode::Fsync::new(self.handles[usize::from(target)]).flags(FsyncFlags::DATASYNC).build();
        flush.flags(self.file_flags).user_data(part.user_data(ticket))
    }

    /// Queues the entries of `op`, which is carried out at `offset` of its file.
    #[inline]
    fn queue_operation(&mut self, ticket: Ticket, op: &Op, offset: u64) {
        if op.durable && op.direction == Direction::Write {
            return self.queue_durable(ticket, op, offset);
        }
        self.flights[ticket.0 as usize] = Flight::new(op, 1);
        let entry = self.queue_entry(ticket, op, offset);
        self.push_entry(ticket, QueueEntry::Transfer, &entry);
    }

    /// Queues a durable write with what must follow it, or a flush alone, whose result is zero as the number of its bytes.
    fn queue_durable(&mut self, ticket: Ticket, op: &Op, offset: u64) {
        let flushes = !op.is_flush() && self.targets[usize::from(op.target)].durable_requests().flushes_after();
        self.flights[ticket.0 as usize] = Flight::new(op, 1 + u8::from(flushes));
        let entry = if op.is_flush() {
            self.flush_entry(QueueEntry::Transfer, ticket, op.target)
        } else {
            self.queue_entry(ticket, op, offset)
        };
        if flushes {
            self.push_entry(ticket, QueueEntry::Transfer, &entry.flags(self.file_flags | Flags::IO_LINK));
            self.push_entry(ticket, QueueEntry::Flush, &self.flush_entry(QueueEntry::Flush, ticket, op.target));
        } else {
            self.push_entry(ticket, QueueEntry::Transfer, &entry);
        }
    }

    #[inline]
    fn push_entry(&mut self, ticket: Ticket, part: QueueEntry, entry: &Entry) {
        // SAFETY: the entry points to the ticket's slot, which stays mapped and unused by others until its completion.
        unsafe { self.ring.submission().push(entry) }.expect("the queue holds the entries of all tickets");
        self.queued.push((ticket, part));
    }

    /// How many entries the next enter submits: a batch, which never ends between the two entries of a durable write.
    #[inline]
    fn batch_size(&self) -> usize {
        let count = self.queued.len().min(BATCH);
        count + usize::from(matches!(self.queued.get(count), Some((_, QueueEntry::Flush))))
    }

    /// The offset in its file, if `op` may be submitted at all.
    #[inline]
    fn offset_if_admitted(&self, op: &Op) -> Result<u64, Code> {
        if self.health.refused.is_some() {
            return Err(Code::NOT_SUBMITTED);
        }
        if op.len > self.facts.slots.bytes {
            return Err(Code(libc::EINVAL));
        }
        self.targets.get(usize::from(op.target)).ok_or(Code(libc::EINVAL))?.file_offset(op)
    }

    /// Binds the ring to this thread.
    fn bind_to_thread(&mut self) -> Result<(), Code> {
        self.run_delay = Some(RunDelay::of_this_thread(self.clock.now()));
        sharpen_sleeps();
        if self.disabled { self.ring.submitter().register_enable_rings().map_err(|e| error_number(&e)) } else { Ok(()) }
    }

    /// One `io_uring_enter` that hands over `count` entries, never waits, and lets the kernel deliver completions.
    fn enter_kernel(&self, count: usize) -> Result<usize, Code> {
        // SAFETY: no argument is passed; the entries in the queue point to slots of the arena, which outlives them.
        let outcome = unsafe {
            self.ring.submitter().enter::<libc::sigset_t>(count as u32, 0, EnterFlags::GETEVENTS.bits(), None)
        };
        outcome.map_err(|e| error_number(&e))
    }

    /// Submits queued operations, a batch per enter, as long as the kernel takes them.
    fn flush_queue(&mut self) {
        while !self.queued.is_empty() && self.flush_batch() {}
    }

    /// Submits one batch; false when the kernel took nothing.
    fn flush_batch(&mut self) -> bool {
        if self.run_delay.is_none()
            && let Err(e) = self.bind_to_thread()
        {
            let now = self.clock.now();
            self.give_up(e, now, now);
            return false;
        }
        let issued = self.clock.now();
        let outcome = self.enter_kernel(self.batch_size());
        let accepted = self.clock.now();
        self.note_hand_over(issued, accepted);
        let taken = *outcome.as_ref().unwrap_or(&0);
        for (ticket, _) in self.queued.drain(..taken) {
            self.flights[ticket.0 as usize].note_entered(issued, accepted);
        }
        self.in_kernel += taken as u32;
        if taken > 0 {
            self.refused_since = None;
        } else {
            self.handle_refusal(outcome.err().unwrap_or(Code(libc::EAGAIN)), issued, accepted);
        }
        self.reap_completions(accepted);
        taken > 0
    }

    /// Notes that an enter which submits held up the caller.
    #[inline]
    fn note_hand_over(&mut self, from: Instant, until: Instant) {
        let delay = self.run_delay.as_mut().map_or(Span::ZERO, |delay| delay.of_call(from, until));
        self.hand_overs.push(HandOver { from, until: from + until.since(from).saturating_sub(delay) });
    }

    /// Decides what a refused submission means: another attempt at the next poll, or the end of this ring.
    fn handle_refusal(&mut self, errno: Code, issued: Instant, accepted: Instant) {
        let passing = matches!(errno.0, libc::EAGAIN | libc::EBUSY | libc::EINTR | libc::ENOMEM);
        let since = *self.refused_since.get_or_insert(issued);
        self.health.submit_retries += 1;
        if !passing || accepted.since(since) >= self.patience {
            self.give_up(errno, issued, accepted);
        }
    }

    /// Nothing is submitted any more. The entries left in the queue are never entered again.
    fn give_up(&mut self, errno: Code, issued: Instant, accepted: Instant) {
        self.health.refused = Some(errno);
        for (ticket, part) in self.queued.drain(..) {
            let flight = &mut self.flights[ticket.0 as usize];
            flight.note_entered(issued, accepted);
            self.found.extend(flight.take_result(ticket, part, Err(Code::NOT_SUBMITTED), accepted));
        }
    }

    /// Takes what is in the completion queue; it was found there at `completed`.
    fn reap_completions(&mut self, completed: Instant) {
        for entry in self.ring.completion() {
            let (ticket, part) = QueueEntry::from_user_data(entry.user_data());
            self.in_kernel -= 1;
            let moved = entry.result();
            let result = if moved < 0 { Err(Code(-moved)) } else { Ok(moved as u32) };
            self.found.extend(self.flights[ticket.0 as usize].take_result(ticket, part, result, completed));
        }
    }

    /// Lets the kernel deliver completions if it reports any, and takes what is there. Otherwise no system call is
    /// made.
    fn collect_completions(&mut self) {
        if self.in_kernel == 0 {
            return;
        }
        let waiting = {
            let submission = self.ring.submission();
            submission.taskrun() || submission.cq_overflow()
        };
        if waiting {
            // After a refusal the completions stay where they are, for the next poll.
            let _ = self.enter_kernel(0);
        }
        if !self.ring.completion().is_empty() {
            self.reap_completions(self.clock.now());
        }
    }

    /// Sleeps until the kernel has a completion, at most `span`.
    fn sleep_until_completion(&mut self, span: Span) {
        let ns = span.as_ns();
        let time = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
        let args = SubmitArgs::new().timespec(&time);
        let flags = (EnterFlags::GETEVENTS | EnterFlags::EXT_ARG).bits();
        // SAFETY: the flags say that the argument is a `SubmitArgs`, and it lives during the call. The error is a
        // timeout or a signal: the caller looks at its clock in either case.
        let _ = unsafe { self.ring.submitter().enter(0, 1, flags, Some(&args)) };
    }
}

impl Device for Uring {
    type Request = Op;

    #[inline]
    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        assert!(!self.flights[ticket.0 as usize].flying, "a ticket is used again only after its completion");
        match self.offset_if_admitted(op) {
            Ok(offset) => {
                self.queue_operation(ticket, op, offset);
                if self.queued.len() >= BATCH {
                    self.flush_queue();
                }
            }
            Err(e) => {
                self.found.push(Completion { ticket, result: Err(e), issued: now, accepted: now, completed: now });
            }
        }
    }

    fn poll_completions(&mut self, _now: Instant, done: &mut Done) {
        if self.queued.is_empty() {
            self.collect_completions();
        } else {
            self.flush_queue();
        }
        done.append(&mut self.found);
    }

    /// The kernel does not report when an operation completed.
    fn is_stamped_when_found(&self) -> bool {
        true
    }

    #[inline]
    fn take_hand_overs(&mut self, into: &mut Vec<HandOver>) {
        into.append(&mut self.hand_overs);
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn wait_for_completion(&mut self, span: Span) {
        // Submitting and sleeping are two calls: in one call, the sleep would count as time that the kernel took to
        // accept.
        self.flush_queue();
        self.collect_completions();
        if !self.found.is_empty() || span.is_zero() {
            return;
        }
        if self.run_delay.is_none() && self.bind_to_thread().is_err() {
            return;
        }
        // A submission that must be repeated is tried again soon.
        let span = if self.queued.is_empty() { span } else { span.min(Span::from_us(100)) };
        self.sleep_until_completion(span);
        self.collect_after_sleep();
    }
}

impl BlockDevice for Uring {
    fn target_geometry(&self, target: u16) -> Geometry {
        self.targets[usize::from(target)].geometry()
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        assert!(!self.flights[ticket.0 as usize].flying, "the buffer of an operation in flight is the kernel's");
        self.arena.slot_bytes(ticket)
    }
}

impl Uring {
    /// Stamps the completions found after a sleep, before anything else happens.
    fn collect_after_sleep(&mut self) {
        if !self.ring.completion().is_empty() {
            self.reap_completions(self.clock.now());
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        if self.in_kernel == 0 {
            // SAFETY: no operation in the kernel uses these buffers, and the arena is not used after this.
            unsafe { ManuallyDrop::drop(&mut self.arena) };
        }
        // Otherwise a late completion may still write there: the memory stays mapped until the process ends.
    }
}
