//! One client: a thread that takes a sequence from the script, waits for its time, and makes its calls one by one.

use super::book::{Book, Period};
use super::calls::{Calls, Outcome};
use super::desk::{Desk, OpenCall, OpenSequence};
use super::finished::{Ending, Finished};
use super::flows::{FlowMap, PhaseFlows, SequenceFlow};
use super::incidents::Incidents;
use super::phase::Settings;
use super::signals::Signals;
use super::still_time::StillTime;
use super::totals::ClientTotals;
use super::tree::OpenTree;
use crate::script::{Assignment, Begin, Call, Script};
use crate::service::ServiceScript;
use assay_base::{Code, Instant, Span};
use assay_record::{Excess, OperationTimes};
use std::num::NonZeroU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// Enough for a client, whose buffers are not on the stack.
pub(super) const STACK: usize = 512 << 10;

/// A phase when it begins.
pub(super) struct PhaseBeginning<'a, C> {
    pub(super) index: usize,
    pub(super) begun: Instant,
    /// How many clients work in it.
    pub(super) threads: usize,
    /// The flows of all phases.
    pub(super) flows: &'a FlowMap,
    pub(super) settings: &'a Settings<C>,
}

/// What the clients of a phase share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) script: Mutex<Script>,
    /// The script of a server, whose threads the clients are.
    pub(super) service: Option<Arc<Mutex<ServiceScript>>>,
    pub(super) book: Mutex<Book>,
    pub(super) desks: Vec<Desk>,
    pub(super) incidents: Mutex<Incidents>,
    pub(super) signals: Arc<Signals>,
    pub(super) tree: Arc<OpenTree>,
    /// The flows of this phase, and how many all phases have.
    pub(super) flows: PhaseFlows,
    pub(super) number_of_flows: usize,
    pub(super) still: StillTime,
}

/// Locks what clients share, also after one of them has panicked: its phase then ends as a mistake of ours.
pub(super) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often a lock is tried before its thread sleeps. Another client has it for a few hundred nanoseconds, and to be woken
/// takes many times as long, which would be time of ours between two calls.
const TRIES: u32 = 200;

/// The same for what is never held for long.
fn lock_soon<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    for _ in 0..TRIES {
        match shared.try_lock() {
            Ok(locked) => return locked,
            Err(TryLockError::Poisoned(panicked)) => return panicked.into_inner(),
            Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
        }
    }
    lock(shared)
}

/// What a client does next.
enum Next {
    /// This call of the sequence.
    Call(Call),
    /// The sequence is carried out; then this one comes, with its first call.
    Sequence(Assignment, Option<Call>),
    /// Nothing more in this phase.
    Over,
}

/// What the script says to the result of a call.
struct Answer {
    /// The error as it is to be counted.
    counted: Result<(), Code>,
    next: Next,
}

impl Shared {
    /// What the clients of a phase share that begins.
    pub(super) fn new<C>(
        beginning: PhaseBeginning<'_, C>,
        script: Script,
        tree: Arc<OpenTree>,
        signals: Arc<Signals>,
    ) -> Shared {
        let PhaseBeginning { index, begun, threads, flows, settings } = beginning;
        let (number_of_flows, flows) = (flows.names().len(), flows.of_phase(index).clone());
        let first = Period { index: 0, start: begun, end: begun + settings.interval };
        let book = Book::new(settings.thresholds.clone(), number_of_flows, flows.sequences.len(), first);
        Shared {
            script: Mutex::new(script),
            service: None,
            book: Mutex::new(book),
            desks: (0..threads).map(|_| Desk::starting_at(begun)).collect(),
            incidents: Mutex::default(),
            signals,
            tree,
            flows,
            number_of_flows,
            still: settings.still.clone(),
        }
    }

    fn begin_sequence(&self, script: &mut Script, client: u32, now: Instant) -> Next {
        if self.signals.stops() {
            return Next::Over;
        }
        match script.begin(client, now) {
            Begin::Over => Next::Over,
            Begin::Sequence(assignment) => Next::Sequence(assignment, script.next_call(client)),
        }
    }

    fn first_sequence(&self, client: u32, now: Instant) -> Next {
        self.begin_sequence(&mut lock_soon(&self.script), client, now)
    }

