//! A run in real time: workers on their threads, each with its engine, and the thread that collects what they record.
//! The [`Coordinator`] decides what follows from their reports; this file carries it out.

use super::beneath::Beneath;
use super::collector::{Collector, Sample};
use super::durability;
use super::facts;
use super::how::{Drive, header_facts};
use super::meters::Meters;
use super::sampler::{Sampler, Sampling};
use super::share::RankShare;
use super::staffing::{Scheduling, Staffing};
use super::target_watch::TargetWatch;
use super::watched::{CountersBesideOperations, Neighbours, Watched};
use super::worker::{Marked, Shared, StartingWorker, StopOnDrop, WorkerMessage};
use crate::cache::lookaside::{Lookaside, Meter};
use crate::cache::page_cache;
use crate::databases::carrying::{self, DatabaseRun};
use crate::databases::{Database, LedgerFile, fit_in_memory};
use crate::drive::benchmark::self_benchmark;
use crate::drive::integrity;
use crate::drive::partners::Partners;
use crate::failure::Failure;
use crate::host::pulse::Pulse;
use crate::host::signals::StopCell;
use crate::host::threads::spawn_scoped;
use crate::host::watch::{self, Watch};
use crate::log::header;
use crate::log::header::{HeaderFacts, RealTimeFacts};
use crate::log::logfile::LogFile;
use crate::observer::Observer;
use crate::open::engine::{Chosen, refuse_impossible};
use crate::open::targets::Targets;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_device::facts::EngineFacts;
use assay_device::safety::Gate;
use assay_engine::{Coordinator, Gates, Peers, Report};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_record::{
    CloseReason, DatabaseHead, DiskCounters, Entry, Event, EventKind, FlowInterval, ForeignLoad, Frame, Interval,
};
use assay_sql::Account;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::Scope;
use std::time::Duration;

/// Time between the moment when all workers are ready and the beginning of the schedule.
const LEAD: Span = Span::from_ms(20);
/// The time between two updates of the live display.
const TICK: Duration = Duration::from_millis(250);

/// A run in real time.
pub(super) struct RealTimeRun<'a> {
    /// What is carried here.
    plan: &'a Plan,
    /// What all ranks carry.
    whole: &'a Plan,
    targets: &'a Targets,
    cache: Option<&'a Lookaside>,
    how: &'a Drive,
    // The next fields are described in `Shared`.
    stop: &'a StopCell,
    own: StopCell,
    phase_end: AtomicU64,
    pulse: Pulse,
    /// The account of the sessions of each database, once they are there.
    accounts: Vec<OnceLock<Account>>,
    /// The ledger of what a database acknowledges, if one is kept.
    commits: OnceLock<Arc<LedgerFile>>,
}

/// The channels from the collecting thread to one worker.
struct WorkerChannels {
    /// Tells the worker when the schedule begins.
    go: Sender<Instant>,
    /// Returns frames to the worker.
    spend: Sender<Frame>,
}

