//! A run in virtual time.

use super::collector::{Collector, Sample};
use super::how::{Drive, header_facts, too_large};
use super::share::RankPlace;
use crate::cache::lookaside::{Lookaside, Meter};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use crate::host::threads::spawn_scoped;
use crate::log::header;
use crate::log::logfile::LogFile;
use crate::observer::Observer;
use crate::open::targets::Targets;
use assay_base::{BlockDevice, Instant};
use assay_device::sim::{Bank, Spec};
use assay_engine::shell::Sink;
use assay_engine::{Blocks, Coordinator, Data, Ending, Report, Setup, Worker, run_virtual};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_record::{CloseReason, Event, Frame, Header};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Frames that a worker may be ahead of the slowest one.
const FRAMES_AHEAD: usize = 64;

/// Writes the frames of the only virtual worker directly into the log.
struct DirectLogSink<'a, 'b> {
    collector: &'b mut Collector<'a>,
    cache: Option<&'b Lookaside>,
    cached: Meter,
    spent: Vec<Frame>,
    last: Instant,
}

impl Sink for DirectLogSink<'_, '_> {
    fn receive_frame(&mut self, frame: Frame) {
        let cache = self.cache.map(|cache| self.cached.sample_counters(cache));
        self.collector.write_interval(
            frame.interval_line(),
            frame.histograms_line(),
            Sample { cache, ..Sample::default() },
        );
        self.last = Instant::from_ns(frame.end_ns);
        self.spent.push(frame);
    }
    fn receive_event(&mut self, event: Event) {
        self.collector.write_event(event);
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        self.spent.pop()
    }
    fn phase_end(&mut self) -> Option<Instant> {
        self.collector.phase_end()
    }
}

/// What one of several virtual workers tells.
enum VirtualNews {
    Report(Report),
    Event(Event),
    Unable(Failure),
}

/// Passes what one of several virtual workers has recorded to the thread that adds it up.
struct ChannelSink {
    news: SyncSender<VirtualNews>,
    last: Instant,
}

impl Sink for ChannelSink {
    fn receive_frame(&mut self, frame: Frame) {
        self.last = Instant::from_ns(frame.end_ns);
        // Nobody listens any more where the run has failed.
        let _ = self.news.send(VirtualNews::Report(Report::Frame(frame)));
    }
    fn receive_event(&mut self, event: Event) {
        let _ = self.news.send(VirtualNews::Event(event));
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

/// A run in virtual time.
pub(super) struct Simulated<'a> {
    /// What is carried here.
    pub(super) plan: &'a Plan,
    /// What all ranks carry.
    pub(super) whole: &'a Plan,
    pub(super) targets: &'a Targets,
    /// The cache before the targets.
    pub(super) cache: Option<&'a Lookaside>,
    pub(super) how: &'a Drive,
    pub(super) log: &'a mut LogFile,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) stop: &'a StopCell,
}

impl Simulated<'_> {
    /// Carries it out on simulated devices: with one worker, or, as one of several ranks, with one for each of its parts, which has
    /// devices of its own.
    pub(super) fn run_on_devices(self, specs: Vec<Spec>) -> Result<CloseReason, Failure> {
        let parts: Vec<Part> = match &self.how.share {
            None => vec![Part { index: 0, of: 1 }],
            Some(share) => (0..share.place.parts).map(|worker| share.place.part_of_worker(worker)).collect(),
        };
        let plan = self.plan;
        let devices = |part: Part| Bank::new(RankPlace::seed_for_devices(plan.load.seed, part), specs.clone());
        let engine = BTreeMap::from([
            ("engine".to_owned(), "simulation".to_owned()),
            ("workers".to_owned(), parts.len().to_string()),
            ("clock".to_owned(), "virtual".to_owned()),
            ("in-flight bound".to_owned(), format!("{}{}", plan.load.in_flight_bound, plan.load.lanes_in_words())),
        ]);
        let header =
            header::make_header(self.whole, header_facts(plan, self.targets, self.cache, self.how, engine, None));
        let setup = |part: Part| Setup {
            part,
            thresholds: header::exact_thresholds(plan),
            bound: assay_engine::in_flight_bound(plan, part),
            start: Instant::ZERO,
            run: plan.load.seed as u32,
            limits: self.how.manner.limits,
            ledger: None,
            gates: None,
        };
        let worker = |part: Part| {
            let worker = Worker::new(plan, devices(part), setup(part)).ok_or_else(too_large)?;
            Ok::<_, Failure>(worker.with_foretelling())
        };
        let Simulated { cache, log, observer, stop, .. } = self;
        let rest = VirtualRun { plan, header, cache, log, observer, stop };
        match (cache, parts.as_slice()) {
            (None, [_]) => Ok(rest.run_to_end(worker(parts[0])?)),
            (Some(cache), [part]) => {
                let setup = setup(*part);
                let slots = assay_engine::slots_upper_bound(plan, *part, setup.bound);
                let bank = cache.cached_device(devices(*part), slots, |now| now);
                Ok(rest.run_to_end(Worker::new(plan, bank, setup).ok_or_else(too_large)?))
            }
            _ => rest.run_several_to_end(&parts, &worker),
        }
    }
}

