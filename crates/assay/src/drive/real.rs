//! A run in real time: workers on their threads, each with its engine, and the thread that collects what they record.

use super::meters::Meters;
use super::{Beside, Collector, Drive, around, too_large};
use crate::engine::{self, Case, Chosen, Priority, Workers, choose, in_memory, measured, possible, self_benchmark};
use crate::failure::Failure;
use crate::header::Around;
use crate::logfile::LogFile;
use crate::progress::Progress;
use crate::pulse::Pulse;
use crate::signals::StopCell;
use crate::targets::{self, Targets};
use crate::threads::spawn;
use crate::watch::{self, Watch};
use crate::{header, integrity};
use assay_base::{Bytes, Instant, Span};
use assay_device::clock::Clock;
use assay_device::facts::{EngineError, EngineFacts, Health, Slots};
use assay_device::null::Null;
use assay_device::select::{AnyDevice, Choice, select};
use assay_device::usage;
use assay_engine::shell::{Sink, Spin, Stop, Waiting};
use assay_engine::{BLANK_CHECK, Host, Ledger, Merger, Peers, Setup, Totals, Worker, run_real};
use assay_model::arrival::Part;
use assay_model::{Address, Arrival, Plan};
use assay_record::{CloseReason, Entry, Event, EventKind, Frame};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Operations per second that one worker is given before a second one is started. Measured: one worker carries more than
/// 200,000 a second on a device that can; above that a second one leaves room.
const RATE_OF_A_WORKER: f64 = 150_000.0;
/// Real-time priority of workers: above everything normal, below the kernel's own interrupt threads (50).
const PRIORITY: i32 = 10;
/// A worker whose operations are closer together in the mean does not sleep between them: sleeps that end late would bunch them, and
/// save a tenth of the processor time. The kernel stops a real-time thread that never sleeps for some 50 ms of each second, so such a
/// worker has normal priority. `docs/decisions/0015-waiting.md` has the measurements.
const SLEEPLESS: Span = Span::from_us(30);
/// Between the moment all workers are ready and the beginning of the schedule.
const LEAD: Span = Span::from_ms(20);
/// Longest spinning before an operation is due, when not told otherwise.
const SPIN: Span = Span::from_us(50);

/// A run in real time.
pub struct Real<'a> {
    plan: &'a Plan,
    targets: &'a Targets,
    how: &'a Drive,
    /// The end that was asked for from outside, of this run and of those after it.
    stop: &'a StopCell,
    /// The end that this run has a reason of its own for, which is none for the next one.
    own: StopCell,
    /// When the phase that waits ends, in nanoseconds of the run's time line; 0 until it is decided.
    phase_end: AtomicU64,
    /// Tells a stop of the whole program from a device that blocks.
    pulse: Pulse,
}

/// What marks the data of a run, and what is known of them when it verifies.
struct Marked {
    run: u32,
    ledger: Option<Arc<Ledger>>,
    /// What the workers know of each other, where there are several.
    peers: Option<Arc<Peers>>,
}

/// What workers tell the collecting thread.
enum Told {
    Ready(EngineFacts, String),
    Unable(Failure),
    Frame(usize, Frame),
    Event(Event),
    Finished(usize, CloseReason, Totals, Instant),
    /// By a panic, with its words.
    Died(usize, String),
}

