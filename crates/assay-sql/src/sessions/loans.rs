//! Sessions that are lent to threads, each for one transaction, because they must wait: to be connected again.

use super::call::Job;
use super::execute::Execute;
use crate::fault::Fault;
use crate::retry::Retry;
use crate::threads::builder;
use crate::trouble::Trouble;
use assay_base::Instant;
use assay_model::tpcc::{Outcome, Transaction};
use rustix::event::{EventfdFlags, eventfd};
use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A transaction that a session carries.
pub(super) struct Carried {
    pub(super) job: Job,
    pub(super) transaction: Transaction,
    pub(super) retry: Retry,
    /// The repetitions, by the code of the fault before them.
    pub(super) retried: BTreeMap<String, u64>,
}

/// A session that is lent, or comes back.
pub(super) struct Loan {
    pub(super) at: usize,
    pub(super) session: Box<dyn Execute>,
    pub(super) carried: Carried,
}

/// What came of a loan.
pub(super) struct Returned {
    pub(super) loan: Loan,
    pub(super) outcome: Result<Outcome, Fault>,
    pub(super) completed: Instant,
}

/// Where loans come back to.
struct Counter {
    returned: Mutex<Vec<Returned>>,
    /// Can be read from when something has come back.
    bell: OwnedFd,
}

/// See the module.
pub(super) struct Loans {
    counter: Arc<Counter>,
    /// To the thread that starts the others. It was started when the load had not begun, and so has the priority of any
    /// program, which the others inherit.
    lend: Sender<Loan>,
    /// How many are lent.
    out: usize,
}

impl Loans {
    pub(super) fn start<C>(clock: C) -> Result<Loans, Trouble>
    where
        C: Fn() -> Instant + Clone + Send + 'static,
    {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let bell = bell.map_err(|why| Trouble::host(format!("no eventfd can be made: {why}")))?;
        let counter = Arc::new(Counter { returned: Mutex::default(), bell });
        let (lend, lent) = channel();
        let body = {
            let counter = Arc::clone(&counter);
            move || serve(&lent, &counter, &clock)
        };
        let spawned = builder("sessions").spawn(body);
        spawned.map_err(|why| Trouble::host(format!("no thread can be started: {why}")))?;
        Ok(Loans { counter, lend, out: 0 })
    }

    /// Lends a session, until its transaction has ended.
    pub(super) fn lend(&mut self, loan: Loan) {
        self.out += 1;
        self.lend.send(loan).expect("the thread that serves loans ends after them");
    }

    /// How many sessions are lent.
    pub(super) fn out(&self) -> usize {
        self.out
    }

    /// What can be read from when something has come back, as long as something is lent.
    pub(super) fn bell(&self) -> Option<BorrowedFd<'_>> {
        (self.out > 0).then(|| self.counter.bell.as_fd())
    }

    /// What has come back.
    pub(super) fn take_back(&mut self) -> Vec<Returned> {
        if self.out == 0 {
            return Vec::new();
        }
        // It is silenced before, so that whatever comes back later rings again. Only a bell that was not rung fails.
        let _ = rustix::io::read(&self.counter.bell, &mut [0; 8]);
        let returned = std::mem::take(&mut *self.counter.returned.lock().unwrap_or_else(PoisonError::into_inner));
        assert!(returned.len() <= self.out, "what comes back was lent");
        self.out -= returned.len();
        returned
    }
}

/// Starts a thread for each loan.
fn serve<C>(lent: &Receiver<Loan>, counter: &Arc<Counter>, clock: &C)
where
    C: Fn() -> Instant + Clone + Send + 'static,
{
    for loan in lent {
        let (give, take) = channel::<Loan>();
        let (of, clock_of) = (Arc::clone(counter), clock.clone());
        let body = move || take.into_iter().for_each(|loan| carry(loan, &of, &clock_of));
        match builder(&format!("session-{}", loan.at)).spawn(body) {
            Ok(_) => give.send(loan).expect("the thread waits for it"),
            // One after the other is better than none.
            Err(_) => carry(loan, counter, clock),
        }
    }
}

fn carry(mut loan: Loan, counter: &Counter, clock: &impl Fn() -> Instant) {
    let Loan { session, carried, .. } = &mut loan;
    let outcome = catch_unwind(AssertUnwindSafe(|| session.execute(&carried.transaction)));
    let outcome = outcome.unwrap_or_else(|_| Err(Fault::panicked()));
    let returned = Returned { loan, outcome, completed: clock() };
    counter.returned.lock().unwrap_or_else(PoisonError::into_inner).push(returned);
    // It fails only when it has been rung 2^64 times.
    let _ = rustix::io::write(&counter.bell, &1_u64.to_ne_bytes());
}
