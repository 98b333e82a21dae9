//! Sessions of a database as a device: each has a connection of its own, and carries one transaction at a time.
//!
//! A request names a transaction by its number. The parameters follow from the number; a transaction that meets a
//! conflict with another session is repeated, and its outcome is counted. If every session implements [`Converse`], the
//! engine's thread drives all of them (`driven.rs`). If one does not, or if the run records its commits, each session
//! has a thread of its own (`waiting.rs`).

mod account;
mod call;
mod driven;
mod execute;
mod loans;
mod tally;
mod unintended;
mod waiting;

pub use account::{Account, Counted};
pub use call::{Call, TransactionSource};
pub use execute::{Acknowledge, Converse, Execute};
pub use tally::{ROLLED_BACK, Tally, Unknown};

use crate::trouble::Trouble;
use assay_base::{Code, Device, Done, Instant, Span, Ticket};
use driven::Driven;
use std::borrow::Cow;
use std::sync::Arc;
use waiting::Waiting;

/// Sessions that carry calls.
pub struct Sessions<C> {
    account: Account,
    way: Backend<C>,
}

/// The threads that wait for the answers.
enum Backend<C> {
    /// The engine's thread.
    Driven(Box<Driven<C>>),
    /// A thread for each session.
    Waiting(Waiting<C>),
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Sessions<C> {
    /// Prepares sessions for calls. `clock` returns the present on the time line of the run, from which the times of
    /// completions are taken.
    pub fn start_sessions<E: Execute>(
        sessions: Vec<E>,
        asking: TransactionSource,
        clock: C,
    ) -> Result<Sessions<C>, Trouble> {
        Sessions::start_acknowledging(sessions, asking, clock, None)
    }

    /// Starts as [`Sessions::start_sessions`] does, with a ledger that receives each commit. With a ledger, each session has a
    /// thread of its own: writing to the ledger takes time, in which a single thread could not read the answers to the
    /// other sessions.
    pub fn start_acknowledging<E: Execute>(
        mut sessions: Vec<E>,
        asking: TransactionSource,
        clock: C,
        ledger: Option<Arc<dyn Acknowledge>>,
    ) -> Result<Sessions<C>, Trouble> {
        let account = Account::new(sessions.len(), asking.parameters.database_scale());
        let driven = ledger.is_none() && sessions.iter_mut().all(|session| session.as_conversation().is_some());
        let way = if driven {
            Backend::Driven(Box::new(Driven::start_sessions(sessions, asking, clock, account.clone())?))
        } else {
            Backend::Waiting(Waiting::start_threads(sessions, asking, clock, account.clone(), ledger)?)
        };
        Ok(Sessions { account, way })
    }

    /// Number of threads that carry the load, besides the engine's own.
    pub fn thread_count(&self) -> usize {
        match &self.way {
            Backend::Driven(_) => 0,
            Backend::Waiting(waiting) => waiting.thread_count(),
        }
    }

    /// Totals of the transactions so far.
    pub fn current_tally(&self) -> Tally {
        self.account.current_tally()
    }

    /// The totals, which can be read even after the sessions have ended.
    pub fn shared_account(&self) -> Account {
        self.account.clone()
    }
}

impl<C: Fn() -> Instant> Device for Sessions<C> {
    type Request = Call;

    fn submit_request(&mut self, _: Instant, ticket: Ticket, call: &Call) {
        match &mut self.way {
            Backend::Driven(driven) => driven.submit_call(ticket, call),
            Backend::Waiting(waiting) => waiting.submit_call(ticket, call),
        }
    }

    fn poll_completions(&mut self, _: Instant, done: &mut Done) {
        match &mut self.way {
            Backend::Driven(driven) => driven.poll_completions(done),
            Backend::Waiting(waiting) => waiting.poll_completions(done),
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        match &self.way {
            Backend::Driven(driven) => driven.next_wakeup(),
            Backend::Waiting(_) => None,
        }
    }

    fn wait_for_completion(&mut self, span: Span) {
        match &mut self.way {
            Backend::Driven(driven) => driven.wait_for_answers(span),
            Backend::Waiting(waiting) => waiting.wait_for_answers(span),
        }
    }

    fn is_stamped_when_found(&self) -> bool {
        matches!(self.way, Backend::Driven(_))
    }

    fn code_name(&self, code: Code) -> Cow<'static, str> {
        self.account.code_name(code)
    }
}

#[cfg(test)]
mod tests;