    /// Hands the result of a call to the script, and asks what comes next.
    fn finish_call(&self, client: u32, moved: Result<u64, Code>, completed: Instant) -> Answer {
        let mut script = lock_soon(&self.script);
        let counted = script.finish_call(client, moved);
        if let Some(call) = script.next_call(client) {
            return Answer { counted, next: Next::Call(call) };
        }
        script.end_sequence(client, completed);
        Answer { counted, next: self.begin_sequence(&mut script, client, completed) }
    }

    /// Ends a sequence that had no call to make.
    fn end_empty_sequence(&self, client: u32, now: Instant) -> Next {
        let mut script = lock_soon(&self.script);
        script.end_sequence(client, now);
        self.begin_sequence(&mut script, client, now)
    }
}

/// A sequence while it is carried out.
struct Progress {
    assignment: Assignment,
    /// When its first call was issued, and by how much that was too late because of ourselves.
    issued: Instant,
    own_lag: Span,
    /// All that we made it longer.
    own_total: Span,
    /// How much of that is time in which the process stood still.
    stood: Span,
    /// When the call before completed; at first, since when a call could have been issued.
    free: Instant,
    calls: u64,
    failed: Option<Code>,
}

impl Progress {
    fn new(assignment: Assignment) -> Progress {
        let free = assignment.may_issue;
        let (own_lag, own_total, stood) = (Span::ZERO, Span::ZERO, Span::ZERO);
        Progress { assignment, issued: free, own_lag, own_total, stood, free, calls: 0, failed: None }
    }

    /// The times of a call: the first is wanted when its sequence is, each other one when the one before is done. The call
    /// returned late by the time for which the process stood still in it.
    fn times_of_call(&mut self, issued: Instant, completed: Instant, still: &StillTime) -> OperationTimes {
        let own_lag = issued.since(self.free);
        let stood = still.length_within(issued, completed);
        self.stood = self.stood + still.length_within(self.free.max(self.assignment.may_issue), completed);
        let intended = if self.calls == 0 { self.assignment.intended } else { self.free };
        if self.calls == 0 {
            (self.issued, self.own_lag) = (issued, own_lag);
        }
        self.own_total = self.own_total + own_lag + stood;
        (self.free, self.calls) = (completed, self.calls + 1);
        OperationTimes {
            response: completed.since(intended),
            service: completed.since(issued),
            lag: issued.since(intended),
            submit: Span::ZERO,
            excess: Excess { own_lag, response: own_lag + stood, service: stood },
        }
    }

    /// The sequence as a whole, whose last call has completed.
    fn finished(&self, flows: &[SequenceFlow]) -> Option<Finished> {
        let sequence = self.assignment.sequence?;
        let completed = self.free;
        let between = self.own_total.saturating_sub(self.own_lag);
        let times = OperationTimes {
            response: completed.since(self.assignment.intended),
            service: completed.since(self.issued),
            lag: self.issued.since(self.assignment.intended),
            submit: Span::ZERO,
            excess: Excess { own_lag: self.own_lag, response: self.own_total, service: between },
        };
        let SequenceFlow { flow, is_operation } = flows[sequence];
        let ending = self.failed.map_or(Ending::Done { bytes: 0, entries: 0 }, Ending::Failed);
        Some(Finished { flow: (!is_operation).then_some(flow), sequence: Some(sequence), ending, times, completed })
    }
}

/// See the module.
pub(super) struct Client<'a, C> {
    pub(super) shared: &'a Shared,
    pub(super) number: u32,
    pub(super) clock: C,
    pub(super) calls: Calls,
    pub(super) totals: ClientTotals,
    /// When its last call ended.
    pub(super) free: Instant,
    /// By how much all that it does is later than it would be if the process had not stood still: what was due meanwhile
    /// waits for what was due before.
    pub(super) shifted: Span,
}

