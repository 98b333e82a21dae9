//! Totals of the outcomes of transactions.

use assay_model::tpcc::{Outcome, Transaction, TransactionKind};
use std::collections::BTreeMap;

/// Totals of the outcomes of transactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Writing transactions of unknown outcome (for example, the connection was lost during the commit), with the
    /// changes that they would have made.
    pub unknown: Unknown,
    /// New orders that were rolled back because they name an item that does not exist, as the workload intends for one
    /// of a hundred.
    pub rolled_back: u64,
    /// Number of repetitions, by the code of the fault that caused them.
    pub retried: BTreeMap<String, u64>,
    /// Districts in which a delivery found no new order.
    pub skipped: u64,
    /// Committed new orders.
    pub orders: i64,
    /// Committed payments.
    pub payments: i64,
    /// Sum of the committed payments, in cents.
    pub paid: i64,
    /// Transactions that failed because the server was not available: it ended, refused the connection, or the
    /// connection was lost.
    pub outages: u64,
    /// The last number that each session has sent, 0 for sessions that send none.
    pub sent: Vec<u64>,
}

/// Changes of transactions of unknown outcome, in case that they were committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    /// New orders.
    pub orders: i64,
    /// Payments.
    pub payments: i64,
    /// Sum of these payments, in cents.
    pub paid: i64,
}

impl Unknown {
    pub(crate) fn count_unknown(&mut self, transaction: &Transaction) {
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

/// The figure that counts new orders that were rolled back because they name an item that does not exist.
pub const ROLLED_BACK: &str = "rolled-back";
/// The figure that counts districts in which a delivery found no new order.
pub(crate) const SKIPPED: &str = "skipped";

impl Tally {
    pub(crate) fn count_outcome(&mut self, transaction: &Transaction, outcome: &Outcome) {
        match (transaction, outcome) {
            (_, Outcome::Ordered(_)) => self.orders += 1,
            (_, Outcome::RolledBack) => self.rolled_back += 1,
            (_, Outcome::Delivered(delivered)) => self.skipped += delivered.skipped_districts() as u64,
            (Transaction::Payment(asked), Outcome::Paid(_)) => {
                self.payments += 1;
                self.paid += asked.amount;
            }
            _ => {}
        }
    }
}

/// Figures that one transaction reports, with its kind.
#[derive(Clone, Debug)]
pub(crate) struct TransactionFigures {
    pub(crate) kind: TransactionKind,
    pub(crate) figures: Vec<(String, u64)>,
}

impl TransactionFigures {
    pub(crate) fn new(
        kind: TransactionKind,
        retried: BTreeMap<String, u64>,
        outcome: Option<&Outcome>,
    ) -> TransactionFigures {
        let mut figures: Vec<(String, u64)> =
            retried.into_iter().map(|(code, times)| (format!("retried {code}"), times)).collect();
        match outcome {
            Some(Outcome::RolledBack) => figures.push((ROLLED_BACK.to_owned(), 1)),
            Some(Outcome::Delivered(delivered)) if delivered.skipped_districts() > 0 => {
                figures.push((SKIPPED.to_owned(), delivered.skipped_districts() as u64));
            }
            _ => {}
        }
        TransactionFigures { kind, figures }
    }
}