impl<'a> Real<'a> {
    /// `plan` on `targets`, until it is over or `stop` says so.
    pub fn new(plan: &'a Plan, targets: &'a Targets, how: &'a Drive, stop: &'a StopCell) -> Real<'a> {
        let (own, phase_end, pulse) = (StopCell::default(), AtomicU64::new(0), Pulse::default());
        Real { plan, targets, how, stop, own, phase_end, pulse }
    }

    /// Runs it into `log`.
    pub fn run(&self, log: &mut LogFile, progress: &mut Progress) -> Result<CloseReason, Failure> {
        let workers = self.workers();
        let clock = Clock::start();
        let alone = self_benchmark(clock);
        possible(self.plan, self.how.engine)?;
        let chosen = match self.targets {
            Targets::Real(all) => self.choose(all, workers, clock)?,
            _ => Chosen::asked(self.how.engine, workers.usual),
        };
        let (chosen, workers) = (&chosen, chosen.workers);
        let ledger = integrity::ledger(self.plan, self.targets, workers);
        let peers = (workers > 1).then(|| Peers::new(self.plan.targets));
        let (tell, told) = channel();
        let run = (self.plan.seed ^ clock_seed()) as u32;
        std::thread::scope(|scope| {
            let body = || {
                self.priority(workers, chosen.normal.as_deref());
                self.pulse.run(|| clock.now());
            };
            let beating = spawn(scope, "pulse".to_owned(), body)?;
            let _beating = self.pulse.until_dropped(beating.thread());
            let _leaving = Leaving(&self.own);
            let mut lines = Vec::new();
            for index in 0..workers {
                let (go, going) = channel();
                let (spend, spent) = channel();
                let part = Part { index: index as u64, of: workers as u64 };
                let (tell, ledger, peers) = (tell.clone(), ledger.clone(), peers.clone());
                let body = move || {
                    let work = || self.worker(part, chosen, clock, Marked { run, ledger, peers }, &tell, &going, spent);
                    tell_of_death(index, &tell, work);
                };
                spawn(scope, format!("worker-{index}"), body)?;
                lines.push((go, spend));
            }
            drop(tell);
            let (facts, priority) = ready(&told, workers)?;
            let readings = self.how.readings.unwrap_or(watch::machine);
            let watch = Watch::new(clock, readings, self.targets.disks(usize::from(self.plan.targets)));
            let mut engine = self.engine(&facts, workers, clock);
            engine.insert("scheduling".to_owned(), priority);
            engine.extend(chosen.facts.clone());
            if let Some(rate) = alone {
                engine.insert(
                    "self-benchmark".to_owned(),
                    format!(
                        "{:.1} million operations a second by one worker on a device that does nothing",
                        rate / 1e6
                    ),
                );
            }
            let around = around(self.plan, self.targets, self.how, engine, watch.clocks());
            let around = Around { lateness: true, ..around };
            let mut collector = Collector::begin(self.plan, header::header(self.plan, around), log, progress);
            self.health(clock, collector.log);
            let start = clock.now() + LEAD;
            for (go, _) in &lines {
                // A worker that has died meanwhile is found out about when its frames do not come.
                let _ = go.send(start);
            }
            let spenders: Vec<Sender<Frame>> = lines.into_iter().map(|(_, spend)| spend).collect();
            if let Some(text) = chosen.warning.clone() {
                let (what, details) = (EventKind::Warning, BTreeMap::new());
                collector.event(Event { at_ns: clock.now().as_ns(), what, text, details });
            }
            let meters = Meters::new(self.plan, self.targets);
            Collecting { real: self, told, spenders, meters, watch, clock }.run(&mut collector)
        })
    }

    /// Compares the ways to the targets, in threads like a worker's: the kernel's threads that carry its operations inherit its
    /// priority or wait behind it, which decides how fast they wake.
    fn choose(&self, targets: &[targets::Real], workers: Workers, clock: Clock) -> Result<Chosen, Failure> {
        let case = Case {
            plan: self.plan,
            asked: self.how.engine,
            workers,
            in_memory: in_memory(targets),
            in_real_time: self.normal_by_load(workers.usual).is_none(),
        };
        let mut granted = true;
        choose(case, |priority| {
            // Where real-time priority is refused there is only one.
            if priority == Priority::Normal && !granted {
                return Ok(Vec::new());
            }
            std::thread::scope(|scope| {
                let body = || {
                    let in_real_time =
                        priority == Priority::Workers && self.priority(workers.usual, None).starts_with("SCHED");
                    (in_real_time, measured(self.plan, targets, workers, clock))
                };
                let compared = spawn(scope, "compare".to_owned(), body)?
                    .join()
                    .map_err(|_| Failure::bug("comparing the ways to the target failed"))?;
                granted &= compared.0 || priority == Priority::Normal;
                Ok(compared.1)
            })
        })
    }

    /// What the targets say of their health. A disk that hangs is not asked.
    fn health(&self, clock: Clock, log: &mut LogFile) {
        for (target, real) in self.targets.real().iter().take(usize::from(self.plan.targets)).enumerate() {
            let mut details = real.health();
            details.insert("target".to_owned(), target.to_string());
            let text = format!("health of {}", self.targets.name(target));
            log.write(&Entry::Event(Event { at_ns: clock.now().as_ns(), what: EventKind::Health, text, details }));
        }
    }

    /// Why the workers have normal priority, by what the load is. An open loop sleeps most of the time, and must not be late
    /// when it wakes; a closed loop would keep others from the processor, and one that is too dense is kept from it itself.
    fn normal_by_load(&self, workers: usize) -> Option<&'static str> {
        let mut own = self.plan.streams.iter().filter(|stream| stream.address != Address::Written);
        if own.any(|stream| matches!(stream.arrival, Arrival::Closed { .. })) {
            return Some("normal");
        }
        self.is_sleepless(workers).then_some("normal: operations so close together leave a worker no time to sleep")
    }

    fn is_sleepless(&self, workers: usize) -> bool {
        engine::gap(self.plan, workers).is_some_and(|gap| gap < SLEEPLESS)
    }

    /// Gives the calling thread the priority of a worker, which is normal for a reason.
    fn priority(&self, workers: usize, normal: Option<&str>) -> String {
        match (self.normal_by_load(workers), normal) {
            (Some(by_load), _) => by_load.to_owned(),
            (None, Some(why)) => format!("normal: {why}"),
            (None, None) => match usage::real_time(PRIORITY) {
                Ok(()) => format!("SCHED_FIFO {PRIORITY}"),
                Err(errno) => format!("normal: real-time priority was refused with {errno}"),
            },
        }
    }

    fn workers(&self) -> Workers {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let needed = ((engine::rate(self.plan) / RATE_OF_A_WORKER).ceil() as usize).clamp(1, processors);
        let allowed = |n: usize| n.min(self.plan.in_flight_bound as usize).max(1);
        match self.how.workers {
            Some(asked) => Workers { usual: allowed(asked.into()), most: allowed(asked.into()) },
            None => Workers { usual: allowed(needed), most: allowed(processors) },
        }
    }

    /// The body of a worker's thread. The engine is made here, because a ring belongs to the thread that made it.
    #[allow(clippy::too_many_arguments, reason = "a thread's whole world")]
    fn worker(
        &self,
        part: Part,
        chosen: &Chosen,
        clock: Clock,
        marked: Marked,
        tell: &Sender<Told>,
        going: &Receiver<Instant>,
        spent: Receiver<Frame>,
    ) {
        let choice = chosen.choice;
        let bound = self.bound(part, choice);
        let slots = Worker::<AnyDevice>::slots(&self.carried(choice), part, bound);
        let device = match self.device(slots, choice, clock) {
            Ok((device, facts)) => {
                let _ = tell.send(Told::Ready(facts, self.priority(chosen.workers, chosen.normal.as_deref())));
                device
            }
            Err(failure) => {
                let _ = tell.send(Told::Unable(failure));
                return;
            }
        };
        // The other end hangs up when another worker could not be made ready.
        let Ok(start) = going.recv() else { return };
        let index = part.index as usize;
        let Marked { run, ledger, peers } = marked;
        let (thresholds, limits) = (header::thresholds(self.plan), self.how.limits);
        let setup = Setup { part, thresholds, bound, start, run, limits, ledger };
        let Some(mut worker) = Worker::new(&self.carried(choice), device, setup) else {
            let _ = tell.send(Told::Unable(too_large()));
            return;
        };
        if let Some(peers) = peers {
            worker.beside(peers);
        }
        let host = Machine { clock, pulse: &self.pulse, stop: self.stop, own: &self.own };
        let mut line = Line { index, tell, spent, phase_end: &self.phase_end };
        let waiting = Waiting { spin: self.spin(chosen.workers), inline: choice == Choice::Inline };
        run_real(&mut worker, &host, &mut line, waiting);
        for event in troubles(clock.now(), worker.device().health()) {
            let _ = tell.send(Told::Event(event));
        }
        let _ = tell.send(Told::Finished(index, worker.reason(), worker.totals(), clock.now()));
    }

    fn spin(&self, workers: usize) -> Spin {
        match self.how.spin {
            Some(asked) => asked,
            None if self.is_sleepless(workers) => Spin::Fixed(SPIN),
            None => Spin::Learned(SPIN),
        }
    }

    /// Operations one worker has in flight at most on each target, of all streams without a lane of their own: its share of the
    /// plan's bound.
    fn bound(&self, part: Part, choice: Choice) -> u32 {
        if choice == Choice::Inline { 1 } else { Worker::<AnyDevice>::bound(self.plan, part) }
    }

    /// The plan as an engine carries it: one that carries an operation at a time has one slot for all.
    fn carried(&self, choice: Choice) -> Cow<'_, Plan> {
        if choice == Choice::Inline { Cow::Owned(self.plan.in_one_lane()) } else { Cow::Borrowed(self.plan) }
    }

    /// The engine of one worker, with `slots` on every target.
    fn device(&self, slots: u32, choice: Choice, clock: Clock) -> Result<(AnyDevice, EngineFacts), Failure> {
        let count = slots * u32::from(self.plan.targets);
        let blocks = (0..usize::from(self.plan.targets)).map(|index| self.targets.geometry(index).block);
        let largest = blocks.map(|block| self.plan.largest_operation(block)).max().unwrap_or(0);
        let bytes = u32::try_from(largest).map_err(|_| Failure::workload("an operation of more than 4 GiB"))?;
        let slots = Slots { count, bytes };
        let device = match self.targets {
            Targets::Real(all) => {
                let all = all.iter().take(usize::from(self.plan.targets)).map(|real| real.target.clone()).collect();
                select(choice, all, slots, clock)
            }
            Targets::Null(all) => {
                let null = Null::new(all.iter().map(|(_, geometry)| *geometry).collect()).in_real_time();
                let null = if self.plan.writes() { null.with_buffers(slots) } else { Ok(null) };
                null.map(AnyDevice::Null)
            }
            Targets::Simulated(_) => unreachable!("simulated targets run in virtual time"),
        };
        let device = device.map_err(|e| self.unable(e))?;
        let facts = device.describe();
        Ok((device, facts))
    }

    fn unable(&self, error: EngineError) -> Failure {
        match error {
            EngineError::Slots { most, .. } => Failure::host(format!(
                "{error}\n  = use more --workers, or write in_flight_bound = {} in the workload",
                self.most_shared(most)
            )),
            error => Failure::host(error),
        }
    }

    /// The largest bound of the plan with which `most` operations on all targets are enough.
    fn most_shared(&self, most: u32) -> u64 {
        let own = self.plan.slots() - u64::from(self.plan.in_flight_bound);
        u64::from(most / u32::from(self.plan.targets).max(1)).saturating_sub(own).max(1)
    }

    fn engine(&self, facts: &EngineFacts, workers: usize, clock: Clock) -> BTreeMap<String, String> {
        let yes = |b: bool| if b { "yes" } else { "no" }.to_owned();
        let spin = match self.spin(workers) {
            Spin::Fixed(span) if self.how.spin.is_none() => format!("{span}, because operations are so close together"),
            Spin::Fixed(span) => span.to_string(),
            Spin::Together(span) => format!("none; a sleep is at least {span}, for all that is due within it"),
            Spin::Learned(most) => format!("as long as sleeps end late, at most {most} and a quarter of the time"),
        };
        let bound = match facts.name {
            "inline" => format!("{workers} on each target"),
            _ => format!("{} on each target{}", self.plan.in_flight_bound, self.plan.beside()),
        };
        let mut engine = BTreeMap::from([
            ("engine".to_owned(), facts.name.to_owned()),
            ("workers".to_owned(), workers.to_string()),
            ("in-flight bound".to_owned(), bound),
            ("buffer of a slot".to_owned(), Bytes::new(facts.slots.bytes.into()).to_string()),
            ("clock".to_owned(), clock.source().to_owned()),
            ("spin".to_owned(), spin),
        ]);
        engine.extend(header::program().map(|sum| ("program".to_owned(), format!("BLAKE3 {sum}"))));
        if facts.name == "io_uring" {
            engine.insert("ring flags".to_owned(), facts.flags.join(" "));
            engine.insert("registered files".to_owned(), yes(facts.registered_files));
            engine.insert("registered buffers".to_owned(), yes(facts.registered_buffers));
        }
        let verified = integrity::describe(self.plan, self.targets.geometry(0).block);
        engine.extend(verified.map(|how| ("verify".to_owned(), how)));
        if matches!(self.targets, Targets::Real(_)) {
            engine.insert("blank check".to_owned(), BLANK_CHECK.to_owned());
        }
        if facts.threads > 0 {
            engine.insert("threads".to_owned(), facts.threads.to_string());
        }
        if !facts.notes.is_empty() {
            engine.insert("notes".to_owned(), facts.notes.join("; "));
        }
        engine
    }
}

