//! Sessions whose answers one thread waits for: the caller's own, so that no transaction costs a switch between threads.
//!
//! What has arrived is read from all sockets before any of it is evaluated, so that no answer seems to have come later
//! because this program was busy with another one.

use super::account::{Account, Ended};
use super::call::{Asking, Call, Job};
use super::execute::{Converse, Execute};
use super::loans::{Carried, Loan, Loans, Returned};
use super::tally::Noted;
use crate::fault::Fault;
use crate::retry::Retry;
use crate::trouble::Trouble;
use assay_base::{Completion, Done, Instant, Span, Ticket};
use assay_model::tpcc::{Outcome, Transaction};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a session does.
enum Doing {
    Nothing,
    /// Its answer is waited for.
    Asks(Carried),
    /// It repeats its transaction at this time.
    Pauses(Carried, Instant),
    /// A thread has it.
    Lent,
}

/// A session, unless a thread has it.
struct Seat {
    session: Option<Box<dyn Execute>>,
    doing: Doing,
}

impl Seat {
    /// Its conversation, if an answer is waited for.
    fn asks(&mut self) -> Option<&mut dyn Converse> {
        match self.doing {
            Doing::Asks(_) => self.session.as_mut()?.converse(),
            _ => None,
        }
    }
}

/// See the module; `clock` is the caller's time line.
pub(super) struct Driven<C> {
    account: Account,
    asking: Asking,
    clock: C,
    seats: Vec<Seat>,
    /// Places of those that do nothing.
    free: Vec<usize>,
    /// Places of those that pause.
    pausing: Vec<usize>,
    /// Calls for which no session was free.
    jobs: VecDeque<Job>,
    /// Places of those whose sockets were found ready.
    ready: Vec<usize>,
    loans: Loans,
    /// Whether the sockets were looked at since the last poll.
    looked: bool,
    /// Whether a call was handed over since the last poll: that poll is a part of the hand-over.
    handed: bool,
    ended: Vec<(Completion, Noted)>,
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Driven<C> {
    /// All of the sessions can converse.
    pub(super) fn start<E: Execute>(
        sessions: Vec<E>,
        asking: Asking,
        clock: C,
        account: Account,
    ) -> Result<Driven<C>, Trouble> {
        let loans = Loans::start(clock.clone())?;
        let seat = |session: E| Seat { session: Some(Box::new(session)), doing: Doing::Nothing };
        let seats: Vec<Seat> = sessions.into_iter().map(seat).collect();
        Ok(Driven {
            account,
            asking,
            clock,
            // The first one is taken first.
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
    pub(super) fn submit(&mut self, ticket: Ticket, call: &Call) {
        self.handed = true;
        let Some(at) = self.free.pop() else {
            let issued = (self.clock)();
            return self.jobs.push_back(Job { ticket, call: *call, issued, accepted: issued });
        };
        let transaction = self.asking.transaction(call);
        let issued = (self.clock)();
        self.begin(at, Job { ticket, call: *call, issued, accepted: issued }, transaction);
        if let Doing::Asks(carried) = &mut self.seats[at].doing {
            carried.job.accepted = (self.clock)();
        }
    }

    /// The session at a place begins to carry a transaction.
    fn begin(&mut self, at: usize, job: Job, transaction: Transaction) {
        let retry = Retry::new(self.asking.seed, job.call.number);
        self.account.begins();
        self.send(at, Carried { job, transaction, retry, retried: BTreeMap::new() });
    }

    /// Sends a transaction by the session at a place.
    fn send(&mut self, at: usize, carried: Carried) {
        let seat = &mut self.seats[at];
        let Some(session) = &mut seat.session else { unreachable!("a session that is lent is asked for nothing") };
        let sent = catch_unwind(AssertUnwindSafe(|| {
            let conversation = session.converse().filter(|it| it.is_ready());
            conversation.map(|it| it.send(&carried.transaction)).is_some()
        }));
        match sent {
            Ok(true) => seat.doing = Doing::Asks(carried),
            Ok(false) => {
                let Some(session) = seat.session.take() else { return };
                seat.doing = Doing::Lent;
                self.loans.lend(Loan { at, session, carried });
            }
            Err(_) => self.end(at, carried, Err(Fault::panicked()), (self.clock)()),
        }
    }

    /// A session's transaction has ended at a time, or is to be repeated.
    fn end(&mut self, at: usize, mut carried: Carried, outcome: Result<Outcome, Fault>, completed: Instant) {
        if let Err(fault) = &outcome
            && fault.again
            && let Some(pause) = carried.retry.pause()
        {
            *carried.retried.entry(fault.code.clone()).or_default() += 1;
            self.pausing.push(at);
            self.seats[at].doing = Doing::Pauses(carried, completed + pause);
            return;
        }
        let Carried { job, transaction, retried, .. } = carried;
        self.seats[at].doing = Doing::Nothing;
        self.free.push(at);
        let ended = Ended { by: at, sent: 0, outcome, retried, completed };
        self.ended.push(self.account.ends(&job, &transaction, ended));
    }

    pub(super) fn poll(&mut self, done: &mut Done) {
        if !self.looked && !self.handed {
            self.look(Span::ZERO);
        }
        (self.looked, self.handed) = (false, false);
        self.take_back();
        self.read();
        self.repeat();
        while let Some(at) = (!self.jobs.is_empty()).then(|| self.free.pop()).flatten() {
            let Some(job) = self.jobs.pop_front() else { break };
            self.begin(at, job, self.asking.transaction(&job.call));
        }
        self.assert_whole();
        if !self.ended.is_empty() {
            self.account.fetch(self.ended.drain(..), done);
        }
    }

    /// Each session does nothing, waits for an answer, pauses, or is lent to a thread, and is in the list for that.
    fn assert_whole(&self) {
        let asks = self.seats.iter().filter(|seat| matches!(seat.doing, Doing::Asks(_))).count();
        let known = self.free.len() + asks + self.pausing.len() + self.loans.out();
        assert_eq!(known, self.seats.len(), "no session is lost, or in two places");
    }

    fn take_back(&mut self) {
        for Returned { loan: Loan { at, session, carried }, outcome, completed } in self.loans.take_back() {
            self.seats[at].session = Some(session);
            self.end(at, carried, outcome, completed);
        }
    }

    /// Reads from all sockets that were found ready, and then evaluates what has arrived.
    fn read(&mut self) {
        let mut ready = std::mem::take(&mut self.ready);
        let mut found = Vec::with_capacity(ready.len());
        for at in ready.drain(..) {
            let Some(conversation) = self.seats[at].asks() else { continue };
            let read = catch_unwind(AssertUnwindSafe(|| conversation.read()));
            found.push((at, read.is_ok(), (self.clock)()));
        }
        self.ready = ready;
        for (at, is_read, when) in found {
            let seat = &mut self.seats[at];
            let (Some(session), Doing::Asks(carried)) = (&mut seat.session, &seat.doing) else { continue };
            let outcome = catch_unwind(AssertUnwindSafe(|| match is_read {
                true => session.converse()?.outcome(&carried.transaction),
                false => Some(Err(Fault::panicked())),
            }));
            let Some(outcome) = outcome.unwrap_or_else(|_| Some(Err(Fault::panicked()))) else { continue };
            if let Doing::Asks(carried) = std::mem::replace(&mut seat.doing, Doing::Nothing) {
                self.end(at, carried, outcome, when);
            }
        }
    }

    /// Sends again what has paused long enough.
    fn repeat(&mut self) {
        if self.pausing.is_empty() {
            return;
        }
        let now = (self.clock)();
        for at in std::mem::take(&mut self.pausing) {
            match std::mem::replace(&mut self.seats[at].doing, Doing::Nothing) {
                Doing::Pauses(carried, until) if until <= now => self.send(at, carried),
                still => {
                    self.pausing.push(at);
                    self.seats[at].doing = still;
                }
            }
        }
    }

    /// When the first pause ends.
    pub(super) fn next_wakeup(&self) -> Option<Instant> {
        let until = |at: &usize| match self.seats[*at].doing {
            Doing::Pauses(_, until) => Some(until),
            _ => None,
        };
        self.pausing.iter().filter_map(until).min()
    }

    pub(super) fn wait(&mut self, span: Span) {
        if self.ended.is_empty() {
            let pause = self.next_wakeup().map(|until| until.since((self.clock)()));
            self.look(pause.map_or(span, |pause| pause.min(span)));
            self.looked = true;
        }
    }

    /// Waits for at most `span` until something has arrived at some socket, or has come back from a thread.
    fn look(&mut self, span: Span) {
        let Driven { seats, ready, loans, .. } = self;
        let (mut places, mut sockets) = (Vec::with_capacity(seats.len()), Vec::with_capacity(seats.len() + 1));
        for (at, seat) in seats.iter_mut().enumerate() {
            if let Some(conversation) = seat.asks() {
                let wanted = if conversation.has_more() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
                places.push(at);
                sockets.push(PollFd::from_borrowed_fd((conversation as &dyn Converse).socket(), wanted));
            }
        }
        sockets.extend(loans.bell().map(|bell| PollFd::from_borrowed_fd(bell, PollFlags::IN)));
        if span.is_zero() && sockets.is_empty() {
            return;
        }
        let span = Timespec {
            tv_sec: (span.as_ns() / 1_000_000_000).cast_signed(),
            tv_nsec: (span.as_ns() % 1_000_000_000).cast_signed(),
        };
        // A wait that a signal has ended is over.
        if poll(&mut sockets, Some(&span)).is_ok() {
            let stirred = places.iter().zip(&sockets).filter(|(_, socket)| !socket.revents().is_empty());
            ready.clear();
            ready.extend(stirred.map(|(at, _)| *at));
        }
    }
}
