//! The transactions of a run as a source: five flows, one for each kind, that share a schedule, a number of sessions,
//! or a number of terminals.
//!
//! The deck determines the kind of each transaction from its number. One worker takes all transactions of one database.

use assay_base::{Instant, Span};
use assay_engine::{NextRequest, Source};
use assay_model::arrival::Schedule;
use assay_model::tpcc::{Deck, TransactionKind, keying_time, think_time};
use assay_sql::Call;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The number of kinds, each of which is a flow.
const KINDS: usize = TransactionKind::ALL.len();

/// When transactions are due.
#[derive(Clone, Debug)]
enum Pace {
    /// At the times of a schedule, whether earlier transactions have completed or not.
    Open(Schedule),
    /// When a session is free. For each free session: since when, and its number.
    Closed(VecDeque<(Instant, u32)>),
    /// Never: other workers carry these flows. `open`: they follow a schedule.
    Elsewhere { open: bool },
    /// When the think time and the keying time of a terminal are over. For each terminal: that time, the number of its
    /// next transaction, and its own number.
    Keyed(BinaryHeap<Reverse<(Instant, u64, u32)>>),
}

/// The transactions of a run.
#[derive(Debug)]
pub struct Calls {
    deck: Deck,
    seed: u64,
    pace: Pace,
    /// The number that the next transaction gets.
    number: u64,
    /// Number of sessions to which an open loop assigns its transactions in turn.
    sessions: u32,
    /// Sessions that wait for an answer, by kind. A completion does not say which of them it belongs to; that does not
    /// matter, because they are interchangeable.
    waiting: [VecDeque<u32>; KINDS],
    taken: [u64; KINDS],
    counted: [u64; KINDS],
    /// Index of the database among the plan's targets. With the number of targets, it determines the index of a flow.
    target: u16,
    /// Number of targets of the plan.
    targets: u16,
}

impl Calls {
    fn new(deck: Deck, seed: u64, sessions: u32, pace: Pace) -> Calls {
        let (waiting, taken, counted) = Default::default();
        Calls { deck, seed, pace, number: 0, sessions, waiting, taken, counted, target: 0, targets: 1 }
    }

    /// The same calls for one of several databases.
    pub fn on_target(self, target: u16, targets: u16) -> Calls {
        Calls { target, targets, ..self }
    }

    /// The flows of the same load that other workers carry.
    pub(crate) fn for_other_workers(&self) -> Calls {
        let open = self.is_open_loop();
        Calls::new(self.deck.clone(), self.seed, 0, Pace::Elsewhere { open })
    }

    /// The index of a kind's flow.
    pub(crate) fn flow_of(&self, kind: TransactionKind) -> usize {
        kind as usize * usize::from(self.targets) + usize::from(self.target)
    }

    /// The index of a flow's kind.
    fn kind_of(&self, flow: usize) -> usize {
        flow / usize::from(self.targets)
    }

    /// An open loop, whose transactions are assigned to a number of sessions in turn. The session determines the home.
    pub fn open_loop(deck: Deck, seed: u64, sessions: u32, schedule: Schedule) -> Calls {
        Calls::new(deck, seed, sessions, Pace::Open(schedule))
    }

    /// A closed loop from `start`: each session issues its next transaction as soon as it has its answer.
    pub fn closed_loop(deck: Deck, seed: u64, sessions: u32, start: Instant) -> Calls {
        Calls::new(deck, seed, sessions, Pace::Closed((0..sessions).map(|session| (start, session)).collect()))
    }

    /// Terminals, each of which behaves as if it had an answer to a new order at `start`: it thinks, keys, and issues
    /// its first transaction.
    pub fn keyed_terminals(deck: Deck, seed: u64, terminals: u32, start: Instant) -> Calls {
        let mut calls = Calls::new(deck, seed, terminals, Pace::Keyed(BinaryHeap::new()));
        for terminal in 0..terminals {
            calls.schedule_after_thinking(start, TransactionKind::NewOrder, terminal);
        }
        calls
    }

    /// Schedules the next transaction of a terminal after the think time for the last one and the keying time of the
    /// next.
    fn schedule_after_thinking(&mut self, answered: Instant, kind: TransactionKind, terminal: u32) {
        let number = self.number;
        self.number += 1;
        let due = answered + think_time(self.seed, number, kind) + keying_time(self.deck.kind_of_transaction(number));
        if let Pace::Keyed(next) = &mut self.pace {
            next.push(Reverse((due, number, terminal)));
        }
    }