/// What went wrong between the engine and the kernel, for the log.
fn troubles(now: Instant, health: Health) -> impl Iterator<Item = Event> {
    let refused = health.refused.map(|errno| {
        let text = format!("io_uring_enter gave {errno}: nothing more could be handed over; try --engine threads");
        let details = BTreeMap::from([("errno".to_owned(), errno.0.to_string())]);
        Event { at_ns: now.as_ns(), what: EventKind::EngineFailed, text, details }
    });
    let counts = [
        ("submit_retries", health.submit_retries),
        ("submissions_dropped", health.submissions_dropped.into()),
        ("completions_overflowed", health.completions_overflowed.into()),
    ];
    let troubled = counts.iter().any(|(_, n)| *n > 0).then(|| {
        let [retries, dropped, overflowed] = counts.map(|(_, n)| n);
        let text = format!(
            "{retries} submissions had to be repeated, {dropped} were dropped and {overflowed} completions found no room"
        );
        let details = counts.iter().map(|(name, n)| ((*name).to_owned(), n.to_string())).collect();
        Event { at_ns: now.as_ns(), what: EventKind::EngineHealth, text, details }
    });
    refused.into_iter().chain(troubled)
}

/// A number that differs between runs, for marking data.
fn clock_seed() -> u64 {
    let now = assay_device::clock::wall().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_nanos() as u64)
}

