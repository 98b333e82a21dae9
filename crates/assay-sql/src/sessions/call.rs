//! What the engine asks sessions to do: transactions, each identified by its number.

use assay_base::{Instant, Request, Ticket};
use assay_model::tpcc::{Home, Parameters, Transaction, TransactionKind};

/// A request for one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index of the database in the plan's targets.
    pub target: u16,
    /// Its kind.
    pub kind: TransactionKind,
    /// Its number in the run.
    pub number: u64,
    /// The session or terminal of the load that issues the request; its home warehouse follows from it. Any session of
    /// the database may carry the transaction.
    pub session: u32,
}

impl Default for Call {
    fn default() -> Call {
        Call { target: 0, kind: TransactionKind::NewOrder, number: 0, session: 0 }
    }
}

impl Request for Call {
    fn target_index(&self) -> u16 {
        self.target
    }

    fn expected_bytes(&self) -> u32 {
        0
    }

    fn event_facts(&self) -> Vec<(&'static str, String)> {
        vec![("transaction", self.number.to_string()), ("session", self.session.to_string())]
    }
}

/// The transactions of a run, each of which is a function of its call.
#[derive(Clone, Copy, Debug)]
pub struct TransactionSource {
    /// Makes the parameters of a transaction from its number.
    pub parameters: Parameters,
    /// The seed of the run, from which the pauses before repetitions follow.
    pub seed: u64,
    /// The number of warehouses among which the homes of the load's sessions are dealt. `None`: a transaction may be
    /// for any warehouse.
    pub homes: Option<i32>,
}

impl TransactionSource {
    pub(crate) fn make_transaction(&self, call: &Call) -> Transaction {
        let scale = self.parameters.database_scale();
        let home = self.homes.map_or(Home::All, |warehouses| Home::of_session(call.session, warehouses, scale));
        self.parameters.numbered_transaction(call.kind, call.number, home)
    }
}

/// A call that the engine has handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call,
    pub(crate) issued: Instant,
    pub(crate) accepted: Instant,
}