impl<C: Fn() -> Instant> Client<'_, C> {
    /// Works until the phase is over, and returns what it did.
    pub(super) fn work(mut self) -> ClientTotals {
        // By default the kernel wakes a thread up to 50 µs late, which would be lag of ours.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        self.free = (self.clock)();
        let mut next = self.shared.first_sequence(self.number, self.free);
        while let Next::Sequence(assignment, first) = next {
            // A clock is not asked for what is known: in closed loops the next sequence may begin when the last one ends.
            if assignment.may_issue > self.free && !self.wait_until(assignment.may_issue) {
                break;
            }
            next = self.carry_out(assignment, first);
        }
        // Only a phase that was stopped leaves files open.
        self.totals.close_error = self.calls.close_all().err();
        self.desk().end_client();
        self.totals
    }

    fn desk(&self) -> &Desk {
        &self.shared.desks[self.number as usize]
    }

    /// Waits until a time has come. False if all shall stop meanwhile.
    fn wait_until(&self, time: Instant) -> bool {
        loop {
            let left = time.since((self.clock)());
            if left.is_zero() {
                return true;
            }
            if self.shared.signals.stops() {
                return false;
            }
            // It also ends when the coordinator stops all.
            std::thread::park_timeout(Duration::from_nanos(left.as_ns()));
        }
    }

    fn carry_out(&mut self, assignment: Assignment, first: Option<Call>) -> Next {
        let mut progress = self.begin_progress(assignment);
        let Some(mut call) = first else {
            let now = (self.clock)();
            (progress.issued, progress.free, self.free) = (now, now, now);
            let sequence = progress.finished(&self.shared.flows.sequences);
            self.desk().end_call(no_call(assignment.intended, now), sequence, &self.shared.book);
            return self.shared.end_empty_sequence(self.number, now);
        };
        loop {
            match self.make_call(&mut progress, &call) {
                Next::Call(next) => call = next,
                over => return over,
            }
        }
    }

    /// Begins a sequence. Where it waited for the client, the client could have been free earlier by what it is shifted.
    fn begin_progress(&mut self, assignment: Assignment) -> Progress {
        let mut progress = Progress::new(assignment);
        if progress.assignment.intended >= self.free {
            self.shifted = Span::ZERO;
        } else {
            progress.free = progress.assignment.intended.max(self.free - self.shifted);
        }
        progress
    }

    fn make_call(&mut self, progress: &mut Progress, call: &Call) -> Next {
        self.calls.prepare(call);
        let flow = self.shared.flows.operations[call.operation as usize];
        let begun = progress.assignment.sequence.filter(|_| progress.calls == 0);
        let issued = (self.clock)();
        let open = OpenCall { operation: call.operation.name(), flow, number: self.totals.calls(), issued };
        self.desk().begin_call(open, begun.map(|sequence| OpenSequence { sequence, number: 1, issued }));
        let done = self.calls.execute(call);
        let completed = (self.clock)();
        self.free = completed;
        let done = self.calls.settle(call, done);
        let answer = self.shared.finish_call(self.number, done.map(|done| done.bytes), completed);
        let times = progress.times_of_call(issued, completed, &self.shared.still);
        let ending = ending_of(call, done, answer.counted);
        if let Ending::Failed(code) = ending {
            progress.failed = progress.failed.or(Some(code));
            lock(&self.shared.incidents).note_failure(&self.shared.tree, call, code, completed);
        }
        self.totals.count(call, ending);
        let finished = Finished { flow, sequence: None, ending, times, completed };
        let is_last = !matches!(answer.next, Next::Call(_));
        if is_last {
            self.shifted = self.shifted + progress.stood;
        }
        let sequence = if is_last { progress.finished(&self.shared.flows.sequences) } else { None };
        self.desk().end_call(finished, sequence, &self.shared.book);
        answer.next
    }
}

/// The time in which a client found that a sequence has no call to make: it is in no stream.
fn no_call(intended: Instant, now: Instant) -> Finished {
    let times = OperationTimes { response: now.since(intended), ..OperationTimes::default() };
    Finished { flow: None, sequence: None, ending: Ending::Done { bytes: 0, entries: 0 }, times, completed: now }
}

/// What a call came to, after the script has seen its result.
fn ending_of(call: &Call, done: Result<Outcome, Code>, counted: Result<(), Code>) -> Ending {
    match (counted, done) {
        (Err(code), _) => Ending::Failed(code),
        // The script knows that a file without the attribute answers so.
        (Ok(()), Err(_)) => Ending::Done { bytes: 0, entries: 0 },
        (Ok(()), Ok(done)) => {
            let is_write = call.operation.moves_bytes() && call.operation.changes_something();
            if is_write && done.bytes < call.length {
                return Ending::Short;
            }
            Ending::Done { bytes: done.bytes, entries: done.entries }
        }
    }
}