/// Waits until all workers have their engines.
fn ready(told: &Receiver<Told>, workers: usize) -> Result<(EngineFacts, String), Failure> {
    let mut facts = None;
    for _ in 0..workers {
        match told.recv() {
            Ok(Told::Ready(engine, priority)) => facts = Some((engine, priority)),
            Ok(Told::Unable(failure)) => return Err(failure),
            Ok(Told::Died(worker, why)) => return Err(Failure::bug(death(worker, &why))),
            _ => return Err(Failure::bug("a worker ended before it began")),
        }
    }
    facts.ok_or_else(|| Failure::bug("a run without workers"))
}

/// Does a worker's `work` and tells the collecting thread if it ends by a panic: that thread would wait for its frames for ever.
fn tell_of_death(worker: usize, tell: &Sender<Told>, work: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
        let words = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        let _ = tell.send(Told::Died(worker, words));
    }
}

fn death(worker: usize, why: &str) -> String {
    format!("worker {worker} died, which is a bug in assay: {why}")
}

/// Asks the workers to end when the collecting thread leaves, however that comes: nobody would write down what they do.
struct Leaving<'a>(&'a StopCell);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.ask(CloseReason::EngineFailed);
    }
}

/// The collecting side of a real run.
struct Collecting<'a> {
    real: &'a Real<'a>,
    told: Receiver<Told>,
    spenders: Vec<Sender<Frame>>,
    meters: Meters,
    watch: Watch,
    clock: Clock,
}

