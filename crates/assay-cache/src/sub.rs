//! The cache's own requests, in addition to the operations that its caller submits.

use crate::log::Job;
use crate::racing::Moment;
use assay_base::cached::Place;
use assay_base::{Instant, Op, Ticket};
use std::collections::VecDeque;

/// The purpose of one of the cache's own requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sub {
    /// A part of a read.
    Fragment(Fragment),
    /// A piece of a segment.
    Segment(Job),
    /// Makes durable what was written to the cache's device.
    Flush,
}

/// A part of a read whose data come from several places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fragment {
    /// The read.
    pub of: Ticket,
    /// First byte of the part within the read.
    pub at: u32,
    /// The request that reads this part from the read's target.
    pub op: Op,
    pub from: FragmentSource,
}

/// The place that a part comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FragmentSource {
    /// From the device of the cache, at this offset, which lies in this segment.
    Cache { offset: u64, segment: u32 },
    /// From the target of the read: the part's first block, and when the read of it began, so that the blocks may be
    /// put into the cache. `None` after the cache's device has failed.
    Target(Option<(Place, Moment)>),
}

/// The slots of the cache's own requests, and the parts of reads that wait for one.
#[derive(Debug)]
pub(crate) struct Subs {
    /// The ticket of the first slot.
    first: u32,
    flying: Vec<Option<(Sub, Instant)>>,
    free: Vec<u32>,
    waiting: VecDeque<Fragment>,
}

impl Subs {
    /// `count` slots, whose tickets begin with `first`.
    pub(crate) fn new(first: u32, count: u32) -> Subs {
        Subs { first, flying: vec![None; count as usize], free: (0..count).rev().collect(), waiting: VecDeque::new() }
    }

    /// Whether the ticket belongs to one of the cache's own requests.
    pub(crate) fn is_own(&self, ticket: Ticket) -> bool {
        ticket.0 >= self.first
    }

    /// Queues a part until a slot is free.
    pub(crate) fn queue_part(&mut self, part: Fragment) {
        self.waiting.push_back(part);
    }

    /// Whether there is a free slot.
    pub(crate) fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// The part that has waited longest.
    pub(crate) fn next_part(&mut self) -> Option<Fragment> {
        self.waiting.pop_front()
    }

    /// Whether parts wait.
    pub(crate) fn has_parts(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes a free slot for a request; `None` if there is none.
    pub(crate) fn begin_request(&mut self, sub: Sub, now: Instant) -> Option<Ticket> {
        let slot = self.free.pop()?;
        self.flying[slot as usize] = Some((sub, now));
        Some(Ticket(self.first + slot))
    }

    /// Frees the slot of a ticket, and returns its request and when that began.
    pub(crate) fn end_request(&mut self, ticket: Ticket) -> (Sub, Instant) {
        let slot = ticket.0 - self.first;
        let ended = self.flying[slot as usize].take();
        self.free.push(slot);
        ended.expect("a ticket completes once")
    }

    /// Whether nothing is in flight and nothing waits.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.waiting.is_empty() && self.free.len() == self.flying.len()
    }
}
