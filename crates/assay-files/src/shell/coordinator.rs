//! Counts and watches what the clients of one phase do, until all are done or until there is a reason to stop them. It
//! makes no call on the file system itself, so that a call that never returns cannot hold it.

use super::accounts::{Accounts, Open};
use super::book::Period;
use super::client::{Shared, lock};
use super::overdue::{Lateness, News, OverdueCalls};
use super::phase::{PhaseEnd, Settings};
use super::sink::{ClientInterval, Sink};
use super::watch::{Disturbance, RunningWatch};
use crate::script::{LookAhead, Wall};
use assay_base::{Instant, Span};
use assay_record::{Event, EventKind, Interval, Pauses};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// How often calls are looked at that are open.
const LOOK: Span = Span::from_ms(100);

/// The coordinator of one phase.
pub(super) struct Coordinator<'a, C> {
    shared: Arc<Shared>,
    settings: &'a Settings<C>,
    accounts: Accounts,
    /// The late calls of the clients, and behind them that of the watching thread.
    overdue: OverdueCalls,
    watch: Option<&'a RunningWatch>,
    look_ahead: Option<LookAhead>,
    logged: u16,
    /// The longest time for which the process stood still since nothing waited: so much later may everything be.
    shifted: Span,
    /// When the phase ends by its time. The interval that ends then is longer, by what is in course.
    planned_end: Option<Instant>,
}

