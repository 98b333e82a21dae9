//! Requests that are prepared: a thread of the pool that has completed an operation goes on with the one that lies here
//! longest, without waiting for the worker.
//!
//! A ring with one side that lays down and many that take. A place is written again only after it was taken, because a
//! stock never holds more tickets than it has places; a side that read a place that has been written again since then
//! finds that `taken` has moved, and tries again.

use assay_base::{STOCK_MOST, Ticket};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// See the module.
#[repr(align(128))]
pub(super) struct Stock {
    /// Number of tickets ever taken out.
    taken: AtomicU64,
    /// Number of tickets ever laid down; only the worker writes it.
    laid: AtomicU64,
    /// The most that lay here after the worker last laid one down: what is left is compared with it.
    filled: AtomicU64,
    places: Box<[AtomicU32]>,
}

/// A prepared operation that a thread takes out of a stock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TakenTicket {
    pub(super) ticket: Ticket,
    /// No more than half is left: the worker should look.
    pub(super) is_low: bool,
}

impl Stock {
    pub(super) fn new() -> Stock {
        Stock {
            taken: AtomicU64::new(0),
            laid: AtomicU64::new(0),
            filled: AtomicU64::new(0),
            places: (0..STOCK_MOST.next_power_of_two()).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    fn place_at(&self, number: u64) -> &AtomicU32 {
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Worker: lays a ticket down. What it wrote for that ticket is seen by whoever takes it.
    pub(super) fn lay_ticket(&self, ticket: Ticket) {
        let laid = self.laid.load(Ordering::Relaxed);
        let left = laid - self.taken.load(Ordering::Acquire);
        assert!(left < self.places.len() as u64, "a stock has a place for each of its tickets");
        self.place_at(laid).store(ticket.0, Ordering::Relaxed);
        self.laid.store(laid + 1, Ordering::Release);
        self.filled.store(left + 1, Ordering::Relaxed);
    }

    /// Takes the ticket that lies here longest.
    pub(super) fn take_oldest(&self) -> Option<TakenTicket> {
        let mut taken = self.taken.load(Ordering::Acquire);
        loop {
            let laid = self.laid.load(Ordering::Acquire);
            if taken >= laid {
                return None;
            }
            let ticket = Ticket(self.place_at(taken).load(Ordering::Relaxed));
            match self.taken.compare_exchange_weak(taken, taken + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    let is_low = (laid - taken - 1) * 2 <= self.filled.load(Ordering::Relaxed);
                    return Some(TakenTicket { ticket, is_low });
                }
                Err(now) => taken = now,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ticket_that_lies_longest_is_taken_first_and_the_end_is_said_before_it_comes() {
        let stock = Stock::new();
        assert_eq!(stock.take_oldest(), None);
        for round in 0..100 {
            (0..4).for_each(|ticket| stock.lay_ticket(Ticket(round + ticket)));
            let order =
                [0; 4].map(|_| stock.take_oldest().map(|TakenTicket { ticket, is_low }| (ticket.0 - round, is_low)));
            assert_eq!(order, [Some((0, false)), Some((1, true)), Some((2, true)), Some((3, true))]);
            assert_eq!(stock.take_oldest(), None);
        }
    }

    /// Each ticket that was laid down is taken once, whoever takes it, and comes back to be laid down again.
    #[test]
    fn many_threads_take_each_ticket_once() {
        let (stock, stop) = (Stock::new(), AtomicU32::new(0));
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (sender, stock, stop) = (sender.clone(), &stock, &stop);
                scope.spawn(move || {
                    while stop.load(Ordering::Relaxed) == 0 {
                        match stock.take_oldest() {
                            Some(taken) => drop(sender.send(taken.ticket.0)),
                            None => std::thread::yield_now(),
                        }
                    }
                });
            }
            let mut lies = [false; STOCK_MOST as usize];
            for ticket in 0..STOCK_MOST {
                lies[ticket as usize] = true;
                stock.lay_ticket(Ticket(ticket));
            }
            for _ in 0..100_000 {
                let ticket = receiver.recv().unwrap();
                assert!(std::mem::take(&mut lies[ticket as usize]), "ticket {ticket} was taken twice");
                lies[ticket as usize] = true;
                stock.lay_ticket(Ticket(ticket));
            }
            stop.store(1, Ordering::Relaxed);
        });
    }
}