impl<'a> RealTimeRun<'a> {
    /// A run of `plan` on `targets`, until it is over or `stop` ends it.
    pub(super) fn new(
        plan: &'a Plan,
        targets: &'a Targets,
        cache: Option<&'a Lookaside>,
        how: &'a Drive,
        stop: &'a StopCell,
    ) -> RealTimeRun<'a> {
        let (own, phase_end, pulse) = (StopCell::default(), AtomicU64::new(0), Pulse::default());
        RealTimeRun {
            plan,
            whole: plan,
            targets,
            cache,
            how,
            stop,
            own,
            phase_end,
            pulse,
            accounts: targets.all_databases().iter().map(|_| OnceLock::new()).collect(),
            commits: OnceLock::new(),
        }
    }

    /// The same as a part of what several ranks carry.
    pub(super) fn within_whole(self, whole: &'a Plan) -> RealTimeRun<'a> {
        RealTimeRun { whole, ..self }
    }

    fn plan_staffing(&self) -> Staffing<'_> {
        Staffing { plan: self.plan, how: self.how }
    }

    /// Carries it out, into `log`.
    pub(super) fn carry_out_run(&self, log: &mut LogFile, observer: &mut dyn Observer) -> Result<CloseReason, Failure> {
        self.begin_ledger(log.log_path())?;
        self.carry_out(log, observer).inspect_err(|_| {
            if let Some(ledger) =
                self.commits.get().filter(|_| self.accounts.iter().all(|account| account.get().is_none()))
            {
                ledger.remove_file();
            }
        })
    }

    /// Begins the ledger of commits, where the load of a database asks for one.
    fn begin_ledger(&self, log: &Path) -> Result<(), Failure> {
        let [database] = self.targets.all_databases() else { return Ok(()) };
        if let Some(ledger) = database.begin_ledger(carrying::database_load(self.plan)?, log)? {
            // This is called once.
            let _ = self.commits.set(ledger);
        }
        Ok(())
    }

    /// The databases that the plan drives, each with its place among the targets.
    fn driven_databases(&self) -> impl Iterator<Item = (u16, &'a Database)> {
        (0..self.plan.load.targets).zip(self.targets.all_databases())
    }

    /// Reads what each database holds before the first transaction.
    fn begin_databases(&self) -> Result<Vec<DatabaseRun<'a>>, Failure> {
        let (unchecked, mut all) = (self.how.manner.unchecked, Vec::new());
        for (target, database) in self.driven_databases() {
            let Some(account) = self.accounts[usize::from(target)].get().cloned() else {
                return Err(Failure::internal_bug("a worker that is ready has no sessions"));
            };
            let carried =
                DatabaseRun::read_before_load(database, target, account, unchecked, self.commits.get().cloned())?;
            all.push(carried.for_plan(self.plan));
        }
        Ok(all)
    }

    fn carry_out(&self, log: &mut LogFile, observer: &mut dyn Observer) -> Result<CloseReason, Failure> {
        let staffing = self.plan_staffing();
        let workers = staffing.worker_counts();
        let clock = Clock::start();
        let alone = self_benchmark(clock);
        refuse_impossible(self.plan, self.how.manner.engine, self.how.manner.workers)?;
        let chosen = match self.targets {
            Targets::Real(all) => staffing.choose_engine(all, workers, clock)?,
            _ => Chosen::by_request(self.how.manner.engine, workers.usual),
        };
        let chosen = &chosen;
        let not_told_apart = self.how.share.as_ref().and_then(RankShare::why_not_told_apart);
        let mut watched = Watched::new(self.plan, self.targets, log.log_path());
        if let Some(why) = &not_told_apart {
            watched.watch_nobody(why.clone());
        }
        let sampler = Sampler::new(watched.counted_disks(), self.plan.timing.interval);
        let sampler = &sampler;
        std::thread::scope(|scope| {
            let beating = spawn_scoped(scope, "pulse".to_owned(), || {
                staffing.take_priority(chosen.workers, chosen.normal.as_deref());
                self.pulse.beat_until_dropped(|| clock.now());
            })?;
            let _beating = self.pulse.until_dropped(beating.thread());
            let _leaving = StopOnDrop(&self.own);
            let _sampling = self.start_sampling(scope, sampler, chosen, clock)?;
            let (lines, receiver) = self.start_workers(scope, chosen, clock)?;
            let mut coordinator = Coordinator::new(lines.len());
            let (facts, scheduling) = wait_until_ready(&receiver, &mut coordinator)?;
            let readings = self.how.readings.unwrap_or(watch::machine_clocks);
            let watch = Watch::new(clock, readings, self.targets.disks_beneath(usize::from(self.plan.load.targets)));
            let engine = facts::engine_facts(staffing, self.targets, &facts, &scheduling, chosen, alone, clock);
            let facts = header_facts(self.plan, self.targets, self.cache, self.how, engine, watch.clock_readings());
            let mut beneath = Beneath::new(self.targets, usize::from(self.plan.load.targets), &self.how.manner.disks);
            let mut durability = durability::heads_of_blocks(self.plan, self.targets, &mut beneath);
            if let Some(why) = &not_told_apart {
                durability = durability::heads_without_counts(durability, why);
            }
            let unchecked = self.how.manner.unchecked;
            let (mut databases, carried) = (Vec::new(), self.begin_databases()?);
            for ((target, database), carried) in self.driven_databases().zip(&carried) {
                let (ledger, sums) = (self.commits.get().map(|ledger| ledger.run.clone()), Some(carried.raised_sums()));
                databases.push(DatabaseHead { ledger, sums, ..database.database_head(self.plan, target, unchecked)? });
            }
            let fit = fit_in_memory(self.targets.all_databases(), &databases);
            let lacks_disk = beneath.lacks_disk(self.targets);
            let target_watch = TargetWatch::begin_watch(self.targets);
            let neighbours = Neighbours::begin_looking(!sampler.is_empty());
            let in_real_time = RealTimeFacts {
                lateness: true,
                databases,
                meters: beneath.meter_heads(),
                watched: watched.disk_heads(),
                unwatched: watched.unwatched_disks().to_vec(),
                durability,
            };
            let facts = HeaderFacts { in_real_time, ..facts };
            let mut collector =
                Collector::open_segment(self.plan, header::make_header(self.whole, facts), log, observer);
            self.record_health(clock, collector.log);
            for (carried, commits) in carried.iter().zip(&self.how.committed_before) {
                carried.lost_before(commits, clock.now()).into_iter().for_each(|event| collector.write_event(event));
            }
            // This comes last, because the reads above may have brought something to memory.
            page_cache::advise_kernel(self.plan, self.targets, |text| {
                let (what, details) = (EventKind::Warning, BTreeMap::new());
                collector.write_event(Event { at_ns: clock.now().as_ns(), what, text, details });
            });
            watched.begin_counting(sampler, || clock.now(), collector.log.bytes_written());
            let start = self.agree_on_start(clock)?;
            sampler.align_intervals(start);
            let spenders = start_schedule(lines, start);
            let warnings = chosen.warning.clone().into_iter().chain(fit).chain(lacks_disk);
            for text in warnings.chain(target_watch.initial_warning()) {
                let (what, details) = (EventKind::Warning, BTreeMap::new());
                collector.write_event(Event { at_ns: clock.now().as_ns(), what, text, details });
            }
            let (meters, cached) = (Meters::new(), Meter::default());
            let account = Accounts { meters, cached, carried, beneath, watched, sampler, neighbours };
            let partners = Partners::new(self.targets);
            Collecting { real: self, coordinator, receiver, spenders, account, watch, target_watch, partners, clock }
                .collect_notices(&mut collector)
        })
    }

    /// When the schedule begins.
    fn agree_on_start(&self, clock: Clock) -> Result<Instant, Failure> {
        let Some(share) = &self.how.share else { return Ok(clock.now() + LEAD) };
        let start = share.start.agree_on_start(clock);
        start.ok_or_else(|| Failure::cut_short("the ranks did not begin together"))
    }

    /// Starts to read the disks at the ends of intervals, in a thread that is as punctual as a worker.
    fn start_sampling<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        sampler: &'scope Sampler,
        chosen: &'scope Chosen,
        clock: Clock,
    ) -> Result<Option<Sampling<'scope>>, Failure> {
        if sampler.is_empty() {
            return Ok(None);
        }
        let thread = spawn_scoped(scope, "sampler".to_owned(), move || {
            self.plan_staffing().take_priority(chosen.workers, chosen.normal.as_deref());
            sampler.sample_until_dropped(|| clock.now());
        })?;
        Ok(Some(sampler.until_dropped(thread.thread())))
    }

    /// Starts the workers, each in a thread of its own.
    fn start_workers<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        chosen: &'scope Chosen,
        clock: Clock,
    ) -> Result<(Vec<WorkerChannels>, Receiver<WorkerMessage>), Failure> {
        let workers = chosen.workers;
        let marked = Marked {
            run: (self.plan.load.seed ^ clock_seed()) as u32,
            ledger: integrity::ledger_for_plan(self.plan, self.targets, workers),
            gates: self.plan.load.has_lives().then(|| Gates::new(self.plan, workers as u64)),
            peers: (workers > 1).then(|| Peers::new(self.plan.load.targets)),
        };
        let shared = Shared {
            staffing: self.plan_staffing(),
            targets: self.targets,
            cache: self.cache,
            clock,
            stop: self.stop,
            own: &self.own,
            phase_end: &self.phase_end,
            pulse: &self.pulse,
            accounts: &self.accounts,
            commits: self.commits.get(),
        };
        let (sender, receiver) = channel();
        let mut lines = Vec::new();
        for index in 0..workers {
            let ((go, going), (spend, spent)) = (channel(), channel());
            let alone = Part { index: index as u64, of: workers as u64 };
            let part = self.how.share.as_ref().map_or(alone, |share| share.place.part_of_worker(index as u64));
            let recruit = StartingWorker {
                shared,
                index,
                part,
                chosen,
                marked: marked.clone(),
                notices: sender.clone(),
                going,
                spent,
            };
            spawn_scoped(scope, format!("worker-{index}"), move || recruit.work_or_report_panic())?;
            lines.push(WorkerChannels { go, spend });
        }
        Ok((lines, receiver))
    }

    /// Reads what the targets report about their health. A disk that hangs is not asked.
    fn record_health(&self, clock: Clock, log: &mut LogFile) {
        for (target, real) in self.targets.real_targets().iter().take(usize::from(self.plan.load.targets)).enumerate() {
            let mut details = real.disk_health();
            details.insert("target".to_owned(), target.to_string());
            let text = format!("health of {}", self.targets.target_name(target));
            log.write_entry(&Entry::Event(Event {
                at_ns: clock.now().as_ns(),
                what: EventKind::Health,
                text,
                details,
            }));
        }
    }
}

