//! One thread of a server: it asks the script what it does, waits for its time, and makes its calls one by one.

use super::super::client::{Shared, lock};
use super::super::desk::{Desk, OpenCall, OpenSequence};
use super::super::finished::{Ending, Finished};
use super::calls::ServiceCalls;
use crate::service::{CallFailure, CallTimes, CommitGroup, FileCall, FileState, ServiceNext, ServiceScript, SpanDone};
use assay_base::{Code, Instant, Span};
use assay_record::{Excess, OperationTimes};
use std::num::NonZeroU64;
use std::sync::Mutex;
use std::time::Duration;

/// The flow of commits, and their index among the sequences of the phase.
const COMMITS: usize = 0;
/// A thread that nothing wakes looks this often whether something is due.
const LONGEST_WAIT: Span = Span::from_ms(100);

/// See the module.
pub(super) struct ServiceThread<'a, C> {
    pub(super) shared: &'a Shared,
    pub(super) script: &'a Mutex<ServiceScript>,
    pub(super) number: usize,
    pub(super) clock: C,
    pub(super) calls: ServiceCalls,
    pub(super) made: u64,
}

/// What a call came to.
struct Made {
    times: CallTimes,
    result: Result<u64, Code>,
}

impl<C: Fn() -> Instant> ServiceThread<'_, C> {
    /// Works until the phase is over.
    pub(super) fn work(mut self) {
        // By default the kernel wakes a thread up to 50 µs late, which would be lag of ours.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        while !self.shared.signals.stops() {
            let now = (self.clock)();
            let next = lock(self.script).begin(self.number, now);
            match next {
                ServiceNext::Over => break,
                ServiceNext::WaitUntil(until) => self.wait_until(until, LONGEST_WAIT),
                ServiceNext::Begin { may_issue } => self.carry_out(may_issue),
            }
        }
        self.desk().end_client();
    }

    fn desk(&self) -> &Desk {
        &self.shared.desks[self.number]
    }

    /// Waits until a time has come, until somebody wakes it, or until it shall look again.
    fn wait_until(&self, until: Instant, longest: Span) {
        let left = until.since((self.clock)()).min(longest);
        if !left.is_zero() {
            std::thread::park_timeout(Duration::from_nanos(left.as_ns()));
        }
    }

    /// Carries out what the script has begun, call by call.
    fn carry_out(&mut self, may_issue: Instant) {
        let mut free = may_issue;
        let mut next = self.next_call();
        while let Some((call, state)) = next {
            if let Some(wanted) = call.wanted {
                // What is spread over minutes is not done in one go because the run shall end.
                if !self.wait_for_call(wanted) {
                    break;
                }
                free = free.max(wanted);
            }
            let made = self.make_call(call.clone(), &state, free);
            let ending = ending_of(&call, made.result);
            if let Ending::Failed(code) = ending {
                self.note_failure(&call, code, made.times.completed);
            }
            lock(self.script).finish_call(self.number, made.result, made.times);
            next = self.next_call();
            let (flow, times, completed) = (Some(call.flow), times_of(made.times, free), made.times.completed);
            self.count(Finished { flow, sequence: None, ending, times, completed });
            free = completed;
        }
        // Something that had no call to make may have ended too.
        self.count_ended();
        lock(self.script).forget_run(self.number);
    }

    /// The next call, and what its file is.
    fn next_call(&self) -> Option<(FileCall, FileState)> {
        let mut script = lock(self.script);
        let call = script.next_call(self.number, (self.clock)())?;
        let state = script.files().file(call.file).without_contents();
        Some((call, state))
    }

    /// Waits for the time of a call that is spread. False if all shall stop.
    fn wait_for_call(&self, wanted: Instant) -> bool {
        while (self.clock)() < wanted && !self.shared.signals.stops() {
            self.wait_until(wanted, LONGEST_WAIT);
        }
        !self.shared.signals.stops()
    }

    fn make_call(&mut self, call: FileCall, state: &FileState, free: Instant) -> Made {
        let (flow, operation) = (call.flow, call.call.name());
        let commits = lock(self.script).commits_to_issue(self.number);
        let ready = self.calls.prepare(call, state);
        let issued = (self.clock)();
        let own_lag = issued.since(free);
        self.made += 1;
        let group = commits.map(|number| OpenSequence { sequence: COMMITS, number, issued });
        self.desk().begin_call(OpenCall { operation, flow: Some(flow), number: self.made, issued }, group);
        let result = match &ready {
            Ok(ready) => self.calls.execute(ready),
            Err(code) => Err(*code),
        };
        let completed = (self.clock)();
        let result = match &ready {
            Ok(ready) => result.and_then(|moved| self.calls.settle(ready).map(|()| moved)),
            Err(code) => Err(*code),
        };
        let stood = self.shared.still.length_within(issued, completed);
        let stood_in_all = self.shared.still.length_within(free, completed);
        Made { times: CallTimes { issued, completed, own_lag, stood, stood_in_all }, result }
    }

    /// Counts a call, and what has ended with it.
    fn count(&self, call: Finished) {
        let others = self.take_ended();
        let ends_group = others.iter().any(|ended| ended.flow == Some(COMMITS));
        self.desk().end_call(call, others, &self.shared.book);
        if ends_group {
            self.shared.signals.wake_others(self.number);
        }
    }

    fn count_ended(&self) {
        let others = self.take_ended();
        if !others.is_empty() {
            self.desk().count_at_once(others, &self.shared.book);
        }
    }

    /// The spans and the commits that have ended since it was asked last.
    fn take_ended(&self) -> Vec<Finished> {
        let (group, spans) = {
            let mut script = lock(self.script);
            (script.take_acknowledged(self.number), script.take_spans(self.number))
        };
        let mut ended: Vec<Finished> = spans.into_iter().map(finished_span).collect();
        if let Some(group) = group {
            add_commits(&group, &mut ended);
        }
        ended
    }

    fn note_failure(&self, call: &FileCall, code: Code, at: Instant) {
        let number = lock(self.script).files().file(call.file).name;
        let name = self.shared.tree.own_dir().names().file(number);
        lock(&self.shared.incidents).note_failed_call(call.call.name(), &name, call.offset, code, at);
    }
}

