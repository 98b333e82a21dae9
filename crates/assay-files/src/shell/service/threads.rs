//! The threads of a server: started for each phase, and joined at its end.

use super::super::client::{PhaseBeginning, STACK, Shared, lock};
use super::super::coordinator::Coordinator;
use super::super::flows::FlowMap;
use super::super::phase::{PhaseEnd, PhaseReport, Settings};
use super::super::signals::{DoneGuard, Signals, StopHandle};
use super::super::sink::Sink;
use super::super::tree::OpenTree;
use super::super::watch::{RunningWatch, Watched};
use super::calls::ServiceCalls;
use super::open::{OpenFile, OpenFiles, flags_of, open_again};
use super::thread::ServiceThread;
use crate::script::Script;
use crate::service::ServiceScript;
use crate::trouble::Trouble;
use assay_base::Instant;
use assay_model::files::FilesWorkload;
use assay_model::files::service::Service;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// See the module.
#[derive(Debug)]
pub struct ServiceThreads<C> {
    tree: Arc<OpenTree>,
    /// When commits come; `None` after a phase whose calls did not all return.
    schedule: Option<Script>,
    script: Option<Arc<Mutex<ServiceScript>>>,
    service: Arc<Service>,
    files: Arc<OpenFiles>,
    flows: FlowMap,
    settings: Settings<C>,
    signals: Arc<Signals>,
    watched: Option<Watched>,
}

/// What is left when all phases are over.
#[derive(Debug)]
pub struct LeftOfService {
    /// What must exist.
    pub script: ServiceScript,
}

