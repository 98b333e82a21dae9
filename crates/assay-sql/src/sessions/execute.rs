//! The traits of a session, blocking and not, and of the ledger that receives commits.

use crate::fault::Fault;
use assay_model::tpcc::{Outcome, Transaction};
use std::os::fd::BorrowedFd;

/// One session of a database, which executes transactions.
pub trait Execute: Send + 'static {
    /// Executes a transaction once, and waits for its end. A transaction that fails has changed nothing, unless its
    /// fault is [`Fault::OUTCOME_UNKNOWN`].
    fn execute_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault>;

    /// The last number that this session has sent to its row in the database; 0 if it sends none. See [`crate::KeptCommits`].
    fn last_sent_number(&self) -> u64 {
        0
    }

    /// The number read from the session's row after the last reconnect. Returned once.
    fn take_found_number(&mut self) -> Option<u64> {
        None
    }

    /// The same session, driven without blocking. `None` if it supports only blocking calls.
    fn as_conversation(&mut self) -> Option<&mut dyn Converse> {
        None
    }
}

impl Execute for Box<dyn Execute> {
    fn execute_transaction(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        (**self).execute_transaction(transaction)
    }

    fn last_sent_number(&self) -> u64 {
        (**self).last_sent_number()
    }

    fn take_found_number(&mut self) -> Option<u64> {
        (**self).take_found_number()
    }

    fn as_conversation(&mut self) -> Option<&mut dyn Converse> {
        (**self).as_conversation()
    }
}

/// A session whose transactions consist of one request and one answer, so that one thread can wait for the answers of
/// many sessions. None of these functions blocks.
pub trait Converse {
    /// Whether it is connected and the answer to the last transaction has been read.
    fn is_ready(&self) -> bool;

    /// Sends a transaction, or as much of it as the socket accepts. An error is returned by
    /// [`take_outcome`](Converse::take_outcome).
    fn send_transaction(&mut self, transaction: &Transaction);

    /// Whether a part of the transaction is not sent yet. Then [`read_arrived`](Converse::read_arrived) must also be called when the
    /// socket is writable.
    fn has_more(&self) -> bool;

    /// Reads what has arrived, and sends as much of the rest as the socket accepts.
    fn read_arrived(&mut self);

    /// The outcome of the transaction that was sent; `None` until the answer is complete.
    fn take_outcome(&mut self, transaction: &Transaction) -> Option<Result<Outcome, Fault>>;

    /// The socket at which answers arrive.
    fn answer_socket(&self) -> BorrowedFd<'_>;
}

/// Receives each commit as soon as the database has acknowledged it, on the session's own thread and before that
/// session does anything else.
pub trait Acknowledge: Send + Sync {
    /// A session has committed the transaction with this number.
    fn note_commit(&self, session: u32, seq: u64, transaction: &Transaction, outcome: &Outcome);

    /// A session has reconnected, and has read this number from its row.
    fn note_reconnect(&self, session: u32, seq: u64);
}
