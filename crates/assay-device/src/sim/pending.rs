//! Operations in flight, in the order in which they will complete (ties by ticket).

use assay_base::{Completion, Done, Errno, Instant, Ticket};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is known of an operation in flight, by ticket.
#[derive(Clone, Copy, Debug)]
struct Slot {
    issued: Instant,
    result: Result<u32, Errno>,
}

/// The queue. It grows to the largest ticket and the largest number in flight seen, and allocates nothing after that.
#[derive(Clone, Default, Debug)]
pub(super) struct Pending {
    /// Completion time above, ticket in the lowest 32 bits.
    order: BinaryHeap<Reverse<u128>>,
    slots: Vec<Slot>,
}

impl Pending {
    /// How many are to complete.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    #[inline]
    pub fn push(&mut self, ticket: Ticket, issued: Instant, completed: u64, result: Result<u32, Errno>) {
        let index = ticket.0 as usize;
        if index >= self.slots.len() {
            self.slots.resize(index + 1, Slot { issued, result });
        }
        self.slots[index] = Slot { issued, result };
        self.order.push(Reverse(u128::from(completed) << 32 | u128::from(ticket.0)));
    }

    /// When the next one completes.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse(key)| Instant::from_ns((key >> 32) as u64))
    }

    /// Moves what has completed by `now` to `done`.
    #[inline]
    pub fn take(&mut self, now: Instant, done: &mut Done) {
        while self.next().is_some_and(|next| next <= now) {
            let Some(Reverse(key)) = self.order.pop() else { return };
            let ticket = Ticket(key as u32);
            let Slot { issued, result } = self.slots[ticket.0 as usize];
            let completed = Instant::from_ns((key >> 32) as u64);
            done.push(Completion { ticket, result, issued, accepted: issued, completed });
        }
    }
}
