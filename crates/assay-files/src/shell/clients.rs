//! The clients of a run: started for each phase, and joined at its end.

use super::calls::Calls;
use super::client::{Client, PhaseBeginning, STACK, Shared};
use super::coordinator::Coordinator;
use super::flows::FlowMap;
use super::phase::{PhaseEnd, PhaseReport, Settings};
use super::signals::{DoneGuard, Signals, StopHandle};
use super::sink::Sink;
use super::totals::ClientTotals;
use super::tree::OpenTree;
use super::watch::{RunningWatch, Watched};
use crate::script::Script;
use crate::trouble::Trouble;
use assay_base::{Instant, Span};
use assay_model::files::{CachePolicy, FilesWorkload};
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::thread::{Builder, JoinHandle};

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
    watched: Option<Watched>,
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
            watched: None,
            doubtful: BTreeSet::new(),
        }
    }

    /// The same, with an eye on the place: a phase ends when what must stay free is used up, or when the path leads to
    /// something else.
    pub fn watching(self, watched: Watched) -> Clients<C> {
        Clients { watched: Some(watched), ..self }
    }

    /// Stops them from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.signals.clone())
    }

    /// Drives and records the phases that follow by these.
    pub fn change_settings(&mut self, settings: Settings<C>) {
        self.settings = settings;
    }

    /// The script; `None` after a phase whose calls did not all return.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_ref()
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
        let watch =
            RunningWatch::start_for_phase(&self.tree, self.watched.as_ref(), &self.signals, &self.settings.clock)?;
        let shared = Arc::new(self.share(script, index, begun));
        let threads = self.start_threads(&shared)?;
        let mut coordinator = Coordinator::new(shared.clone(), &self.settings, logged, watch.as_ref());
        let end = coordinator.carry_through(&threads, sink);
        let ended = coordinator.close_last_interval(sink);
        let (wall, done) = coordinator.progress();
        drop(coordinator);
        if let Some(watch) = watch {
            watch.end();
        }
        let report = PhaseReport { begun, ended, end, wall, done, ..PhaseReport::without_work(begun) };
        if matches!(report.end, PhaseEnd::GivenUp { .. }) {
            return Ok(report);
        }
        let totals = join_threads(threads)?;
        let shared = Arc::into_inner(shared).expect("every client has ended");
        self.script = Some(shared.script.into_inner().unwrap_or_else(PoisonError::into_inner));
        let (operations, doubtful) = totals.into_parts();
        self.doubtful.extend(doubtful);
        Ok(PhaseReport { operations, ..report })
    }

    fn share(&self, script: Script, index: usize, begun: Instant) -> Shared {
        let threads = self.clients as usize;
        let beginning = PhaseBeginning { index, begun, threads, flows: &self.flows, settings: &self.settings };
        Shared::new(beginning, script, self.tree.clone(), self.signals.clone())
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
                let totals = ClientTotals::default();
                Client { shared: &shared, number, clock, calls, totals, free: Instant::ZERO, shifted: Span::ZERO }
                    .work()
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
