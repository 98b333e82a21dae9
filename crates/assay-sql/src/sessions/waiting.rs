//! Sessions with a thread each, which blocks until the database answers.

use super::account::{Account, EndedTransaction};
use super::call::{Call, Job, TransactionSource};
use super::execute::{Acknowledge, Execute};
use super::tally::TransactionFigures;
use crate::fault::Fault;
use crate::retry::Retry;
use crate::threads::thread_builder;
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
struct ExchangeQueues {
    jobs: VecDeque<Job>,
    done: Vec<(Completion, TransactionFigures)>,
    ends: bool,
}

struct Shared {
    desk: Mutex<ExchangeQueues>,
    /// Notified when there is a job, and at the end.
    work: Condvar,
    /// Notified when there is a completion.
    arrived: Condvar,
    account: Account,
}

impl Shared {
    /// Locks the desk, also after a thread that held the lock has panicked: each list is valid by itself.
    fn lock_desk(&self) -> MutexGuard<'_, ExchangeQueues> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next job; `None` when the threads must end.
    fn next(&self) -> Option<Job> {
        let mut desk = self
            .work
            .wait_while(self.lock_desk(), |desk: &mut ExchangeQueues| desk.jobs.is_empty() && !desk.ends)
            .unwrap_or_else(PoisonError::into_inner);
        let job = if desk.ends { None } else { desk.jobs.pop_front() };
        if job.is_some() {
            self.account.begin_transaction();
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
    pub(super) fn start_threads<E: Execute>(
        sessions: Vec<E>,
        asking: TransactionSource,
        clock: C,
        account: Account,
        ledger: Option<Arc<dyn Acknowledge>>,
    ) -> Result<Waiting<C>, Trouble> {
        let shared =
            Arc::new(Shared { desk: Mutex::default(), work: Condvar::new(), arrived: Condvar::new(), account });
        let mut all = Waiting { shared: Arc::clone(&shared), clock: clock.clone(), threads: Vec::new() };
        for (at, session) in sessions.into_iter().enumerate() {
            let (shared, clock, ledger) = (Arc::clone(&shared), clock.clone(), ledger.clone());
            let spawned = thread_builder(&format!("session-{at}"))
                .spawn(move || SessionThread { at, session, asking, shared, clock, ledger }.serve_jobs());
            all.threads.push(spawned.map_err(|why| Trouble::host_unable(format!("no thread can be started: {why}")))?);
        }
        Ok(all)
    }

    pub(super) fn thread_count(&self) -> usize {
        self.threads.len()
    }
}

impl<C: Fn() -> Instant> Waiting<C> {
    pub(super) fn submit_call(&mut self, ticket: Ticket, call: &Call) {
        let issued = (self.clock)();
        let mut desk = self.shared.lock_desk();
        let accepted = (self.clock)();
        desk.jobs.push_back(Job { ticket, call: *call, issued, accepted });
        drop(desk);
        self.shared.work.notify_one();
    }

    pub(super) fn poll_completions(&mut self, done: &mut Done) {
        let ended = std::mem::take(&mut self.shared.lock_desk().done);
        if !ended.is_empty() {
            self.shared.account.hand_over(ended, done);
        }
    }

    pub(super) fn wait_for_answers(&mut self, span: Span) {
        let span = Duration::from_nanos(span.as_ns());
        drop(
            self.shared
                .arrived
                .wait_timeout_while(self.shared.lock_desk(), span, |desk: &mut ExchangeQueues| desk.done.is_empty()),
        );
    }
}

impl<C> Drop for Waiting<C> {
    /// Ends all threads, and waits for them unless a session still carries a transaction. That transaction may hang:
    /// its thread then ends with it.
    fn drop(&mut self) {
        let mut desk = self.shared.lock_desk();
        desk.ends = true;
        let hangs = self.shared.account.busy_sessions() > 0;
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
struct SessionThread<E, C> {
    /// Index of the session.
    at: usize,
    session: E,
    asking: TransactionSource,
    shared: Arc<Shared>,
    clock: C,
    ledger: Option<Arc<dyn Acknowledge>>,
}

impl<E: Execute, C: Fn() -> Instant> SessionThread<E, C> {
    fn serve_jobs(mut self) {
        while let Some(job) = self.shared.next() {
            let transaction = self.asking.make_transaction(&job.call);
            // Every call must complete, even if the session panics: the engine waits for the completion.
            let mut retried = BTreeMap::new();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                self.execute_with_retries(&transaction, job.call.number, &mut retried)
            }));
            let outcome = outcome.unwrap_or_else(|_| Err(Fault::session_panicked()));
            let completed = (self.clock)();
            let sent = self.session.last_sent_number();
            if let (Some(ledger), Some(seq)) = (&self.ledger, self.session.take_found_number()) {
                ledger.note_reconnect(self.at as u32, seq);
            }
            if let (Some(ledger), Ok(outcome)) = (&self.ledger, &outcome)
                && transaction.writes_rows()
                && *outcome != Outcome::RolledBack
            {
                ledger.note_commit(self.at as u32, sent, &transaction, outcome);
            }
            let ended = EndedTransaction { by: self.at, sent, outcome, retried, completed };
            let ended = self.shared.account.end_transaction(&job, &transaction, ended);
            self.shared.lock_desk().done.push(ended);
            self.shared.arrived.notify_one();
        }
    }

    /// Executes a transaction. After a conflict with other sessions it is repeated with the same parameters.
    fn execute_with_retries(
        &mut self,
        transaction: &Transaction,
        number: u64,
        retried: &mut BTreeMap<String, u64>,
    ) -> Result<Outcome, Fault> {
        let mut retry = Retry::new(self.asking.seed, number);
        loop {
            let fault = match self.session.execute_transaction(transaction) {
                Err(fault) if fault.again => fault,
                done => return done,
            };
            let Some(span) = retry.next_pause() else { return Err(fault) };
            *retried.entry(fault.code).or_default() += 1;
            pause_for(span);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a session pauses in its own thread, between two attempts of a transaction"
)]
fn pause_for(span: Span) {
    std::thread::sleep(Duration::from_nanos(span.as_ns()));
}
