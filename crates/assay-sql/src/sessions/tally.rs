//! What came of the transactions, beside their times.

use assay_model::tpcc::{Kind, Outcome, Transaction};
use std::collections::BTreeMap;

/// What came of the transactions, beside their times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Transactions that write of which nobody knows whether they were committed, by what they would have changed.
    pub unknown: Unknown,
    /// New orders that were rolled back as they should be.
    pub rolled_back: u64,
    /// Repetitions, by the code of the fault before them.
    pub retried: BTreeMap<String, u64>,
    /// Districts in which a delivery found no new order.
    pub skipped: u64,
    /// New orders that were committed.
    pub orders: i64,
    /// Payments that were committed.
    pub payments: i64,
    /// What they paid together, in cents.
    pub paid: i64,
    /// Transactions that failed because the server was not there: it ended, did not let anybody in, or the connection was
    /// lost.
    pub outages: u64,
    /// The last number that each session has sent, where sessions send numbers.
    pub sent: Vec<u64>,
}

/// What transactions would have changed if they were committed, which nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// New orders.
    pub orders: i64,
    /// Payments.
    pub payments: i64,
    /// What they would have paid together, in cents.
    pub paid: i64,
}

impl Unknown {
    pub(crate) fn count(&mut self, transaction: &Transaction) {
        match transaction {
            Transaction::NewOrder(_) => self.orders += 1,
            Transaction::Payment(asked) => {
                self.payments += 1;
                self.paid += asked.amount;
            }
            _ => {}
        }
    }
}

/// The name under which new orders are counted that were rolled back as they should be.
pub const ROLLED_BACK: &str = "rolled-back";
/// The name under which districts are counted in which a delivery found no new order.
pub const SKIPPED: &str = "skipped";

impl Tally {
    pub(crate) fn count(&mut self, transaction: &Transaction, outcome: &Outcome) {
        match (transaction, outcome) {
            (_, Outcome::Ordered(_)) => self.orders += 1,
            (_, Outcome::RolledBack) => self.rolled_back += 1,
            (_, Outcome::Delivered(delivered)) => self.skipped += delivered.skipped() as u64,
            (Transaction::Payment(asked), Outcome::Paid(_)) => {
                self.payments += 1;
                self.paid += asked.amount;
            }
            _ => {}
        }
    }
}

/// What one transaction reports, with its kind.
#[derive(Clone, Debug)]
pub(crate) struct Noted {
    pub(crate) kind: Kind,
    pub(crate) figures: Vec<(String, u64)>,
}

impl Noted {
    pub(crate) fn of(kind: Kind, retried: BTreeMap<String, u64>, outcome: Option<&Outcome>) -> Noted {
        let mut figures: Vec<(String, u64)> =
            retried.into_iter().map(|(code, times)| (format!("retried {code}"), times)).collect();
        match outcome {
            Some(Outcome::RolledBack) => figures.push((ROLLED_BACK.to_owned(), 1)),
            Some(Outcome::Delivered(delivered)) if delivered.skipped() > 0 => {
                figures.push((SKIPPED.to_owned(), delivered.skipped() as u64));
            }
            _ => {}
        }
        Noted { kind, figures }
    }
}
