//! Sessions of a database as a device: each is a thread with a connection of its own, and carries one transaction at a
//! time.
//!
//! A request says which transaction is wanted, by its number; the thread that carries it makes the parameters, tries
//! again where other sessions stood in the way, and counts what came of it.

use crate::fault::Fault;
use crate::retry::Retry;
use crate::threads::builder;
use crate::trouble::Trouble;
use assay_base::{Code, Completion, Device, Done, Instant, Request, Span, Ticket};
use assay_model::tpcc::{Home, Kind, Outcome, Parameters, Transaction};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The first code of ours: below it are errno numbers and names of five characters.
const FIRST_CODE: i32 = 100_000;

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
}

/// Told of each commit as soon as the database has acknowledged it, by the session's own thread and before that session
/// does anything else.
pub trait Acknowledge: Send + Sync {
    /// A session's transaction with this number was committed.
    fn committed(&self, session: u32, seq: u64, transaction: &Transaction, outcome: &Outcome);

    /// A session is connected again, and has found this number in its row.
    fn found(&self, session: u32, seq: u64);
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
}

/// A request: the transaction with a number, for a session of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Index of the database in the plan's targets.
    pub target: u16,
    /// Its kind.
    pub kind: Kind,
    /// Its number in the run.
    pub number: u64,
    /// The session of the load that asks, by which its home is known. Any thread may carry it.
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
    fn transaction(&self, call: &Call) -> Transaction {
        let scale = self.parameters.scale();
        let home = self.homes.map_or(Home::All, |warehouses| Home::of_session(call.session, warehouses, scale));
        self.parameters.transaction(call.kind, call.number, home)
    }
}

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
    fn count(&mut self, transaction: &Transaction) {
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

/// What completed transactions report beside their times, by the kind of transaction and the name of the figure.
pub type Counted = BTreeMap<(Kind, String), u64>;

/// The name under which new orders are counted that were rolled back as they should be.
pub const ROLLED_BACK: &str = "rolled-back";
/// The name under which districts are counted in which a delivery found no new order.
pub const SKIPPED: &str = "skipped";

impl Tally {
    fn count(&mut self, transaction: &Transaction, outcome: &Outcome) {
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

/// A call that was handed over.
#[derive(Clone, Copy)]
struct Job {
    ticket: Ticket,
    call: Call,
    issued: Instant,
    accepted: Instant,
}

/// What one transaction reports, with its kind.
#[derive(Clone, Debug)]
struct Noted {
    kind: Kind,
    figures: Vec<(String, u64)>,
}

impl Noted {
    fn of(kind: Kind, retried: BTreeMap<String, u64>, outcome: Option<&Outcome>) -> Noted {
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

/// What the engine's thread and the sessions share.
#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    done: Vec<(Completion, Noted)>,
    /// How many completions were fetched.
    fetched: u64,
    /// What completions report, each with its place in the order in which they were fetched.
    notes: VecDeque<(u64, Noted)>,
    /// Names of faults; the code of each is its place.
    codes: Vec<String>,
    tally: Tally,
    /// How many sessions carry a transaction.
    busy: usize,
    ends: bool,
}

impl State {
    fn code(&mut self, name: &str) -> Code {
        if let Some(code) = Code::of_text(name) {
            return code;
        }
        let known = self.codes.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.codes.push(name.to_owned());
            self.codes.len() - 1
        });
        Code(FIRST_CODE + at as i32)
    }
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// There is a job, or the end.
    work: Condvar,
    /// There is a completion.
    arrived: Condvar,
}

impl Shared {
    /// What is guarded stays whole if its holder panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job of a session, or none at the end.
    fn next(&self) -> Option<Job> {
        let idle = |state: &mut State| state.jobs.is_empty() && !state.ends;
        let mut state = self.work.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        let job = if state.ends { None } else { state.jobs.pop_front() };
        state.busy += usize::from(job.is_some());
        job
    }
}

/// Sessions that carry calls; `clock` is the caller's time line.
pub struct Sessions<C> {
    shared: Arc<Shared>,
    clock: C,
    threads: Vec<JoinHandle<()>>,
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Sessions<C> {
    /// Starts a thread for each session.
    pub fn start<E: Execute>(sessions: Vec<E>, asking: Asking, clock: C) -> Result<Sessions<C>, Trouble> {
        Sessions::acknowledging(sessions, asking, clock, None)
    }

    /// The same, and somebody is told of each commit.
    pub fn acknowledging<E: Execute>(
        sessions: Vec<E>,
        asking: Asking,
        clock: C,
        ledger: Option<Arc<dyn Acknowledge>>,
    ) -> Result<Sessions<C>, Trouble> {
        let shared = Arc::new(Shared::default());
        shared.state().tally.sent = vec![0; sessions.len()];
        let mut all = Sessions { shared: Arc::clone(&shared), clock: clock.clone(), threads: Vec::new() };
        for (at, session) in sessions.into_iter().enumerate() {
            let (shared, clock, ledger) = (Arc::clone(&shared), clock.clone(), ledger.clone());
            let body = move || Working { at, session, asking, shared, clock, ledger }.run();
            let spawned = builder(&format!("session-{at}")).spawn(body);
            all.threads.push(spawned.map_err(|why| Trouble::host(format!("no thread can be started: {why}")))?);
        }
        Ok(all)
    }

    /// What came of the transactions so far.
    pub fn tally(&self) -> Tally {
        self.shared.state().tally.clone()
    }

    /// The account of these sessions, which outlives them.
    pub fn account(&self) -> Account {
        Account { shared: Arc::clone(&self.shared) }
    }
}

/// What sessions did, for those who do not carry the load.
#[derive(Clone)]
pub struct Account {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Account({:?})", self.tally())
    }
}

impl Account {
    /// What came of the transactions so far.
    pub fn tally(&self) -> Tally {
        self.shared.state().tally.clone()
    }

    /// What the first `completions` that were fetched report, without those that an earlier call has returned.
    pub fn counted(&self, completions: u64) -> Counted {
        let mut counted = Counted::new();
        let mut state = self.shared.state();
        while state.notes.front().is_some_and(|(at, _)| *at < completions) {
            let Some((_, noted)) = state.notes.pop_front() else { break };
            for (name, n) in noted.figures {
                *counted.entry((noted.kind, name)).or_default() += n;
            }
        }
        counted
    }

    /// How many sessions carry a transaction.
    pub fn busy(&self) -> usize {
        self.shared.state().busy
    }
}

impl<C> Drop for Sessions<C> {
    /// Ends all threads. One whose transaction hangs is not waited for: its thread ends with the transaction.
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.ends = true;
        let hangs = state.busy > 0;
        drop(state);
        self.shared.work.notify_all();
        if !hangs {
            for thread in self.threads.drain(..) {
                // A panic was shown when it happened.
                let _ = thread.join();
            }
        }
    }
}

impl<C: Fn() -> Instant> Device for Sessions<C> {
    type Request = Call;

    fn submit(&mut self, _: Instant, ticket: Ticket, call: &Call) {
        let issued = (self.clock)();
        let mut state = self.shared.state();
        let accepted = (self.clock)();
        state.jobs.push_back(Job { ticket, call: *call, issued, accepted });
        drop(state);
        self.shared.work.notify_one();
    }

    fn poll(&mut self, _: Instant, done: &mut Done) {
        let state = &mut *self.shared.state();
        for (completion, noted) in state.done.drain(..) {
            if !noted.figures.is_empty() {
                state.notes.push_back((state.fetched, noted));
            }
            state.fetched += 1;
            done.push(completion);
        }
    }

    fn next_wakeup(&self) -> Option<Instant> {
        None
    }

    fn wait(&mut self, span: Span) {
        let idle = |state: &mut State| state.done.is_empty();
        let span = Duration::from_nanos(span.as_ns());
        drop(self.shared.arrived.wait_timeout_while(self.shared.state(), span, idle));
    }

    fn name(&self, code: Code) -> Cow<'static, str> {
        let name = usize::try_from(code.0 - FIRST_CODE).ok().and_then(|at| self.shared.state().codes.get(at).cloned());
        name.map_or_else(|| code.name(), Cow::Owned)
    }
}

/// One session at work.
struct Working<E, C> {
    /// Its place among the sessions.
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
            // A call must complete whatever happens, or the engine would wait for it.
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
            let Job { ticket, issued, accepted, .. } = job;
            let mut state = self.shared.state();
            state.busy -= 1;
            state.tally.sent[self.at] = sent;
            for (code, times) in &retried {
                *state.tally.retried.entry(code.clone()).or_default() += times;
            }
            let noted = Noted::of(job.call.kind, retried, outcome.as_ref().ok());
            let result = match outcome {
                Ok(outcome) => {
                    state.tally.count(&transaction, &outcome);
                    Ok(0)
                }
                Err(fault) => {
                    if fault.code == Fault::OUTCOME_UNKNOWN {
                        state.tally.unknown.count(&transaction);
                    }
                    state.tally.outages += u64::from(fault.is_outage());
                    Err(state.code(&fault.code))
                }
            };
            state.done.push((Completion { ticket, result, issued, accepted, completed }, noted));
            drop(state);
            self.shared.arrived.notify_one();
        }
    }

    /// Executes a transaction, again where other sessions stood in its way, with the same parameters.
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

#[cfg(test)]
#[path = "sessions_tests.rs"]
mod tests;
