//! The body of a worker's thread: its engine, its part of the load, and its channel to the collecting thread.

use super::facts;
use super::how::too_large;
use super::staffing::{Scheduling, Staffing};
use crate::cache::lookaside::{Lookaside, with_cache};
use crate::cache::page_cache;
use crate::databases::{Database, LedgerFile, carrying};
use crate::failure::Failure;
use crate::host::pulse::Pulse;
use crate::host::signals::StopCell;
use crate::log::header;
use crate::open::engine::Chosen;
use crate::open::targets::Targets;
use assay_base::{BlockDevice, Device, Instant};
use assay_device::clock::Clock;
use assay_device::facts::{EngineError, EngineFacts, Slots};
use assay_device::null::Null;
use assay_device::select::{AnyDevice, Choice, start_engine};
use assay_engine::shell::{Sink, Stop, Waiting};
use assay_engine::{Gates, Host, Ledger, Limits, Peers, Report, Setup, Worker, run_real};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_record::{CloseReason, Event, Frame};
use assay_sql::Account;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, OnceLock};

/// A message from a worker to the collecting thread.
pub(super) enum WorkerMessage {
    /// A worker has its engine, and this scheduling.
    Ready(usize, EngineFacts, Scheduling),
    /// A worker could not get its engine.
    Unable(Failure),
    /// A report for the coordinator.
    Report(usize, Report),
    /// Something that happened.
    Event(Event),
}

/// The mark of the data of a run, and the knowledge about them of a run that verifies.
#[derive(Clone)]
pub(super) struct Marked {
    pub(super) run: u32,
    pub(super) ledger: Option<Arc<Ledger>>,
    /// The knowledge that workers share about the ends of streams.
    pub(super) gates: Option<Arc<Gates>>,
    /// The knowledge of workers about each other, if there are several.
    pub(super) peers: Option<Arc<Peers>>,
}

/// The state that all workers of a run share.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) staffing: Staffing<'a>,
    pub(super) targets: &'a Targets,
    /// The cache before them.
    pub(super) cache: Option<&'a Lookaside>,
    pub(super) clock: Clock,
    /// A request from outside to end this run and all runs after it.
    pub(super) stop: &'a StopCell,
    /// A request to end this run alone, for a reason that does not apply to the next run.
    pub(super) own: &'a StopCell,
    /// When the phase that waits ends, in nanoseconds of the run's time line; 0 until it is decided.
    pub(super) phase_end: &'a AtomicU64,
    /// Distinguishes a stop of the whole program from a device that blocks.
    pub(super) pulse: &'a Pulse,
    /// The account of the sessions of each database; set when they are started.
    pub(super) accounts: &'a [OnceLock<Account>],
    /// The ledger of what a database acknowledges, if one is kept.
    pub(super) commits: Option<&'a Arc<LedgerFile>>,
}

/// One worker before it has its engine.
pub(super) struct StartingWorker<'a> {
    pub(super) shared: Shared<'a>,
    /// Its number among the workers of this process.
    pub(super) index: usize,
    /// Its part of the load, of which other ranks may carry others.
    pub(super) part: Part,
    pub(super) chosen: &'a Chosen,
    pub(super) marked: Marked,
    pub(super) notices: Sender<WorkerMessage>,
    /// Receives the time when the schedule begins.
    pub(super) going: Receiver<Instant>,
    /// Frames that are returned.
    pub(super) spent: Receiver<Frame>,
}

