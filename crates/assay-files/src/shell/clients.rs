//! The clients of a run, phase by phase, and the coordinator that counts what they do. The coordinator itself makes no
//! call on the file system, so that a call that never returns cannot hold it.

use super::accounts::{Accounts, Open};
use super::book::{Book, Period};
use super::calls::Calls;
use super::client::{Client, Shared, lock};
use super::desk::{Desk, OpenCall};
use super::flows::FlowMap;
use super::overdue::{Lateness, News, OverdueCalls, Patience};
use super::signals::{DoneGuard, Signals, StopHandle};
use super::sink::{ClientInterval, Sink};
use super::totals::{ClientTotals, OperationTotals};
use super::tree::OpenTree;
use crate::script::{LookAhead, Script, Wall};
use crate::trouble::Trouble;
use assay_base::{Instant, Span};
use assay_model::files::{CachePolicy, FilesWorkload, Operation};
use assay_record::{Event, EventKind, Thresholds};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Enough for a client, whose buffers are not on the stack.
const STACK: usize = 512 << 10;
/// How often the coordinator looks at calls that are open.
const LOOK: Span = Span::from_ms(100);

/// How the clients of a run are driven and recorded.
#[derive(Clone, Debug)]
pub struct Settings<C> {
    /// The present on the time line of the run.
    pub clock: C,
    /// The recording step.
    pub interval: Span,
    /// How many intervals a line of distributions covers.
    pub group: u64,
    /// The boundaries of the exact counts.
    pub thresholds: Thresholds,
    /// How long a call may take.
    pub patience: Patience,
    /// How long a phase lasts that does not say it.
    pub usual: Span,
}

/// Why a phase ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseEnd {
    /// It was over.
    Whole,
    /// Its rate schedules nothing.
    Nothing,
    /// It was told to stop.
    Stopped,
    /// A call of this client did not return. It may still be open, and so may those of others.
    GivenUp {
        /// The client.
        client: usize,
        /// Its call.
        call: OpenCall,
    },
}

/// A phase that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseReport {
    /// When it began.
    pub begun: Instant,
    /// When its last client had no more to do.
    pub ended: Instant,
    /// Why it ended.
    pub end: PhaseEnd,
    /// When the first client had no more to do, and what all had done by then, where each takes every file once.
    pub wall: Option<Wall>,
    /// Sequences that each client has done.
    pub done: Vec<u64>,
    /// What became of the calls, by operation.
    pub operations: BTreeMap<Operation, OperationTotals>,
}

/// See the module.
#[derive(Debug)]
pub struct Clients<C> {
    tree: Arc<OpenTree>,
    /// `None` after a phase whose calls did not all return.
    script: Option<Script>,
    policy: CachePolicy,
    clients: u32,
    flows: FlowMap,
    settings: Settings<C>,
    signals: Arc<Signals>,
    doubtful: BTreeSet<u32>,
}

/// What is left when all phases are over.
#[derive(Debug)]
pub struct Finished {
    /// The script, whose ledger says what must exist.
    pub script: Script,
    /// Numbers of names that failed calls may have made or removed: nobody knows whether they exist.
    pub doubtful: BTreeSet<u32>,
}

