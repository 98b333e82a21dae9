//! Sessions that the engine's thread drives without blocking, so that no transaction costs a switch between threads.
//!
//! All sockets with answers are read before any answer is evaluated. Otherwise an answer would seem to arrive late
//! while this thread evaluates another one.

use super::account::{Account, EndedTransaction};
use super::call::{Call, Job, TransactionSource};
use super::execute::{Converse, Execute};
use super::loans::{CarriedTransaction, Loan, Loans, Returned};
use super::tally::TransactionFigures;
use crate::fault::Fault;
use crate::retry::Retry;
use crate::trouble::Trouble;
use assay_base::{Completion, Done, Instant, Span, Ticket};
use assay_model::tpcc::{Outcome, Transaction};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The state of a session.
enum SeatState {
    Nothing,
    /// It has sent its transaction, and the answer is not complete.
    Asks(CarriedTransaction),
    /// It repeats its transaction at this time, after a conflict.
    Pauses(CarriedTransaction, Instant),
    /// It is lent to a thread.
    Lent,
}

/// One session with its state.
struct DrivenSession {
    /// `None` while the session is lent to a thread.
    session: Option<Box<dyn Execute>>,
    doing: SeatState,
}

impl DrivenSession {
    /// The session, if it waits for an answer.
    fn waiting_conversation(&mut self) -> Option<&mut dyn Converse> {
        match self.doing {
            SeatState::Asks(_) => self.session.as_mut()?.as_conversation(),
            _ => None,
        }
    }
}

/// All sessions of one database in a run, driven by the engine's thread.
pub(super) struct Driven<C> {
    account: Account,
    asking: TransactionSource,
    /// Returns the present on the time line of the run.
    clock: C,
    seats: Vec<DrivenSession>,
    /// Indices of the sessions that do nothing.
    free: Vec<usize>,
    /// Indices of the sessions that pause before a repetition.
    pausing: Vec<usize>,
    /// Calls that wait for a free session.
    jobs: VecDeque<Job>,
    /// Indices of the sessions whose sockets were found ready.
    ready: Vec<usize>,
    loans: Loans,
    /// `wait` has looked at the sockets since the last poll. The next poll need not look again.
    looked: bool,
    /// A call was submitted since the last poll. The next poll belongs to that submission and does not look at the
    /// sockets.
    handed: bool,
    ended: Vec<(Completion, TransactionFigures)>,
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Driven<C> {
    /// Starts with sessions that all return `Some` from [`Execute::as_conversation`].
    pub(super) fn start_sessions<E: Execute>(
        sessions: Vec<E>,
        asking: TransactionSource,
        clock: C,
        account: Account,
    ) -> Result<Driven<C>, Trouble> {
        let loans = Loans::start_threads(clock.clone())?;
        let seats: Vec<DrivenSession> = sessions
            .into_iter()
            .map(|session: E| DrivenSession { session: Some(Box::new(session)), doing: SeatState::Nothing })
            .collect();
        Ok(Driven {
            account,
            asking,
            clock,
            // `pop` takes from the end: the order is reversed so that session 0 is used first.
            free: (0..seats.len()).rev().collect(),
            seats,
            pausing: Vec::new(),
            jobs: VecDeque::new(),
            ready: Vec::new(),
            loans,
            looked: false,
            handed: false,
            ended: Vec::new(),
        })
    }
}

impl<C: Fn() -> Instant> Driven<C> {
    pub(super) fn submit_call(&mut self, ticket: Ticket, call: &Call) {
        self.handed = true;
        let Some(at) = self.free.pop() else {
            let issued = (self.clock)();
            return self.jobs.push_back(Job { ticket, call: *call, issued, accepted: issued });
        };
        let transaction = self.asking.make_transaction(call);
        let issued = (self.clock)();
        self.begin_transaction(at, Job { ticket, call: *call, issued, accepted: issued }, transaction);
        if let SeatState::Asks(carried) = &mut self.seats[at].doing {
            carried.job.accepted = (self.clock)();
        }
    }

    /// Begins a transaction on the session with an index.
    fn begin_transaction(&mut self, at: usize, job: Job, transaction: Transaction) {
        let retry = Retry::new(self.asking.seed, job.call.number);
        self.account.begin_transaction();
        self.send_transaction(at, CarriedTransaction { job, transaction, retry, retried: BTreeMap::new() });
    }

    /// Sends a transaction on the session with an index. A session that is not ready is lent to a thread.
    fn send_transaction(&mut self, at: usize, carried: CarriedTransaction) {
        let seat = &mut self.seats[at];
        let Some(session) = &mut seat.session else { unreachable!("a session that is lent is asked for nothing") };
        let sent = catch_unwind(AssertUnwindSafe(|| {
            let conversation = session.as_conversation().filter(|conversation| conversation.is_ready());
            conversation.map(|conversation| conversation.send_transaction(&carried.transaction)).is_some()
        }));
        match sent {
            Ok(true) => seat.doing = SeatState::Asks(carried),
            Ok(false) => {
                let Some(session) = seat.session.take() else { return };
                seat.doing = SeatState::Lent;
                self.loans.lend_session(Loan { at, session, carried });
            }
            Err(_) => self.end_transaction(at, carried, Err(Fault::session_panicked()), (self.clock)()),
        }
    }

