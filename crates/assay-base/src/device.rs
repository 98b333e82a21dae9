//! The contract between the engine and whatever carries its operations.
//!
//! One `Device` value serves one worker and all the targets of its plan (one ring, one pool, one simulated bank): waiting
//! is then waiting in one place. `Op::target` says which target is meant. Implementations: io_uring, threads, null and
//! simulated ones in `assay-device`.

use crate::{Errno, Instant, Op, Span, Ticket};

/// What the engine must know of a target before it can address it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Usable bytes.
    pub size: u64,
    /// Smallest unit of direct I/O in bytes: offsets and lengths are multiples of it.
    pub block: u32,
}

/// The end of one operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The slot that is free again.
    pub ticket: Ticket,
    /// Bytes moved, or the error. Fewer bytes than asked for is a short I/O, never a success.
    pub result: Result<u32, Errno>,
    /// Just before the operation was handed over.
    pub issued: Instant,
    /// Just after the hand-over returned: `accepted − issued` is time spent inside a blocking submit, which is the
    /// device's or the kernel's, not the generator's.
    pub accepted: Instant,
    /// When it completed.
    pub completed: Instant,
}

/// Completions found by one poll, in the order they were found.
pub type Done = Vec<Completion>;

/// Carries operations to targets and brings their completions back. All times are on the caller's time line.
pub trait Device {
    /// Size and block size of `target`.
    fn geometry(&self, target: u16) -> Geometry;

    /// The data of a slot: filled by the engine before a write is submitted, holding what was read after a read completed.
    /// Empty where the device carries no data (null, simulated); then no payload is generated.
    fn buffer(&mut self, ticket: Ticket) -> &mut [u8];

    /// Hands over one operation. It may be queued until the next `poll` or `wait`. Every failure, also one of the hand-over
    /// itself, comes back as a completion with an error. The caller never uses a ticket again before its completion.
    fn submit(&mut self, now: Instant, ticket: Ticket, op: &Op);

    /// Sends what is queued and appends what has completed to `done`, without waiting.
    fn poll(&mut self, now: Instant, done: &mut Done);

    /// When `poll` will next find something, where the device can know that (virtual time). `None`: nothing is in flight, or
    /// only the operating system knows.
    fn next_wakeup(&self) -> Option<Instant>;

    /// True where [`Completion::completed`] is when the completion was found, because nobody tells when it was: one that is
    /// looked for late then seems to have taken longer.
    fn is_stamped_when_found(&self) -> bool {
        false
    }

    /// True where time is virtual, every operation will complete in full, and its completion stands fast once it was
    /// submitted: then it does not matter when the caller looks at it.
    fn is_sure(&self) -> bool {
        false
    }

    /// Carries an operation and says at once when it completes and how; `poll` brings it back only if the caller has it
    /// [kept](Device::keep). `None`, always where the device is not [sure](Device::is_sure): it must be submitted.
    fn foretell(&mut self, _now: Instant, _op: &Op) -> Option<(Instant, Result<u32, Errno>)> {
        None
    }

    /// Keeps what was foretold, and takes up its ticket, until `poll` brings it back in its time.
    fn keep(&mut self, _foretold: Completion) {}

    /// Waits at most `span` for a completion to appear; returns at once where time is virtual.
    fn wait(&mut self, span: Span);
}