/// How often the live display moves.
const TICK: Duration = Duration::from_millis(250);

impl Collecting<'_> {
    /// What a worker tells next. What was told before is made durable while nothing waits: a failed operation is in the file as soon
    /// as it is known, long before the interval that counts it has ended.
    fn next(&self, collector: &mut Collector<'_>) -> Result<Told, RecvTimeoutError> {
        self.told.try_recv().or_else(|_| {
            collector.log.settle();
            self.told.recv_timeout(TICK)
        })
    }

    fn run(mut self, collector: &mut Collector<'_>) -> Result<CloseReason, Failure> {
        let mut merger = Merger::new(self.spenders.len());
        let mut reason = CloseReason::Completed;
        let mut totals = Totals::default();
        let mut end = Instant::ZERO;
        let mut died = None;
        let mut running = vec![true; self.spenders.len()];
        while running.contains(&true) {
            match self.next(collector) {
                Ok(Told::Frame(worker, frame)) => merger.push(worker, frame),
                Ok(Told::Event(event)) => collector.event(event),
                Ok(Told::Finished(worker, how, carried, at)) => {
                    merger.finish(worker);
                    totals += carried;
                    end = end.max(at);
                    running[worker] = false;
                    if how != CloseReason::Completed {
                        reason = if reason == CloseReason::Completed { how } else { reason };
                        // One worker alone is not the load: the others end with it.
                        self.real.own.ask(how);
                    }
                }
                Ok(Told::Died(worker, why)) if running[worker] => {
                    // It is not finished: what the others do without its part is not the load, and is not written down.
                    let now = self.clock.now();
                    let (what, text, details) = (EventKind::EngineFailed, death(worker, &why), BTreeMap::new());
                    collector.event(Event { at_ns: now.as_ns(), what, text: text.clone(), details });
                    reason = if reason == CloseReason::Completed { CloseReason::EngineFailed } else { reason };
                    (died, end) = (died.or(Some(text)), end.max(now));
                    running[worker] = false;
                    self.real.own.ask(CloseReason::EngineFailed);
                }
                Ok(Told::Unable(failure)) => return Err(failure),
                Ok(Told::Ready(..) | Told::Died(..)) => {}
                Err(RecvTimeoutError::Timeout) => collector.progress.tick(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Failure::bug("a worker died; the run log up to here is valid"));
                }
            }
            while let Some(merged) = merger.pop() {
                self.watch.changes().into_iter().for_each(|event| collector.event(event));
                let (disks, host) = self.meters.sample();
                let beside = Beside { disks, host: Some(host), clocks: self.watch.clocks() };
                collector.interval(&merged.frame, beside);
                if let Some(at) = collector.phase_end {
                    self.real.phase_end.store(at.as_ns(), Ordering::Release);
                }
                for (worker, frame) in merged.spent.into_iter().chain([(merged.owner, merged.frame)]) {
                    let _ = self.spenders[worker].send(frame);
                }
                if collector.log.failure().is_some() {
                    self.real.own.ask(CloseReason::LogFailed);
                }
            }
        }
        if reason == CloseReason::Completed && totals.stuck == 0 {
            self.real.health(self.clock, collector.log);
        }
        // Nobody knows the totals of a worker that died, nor what the others did after it: the intervals are what there is.
        let totals = if died.is_some() { collector.written } else { totals };
        collector.close(reason, died.as_deref().or(self.real.stop.why()), end, totals);
        Ok(reason)
    }
}