impl<C: Fn() -> Instant + Clone + Send + 'static> ServiceThreads<C> {
    /// Threads that carry out the script of a server, whose files have been made. `schedule` says when commits come.
    ///
    /// # Errors
    /// Host: a file cannot be opened.
    pub fn new(
        tree: Arc<OpenTree>,
        schedule: Script,
        script: ServiceScript,
        workload: &FilesWorkload,
        settings: Settings<C>,
    ) -> Result<ServiceThreads<C>, Trouble> {
        let files = open_all(&tree, &script)?;
        let service = Arc::new(script.service().clone());
        Ok(ServiceThreads {
            tree,
            schedule: Some(schedule),
            script: Some(Arc::new(Mutex::new(script))),
            service,
            files: Arc::new(files),
            flows: FlowMap::new(workload),
            settings,
            signals: Arc::default(),
            watched: None,
        })
    }

    /// The same, with an eye on the place: see [`super::super::Clients::watching`].
    pub fn watching(self, watched: Watched) -> ServiceThreads<C> {
        ServiceThreads { watched: Some(watched), ..self }
    }

    /// Stops them from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        StopHandle(self.signals.clone())
    }

    /// Drives and records the phases that follow by these.
    pub fn change_settings(&mut self, settings: Settings<C>) {
        self.settings = settings;
    }

    /// The flows of the intervals.
    pub fn flows(&self) -> &FlowMap {
        &self.flows
    }

    /// Carries out a phase, which the log counts as its phase `logged`.
    ///
    /// # Errors
    /// Host: a thread could not be started, or one ended by a mistake of ours.
    pub fn run_phase(&mut self, index: usize, logged: u16, sink: &mut dyn Sink) -> Result<PhaseReport, Trouble> {
        let is_open = || Trouble::host("a call of the phase before is still open");
        let mut schedule = self.schedule.take().ok_or_else(is_open)?;
        let script = self.script.clone().ok_or_else(is_open)?;
        let begun = (self.settings.clock)();
        let arrivals = if schedule.start_phase(index, begun, self.settings.usual) { schedule.arrivals() } else { None };
        let Some(arrivals) = arrivals else {
            self.schedule = Some(schedule);
            return Ok(PhaseReport::without_work(begun));
        };
        lock(&script).start_phase(begun, arrivals);
        self.signals.begin_phase();
        let watch =
            RunningWatch::start_for_phase(&self.tree, self.watched.as_ref(), &self.signals, &self.settings.clock)?;
        let shared = Arc::new(self.share(schedule, script.clone(), index, begun));
        let handles = self.start_threads(&shared, &script)?;
        self.signals.set_threads(handles.iter().map(|handle| handle.thread().clone()).collect());
        let mut coordinator = Coordinator::new(shared.clone(), &self.settings, logged, watch.as_ref());
        let end = coordinator.carry_through(&handles, sink);
        let ended = coordinator.close_last_interval(sink);
        drop(coordinator);
        self.signals.set_threads(Vec::new());
        if let Some(watch) = watch {
            watch.end();
        }
        let report = PhaseReport { begun, ended, end, ..PhaseReport::without_work(begun) };
        if matches!(report.end, PhaseEnd::GivenUp { .. }) {
            self.script = None;
            return Ok(report);
        }
        join_threads(handles)?;
        drop(script);
        let shared = Arc::into_inner(shared).expect("every thread has ended");
        self.schedule = Some(shared.script.into_inner().unwrap_or_else(PoisonError::into_inner));
        Ok(report)
    }

    fn share(&self, schedule: Script, script: Arc<Mutex<ServiceScript>>, index: usize, begun: Instant) -> Shared {
        let threads = self.service.thread_names().len();
        let beginning = PhaseBeginning { index, begun, threads, flows: &self.flows, settings: &self.settings };
        let shared = Shared::new(beginning, schedule, self.tree.clone(), self.signals.clone());
        Shared { service: Some(script), ..shared }
    }

    fn start_threads(
        &self,
        shared: &Arc<Shared>,
        script: &Arc<Mutex<ServiceScript>>,
    ) -> Result<Vec<JoinHandle<()>>, Trouble> {
        let mut handles = Vec::new();
        for (number, name) in self.service.thread_names().into_iter().enumerate() {
            let (shared, script, clock) = (shared.clone(), script.clone(), self.settings.clock.clone());
            let (files, service) = (self.files.clone(), self.service.clone());
            let work = move || {
                let _done = DoneGuard(&shared.signals);
                let calls = ServiceCalls::new(shared.tree.clone(), files, service);
                ServiceThread { shared: &shared, script: &script, number, clock, calls, made: 0 }.work();
            };
            match Builder::new().name(name.chars().take(15).collect()).stack_size(STACK).spawn(work) {
                Ok(handle) => handles.push(handle),
                Err(why) => {
                    self.signals.request_stop();
                    return Err(Trouble::host(format!("the thread {name} could not be started: {why}")));
                }
            }
        }
        Ok(handles)
    }

    /// What is left; `None` where a call is still open. All files are closed.
    ///
    /// # Errors
    /// Host: closing a file says that what was written is lost.
    pub fn finish(self) -> Result<Option<LeftOfService>, Trouble> {
        let Some(script) = self.script.and_then(Arc::into_inner) else { return Ok(None) };
        self.files.close_all().map_err(|code| {
            Trouble::host(format!(
                "a file could not be closed: {code}; examine the file system: written bytes may be lost"
            ))
        })?;
        Ok(Some(LeftOfService { script: script.into_inner().unwrap_or_else(PoisonError::into_inner) }))
    }
}

/// Opens the files with which the run begins, each at the place where it is written next.
fn open_all(tree: &OpenTree, script: &ServiceScript) -> Result<OpenFiles, Trouble> {
    let files = OpenFiles::default();
    for (file, state) in script.files().all().iter().enumerate().filter(|(_, state)| state.exists) {
        let described = &script.service().files[state.kind];
        let failed = |why: String| {
            let name = tree.own_dir().names().file(state.name);
            let access = if described.access.is_direct() { " with O_DIRECT" } else { "" };
            Trouble::host(format!("{name} ({}) cannot be opened{access}: {why}", described.name))
        };
        let descriptor =
            open_again(tree, state.name, flags_of(described.access)).map_err(|why| failed(why.to_string()))?;
        let open = OpenFile::new(descriptor, described);
        open.seek(state.position).map_err(|why| failed(why.to_string()))?;
        files.insert(file, open);
    }
    Ok(files)
}

fn join_threads(handles: Vec<JoinHandle<()>>) -> Result<(), Trouble> {
    for (number, handle) in handles.into_iter().enumerate() {
        if handle.join().is_err() {
            return Err(Trouble::host(format!("thread {number} ended by a mistake of this program")));
        }
    }
    Ok(())
}