/// A number that differs between runs, for marking data.
fn clock_seed() -> u64 {
    let now = assay_device::clock::wall_time().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}

/// Waits until all workers have their engines.
fn wait_until_ready(
    receiver: &Receiver<WorkerMessage>,
    coordinator: &mut Coordinator,
) -> Result<(EngineFacts, Scheduling), Failure> {
    let mut facts = None;
    while !coordinator.may_begin() {
        match receiver.recv() {
            Ok(WorkerMessage::Ready(worker, engine, scheduling)) => {
                coordinator.receive_report(worker, Report::Ready);
                facts = Some((engine, scheduling));
            }
            Ok(WorkerMessage::Unable(failure)) => return Err(failure),
            Ok(WorkerMessage::Report(worker, report)) => {
                coordinator.receive_report(worker, report);
                return Err(Failure::internal_bug(
                    coordinator.death_message().unwrap_or("a worker ended before it began"),
                ));
            }
            Ok(WorkerMessage::Event(_)) | Err(_) => {
                return Err(Failure::internal_bug("a worker ended before it began"));
            }
        }
    }
    facts.ok_or_else(|| Failure::internal_bug("a run without workers"))
}

/// Tells the workers when the schedule begins; returns the channels by which they get their frames back.
fn start_schedule(lines: Vec<WorkerChannels>, start: Instant) -> Vec<Sender<Frame>> {
    for line in &lines {
        // If a worker died meanwhile, this is noticed when its frames do not arrive.
        let _ = line.go.send(start);
    }
    lines.into_iter().map(|line| line.spend).collect()
}