impl<C: Fn() -> Instant + Clone + Send + 'static> Clients<C> {
    /// Clients that carry out a script on a tree, which has been made.
    pub fn new(tree: Arc<OpenTree>, script: Script, workload: &FilesWorkload, settings: Settings<C>) -> Clients<C> {
        Clients {
            tree,
            script: Some(script),
            policy: workload.cache,
            clients: workload.clients.max(1),
            flows: FlowMap::new(workload),
            settings,
            signals: Arc::default(),
            doubtful: BTreeSet::new(),
        }
    }

    /// Stops them from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.signals.clone())
    }

    /// The flows of the intervals.
    pub fn flows(&self) -> &FlowMap {
        &self.flows
    }

    /// Carries out a phase, which the log counts as its phase `logged`.
    ///
    /// # Errors
    /// Host: a thread could not be started, or a client ended by a mistake of ours.
    pub fn run_phase(&mut self, index: usize, logged: u16, sink: &mut dyn Sink) -> Result<PhaseReport, Trouble> {
        let mut script = self.script.take().ok_or_else(|| Trouble::host("a call of the phase before is still open"))?;
        let begun = (self.settings.clock)();
        if !script.start_phase(index, begun, self.settings.usual) {
            self.script = Some(script);
            return Ok(PhaseReport::without_work(begun));
        }
        self.signals.begin_phase();
        let mut coordinator = Coordinator::new(self, script, index, logged, begun);
        let threads = self.start_threads(&coordinator.shared)?;
        let given_up = coordinator.carry_through(&threads, sink);
        let ended = coordinator.close_last_interval(sink);
        let (wall, done) = coordinator.progress();
        let mut report =
            PhaseReport { begun, ended, end: PhaseEnd::Whole, wall, done, ..PhaseReport::without_work(begun) };
        if let Some((client, call)) = given_up {
            report.end = PhaseEnd::GivenUp { client, call };
            return Ok(report);
        }
        if self.signals.stops() {
            report.end = PhaseEnd::Stopped;
        }
        let totals = join_threads(threads)?;
        let shared = Arc::into_inner(coordinator.shared).expect("every client has ended");
        self.script = Some(shared.script.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner));
        let (operations, doubtful) = totals.into_parts();
        self.doubtful.extend(doubtful);
        Ok(PhaseReport { operations, ..report })
    }

    /// What is left; `None` where a call is still open.
    pub fn finish(self) -> Option<Finished> {
        Some(Finished { script: self.script?, doubtful: self.doubtful })
    }

    fn start_threads(&self, shared: &Arc<Shared>) -> Result<Vec<JoinHandle<ClientTotals>>, Trouble> {
        let mut threads = Vec::new();
        for number in 0..self.clients {
            let (shared, clock, policy) = (shared.clone(), self.settings.clock.clone(), self.policy);
            let work = move || {
                let _done = DoneGuard(&shared.signals);
                let calls = Calls::new(shared.tree.clone(), policy);
                Client { shared: &shared, number, clock, calls, totals: ClientTotals::default() }.work()
            };
            let thread = Builder::new().name(format!("client-{number}")).stack_size(STACK).spawn(work);
            match thread {
                Ok(thread) => threads.push(thread),
                Err(why) => {
                    self.signals.request_stop();
                    let text = format!("client {number} has no thread: {why}; ask for fewer clients");
                    return Err(Trouble::host(text));
                }
            }
        }
        Ok(threads)
    }
}

fn join_threads(threads: Vec<JoinHandle<ClientTotals>>) -> Result<ClientTotals, Trouble> {
    let mut totals = ClientTotals::default();
    for (number, thread) in threads.into_iter().enumerate() {
        match thread.join() {
            Ok(of_client) => totals.add(of_client),
            Err(_) => return Err(Trouble::host(format!("client {number} ended by a mistake of this program"))),
        }
    }
    Ok(totals)
}

impl PhaseReport {
    fn without_work(at: Instant) -> PhaseReport {
        let (wall, done, operations) = (None, Vec::new(), BTreeMap::new());
        PhaseReport { begun: at, ended: at, end: PhaseEnd::Nothing, wall, done, operations }
    }
}

/// The coordinator of one phase.
struct Coordinator<'a, C> {
    shared: Arc<Shared>,
    settings: &'a Settings<C>,
    accounts: Accounts,
    overdue: OverdueCalls,
    look_ahead: Option<LookAhead>,
    logged: u16,
    /// When the phase ends by its time. The interval that ends then is longer, by what is in course.
    planned_end: Option<Instant>,
}

