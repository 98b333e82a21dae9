//! What is asked of the sessions: transactions, each by its number.

use assay_base::{Instant, Request, Ticket};
use assay_model::tpcc::{Home, Kind, Parameters, Transaction};

/// A request: the transaction with a number, for a session of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index of the database in the plan's targets.
    pub target: u16,
    /// Its kind.
    pub kind: Kind,
    /// Its number in the run.
    pub number: u64,
    /// The session of the load that asks, by which its home is known. Any session of the database may carry it.
    pub session: u32,
}

impl Default for Call {
    fn default() -> Call {
        Call { target: 0, kind: Kind::NewOrder, number: 0, session: 0 }
    }
}

impl Request for Call {
    fn target(&self) -> u16 {
        self.target
    }

    fn bytes(&self) -> u32 {
        0
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        vec![("transaction", self.number.to_string()), ("session", self.session.to_string())]
    }
}

/// The transactions of a run, as a function of their number.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    /// Makes the parameters.
    pub parameters: Parameters,
    /// The seed of the run, from which the pauses before repetitions follow.
    pub seed: u64,
    /// The homes of sessions: the number of warehouses that they are dealt to. None: each transaction is for any
    /// warehouse.
    pub homes: Option<i32>,
}

impl Asking {
    pub(crate) fn transaction(&self, call: &Call) -> Transaction {
        let scale = self.parameters.scale();
        let home = self.homes.map_or(Home::All, |warehouses| Home::of_session(call.session, warehouses, scale));
        self.parameters.transaction(call.kind, call.number, home)
    }
}

/// A call that was handed over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call,
    pub(crate) issued: Instant,
    pub(crate) accepted: Instant,
}