/// The parts of a run in virtual time beside its workers.
struct VirtualRun<'a> {
    plan: &'a Plan,
    header: Header,
    cache: Option<&'a Lookaside>,
    log: &'a mut LogFile,
    observer: &'a mut dyn Observer,
    stop: &'a StopCell,
}

impl VirtualRun<'_> {
    fn run_to_end<D: BlockDevice>(self, mut worker: Worker<D, Blocks, Data>) -> CloseReason {
        let VirtualRun { plan, header, cache, log, observer, stop } = self;
        let mut collector = Collector::open_segment(plan, header, log, observer);
        let cached = Meter::default();
        let mut sink =
            DirectLogSink { collector: &mut collector, cache, cached, spent: Vec::new(), last: Instant::ZERO };
        run_virtual(&mut worker, Instant::ZERO, &mut sink, || stop.is_set());
        let (end, reason) = (sink.last, worker.close_reason());
        let totals = Some(worker.operation_totals());
        collector.close_segment(&Ending { reason, why: stop.stop_reason().map(str::to_owned), at: end, totals });
        reason
    }

    /// Each part has a worker with a thread of its own; what they record is added up in the order of the intervals.
    fn run_several_to_end(self, parts: &[Part], make_worker: &MakeWorker<'_>) -> Result<CloseReason, Failure> {
        let VirtualRun { plan, header, log, observer, stop, .. } = self;
        let mut collector = Collector::open_segment(plan, header, log, observer);
        let mut coordinator = Coordinator::new(parts.len());
        std::thread::scope(|scope| {
            let mut heard = Vec::new();
            for (number, part) in parts.iter().enumerate() {
                coordinator.receive_report(number, Report::Ready);
                let (news, receiver) = sync_channel(FRAMES_AHEAD);
                let work = move || run_one_of_several(make_worker(*part), news, stop);
                spawn_scoped(scope, format!("worker-{number}"), work)?;
                heard.push(receiver);
            }
            collect_in_turn(&heard, &mut coordinator, &mut collector)?;
            let ending = coordinator.run_ending(stop.stop_reason());
            collector.close_segment(&ending);
            Ok(ending.reason)
        })
    }
}

/// Makes the worker of a part, in the thread in which it will run.
type MakeWorker<'a> = dyn Fn(Part) -> Result<Worker<Bank, Blocks, Data>, Failure> + Sync + 'a;

fn run_one_of_several(
    worker: Result<Worker<Bank, Blocks, Data>, Failure>,
    news: SyncSender<VirtualNews>,
    stop: &StopCell,
) {
    let mut worker = match worker {
        Ok(worker) => worker,
        Err(failure) => return drop(news.send(VirtualNews::Unable(failure))),
    };
    let mut sink = ChannelSink { news, last: Instant::ZERO };
    run_virtual(&mut worker, Instant::ZERO, &mut sink, || stop.is_set());
    let (reason, totals) = (worker.close_reason(), worker.operation_totals());
    let _ = sink.news.send(VirtualNews::Report(Report::Finished { reason, totals, at: sink.last }));
}

/// Takes one frame of each worker in turn, so that none gets far ahead of the others and the log is the same each time.
fn collect_in_turn(
    heard: &[Receiver<VirtualNews>],
    coordinator: &mut Coordinator,
    collector: &mut Collector<'_>,
) -> Result<(), Failure> {
    while !coordinator.is_over() {
        for (number, receiver) in heard.iter().enumerate() {
            collect_frame(number, receiver, coordinator, collector)?;
        }
        while let Some(merged) = coordinator.next_interval() {
            let (interval, histograms) = (merged.frame.interval_line(), merged.frame.histograms_line());
            collector.write_interval(interval, histograms, Sample::default());
        }
    }
    Ok(())
}

/// Takes what a worker tells up to its next frame, or its end.
fn collect_frame(
    number: usize,
    receiver: &Receiver<VirtualNews>,
    coordinator: &mut Coordinator,
    collector: &mut Collector<'_>,
) -> Result<(), Failure> {
    loop {
        match receiver.recv() {
            Ok(VirtualNews::Event(event)) => collector.write_event(event),
            Ok(VirtualNews::Report(report)) => {
                coordinator.receive_report(number, report);
                return Ok(());
            }
            Ok(VirtualNews::Unable(failure)) => return Err(failure),
            // It has finished, or it has panicked: the coordinator knows whether it had reported its end.
            Err(_) => {
                let words = "it ended without a word".to_owned();
                let event = coordinator.receive_report(number, Report::Died { words, at: Instant::ZERO });
                event.into_iter().for_each(|event| collector.write_event(event));
                return Ok(());
            }
        }
    }
}