/// The collecting side of a real run.
struct Collecting<'a> {
    real: &'a RealTimeRun<'a>,
    coordinator: Coordinator,
    receiver: Receiver<WorkerMessage>,
    spenders: Vec<Sender<Frame>>,
    account: Accounts<'a>,
    watch: Watch,
    partners: Partners,
    target_watch: TargetWatch<'a>,
    clock: Clock,
}

/// The counters beside those of the operations.
struct Accounts<'a> {
    meters: Meters,
    cached: Meter,
    carried: Vec<DatabaseRun<'a>>,
    beneath: Beneath,
    watched: Watched,
    sampler: &'a Sampler,
    neighbours: Neighbours,
}

impl Accounts<'_> {
    /// The counters of the targets' devices in an interval, and the load of others on the disks that serve the targets.
    fn counters_and_foreign_load(
        &mut self,
        interval: &Interval,
        beside: &CountersBesideOperations<'_>,
        clock: Clock,
    ) -> (Vec<DiskCounters>, Vec<ForeignLoad>) {
        if self.sampler.is_empty() {
            return (Vec::new(), Vec::new());
        }
        let end = Instant::from_ns(interval.end_ns);
        let reading = self.sampler.reading_after(end, || clock.now());
        // A phase that ended early has moved the ends of the intervals.
        self.sampler.align_intervals(end);
        self.watched.counters_and_foreign_load(reading, interval, beside)
    }

    /// The event that names the programs which read and write most, where others use a disk.
    fn name_neighbours(&mut self, at_ns: u64, foreign: &[ForeignLoad]) -> Option<Event> {
        let watched = &self.watched;
        self.neighbours.foreign_programs(at_ns, foreign, || watched.working_processes())
    }

    /// The figures that the transactions of an interval report, by flow.
    fn counted_transactions(&mut self, frame: &Frame) -> BTreeMap<usize, BTreeMap<String, u64>> {
        if self.carried.is_empty() {
            return BTreeMap::new();
        }
        let ended: Vec<u64> = frame.interval_line().flows.iter().map(FlowInterval::ended_operations).collect();
        self.carried.iter_mut().flat_map(|carried| carried.counted_transactions(&ended)).collect()
    }
}

