//! Totals of all sessions, readable from other threads and after the sessions have ended.

use super::call::Job;
use super::tally::{Tally, TransactionFigures};
use super::unintended::unintended_fault;
use crate::fault::Fault;
use assay_base::{Code, Completion, Done, Instant};
use assay_model::tpcc::{Outcome, Scale, Transaction, TransactionKind};
use std::borrow::Cow;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first code that is given to a name. It is above every errno, and below the codes of names with five characters
/// ([`Code::of_text`]).
const FIRST_CODE: i32 = 100_000;

/// Figures that completed transactions report besides their times, by kind of transaction and name of the figure.
pub type Counted = BTreeMap<(TransactionKind, String), u64>;

/// How a transaction ended.
pub(crate) struct EndedTransaction {
    /// Index of the session that carried it.
    pub(crate) by: usize,
    /// The last number that this session has sent.
    pub(crate) sent: u64,
    pub(crate) outcome: Result<Outcome, Fault>,
    /// Number of repetitions, by the code of the fault that caused them.
    pub(crate) retried: BTreeMap<String, u64>,
    pub(crate) completed: Instant,
}

/// Totals of all sessions. Clones share them.
#[derive(Clone)]
pub struct Account {
    state: Arc<Mutex<State>>,
    /// The scale with which the database was loaded.
    scale: Scale,
}

#[derive(Default)]
struct State {
    /// Number of completions that the engine has fetched.
    fetched: u64,
    /// Figures that [`Account::take_counted`] has not returned yet, each with the index of its completion in the order of
    /// fetching.
    notes: VecDeque<(u64, TransactionFigures)>,
    /// Names of faults. The code of a name is its index here plus [`FIRST_CODE`].
    codes: Vec<String>,
    tally: Tally,
    busy: usize,
}

impl State {
    fn code_for_name(&mut self, name: &str) -> Code {
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

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Account({:?})", self.current_tally())
    }
}

impl Account {
    /// The account of so many sessions of a database that was loaded with a scale, with all totals zero.
    pub(crate) fn new(sessions: usize, scale: Scale) -> Account {
        let account = Account { state: Arc::default(), scale };
        account.lock_state().tally.sent = vec![0; sessions];
        account
    }

    /// Locks the state, also after a thread that held the lock has panicked: each total is valid by itself.
    fn lock_state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Totals of the transactions so far.
    pub fn current_tally(&self) -> Tally {
        self.lock_state().tally.clone()
    }

    /// Sums of the figures of the first `completions` completions, in the order in which they were fetched. Figures
    /// that an earlier call has returned are left out.
    pub fn take_counted(&self, completions: u64) -> Counted {
        let mut counted = Counted::new();
        let mut state = self.lock_state();
        while state.notes.front().is_some_and(|(at, _)| *at < completions) {
            let Some((_, noted)) = state.notes.pop_front() else { break };
            for (name, n) in noted.figures {
                *counted.entry((noted.kind, name)).or_default() += n;
            }
        }
        counted
    }

    /// Number of sessions that carry a transaction now.
    pub fn busy_sessions(&self) -> usize {
        self.lock_state().busy
    }

    /// Counts a session that begins to carry a transaction.
    pub(crate) fn begin_transaction(&self) {
        self.lock_state().busy += 1;
    }

    /// Counts the outcome of a transaction, and returns its completion with its figures.
    pub(crate) fn end_transaction(
        &self,
        job: &Job,
        transaction: &Transaction,
        ended: EndedTransaction,
    ) -> (Completion, TransactionFigures) {
        let EndedTransaction { by, sent, outcome, retried, completed } = ended;
        let mut state = self.lock_state();
        assert!(state.busy > 0, "a transaction that ends has begun");
        state.busy -= 1;
        state.tally.sent[by] = sent;
        for (code, times) in &retried {
            *state.tally.retried.entry(code.clone()).or_default() += times;
        }
        let fault = outcome.as_ref().ok().and_then(|outcome| unintended_fault(transaction, outcome, self.scale));
        let noted = TransactionFigures::new(job.call.kind, retried, outcome.as_ref().ok().filter(|_| fault.is_none()));
        let result = match (outcome, fault) {
            (Ok(outcome), None) => {
                state.tally.count_outcome(transaction, &outcome);
                Ok(0)
            }
            (Ok(Outcome::RolledBack), Some(fault)) => Err(state.code_for_name(&fault.code)),
            // It is in the database, although it must not be.
            (Ok(outcome), Some(fault)) => {
                state.tally.count_outcome(transaction, &outcome);
                Err(state.code_for_name(&fault.code))
            }
            (Err(fault), _) => {
                if fault.code == Fault::OUTCOME_UNKNOWN {
                    state.tally.unknown.count_unknown(transaction);
                }
                state.tally.outages += u64::from(fault.is_outage());
                Err(state.code_for_name(&fault.code))
            }
        };
        let Job { ticket, issued, accepted, .. } = *job;
        (Completion { ticket, result, issued, accepted, completed }, noted)
    }

    /// Hands completions over to the engine, and keeps their figures for [`Account::take_counted`].
    pub(crate) fn hand_over(&self, ended: impl IntoIterator<Item = (Completion, TransactionFigures)>, done: &mut Done) {
        let mut state = self.lock_state();
        for (completion, noted) in ended {
            if !noted.figures.is_empty() {
                let at = state.fetched;
                state.notes.push_back((at, noted));
            }
            state.fetched += 1;
            done.push(completion);
        }
    }

    /// The name of a code that a completion reports.
    pub(crate) fn code_name(&self, code: Code) -> Cow<'static, str> {
        let name = usize::try_from(code.0 - FIRST_CODE).ok().and_then(|at| self.lock_state().codes.get(at).cloned());
        name.map_or_else(|| code.symbolic_name(), Cow::Owned)
    }
}