    /// The number of the transaction that is due next.
    fn next_number(&self) -> u64 {
        match &self.pace {
            Pace::Keyed(next) => next.peek().map_or(self.number, |Reverse((_, number, _))| *number),
            Pace::Open(_) | Pace::Closed(_) | Pace::Elsewhere { .. } => self.number,
        }
    }

    /// Returns the next number, and counts on. Not for keyed loops, whose numbers are given in advance.
    fn take_number(&mut self) -> u64 {
        self.number += 1;
        self.number - 1
    }
}

impl Source for Calls {
    type Request = Call;

    fn next_due(&self) -> Instant {
        match &self.pace {
            Pace::Open(schedule) => schedule.next_due(),
            Pace::Closed(free) => free.front().map_or(Instant::FAR, |(since, _)| *since),
            Pace::Keyed(next) => next.peek().map_or(Instant::FAR, |Reverse((due, ..))| *due),
            Pace::Elsewhere { .. } => Instant::FAR,
        }
    }

    fn next(&mut self, _: Instant) -> NextRequest {
        let kind = self.deck.kind_of_transaction(self.next_number());
        NextRequest::Of(self.flow_of(kind))
    }

    fn take_request(&mut self, flow: usize) -> Call {
        let at = self.kind_of(flow);
        self.taken[at] += 1;
        let kind = TransactionKind::ALL[at];
        let (number, session) = match &mut self.pace {
            Pace::Open(schedule) => {
                schedule.advance_to_next();
                let number = self.take_number();
                (number, (number % u64::from(self.sessions.max(1))) as u32)
            }
            Pace::Closed(free) => {
                let (_, session) = free.pop_front().expect("it is due only while a session is free");
                (self.take_number(), session)
            }
            Pace::Elsewhere { .. } => unreachable!("it is never due"),
            Pace::Keyed(next) => {
                let Reverse((due, number, terminal)) = next.pop().expect("it is due only while a terminal has keyed");
                if kind == TransactionKind::Delivery {
                    // A delivery is queued: the terminal does not wait for its answer.
                    self.schedule_after_thinking(due, kind, terminal);
                }
                (number, terminal)
            }
        };
        self.waiting[at].push_back(session);
        Call { target: self.target, kind, number, session }
    }

    fn note_completed(&mut self, flow: usize, completed: Instant) {
        let at = self.kind_of(flow);
        let session = self.waiting[at].pop_front().expect("a completion belongs to a call that was taken");
        match &mut self.pace {
            Pace::Open(_) | Pace::Elsewhere { .. } => {}
            Pace::Closed(free) => free.push_back((completed, session)),
            Pace::Keyed(_) if TransactionKind::ALL[at] == TransactionKind::Delivery => {}
            Pace::Keyed(_) => self.schedule_after_thinking(completed, TransactionKind::ALL[at], session),
        }
    }

    fn is_open_loop(&self) -> bool {
        matches!(self.pace, Pace::Open(_) | Pace::Elsewhere { open: true })
    }

    fn pause_after_completion(&self) -> Span {
        // The shortest keying time: no terminal pauses for less between an answer and its next transaction.
        if matches!(self.pace, Pace::Keyed(_)) { keying_time(TransactionKind::StockLevel) } else { Span::ZERO }
    }

    /// The kinds of an open loop's next transactions are read from a copy of the deck: the deck itself returns the same
    /// later.
    fn count_until(&mut self, end: Instant, mut count: impl FnMut(usize, u64, u64)) {
        if let Pace::Elsewhere { .. } = self.pace {
            return;
        }
        let mut wanted = self.taken;
        if let Pace::Open(schedule) = &self.pace {
            let (mut schedule, mut deck, mut number) = (schedule.clone(), self.deck.clone(), self.number);
            while schedule.next_due() < end {
                schedule.advance_to_next();
                wanted[deck.kind_of_transaction(number) as usize] += 1;
                number += 1;
            }
        }
        for (at, wanted) in wanted.into_iter().enumerate() {
            count(self.flow_of(TransactionKind::ALL[at]), wanted - self.counted[at], wanted - self.taken[at]);
            self.counted[at] = wanted;
        }
    }
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