impl Collecting<'_> {
    fn collect_notices(mut self, collector: &mut Collector<'_>) -> Result<CloseReason, Failure> {
        while !self.coordinator.is_over() {
            self.hear_workers(collector)?;
            self.write_complete_intervals(collector);
            if let Some(reason) = self.coordinator.stop_reason() {
                self.real.own.request_stop(reason);
            }
        }
        if self.coordinator.ended_well() {
            self.real.record_health(self.clock, collector.log);
            self.target_watch.end_watch(self.clock.now()).into_iter().for_each(|event| collector.write_event(event));
        }
        let ending = self.coordinator.run_ending(self.real.stop.stop_reason());
        for carried in &self.account.carried {
            let clock = self.clock;
            carried.end_announcement(ending.reason).into_iter().for_each(|text| collector.observer.say_line(&text));
            carried
                .examine_after_run(ending.reason, || clock.now())
                .into_iter()
                .for_each(|event| collector.write_event(event));
        }
        collector.close_segment(&ending);
        Ok(ending.reason)
    }

    /// Waits for the next notice of a worker. When none is waiting, the lines already written are made durable first.
    /// So a failed operation is in the file as soon as it is known, long before the interval that counts it has ended.
    fn next(&self, collector: &mut Collector<'_>) -> Result<WorkerMessage, RecvTimeoutError> {
        self.receiver.try_recv().or_else(|_| {
            collector.log.settle_events();
            self.receiver.recv_timeout(TICK)
        })
    }

    fn hear_workers(&mut self, collector: &mut Collector<'_>) -> Result<(), Failure> {
        match self.next(collector) {
            Ok(WorkerMessage::Report(worker, report)) => {
                if let Some(event) = self.coordinator.receive_report(worker, report) {
                    collector.write_event(event);
                }
            }
            Ok(WorkerMessage::Event(event)) => collector.write_event(event),
            Ok(WorkerMessage::Unable(failure)) => return Err(failure),
            Ok(WorkerMessage::Ready(..)) => {}
            Err(RecvTimeoutError::Timeout) => collector.observer.time_passes(),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::internal_bug("a worker died; the run log up to here is valid"));
            }
        }
        Ok(())
    }

    /// Writes the complete intervals, and returns their frames.
    fn write_complete_intervals(&mut self, collector: &mut Collector<'_>) {
        while let Some(merged) = self.coordinator.next_interval() {
            self.watch.changes_since_last().into_iter().for_each(|event| collector.write_event(event));
            let changes = self.target_watch.changes_since_last(self.clock.now());
            changes.into_iter().for_each(|event| collector.write_event(event));
            let joined = self.partners.events_of_new_partners(&Gate::of_machine(), self.clock.now());
            joined.into_iter().for_each(|event| collector.write_event(event));
            let interval = merged.frame.interval_line();
            let host = self.account.meters.sample_host();
            let cache = self.real.cache.map(|cache| self.account.cached.sample_counters(cache));
            let beside = CountersBesideOperations { cache: cache.as_ref(), log_bytes: collector.log.bytes_written() };
            let (disks, foreign) = self.account.counters_and_foreign_load(&interval, &beside, self.clock);
            let named = self.account.name_neighbours(interval.end_ns, &foreign);
            named.into_iter().for_each(|event| collector.write_event(event));
            let counted = self.account.counted_transactions(&merged.frame);
            let clocks = self.watch.clock_readings();
            let meters = self.account.beneath.sample_rises();
            let (disks, shared_disks) = match &self.real.how.share {
                Some(share) => share.own_and_shared_counters(disks),
                None => (disks, Vec::new()),
            };
            let sample = Sample { disks, shared_disks, foreign, cache, meters, host: Some(host), clocks, counted };
            collector.write_interval(interval, merged.frame.histograms_line(), sample);
            if let Some(at) = collector.phase_end() {
                self.real.phase_end.store(at.as_ns(), Ordering::Release);
            }
            for (worker, frame) in merged.spent.into_iter().chain([(merged.owner, merged.frame)]) {
                let _ = self.spenders[worker].send(frame);
            }
            if collector.log.write_failure().is_some() {
                self.coordinator.log_failed();
            }
        }
    }
}

#[cfg(test)]
#[path = "real_tests.rs"]
mod tests;