impl<'a, C: Fn() -> Instant + Clone + Send + 'static> Coordinator<'a, C> {
    fn new(clients: &'a Clients<C>, script: Script, index: usize, logged: u16, begun: Instant) -> Coordinator<'a, C> {
        let (settings, flows) = (&clients.settings, clients.flows.clone());
        let sequences = flows.of_phase(index).to_vec();
        let number_of_flows = flows.names().len();
        let (look_ahead, planned_end) = (script.look_ahead(), script.planned_end());
        let first = Period { index: 0, start: begun, end: begun + settings.interval };
        let book = Book::new(settings.thresholds.clone(), number_of_flows, sequences.len(), first);
        let mut desks = Vec::new();
        desks.resize_with(clients.clients as usize, Desk::default);
        let shared = Shared {
            script: Mutex::new(script),
            book: Mutex::new(book),
            desks,
            incidents: Mutex::default(),
            signals: clients.signals.clone(),
            tree: clients.tree.clone(),
            flows,
            sequences: sequences.clone(),
        };
        Coordinator {
            accounts: Accounts::new(number_of_flows, &sequences),
            overdue: OverdueCalls::new(settings.patience, shared.desks.len()),
            shared: Arc::new(shared),
            settings,
            look_ahead,
            logged,
            planned_end,
        }
    }

    fn now(&self) -> Instant {
        (self.settings.clock)()
    }

    /// Counts and watches until all clients are done, or until a call is given up.
    fn carry_through(
        &mut self,
        threads: &[JoinHandle<ClientTotals>],
        sink: &mut dyn Sink,
    ) -> Option<(usize, OpenCall)> {
        let mut told_to_stop = false;
        while self.shared.signals.clients_done() < threads.len() {
            let end = lock(&self.shared.book).period().end;
            let wait = end.since(self.now()).min(LOOK);
            self.shared.signals.wait_for_news(threads.len(), Duration::from_nanos(wait.as_ns()));
            let now = self.now();
            if self.shared.signals.stops() && !told_to_stop {
                told_to_stop = true;
                threads.iter().for_each(|thread| thread.thread().unpark());
            }
            let given_up = self.watch_calls(now, sink);
            self.close_intervals(now, sink);
            if given_up.is_some() {
                self.shared.signals.request_stop();
                threads.iter().for_each(|thread| thread.thread().unpark());
                return given_up;
            }
        }
        None
    }

    /// Tells of calls that do not return. The first one that is given up is returned.
    fn watch_calls(&mut self, now: Instant, sink: &mut dyn Sink) -> Option<(usize, OpenCall)> {
        let mut given_up = None;
        for client in 0..self.shared.desks.len() {
            let call = self.shared.desks[client].lock().call;
            let Some(news) = self.overdue.observe(client, call, now) else { continue };
            sink.take_event(event_of(client, news, now));
            if let News::Late(call, Lateness::GivenUp) = news {
                given_up = given_up.or(Some((client, call)));
            }
        }
        let events = lock(&self.shared.incidents).take_events();
        events.into_iter().for_each(|event| sink.take_event(event));
        given_up
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
    fn close_last_interval(&mut self, sink: &mut dyn Sink) -> Instant {
        let now = self.now();
        self.close_intervals(now, sink);
        let period = lock(&self.shared.book).period();
        if now > period.start {
            lock(&self.shared.book).end_period_at(now + Span::from_ns(1));
            self.close_interval(sink, true);
        }
        let events = lock(&self.shared.incidents).take_events();
        events.into_iter().for_each(|event| sink.take_event(event));
        now
    }

    fn close_interval(&mut self, sink: &mut dyn Sink, is_last: bool) {
        let Period { index, end, .. } = lock(&self.shared.book).period();
        let open = self.collect_desks(end);
        let closes_group = is_last || (index + 1).is_multiple_of(self.settings.group.max(1));
        let counted = lock(&self.shared.book).end_period(self.logged, self.settings.interval, closes_group);
        let due = self.count_due(end);
        let interval = self.accounts.close_interval(&counted, &open, due.as_deref());
        let histograms = counted.frame.histograms_line();
        sink.take_interval(ClientInterval { interval, histograms, entries: counted.entries });
        lock(&self.shared.book).give_back(counted.frame);
    }

    /// Counts what lies on the desks, and returns what is open.
    fn collect_desks(&self, end: Instant) -> Open {
        let Shared { desks, book, flows, sequences, .. } = &*self.shared;
        let mut open = Open::nothing(flows.names().len(), sequences.len());
        for desk in desks {
            let mut state = desk.lock();
            let mut book = lock(book);
            state.finished.drain(..).for_each(|finished| book.count(finished));
            let call = state.call.filter(|call| call.issued < end);
            let is_stuck =
                call.is_some_and(|call| self.settings.patience.lateness(call.issued, end) >= Lateness::Stuck);
            let counts = if is_stuck { &mut open.stuck } else { &mut open.in_flight };
            if let Some(flow) = call.and_then(|call| call.flow) {
                counts[flow] += 1;
            }
            if let Some(begun) = state.sequence.filter(|begun| begun.issued < end) {
                let of_sequence = sequences[begun.sequence];
                open.sequences[begun.sequence] += 1;
                if !of_sequence.is_operation {
                    counts[of_sequence.flow] += 1;
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

    fn progress(&self) -> (Option<Wall>, Vec<u64>) {
        let script = lock(&self.shared.script);
        let clients = self.shared.desks.len() as u32;
        (script.wall().cloned(), (0..clients).map(|client| script.done_by(client)).collect())
    }
}

/// What is new about a call, in words.
fn event_of(client: usize, news: News, now: Instant) -> Event {
    let (what, call, text) = match news {
        News::Late(call, lateness) => {
            let open = now.since(call.issued).human_text();
            let text = format!("{} of client {client} has not returned for {open}", call.operation);
            match lateness {
                Lateness::GivenUp => (EventKind::TargetLost, call, format!("{text}: nobody waits any longer")),
                Lateness::Stuck => (EventKind::Stuck, call, text),
                Lateness::Warning | Lateness::Patient => (EventKind::Warning, call, text),
            }
        }
        News::Returned(call) => {
            let text = format!("{} of client {client}, which was stuck, has returned", call.operation);
            (EventKind::LateCompletion, call, text)
        }
    };
    let mut details = BTreeMap::from([
        ("client".to_owned(), client.to_string()),
        ("operation".to_owned(), call.operation.to_string()),
        ("target".to_owned(), "0".to_owned()),
    ]);
    if let Some(flow) = call.flow {
        details.insert("flow".to_owned(), flow.to_string());
    }
    Event { at_ns: now.as_ns(), what, text, details }
}