fn times_of(made: CallTimes, free: Instant) -> OperationTimes {
    let CallTimes { issued, completed, own_lag, stood, .. } = made;
    OperationTimes {
        response: completed.since(free),
        service: completed.since(issued),
        lag: own_lag,
        submit: Span::ZERO,
        excess: Excess { own_lag, response: own_lag + stood, service: stood },
    }
}

fn ending_of(call: &FileCall, result: Result<u64, Code>) -> Ending {
    match result {
        Err(code) => Ending::Failed(code),
        Ok(bytes) if call.call.writes_bytes() && bytes < call.length => Ending::Short,
        Ok(bytes) => Ending::Done { bytes, entries: 0 },
    }
}

/// What several calls came to together.
fn ending_of_several(failed: Option<CallFailure>) -> Ending {
    match failed {
        Some(CallFailure::Error(code)) => Ending::Failed(code),
        Some(CallFailure::Short) => Ending::Short,
        None => Ending::Done { bytes: 0, entries: 0 },
    }
}

fn finished_span(span: SpanDone) -> Finished {
    let service = span.completed.since(span.issued);
    let within = Excess { own_lag: Span::ZERO, response: span.own_lag, service: span.own_lag };
    let times = OperationTimes { response: service, service, lag: Span::ZERO, submit: Span::ZERO, excess: within };
    let ending = ending_of_several(span.failed);
    Finished { flow: Some(span.flow), sequence: None, ending, times, completed: span.completed }
}

/// The commits of a group: each waited from its own time until the last step of the writer was done. While the writer was
/// busy with the group before, that is the target's time.
fn add_commits(group: &CommitGroup, finished: &mut Vec<Finished>) {
    let ending = ending_of_several(group.failed);
    let within = group.own_within;
    for intended in &group.intended {
        let own_lag = group.issued.since((*intended).max(group.free));
        let times = OperationTimes {
            response: group.completed.since(*intended),
            service: group.completed.since(group.issued),
            lag: group.issued.since(*intended),
            submit: Span::ZERO,
            excess: Excess { own_lag, response: own_lag + within, service: within },
        };
        let completed = group.completed;
        finished.push(Finished { flow: Some(COMMITS), sequence: Some(COMMITS), ending, times, completed });
    }
}