impl<'a, C: Fn() -> Instant> Coordinator<'a, C> {
    pub(super) fn new(
        shared: Arc<Shared>,
        settings: &'a Settings<C>,
        logged: u16,
        watch: Option<&'a RunningWatch>,
    ) -> Coordinator<'a, C> {
        let (look_ahead, planned_end) = {
            let script = lock(&shared.script);
            (script.look_ahead(), script.planned_end())
        };
        Coordinator {
            accounts: Accounts::new(shared.number_of_flows, &shared.flows.sequences),
            overdue: OverdueCalls::new(settings.patience, shared.desks.len() + 1),
            shared,
            settings,
            watch,
            look_ahead,
            logged,
            shifted: Span::ZERO,
            planned_end,
        }
    }

    fn now(&self) -> Instant {
        (self.settings.clock)()
    }

    /// Counts and watches until all clients are done, or until they have to be stopped.
    pub(super) fn carry_through<T>(&mut self, threads: &[JoinHandle<T>], sink: &mut dyn Sink) -> PhaseEnd {
        let mut reason = None;
        let mut woken = false;
        loop {
            let done = self.shared.signals.clients_done();
            if done == threads.len() && !self.lasts_longer() {
                break;
            }
            let end = lock(&self.shared.book).period().end;
            let wait = end.since(self.now()).min(LOOK);
            self.shared.signals.wait_for_news(done, Duration::from_nanos(wait.as_ns()));
            let now = self.now();
            let given_up = self.watch_calls(now, sink);
            self.close_intervals(now, sink);
            reason = reason.or_else(|| self.disturbance().map(PhaseEnd::Disturbed));
            if given_up.is_some() || reason.is_some() {
                self.shared.signals.request_stop();
            }
            if self.shared.signals.stops() && !woken {
                woken = true;
                threads.iter().for_each(|thread| thread.thread().unpark());
            }
            if let Some(given_up) = given_up {
                return given_up;
            }
        }
        let otherwise = if self.shared.signals.stops() { PhaseEnd::Stopped } else { PhaseEnd::Whole };
        reason.unwrap_or(otherwise)
    }

    /// Whether the phase lasts until a moment that has not come. Clients for whom nothing more is due are done earlier.
    fn lasts_longer(&self) -> bool {
        !self.shared.signals.stops() && self.planned_end.is_some_and(|end| self.now() < end)
    }

    /// Tells of calls that do not return, and of those that failed. The first one that is given up ends the phase.
    fn watch_calls(&mut self, now: Instant, sink: &mut dyn Sink) -> Option<PhaseEnd> {
        let mut given_up = None;
        let clients = self.shared.desks.len();
        for at in 0..=clients {
            let client = (at < clients).then_some(at);
            let call = match client {
                Some(client) => self.shared.desks[client].lock().call,
                None => self.watch.and_then(|watch| watch.state.desk.lock().call),
            };
            // A call that returned while the process stood still looks open until its thread runs again.
            let stood = call.map_or(Span::ZERO, |call| self.shared.still.length_within(call.issued, now));
            let Some(news) = self.overdue.observe(at, call, now - stood) else { continue };
            sink.take_event(event_of(client, news, now));
            if let News::Late(call, Lateness::GivenUp) = news {
                given_up = given_up.or(Some(PhaseEnd::GivenUp { client, call }));
            }
        }
        self.hand_over_incidents(sink);
        given_up
    }

    fn hand_over_incidents(&self, sink: &mut dyn Sink) {
        let events = lock(&self.shared.incidents).take_events();
        events.into_iter().for_each(|event| sink.take_event(event));
    }

    /// What the watching thread has found, with the answer whether this run itself took the room.
    fn disturbance(&self) -> Option<Disturbance> {
        let watch = self.watch?;
        let mut found = watch.state.take_found()?;
        if let Disturbance::Reserve(touched) = &mut found {
            let (bytes, files) = self.used();
            touched.by_others = bytes <= watch.wants.bytes && files <= watch.wants.files;
        }
        Some(found)
    }

    /// Bytes and files that the run has itself.
    fn used(&self) -> (u64, u64) {
        match &self.shared.service {
            Some(service) => lock(service).files().used(),
            None => {
                let used = lock(&self.shared.script).ledger().used();
                (used.bytes, used.files)
            }
        }
    }

    fn close_intervals(&mut self, now: Instant, sink: &mut dyn Sink) {
        loop {
            let period = lock(&self.shared.book).period();
            if now < period.end {
                return;
            }
            if self.planned_end == Some(period.end) {
                // What is in course ends in this interval, unless it takes longer than one more.
                self.planned_end = None;
                lock(&self.shared.book).end_period_at(period.end + self.settings.interval);
                continue;
            }
            self.close_interval(sink, false);
        }
    }

    /// Closes the interval in which the last client ended; returns when that was.
    pub(super) fn close_last_interval(&mut self, sink: &mut dyn Sink) -> Instant {
        let now = self.now();
        self.close_intervals(now, sink);
        let period = lock(&self.shared.book).period();
        if now > period.start {
            lock(&self.shared.book).end_period_at(now + Span::from_ns(1));
            self.close_interval(sink, true);
        }
        self.hand_over_incidents(sink);
        now
    }

    fn close_interval(&mut self, sink: &mut dyn Sink, is_last: bool) {
        let Period { index, start, end } = lock(&self.shared.book).period();
        let open = self.collect_desks(end);
        let closes_group = is_last || (index + 1).is_multiple_of(self.settings.group.max(1));
        let counted = lock(&self.shared.book).end_period(self.logged, self.settings.interval, closes_group);
        self.shared.desks.iter().for_each(|desk| desk.lock().is_collected = false);
        let due = self.count_due(end);
        let mut interval = self.accounts.close_interval(&counted, &open, due.as_deref());
        self.note_still_time(&mut interval, start, end);
        let histograms = counted.frame.histograms_line();
        sink.take_interval(ClientInterval { interval, histograms, entries: counted.entries });
        lock(&self.shared.book).give_back(counted.frame);
    }

    /// Says by how much the load of an interval may be late because the process stood still, and for how long it did.
    fn note_still_time(&mut self, interval: &mut Interval, start: Instant, end: Instant) {
        // A stop that lasts beyond the interval is known as a whole by now.
        let part = self.shared.still.part_within(start, self.now()).filter(|(from, _)| *from < end);
        if let Some((from, to)) = part {
            self.shifted = self.shifted + to.min(end).since(from);
        }
        if self.shifted.is_zero() {
            return;
        }
        let mut overslept = Pauses::default();
        if let Some((from, to)) = part {
            overslept.record_pause(to.min(end).since(from).as_ns());
        }
        interval.lateness = vec![assay_record::Lateness {
            shift_ns: self.shifted.as_ns(),
            overslept,
            ..assay_record::Lateness::default()
        }];
        if interval.flows.iter().all(|flow| flow.waiting == 0) {
            self.shifted = Span::ZERO;
        }
    }

    /// Counts what lies on the desks, and returns what is open.
    fn collect_desks(&self, end: Instant) -> Open {
        let Shared { desks, book, flows, number_of_flows, .. } = &*self.shared;
        let mut open = Open::nothing(*number_of_flows, flows.sequences.len());
        for desk in desks {
            let mut state = desk.lock();
            state.is_collected = true;
            let mut book = lock(book);
            state.finished.drain(..).for_each(|finished| book.count(finished));
            open.loops.add_client(&mut state.time, end);
            let call = state.call.filter(|call| call.issued < end);
            let is_stuck = call.is_some_and(|call| {
                let stood = self.shared.still.length_within(call.issued, self.now());
                self.settings.patience.lateness(call.issued + stood, end) >= Lateness::Stuck
            });
            let counts = if is_stuck { &mut open.stuck } else { &mut open.in_flight };
            if let Some(flow) = call.and_then(|call| call.flow) {
                counts[flow] += 1;
            }
            if let Some(begun) = state.sequence.filter(|begun| begun.issued < end) {
                let of_sequence = flows.sequences[begun.sequence];
                open.sequences[begun.sequence] += begun.number;
                if !of_sequence.is_operation {
                    counts[of_sequence.flow] += begun.number;
                }
            }
        }
        open
    }

    /// Of each sequence, how many were wanted before `end`, where a schedule says it.
    fn count_due(&mut self, end: Instant) -> Option<Vec<u64>> {
        let due = self.look_ahead.as_mut()?.count_due(end);
        let script = lock(&self.shared.script);
        let pairs = due.iter().zip(script.replaced());
        Some(pairs.map(|(due, replaced)| due.saturating_add_signed(*replaced)).collect())
    }

    pub(super) fn progress(&self) -> (Option<Wall>, Vec<u64>) {
        let script = lock(&self.shared.script);
        let clients = self.shared.desks.len() as u32;
        (script.wall().cloned(), (0..clients).map(|client| script.done_by(client)).collect())
    }
}

/// What is new about a call, in words.
fn event_of(client: Option<usize>, news: News, now: Instant) -> Event {
    let (News::Late(call, _) | News::Returned(call)) = news;
    let who = client.map_or("the look at the place".to_owned(), |client| format!("client {client}"));
    let open = now.since(call.issued).human_text();
    let late = format!("{} of {who} has not returned for {open}", call.operation);
    let (what, text) = match news {
        News::Late(_, Lateness::GivenUp) => (EventKind::TargetLost, format!("{late}: nobody waits any longer")),
        News::Late(_, Lateness::Stuck) => (EventKind::Stuck, late),
        News::Late(_, Lateness::Warning | Lateness::Patient) => (EventKind::Warning, late),
        News::Returned(_) => {
            (EventKind::LateCompletion, format!("{} of {who}, which was stuck, has returned", call.operation))
        }
    };
    let mut details = BTreeMap::from([("operation".to_owned(), call.operation.to_string())]);
    details.insert("target".to_owned(), "0".to_owned());
    details.extend(client.map(|client| ("client".to_owned(), client.to_string())));
    details.extend(call.flow.map(|flow| ("flow".to_owned(), flow.to_string())));
    Event { at_ns: now.as_ns(), what, text, details }
}