/// What a worker asks of this machine.
struct Machine<'a> {
    clock: Clock,
    pulse: &'a Pulse,
    stop: &'a StopCell,
    own: &'a StopCell,
}

impl Host for Machine<'_> {
    #[inline]
    fn now(&self) -> Instant {
        self.clock.now()
    }
    fn voluntary_switches(&self) -> u64 {
        usage::voluntary_switches()
    }
    #[inline]
    fn stood_still(&self, from: Instant, to: Instant) -> Option<(Instant, Instant)> {
        self.pulse.stood_still(from, to)
    }
    #[inline]
    fn stop(&self) -> Option<Stop> {
        // A second signal hurries, whatever the run's own reason was.
        self.stop.get().or_else(|| self.own.get())
    }
}

/// A worker's line to the collecting thread.
struct Line<'a> {
    index: usize,
    tell: &'a Sender<Told>,
    spent: Receiver<Frame>,
    phase_end: &'a AtomicU64,
}

impl Sink for Line<'_> {
    fn frame(&mut self, frame: Frame) {
        let _ = self.tell.send(Told::Frame(self.index, frame));
    }
    fn event(&mut self, event: Event) {
        let _ = self.tell.send(Told::Event(event));
    }
    fn spent(&mut self) -> Option<Frame> {
        self.spent.try_recv().ok()
    }
    fn phase_end(&mut self) -> Option<Instant> {
        let at = self.phase_end.load(Ordering::Acquire);
        (at != 0).then(|| Instant::from_ns(at))
    }
}

#[cfg(test)]
#[path = "real_tests.rs"]
mod tests;
