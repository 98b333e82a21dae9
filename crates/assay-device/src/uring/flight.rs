//! The state of one ticket between submission and completion: its time stamps, and the queue entries it still waits
//! for.

use assay_base::{Code, Completion, Instant, Op, Ticket};

/// One queue entry of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum QueueEntry {
    /// The read or write itself.
    Transfer,
    /// The flush that follows a durable write.
    Flush,
}

/// Marks the entry of a flush in the kernel's user data, in a bit above the ticket.
const FLUSH: u64 = 1 << 32;

impl QueueEntry {
    /// The value that the kernel returns with the completion.
    pub(super) fn user_data(self, ticket: Ticket) -> u64 {
        u64::from(ticket.0) | if self == QueueEntry::Flush { FLUSH } else { 0 }
    }

    /// The ticket and entry that a completion belongs to.
    pub(super) fn from_user_data(user_data: u64) -> (Ticket, QueueEntry) {
        (Ticket(user_data as u32), if user_data & FLUSH == 0 { QueueEntry::Transfer } else { QueueEntry::Flush })
    }
}

/// The state of one ticket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// From submit to completion.
    pub(super) flying: bool,
    /// Whether the kernel has taken one of its entries: then its stamps are final.
    entered: bool,
    /// Number of entries that have not completed.
    open: u8,
    len: u32,
    issued: Instant,
    accepted: Instant,
    moved: Result<u32, Code>,
    flushed: Result<u32, Code>,
}

impl Default for Flight {
    fn default() -> Flight {
        Flight {
            flying: false,
            entered: false,
            open: 0,
            len: 0,
            issued: Instant::ZERO,
            accepted: Instant::ZERO,
            moved: Ok(0),
            flushed: Ok(0),
        }
    }
}

impl Flight {
    /// The state of an operation of `open` entries that was queued.
    pub(super) fn new(op: &Op, open: u8) -> Flight {
        Flight { flying: true, open, len: op.len, ..Flight::default() }
    }

    /// The kernel took an entry of it. The times of its first entry count.
    pub(super) fn note_entered(&mut self, issued: Instant, accepted: Instant) {
        if !self.entered {
            (self.entered, self.issued, self.accepted) = (true, issued, accepted);
        }
    }

    /// Takes the result of an entry; returns the completion of the operation when it was the last.
    pub(super) fn take_result(
        &mut self,
        ticket: Ticket,
        part: QueueEntry,
        result: Result<u32, Code>,
        completed: Instant,
    ) -> Option<Completion> {
        assert!(self.flying && self.open > 0, "the kernel completes an operation once");
        match part {
            QueueEntry::Transfer => self.moved = result,
            QueueEntry::Flush => self.flushed = result,
        }
        self.open -= 1;
        if self.open > 0 {
            return None;
        }
        self.flying = false;
        Some(Completion {
            ticket,
            result: self.combined_result(),
            issued: self.issued,
            accepted: self.accepted,
            completed,
        })
    }

    /// The kernel cancels the flush after a write that failed or was short: then the write's own result is that of the
    /// operation.
    fn combined_result(&self) -> Result<u32, Code> {
        match (self.moved, self.flushed) {
            (Ok(moved), Err(Code(libc::ECANCELED))) if moved < self.len => Ok(moved),
            (Ok(_), Err(errno)) => Err(errno),
            (moved, _) => moved,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Direction;

    const EIO: Result<u32, Code> = Err(Code::EIO);
    const CANCELED: Result<u32, Code> = Err(Code(libc::ECANCELED));

    #[test]
    fn a_durable_write_ends_with_its_flush_and_as_the_worse_of_the_two() {
        let op = Op { target: 0, direction: Direction::Write, durable: true, offset: 0, len: 4096 };
        let [at, later, latest] = [10, 20, 30].map(Instant::from_ns);
        for (moved, flushed, result) in [
            (Ok(4096), Ok(0), Ok(4096)),
            (Ok(4096), EIO, EIO),
            (Ok(4096), CANCELED, CANCELED),
            (Ok(512), CANCELED, Ok(512)),
            (EIO, CANCELED, EIO),
            (Ok(4096), Err(Code::NOT_SUBMITTED), Err(Code::NOT_SUBMITTED)),
        ] {
            // The kernel may report the two in either order where memory for the flush was short.
            for order in [[QueueEntry::Transfer, QueueEntry::Flush], [QueueEntry::Flush, QueueEntry::Transfer]] {
                let mut flight = Flight::new(&op, 2);
                flight.note_entered(at, later);
                flight.note_entered(later, latest);
                let of = |part| if part == QueueEntry::Transfer { moved } else { flushed };
                assert_eq!(flight.take_result(Ticket(3), order[0], of(order[0]), later), None);
                let ended = flight.take_result(Ticket(3), order[1], of(order[1]), latest).unwrap();
                assert_eq!((ended.result, ended.issued, ended.accepted), (result, at, later), "{moved:?} {flushed:?}");
                assert!(ended.completed == latest && !flight.flying);
            }
        }
    }

    #[test]
    fn the_kernels_user_data_names_ticket_and_part() {
        for ticket in [0, 7, u32::MAX].map(Ticket) {
            for part in [QueueEntry::Transfer, QueueEntry::Flush] {
                assert_eq!(QueueEntry::from_user_data(part.user_data(ticket)), (ticket, part));
            }
        }
    }
}
