//! A run in virtual time.

use super::collector::{Collector, Sample};
use super::how::{Drive, header_facts, too_large};
use crate::cache::lookaside::{Lookaside, Meter};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use crate::log::header;
use crate::log::logfile::LogFile;
use crate::observer::Observer;
use crate::open::targets::Targets;
use assay_base::{BlockDevice, Instant};
use assay_device::sim::Bank;
use assay_engine::shell::Sink;
use assay_engine::{Blocks, Data, Ending, Setup, Worker, run_virtual};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_record::{CloseReason, Event, Frame, Header};
use std::collections::BTreeMap;

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

/// A run in virtual time.
pub(super) struct Simulated<'a> {
    pub(super) plan: &'a Plan,
    pub(super) targets: &'a Targets,
    /// The cache before the targets.
    pub(super) cache: Option<&'a Lookaside>,
    pub(super) how: &'a Drive,
    pub(super) log: &'a mut LogFile,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) stop: &'a StopCell,
}

impl Simulated<'_> {
    /// Carries it out with one worker on a bank of simulated devices.
    pub(super) fn run_on_bank(self, bank: Bank) -> Result<CloseReason, Failure> {
        let Simulated { plan, targets, cache, how, log, observer, stop } = self;
        let part = Part { index: 0, of: 1 };
        let setup = Setup {
            part,
            thresholds: header::exact_thresholds(plan),
            bound: assay_engine::in_flight_bound(plan, part),
            start: Instant::ZERO,
            run: plan.load.seed as u32,
            limits: how.manner.limits,
            ledger: None,
            gates: None,
        };
        let engine = BTreeMap::from([
            ("engine".to_owned(), "simulation".to_owned()),
            ("workers".to_owned(), "1".to_owned()),
            ("clock".to_owned(), "virtual".to_owned()),
            ("in-flight bound".to_owned(), format!("{}{}", plan.load.in_flight_bound, plan.load.lanes_in_words())),
        ]);
        let header = header::make_header(plan, header_facts(plan, targets, cache, how, engine, None));
        let rest = VirtualRun { plan, header, cache, log, observer, stop };
        match cache {
            None => Ok(rest.run_to_end(Worker::new(plan, bank, setup).ok_or_else(too_large)?.with_foretelling())),
            Some(cache) => {
                let slots = assay_engine::slots_upper_bound(plan, part, setup.bound);
                let bank = cache.cached_device(bank, slots, |now| now);
                Ok(rest.run_to_end(Worker::new(plan, bank, setup).ok_or_else(too_large)?))
            }
        }
    }
}

/// The parts of a run in virtual time beside its worker.
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
}
