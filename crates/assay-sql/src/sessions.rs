//! Sessions of a database as a device: each has a connection of its own, and carries one transaction at a time.
//!
//! A request says which transaction is wanted, by its number; the session that carries it makes the parameters, tries
//! again where other sessions stood in the way, and counts what came of it. Sessions that can converse are driven by the
//! thread that waits for them. The others, and those whose commits somebody is told of, have threads of their own.

mod account;
mod call;
mod driven;
mod execute;
mod loans;
mod tally;
mod waiting;

pub use account::{Account, Counted};
pub use call::{Asking, Call};
pub use execute::{Acknowledge, Converse, Execute};
pub use tally::{ROLLED_BACK, SKIPPED, Tally, Unknown};

use crate::trouble::Trouble;
use assay_base::{Code, Device, Done, Instant, Span, Ticket};
use driven::Driven;
use std::borrow::Cow;
use std::sync::Arc;
use waiting::Waiting;

/// Sessions that carry calls.
pub struct Sessions<C> {
    account: Account,
    way: Way<C>,
}

/// Who waits for the answers.
enum Way<C> {
    /// The engine's thread.
    Driven(Box<Driven<C>>),
    /// A thread for each session.
    Waiting(Waiting<C>),
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Sessions<C> {
    /// Makes them ready for calls; `clock` is the caller's time line.
    pub fn start<E: Execute>(sessions: Vec<E>, asking: Asking, clock: C) -> Result<Sessions<C>, Trouble> {
        Sessions::acknowledging(sessions, asking, clock, None)
    }

    /// The same, and somebody may be told of each commit. That is done by threads of the sessions, because it may take a
    /// while, in which the answers of all others would wait.
    pub fn acknowledging<E: Execute>(
        mut sessions: Vec<E>,
        asking: Asking,
        clock: C,
        ledger: Option<Arc<dyn Acknowledge>>,
    ) -> Result<Sessions<C>, Trouble> {
        let account = Account::new(sessions.len());
        let driven = ledger.is_none() && sessions.iter_mut().all(|session| session.converse().is_some());
        let way = match driven {
            true => Way::Driven(Box::new(Driven::start(sessions, asking, clock, account.clone())?)),
            false => Way::Waiting(Waiting::start(sessions, asking, clock, account.clone(), ledger)?),
        };
        Ok(Sessions { account, way })
    }

    /// How many threads carry the load, beside the one that hands it over.
    pub fn threads(&self) -> usize {
        match &self.way {
            Way::Driven(_) => 0,
            Way::Waiting(waiting) => waiting.threads(),
        }
    }

    /// What came of the transactions so far.
    pub fn tally(&self) -> Tally {
        self.account.tally()
    }

    /// The account of these sessions, which outlives them.
    pub fn account(&self) -> Account {
        self.account.clone()
    }
}

impl<C: Fn() -> Instant> Device for Sessions<C> {
    type Request = Call;

    fn submit(&mut self, _: Instant, ticket: Ticket, call: &Call) {
        match &mut self.way {
            Way::Driven(driven) => driven.submit(ticket, call),
            Way::Waiting(waiting) => waiting.submit(ticket, call),
        }
    }

    fn poll(&mut self, _: Instant, done: &mut Done) {
        match &mut self.way {
            Way::Driven(driven) => driven.poll(done),
            Way::Waiting(waiting) => waiting.poll(done),
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        match &self.way {
            Way::Driven(driven) => driven.next_wakeup(),
            Way::Waiting(_) => None,
        }
    }

    fn wait(&mut self, span: Span) {
        match &mut self.way {
            Way::Driven(driven) => driven.wait(span),
            Way::Waiting(waiting) => waiting.wait(span),
        }
    }

    fn is_stamped_when_found(&self) -> bool {
        matches!(self.way, Way::Driven(_))
    }

    fn name(&self, code: Code) -> Cow<'static, str> {
        self.account.name(code)
    }
}

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