impl StartingWorker<'_> {
    /// Does its part of the load. If the worker panics, it reports that to the collecting thread, which would otherwise
    /// wait for its frames for ever.
    pub(super) fn work_or_report_panic(self) {
        let (worker, clock, notices) = (self.index, self.shared.clock, self.notices.clone());
        tell_of_death(worker, clock, &notices, || match self.shared.targets.all_databases().get(worker) {
            Some(database) => self.carry_transactions(database),
            None => self.start_engine_and_work(),
        });
    }

    /// Carries all transactions of a plan on one database; no other worker carries any of them. The sessions' threads
    /// start before this thread raises its priority, so that they keep the normal priority.
    fn carry_transactions(self, database: &Database) {
        let StartingWorker { shared, index, chosen, marked, notices, going, spent, .. } = self;
        let Shared { staffing, clock, .. } = shared;
        let target = index as u16;
        let alone = Part { index: 0, of: 1 };
        let started = carrying::database_load(staffing.plan).and_then(|load| {
            let sessions = database.start_sessions(staffing.plan, target, load, move || clock.now(), shared.commits);
            Ok((load, sessions.map_err(|trouble| Failure::from_database_trouble(&trouble))?))
        });
        let (load, sessions) = match started {
            Ok(started) => started,
            Err(failure) => return drop(notices.send(WorkerMessage::Unable(failure))),
        };
        let _ = shared.accounts[index].set(sessions.shared_account());
        let facts = facts::of_sessions(load.session_count(), sessions.thread_count(), clock);
        let scheduling = staffing.take_priority(chosen.workers, chosen.normal.as_deref());
        let _ = notices.send(WorkerMessage::Ready(index, facts, scheduling));
        let Ok(start) = going.recv() else { return };
        let Some(parts) = carrying::worker_sources(staffing.plan, target, load, start) else {
            return drop(notices.send(WorkerMessage::Unable(too_large())));
        };
        let thresholds = header::exact_thresholds(staffing.plan);
        let limits = Limits { look: carrying::longest_poll_gap(staffing.plan), ..staffing.how.manner.limits };
        let bound = assay_engine::in_flight_bound(staffing.plan, alone);
        let setup = Setup { part: alone, thresholds, bound, start, run: marked.run, limits, ledger: None, gates: None };
        let mut worker = Worker::from_parts(staffing.plan, sessions, parts, setup);
        let mut line = CollectorChannel { index, notices: &notices, spent, phase_end: shared.phase_end };
        let waiting = Waiting { spin: staffing.spin_mode(chosen.workers) };
        run_real(&mut worker, &Machine(shared), &mut line, waiting);
        let (reason, totals) = (worker.close_reason(), worker.operation_totals());
        line.send_report(Report::Finished { reason, totals, at: clock.now() });
    }

    /// The engine is created here, because a ring belongs to the thread that created it.
    fn start_engine_and_work(self) {
        let StartingWorker { shared, index, part, chosen, marked, notices, going, spent } = self;
        let Shared { staffing, clock, .. } = shared;
        let choice = chosen.choice;
        let carried = staffing.plan_as_carried(choice);
        let bound = staffing.in_flight_bound(part, choice);
        let slots = assay_engine::slots_upper_bound(&carried, part, bound);
        let device = match shared.open_device(slots, part, marked.ledger.is_some(), choice) {
            Ok(device) => {
                if !device.is_stamped_when_found() {
                    shared.pulse.set_fine();
                }
                let scheduling = staffing.take_priority(chosen.workers, chosen.normal.as_deref());
                let _ = notices.send(WorkerMessage::Ready(index, device.engine_facts(), scheduling));
                device
            }
            Err(failure) => {
                let _ = notices.send(WorkerMessage::Unable(failure));
                return;
            }
        };
        // The other end is dropped when another worker could not be started.
        let Ok(start) = going.recv() else { return };
        let Marked { run, ledger, gates, peers } = marked;
        let (thresholds, limits) = (header::exact_thresholds(staffing.plan), staffing.how.manner.limits);
        let setup = Setup { part, thresholds, bound, start, run, limits, ledger, gates };
        let line = CollectorChannel { index, notices: &notices, spent, phase_end: shared.phase_end };
        let waiting = Waiting { spin: staffing.spin_mode(chosen.workers) };
        let working = ReadyWorker { plan: &carried, setup, peers, waiting, line, shared };
        let troubles =
            |device: &mut AnyDevice| facts::trouble_events(clock.now(), device.kernel_health()).collect::<Vec<Event>>();
        match shared.cache {
            None => working.carry_load(device, troubles),
            Some(cache) => {
                working.carry_load(cache.cached_device(device, slots, move |_| clock.now()), |device| {
                    cache.write_back(device, || clock.now());
                    let failed = device.first_error().map(|code| cache.failure_event(clock.now(), code));
                    troubles(device.inner_device()).into_iter().chain(failed).collect()
                });
            }
        }
    }
}

/// A worker that has its device and knows when the schedule begins.
struct ReadyWorker<'a> {
    plan: &'a Plan,
    setup: Setup,
    peers: Option<Arc<Peers>>,
    waiting: Waiting,
    line: CollectorChannel<'a>,
    shared: Shared<'a>,
}

impl ReadyWorker<'_> {
    /// Carries its part of the load on `device`; `end` ends the use of the device, and says what is to be told of it.
    fn carry_load<D: BlockDevice>(self, device: D, end: impl FnOnce(&mut D) -> Vec<Event>) {
        let ReadyWorker { plan, setup, peers, waiting, mut line, shared } = self;
        let Some(mut worker) = Worker::new(plan, device, setup) else {
            let _ = line.notices.send(WorkerMessage::Unable(too_large()));
            return;
        };
        if let Some(peers) = peers {
            worker.set_peers(peers);
        }
        run_real(&mut worker, &Machine(shared), &mut line, waiting);
        for event in end(worker.device_mut()) {
            line.receive_event(event);
        }
        let (reason, totals) = (worker.close_reason(), worker.operation_totals());
        line.send_report(Report::Finished { reason, totals, at: shared.clock.now() });
    }
}

