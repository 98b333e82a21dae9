//! Sessions with a thread each, which blocks until the database answers.

use super::account::{Account, Ended};
use super::call::{Asking, Call, Job};
use super::execute::{Acknowledge, Execute};
use super::tally::Noted;
use crate::fault::Fault;
use crate::retry::Retry;
use crate::threads::builder;
use crate::trouble::Trouble;
use assay_base::{Completion, Done, Instant, Span, Ticket};
use assay_model::tpcc::{Outcome, Transaction};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The calls and completions that the engine's thread and the sessions' threads exchange.
#[derive(Default)]
struct Desk {
    jobs: VecDeque<Job>,
    done: Vec<(Completion, Noted)>,
    ends: bool,
}

struct Shared {
    desk: Mutex<Desk>,
    /// Notified when there is a job, and at the end.
    work: Condvar,
    /// Notified when there is a completion.
    arrived: Condvar,
    account: Account,
}

impl Shared {
    /// Locks the desk, also after a thread that held the lock has panicked: each list is valid by itself.
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next job; `None` when the threads must end.
    fn next(&self) -> Option<Job> {
        let mut desk = self
            .work
            .wait_while(self.desk(), |desk: &mut Desk| desk.jobs.is_empty() && !desk.ends)
            .unwrap_or_else(PoisonError::into_inner);
        let job = if desk.ends { None } else { desk.jobs.pop_front() };
        if job.is_some() {
            self.account.begins();
        }
        job
    }
}

/// All sessions of one database in a run, each driven by its thread.
pub(super) struct Waiting<C> {
    shared: Arc<Shared>,
    /// Returns the present on the time line of the run.
    clock: C,
    threads: Vec<JoinHandle<()>>,
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Waiting<C> {
    /// Starts a thread for each session. The ledger, if there is one, receives each commit.
    pub(super) fn start<E: Execute>(
        sessions: Vec<E>,
        asking: Asking,
        clock: C,
        account: Account,
        ledger: Option<Arc<dyn Acknowledge>>,
    ) -> Result<Waiting<C>, Trouble> {
        let shared =
            Arc::new(Shared { desk: Mutex::default(), work: Condvar::new(), arrived: Condvar::new(), account });
        let mut all = Waiting { shared: Arc::clone(&shared), clock: clock.clone(), threads: Vec::new() };
        for (at, session) in sessions.into_iter().enumerate() {
            let (shared, clock, ledger) = (Arc::clone(&shared), clock.clone(), ledger.clone());
            let spawned = builder(&format!("session-{at}"))
                .spawn(move || Working { at, session, asking, shared, clock, ledger }.run());
            all.threads.push(spawned.map_err(|why| Trouble::host(format!("no thread can be started: {why}")))?);
        }
        Ok(all)
    }

    pub(super) fn threads(&self) -> usize {
        self.threads.len()
    }
}

impl<C: Fn() -> Instant> Waiting<C> {
    pub(super) fn submit(&mut self, ticket: Ticket, call: &Call) {
        let issued = (self.clock)();
        let mut desk = self.shared.desk();
        let accepted = (self.clock)();
        desk.jobs.push_back(Job { ticket, call: *call, issued, accepted });
        drop(desk);
        self.shared.work.notify_one();
    }

    pub(super) fn poll(&mut self, done: &mut Done) {
        let ended = std::mem::take(&mut self.shared.desk().done);
        if !ended.is_empty() {
            self.shared.account.fetch(ended, done);
        }
    }

    pub(super) fn wait(&mut self, span: Span) {
        let span = Duration::from_nanos(span.as_ns());
        drop(self.shared.arrived.wait_timeout_while(self.shared.desk(), span, |desk: &mut Desk| desk.done.is_empty()));
    }
}

impl<C> Drop for Waiting<C> {
    /// Ends all threads, and waits for them unless a session still carries a transaction. That transaction may hang:
    /// its thread then ends with it.
    fn drop(&mut self) {
        let mut desk = self.shared.desk();
        desk.ends = true;
        let hangs = self.shared.account.busy() > 0;
        drop(desk);
        self.shared.work.notify_all();
        if !hangs {
            for thread in self.threads.drain(..) {
                // A panic of the thread was reported when it happened.
                let _ = thread.join();
            }
        }
    }
}

/// One session, as its thread drives it.
struct Working<E, C> {
    /// Index of the session.
    at: usize,
    session: E,
    asking: Asking,
    shared: Arc<Shared>,
    clock: C,
    ledger: Option<Arc<dyn Acknowledge>>,
}

impl<E: Execute, C: Fn() -> Instant> Working<E, C> {
    fn run(mut self) {
        while let Some(job) = self.shared.next() {
            let transaction = self.asking.transaction(&job.call);
            // Every call must complete, even if the session panics: the engine waits for the completion.
            let mut retried = BTreeMap::new();
            let outcome = catch_unwind(AssertUnwindSafe(|| self.persist(&transaction, job.call.number, &mut retried)));
            let outcome = outcome.unwrap_or_else(|_| Err(Fault::panicked()));
            let completed = (self.clock)();
            let sent = self.session.sent();
            if let (Some(ledger), Some(seq)) = (&self.ledger, self.session.found()) {
                ledger.found(self.at as u32, seq);
            }
            if let (Some(ledger), Ok(outcome)) = (&self.ledger, &outcome)
                && transaction.writes()
                && *outcome != Outcome::RolledBack
            {
                ledger.committed(self.at as u32, sent, &transaction, outcome);
            }
            let ended = Ended { by: self.at, sent, outcome, retried, completed };
            let ended = self.shared.account.ends(&job, &transaction, ended);
            self.shared.desk().done.push(ended);
            self.shared.arrived.notify_one();
        }
    }

    /// Executes a transaction. After a conflict with other sessions it is repeated with the same parameters.
    fn persist(
        &mut self,
        transaction: &Transaction,
        number: u64,
        retried: &mut BTreeMap<String, u64>,
    ) -> Result<Outcome, Fault> {
        let mut retry = Retry::new(self.asking.seed, number);
        loop {
            let fault = match self.session.execute(transaction) {
                Err(fault) if fault.again => fault,
                done => return done,
            };
            let Some(span) = retry.pause() else { return Err(fault) };
            *retried.entry(fault.code).or_default() += 1;
            pause(span);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a session pauses in its own thread, between two attempts of a transaction"
)]
fn pause(span: Span) {
    std::thread::sleep(Duration::from_nanos(span.as_ns()));
}
