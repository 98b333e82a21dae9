//! A session that must reconnect would block the engine's thread. It is lent to a thread of its own for one
//! transaction.

use super::call::Job;
use super::execute::Execute;
use crate::fault::Fault;
use crate::retry::Retry;
use crate::threads::thread_builder;
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
pub(super) struct CarriedTransaction {
    pub(super) job: Job,
    pub(super) transaction: Transaction,
    pub(super) retry: Retry,
    /// Number of repetitions, by the code of the fault that caused them.
    pub(super) retried: BTreeMap<String, u64>,
}

/// A session on its way to a thread or back, with its transaction.
pub(super) struct Loan {
    /// Index of the session.
    pub(super) at: usize,
    pub(super) session: Box<dyn Execute>,
    pub(super) carried: CarriedTransaction,
}

/// A loan that has been returned, with the outcome of its transaction.
pub(super) struct Returned {
    pub(super) loan: Loan,
    pub(super) outcome: Result<Outcome, Fault>,
    pub(super) completed: Instant,
}

/// The loans that have been returned, and the signal for them.
struct Counter {
    returned: Mutex<Vec<Returned>>,
    /// An eventfd, whose counter is not zero after a loan was returned.
    bell: OwnedFd,
}

/// All loans of a run, with the thread that starts one thread for each.
pub(super) struct Loans {
    counter: Arc<Counter>,
    /// Leads to the thread that starts the others. It is started before the engine's thread raises its priority, so
    /// that it and all threads that it starts have the normal priority.
    lend: Sender<Loan>,
    /// Number of sessions that are lent now.
    out: usize,
}

impl Loans {
    pub(super) fn start_threads<C>(clock: C) -> Result<Loans, Trouble>
    where
        C: Fn() -> Instant + Clone + Send + 'static,
    {
        let bell = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC);
        let bell = bell.map_err(|why| Trouble::host_unable(format!("no eventfd can be made: {why}")))?;
        let counter = Arc::new(Counter { returned: Mutex::default(), bell });
        let (lend, lent) = channel();
        let body = {
            let counter = Arc::clone(&counter);
            move || serve_loans(&lent, &counter, &clock)
        };
        let spawned = thread_builder("sessions").spawn(body);
        spawned.map_err(|why| Trouble::host_unable(format!("no thread can be started: {why}")))?;
        Ok(Loans { counter, lend, out: 0 })
    }

    /// Lends a session until its transaction has ended.
    pub(super) fn lend_session(&mut self, loan: Loan) {
        self.out += 1;
        self.lend.send(loan).expect("the thread that serves loans ends after them");
    }

    /// Number of sessions that are lent now.
    pub(super) fn lent_sessions(&self) -> usize {
        self.out
    }

    /// The file descriptor that is readable when a loan has been returned; `None` while nothing is lent.
    pub(super) fn return_signal(&self) -> Option<BorrowedFd<'_>> {
        (self.out > 0).then(|| self.counter.bell.as_fd())
    }

    /// Takes the loans that have been returned.
    pub(super) fn take_back(&mut self) -> Vec<Returned> {
        if self.out == 0 {
            return Vec::new();
        }
        // The counter is reset before the list is taken, so that a loan that is returned later sets it again. The read
        // fails only if the counter is zero.
        let _ = rustix::io::read(&self.counter.bell, &mut [0; 8]);
        let returned = std::mem::take(&mut *self.counter.returned.lock().unwrap_or_else(PoisonError::into_inner));
        assert!(returned.len() <= self.out, "what comes back was lent");
        self.out -= returned.len();
        returned
    }
}

/// Starts a thread for each loan.
fn serve_loans<C>(lent: &Receiver<Loan>, counter: &Arc<Counter>, clock: &C)
where
    C: Fn() -> Instant + Clone + Send + 'static,
{
    for loan in lent {
        let (give, take) = channel::<Loan>();
        let (of, clock_of) = (Arc::clone(counter), clock.clone());
        match thread_builder(&format!("session-{}", loan.at))
            .spawn(move || take.into_iter().for_each(|loan| carry_loan(loan, &of, &clock_of)))
        {
            Ok(_) => give.send(loan).expect("the thread waits for it"),
            // Without a thread of its own, the loan is carried here, and the next loans wait for it.
            Err(_) => carry_loan(loan, counter, clock),
        }
    }
}

fn carry_loan(mut loan: Loan, counter: &Counter, clock: &impl Fn() -> Instant) {
    let Loan { session, carried, .. } = &mut loan;
    let outcome = catch_unwind(AssertUnwindSafe(|| session.execute_transaction(&carried.transaction)));
    let outcome = outcome.unwrap_or_else(|_| Err(Fault::session_panicked()));
    let returned = Returned { loan, outcome, completed: clock() };
    counter.returned.lock().unwrap_or_else(PoisonError::into_inner).push(returned);
    // The write fails only if the counter is at its maximum, 2^64 - 2.
    let _ = rustix::io::write(&counter.bell, &1_u64.to_ne_bytes());
}
