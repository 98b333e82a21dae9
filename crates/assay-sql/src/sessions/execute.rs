//! What executes transactions, and who is told of their commits.

use crate::fault::Fault;
use assay_model::tpcc::{Outcome, Transaction};
use std::os::fd::BorrowedFd;

/// What executes transactions: one session of a database.
pub trait Execute: Send + 'static {
    /// Executes a transaction once. If it does not reach its planned end, it has left no trace.
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, Fault>;

    /// The last number that this session has sent to its row in the database; 0 if it sends none. See [`crate::Kept`].
    fn sent(&self) -> u64 {
        0
    }

    /// The number that this session has found in its row when it was connected again, unless it was asked since.
    fn found(&mut self) -> Option<u64> {
        None
    }

    /// The session as one that need not be waited for, where it can be that at all.
    fn converse(&mut self) -> Option<&mut dyn Converse> {
        None
    }
}

impl Execute for Box<dyn Execute> {
    fn execute(&mut self, transaction: &Transaction) -> Result<Outcome, Fault> {
        (**self).execute(transaction)
    }

    fn sent(&self) -> u64 {
        (**self).sent()
    }

    fn found(&mut self) -> Option<u64> {
        (**self).found()
    }

    fn converse(&mut self) -> Option<&mut dyn Converse> {
        (**self).converse()
    }
}

/// A session whose transactions consist of one request and one answer, so that one thread can wait for the answers of
/// many sessions. None of these functions waits.
pub trait Converse {
    /// Whether it is connected, and nothing is left of an earlier transaction.
    fn is_ready(&self) -> bool;

    /// Sends a transaction, or as much of it as the socket takes. A failure is part of the outcome.
    fn send(&mut self, transaction: &Transaction);

    /// Whether something is left to be sent: then [`read`](Converse::read) is to be called also when the socket takes
    /// more.
    fn has_more(&self) -> bool;

    /// Reads what has arrived, and sends what is left.
    fn read(&mut self);

    /// What came of the transaction that was sent, once the answer is whole.
    fn outcome(&mut self, transaction: &Transaction) -> Option<Result<Outcome, Fault>>;

    /// Where answers arrive.
    fn socket(&self) -> BorrowedFd<'_>;
}

/// Told of each commit as soon as the database has acknowledged it, by the session's own thread and before that session
/// does anything else.
pub trait Acknowledge: Send + Sync {
    /// A session's transaction with this number was committed.
    fn committed(&self, session: u32, seq: u64, transaction: &Transaction, outcome: &Outcome);

    /// A session is connected again, and has found this number in its row.
    fn found(&self, session: u32, seq: u64);
}