    /// Ends a transaction with its outcome, or schedules its repetition after a pause.
    fn end_transaction(
        &mut self,
        at: usize,
        mut carried: CarriedTransaction,
        outcome: Result<Outcome, Fault>,
        completed: Instant,
    ) {
        if let Err(fault) = &outcome
            && fault.again
            && let Some(pause) = carried.retry.next_pause()
        {
            *carried.retried.entry(fault.code.clone()).or_default() += 1;
            self.pausing.push(at);
            self.seats[at].doing = SeatState::Pauses(carried, completed + pause);
            return;
        }
        let CarriedTransaction { job, transaction, retried, .. } = carried;
        self.seats[at].doing = SeatState::Nothing;
        self.free.push(at);
        let ended = EndedTransaction { by: at, sent: 0, outcome, retried, completed };
        self.ended.push(self.account.end_transaction(&job, &transaction, ended));
    }

    pub(super) fn poll_completions(&mut self, done: &mut Done) {
        if !self.looked && !self.handed {
            self.wait_for_sockets(Span::ZERO);
        }
        (self.looked, self.handed) = (false, false);
        self.take_back();
        self.read_ready_sockets();
        self.repeat_due();
        while let Some(at) = (!self.jobs.is_empty()).then(|| self.free.pop()).flatten() {
            let Some(job) = self.jobs.pop_front() else { break };
            self.begin_transaction(at, job, self.asking.make_transaction(&job.call));
        }
        self.assert_whole();
        if !self.ended.is_empty() {
            self.account.hand_over(self.ended.drain(..), done);
        }
    }

    /// Each session does nothing, waits for an answer, pauses, or is lent to a thread, and is in the list for that.
    fn assert_whole(&self) {
        let asks = self.seats.iter().filter(|seat| matches!(seat.doing, SeatState::Asks(_))).count();
        let known = self.free.len() + asks + self.pausing.len() + self.loans.lent_sessions();
        assert_eq!(known, self.seats.len(), "no session is lost, or in two places");
    }

    fn take_back(&mut self) {
        for Returned { loan: Loan { at, session, carried }, outcome, completed } in self.loans.take_back() {
            self.seats[at].session = Some(session);
            self.end_transaction(at, carried, outcome, completed);
        }
    }

    /// Reads from all sockets that were found ready, and evaluates the answers only then.
    fn read_ready_sockets(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        let mut found = Vec::with_capacity(ready.len());
        for at in ready.drain(..) {
            let Some(conversation) = self.seats[at].waiting_conversation() else { continue };
            let read = catch_unwind(AssertUnwindSafe(|| conversation.read_arrived()));
            found.push((at, read.is_ok(), (self.clock)()));
        }
        self.ready = ready;
        for (at, is_read, when) in found {
            let seat = &mut self.seats[at];
            let (Some(session), SeatState::Asks(carried)) = (&mut seat.session, &seat.doing) else { continue };
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                if is_read {
                    session.as_conversation()?.take_outcome(&carried.transaction)
                } else {
                    Some(Err(Fault::session_panicked()))
                }
            }));
            let Some(outcome) = outcome.unwrap_or_else(|_| Some(Err(Fault::session_panicked()))) else { continue };
            if let SeatState::Asks(carried) = std::mem::replace(&mut seat.doing, SeatState::Nothing) {
                self.end_transaction(at, carried, outcome, when);
            }
        }
    }

    /// Sends the transactions again whose pauses are over.
    fn repeat_due(&mut self) {
        if self.pausing.is_empty() {
            return;
        }
        let now = (self.clock)();
        for at in std::mem::take(&mut self.pausing) {
            match std::mem::replace(&mut self.seats[at].doing, SeatState::Nothing) {
                SeatState::Pauses(carried, until) if until <= now => self.send_transaction(at, carried),
                still => {
                    self.pausing.push(at);
                    self.seats[at].doing = still;
                }
            }
        }
    }

    /// The end of the pause that ends first.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        self.pausing
            .iter()
            .filter_map(|at: &usize| match self.seats[*at].doing {
                SeatState::Pauses(_, until) => Some(until),
                _ => None,
            })
            .min()
    }

    pub(super) fn wait_for_answers(&mut self, span: Span) {
        if self.ended.is_empty() {
            let pause = self.next_wakeup().map(|until| until.since((self.clock)()));
            self.wait_for_sockets(pause.map_or(span, |pause| pause.min(span)));
            self.looked = true;
        }
    }

    /// Waits for at most `span` until a socket is ready or a loan has been returned.
    fn wait_for_sockets(&mut self, span: Span) {
        let Driven { seats, ready, loans, .. } = self;
        let (mut places, mut sockets) = (Vec::with_capacity(seats.len()), Vec::with_capacity(seats.len() + 1));
        for (at, seat) in seats.iter_mut().enumerate() {
            if let Some(conversation) = seat.waiting_conversation() {
                let wanted = if conversation.has_more() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
                places.push(at);
                sockets.push(PollFd::from_borrowed_fd((conversation as &dyn Converse).answer_socket(), wanted));
            }
        }
        sockets.extend(loans.return_signal().map(|bell| PollFd::from_borrowed_fd(bell, PollFlags::IN)));
        if span.is_zero() && sockets.is_empty() {
            return;
        }
        let span = Timespec {
            tv_sec: (span.as_ns() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.as_ns() % 1_000_000_000).cast_signed(),
        };
        // If a signal interrupts the wait, it ends early and nothing is ready.
        if poll(&mut sockets, Some(&span)).is_ok() {
            let stirred = places.iter().zip(&sockets).filter(|(_, socket)| !socket.revents().is_empty());
            ready.clear();
            ready.extend(stirred.map(|(at, _)| *at));
        }
    }
}