impl Shared<'_> {
    /// The engine of the worker of `part`, with `slots` for operations.
    fn open_device(&self, slots: u32, part: Part, verifies: bool, choice: Choice) -> Result<AnyDevice, Failure> {
        let plan = self.staffing.plan;
        let targets = usize::from(plan.load.targets);
        let blocks = (0..targets).map(|index| self.targets.target_geometry(index).block);
        let largest = blocks.map(|block| plan.largest_operation(block)).max().unwrap_or(0);
        let bytes = u32::try_from(largest).map_err(|_| Failure::bad_workload("an operation of more than 4 GiB"))?;
        let (beside, least) = self.cache.map_or((0, 0), |_| Lookaside::NEEDS);
        let bytes = bytes.max(least);
        // What is compared, or passes a cache, is not prepared.
        let prepares = !verifies && self.cache.is_none();
        let spare = if prepares { assay_engine::spare_tickets(plan, part, bytes) } else { 0 };
        let slots = Slots { count: slots + beside, spare, bytes };
        let device = match self.targets {
            Targets::Real(all) => {
                let all = all.iter().take(with_cache(plan)).map(|real| real.target.clone()).collect();
                start_engine(choice, all, slots, self.clock)
            }
            Targets::Null(all) => {
                let null = Null::new(all.iter().map(|(_, geometry)| *geometry).collect()).in_real_time();
                let null = if plan.load.writes_targets() || self.cache.is_some() {
                    null.with_buffers(slots)
                } else {
                    Ok(null)
                };
                null.map(AnyDevice::Null)
            }
            Targets::Databases(_) => unreachable!("transactions are not block I/O"),
            Targets::Directory(_) => unreachable!("calls on files are not block I/O"),
            Targets::Simulated(_) => unreachable!("simulated targets run in virtual time"),
        };
        device.map_err(|e| self.engine_failure(e))
    }

    fn engine_failure(&self, error: EngineError) -> Failure {
        match error.slots_most() {
            Some(most) => Failure::host_unable(format!(
                "{error}\n  = use more --workers, or write in_flight_bound = {} in the workload",
                self.staffing.largest_shared_bound(most)
            )),
            None => Failure::host_unable(error),
        }
    }
}

/// Does a worker's `work` and tells the collecting thread if it ends by a panic.
pub(super) fn tell_of_death(worker: usize, clock: Clock, notices: &Sender<WorkerMessage>, work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        let words = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let _ = notices.send(WorkerMessage::Report(worker, Report::Died { words, at: clock.now() }));
    }
}

/// Asks the workers to end when the collecting thread ends for any reason: nobody would write down what they do.
pub(super) struct StopOnDrop<'a>(pub(super) &'a StopCell);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.request_stop(CloseReason::EngineFailed);
    }
}

/// The clock, the processor and the signals of this machine, for a worker.
struct Machine<'a>(Shared<'a>);

impl Host for Machine<'_> {
    #[inline]
    fn now(&self) -> Instant {
        self.0.clock.now()
    }
    #[inline]
    fn stood_still(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        self.0.pulse.stood_still(from, to)
    }
    #[inline]
    fn requested_stop(&self) -> Option<Stop> {
        // A second signal takes precedence over the run's own reason.
        self.0.stop.stop_request().or_else(|| self.0.own.stop_request())
    }
    fn before_read_back(&self) -> Result<(), String> {
        page_cache::before_read_back(self.0.staffing.plan, self.0.targets)
    }
}

/// A worker's channel to the collecting thread.
struct CollectorChannel<'a> {
    index: usize,
    notices: &'a Sender<WorkerMessage>,
    spent: Receiver<Frame>,
    phase_end: &'a AtomicU64,
}

impl CollectorChannel<'_> {
    fn send_report(&self, report: Report) {
        let _ = self.notices.send(WorkerMessage::Report(self.index, report));
    }
}

impl Sink for CollectorChannel<'_> {
    fn receive_frame(&mut self, frame: Frame) {
        self.send_report(Report::Frame(frame));
    }
    fn receive_event(&mut self, event: Event) {
        let _ = self.notices.send(WorkerMessage::Event(event));
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        self.spent.try_recv().ok()
    }
    fn phase_end(&mut self) -> Option<Instant> {
        let at = self.phase_end.load(Ordering::Acquire);
        (at != 0).then(|| Instant::from_ns(at))
    }
}
