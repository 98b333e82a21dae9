//! The contract between the engine and the devices that carry its requests.
//!
//! A request is whatever one kind of device carries: a block I/O, a transaction, a file system call. The engine knows
//! only its target and how many bytes it is to move.
//!
//! One `Device` value serves one worker and all the targets of its plan (one ring, one pool, one simulated bank), so
//! the worker waits in one place only. Implementations for block I/O: io_uring, threads, null and simulated ones in
//! `assay-device`.

use crate::{Code, Instant, Op, Span, Ticket};
use std::borrow::Cow;
use std::fmt;

/// What one kind of device carries.
pub trait Request: Copy + Default + fmt::Debug {
    /// Index of its target in the plan's list.
    fn target_index(&self) -> u16;

    /// The bytes that a full completion reports; 0 where a request moves none that can be counted.
    fn expected_bytes(&self) -> u32;

    /// What an event about this request says about it, as names and texts.
    fn event_facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

impl Request for Op {
    #[inline(always)]
    fn target_index(&self) -> u16 {
        self.target
    }

    #[inline(always)]
    fn expected_bytes(&self) -> u32 {
        self.len
    }

    fn event_facts(&self) -> Vec<(&'static str, String)> {
        vec![("offset", self.offset.to_string()), ("bytes", self.len.to_string())]
    }
}

/// What the engine must know about a target before it can address it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Geometry {
    /// Usable bytes.
    pub size: u64,
    /// Smallest unit of direct I/O in bytes: offsets and lengths are multiples of it.
    pub block: u32,
}

/// The completion of one request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Completion {
    /// The slot that is free again.
    pub ticket: Ticket,
    /// Bytes moved, or the error. Fewer bytes than asked for is a short I/O, never a success.
    pub result: Result<u32, Code>,
    /// Just before the request was handed over.
    pub issued: Instant,
    /// Just after the hand-over returned: `accepted − issued` is time spent inside a blocking submit, which is the
    /// device's or the kernel's, not the generator's.
    pub accepted: Instant,
    /// When it completed.
    pub completed: Instant,
}

/// Completions found by one poll, in the order in which they were found.
pub type Done = Vec<Completion>;

/// A time for which a hand-over held up its caller: what waited to be handed over meanwhile waited for the device or the
/// kernel. A part in which the calling thread could not run, because it had no processor, does not belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandOver {
    /// When it began.
    pub from: Instant,
    /// When it ended.
    pub until: Instant,
}

/// Upper bound on the stocks of prepared requests of one device; their numbers are below this.
pub const STOCKS_MOST: usize = 256;
/// Upper bound on the prepared requests in one stock.
pub const STOCK_MOST: u32 = 256;

/// Carries requests to targets and returns their completions. All times are on the caller's time line.
pub trait Device {
    /// The kind of request it carries.
    type Request: Request;

    /// Hands over one request. It may be queued until the next `poll` or `wait`. Every failure, including one of the
    /// hand-over itself, is reported as a completion with an error. The caller does not reuse a ticket before its
    /// completion.
    fn submit_request(&mut self, now: Instant, ticket: Ticket, request: &Self::Request);

    /// Sends queued requests and appends what has completed to `done`, without waiting.
    fn poll_completions(&mut self, now: Instant, done: &mut Done);

    /// When `poll` will next find something, where the device can know that (virtual time). `None`: nothing is in flight, or
    /// only the operating system knows.
    fn next_wakeup(&self) -> Option<Instant>;

    /// Waits at most `span` for a completion to appear; returns at once where time is virtual.
    fn wait_for_completion(&mut self, span: Span);

    /// True where [`Completion::completed`] is the time when the completion was found, because the real time is not
    /// known: if the caller looks late, the operation seems to have taken longer.
    fn is_stamped_when_found(&self) -> bool {
        false
    }

    /// Moves the hand-overs since the last call to `into`, one behind the other. Devices whose hand-over never waits for
    /// anything have none.
    #[inline]
    fn take_hand_overs(&mut self, _into: &mut Vec<HandOver>) {}

    /// Whether it knows for how long the threads that carry requests could not run. The answer does not change.
    fn knows_kept_from_running(&self) -> bool {
        false
    }

    /// For how long the thread that carried the last request of this ticket could not run while it carried it: the
    /// request may have completed so much earlier than its completion says. Known only where such a thread stamps the
    /// completion itself.
    #[inline]
    fn kept_from_running(&self, _ticket: Ticket) -> Span {
        Span::ZERO
    }

    /// How many requests it can have prepared besides those in flight, each with a ticket of its own; these tickets follow
    /// those in flight. They lie in at most [`STOCKS_MOST`] stocks, in each at most [`STOCK_MOST`]. 0: none, and the calls
    /// for prepared requests are never made.
    fn spare_tickets(&self) -> u32 {
        0
    }

    /// Lays a request into a stock: whoever completes a request of that stock in full goes on with it at once, without
    /// asking the caller. Not handed over until then.
    fn prepare_request(&mut self, _stock: usize, _ticket: Ticket, _request: &Self::Request) {
        unreachable!("nothing is prepared on a device without spare tickets")
    }

    /// Takes the request out of a stock that lies there longest; `None` where nothing is left in it.
    fn withdraw_prepared(&mut self, _stock: usize) -> Option<Ticket> {
        None
    }

    /// Hands over a request of a stock: the request that was prepared next follows it.
    fn submit_with_stock(&mut self, now: Instant, _stock: usize, ticket: Ticket, request: &Self::Request) {
        self.submit_request(now, ticket, request);
    }

    /// The prepared request that followed the last request of this ticket in the moment of its completion.
    #[inline]
    fn follower_ticket(&self, _ticket: Ticket) -> Option<Ticket> {
        None
    }

    /// No prepared request follows one that completes at `end` or later.
    fn set_end_of_stock(&mut self, _end: Instant) {}

    /// The name of a code in its completions, as log and report write it.
    fn code_name(&self, code: Code) -> Cow<'static, str> {
        code.symbolic_name()
    }
}

/// A device of blocks: bytes at offsets.
pub trait BlockDevice: Device<Request = Op> {
    /// Size and block size of `target`.
    fn target_geometry(&self, target: u16) -> Geometry;

    /// The data of a slot: filled by the engine before a write is submitted, holding what was read after a read completed.
    /// Empty where the device carries no data (null, simulated); then no payload is generated.
    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8];
}

/// A device in virtual time that can predict when a request will complete.
pub trait Foretelling: Device {
    /// True where every request will complete in full and its completion is final once it was submitted: then it does
    /// not matter when the caller looks at it.
    fn is_sure(&self) -> bool;

    /// Carries a request and returns immediately when and how it will complete; `poll` reports it only if the caller
    /// calls [`keep_foretold`](Foretelling::keep_foretold). `None`: the request must be submitted instead. Called only on a device that
    /// [is sure](Foretelling::is_sure).
    fn foretell_completion(&mut self, now: Instant, request: &Self::Request) -> Option<(Instant, Result<u32, Code>)>;

    /// Keeps a predicted completion, and occupies its ticket, until `poll` reports it at its time.
    fn keep_foretold(&mut self, foretold: Completion);
}
