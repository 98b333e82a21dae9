//! Runs one plan: workers on their threads, or one in virtual time, and the collecting of what they record into the log.

mod meters;
mod real;

use crate::cli::Output;
use crate::failure::{Failure, shown, tell};
use crate::header::{self, Around};
use crate::integrity;
use crate::logfile::LogFile;
use crate::progress::Progress;
use crate::records::{Mark, Records};
use crate::rundir;
use crate::signals::StopCell;
use crate::targets::Targets;
use crate::watch::Readings;
use assay_base::{Instant, Span};
use assay_device::select::Choice;
use assay_device::sim::Bank;
use assay_engine::shell::{Sink, Spin};
use assay_engine::{Limits, Settled, Settling, Setup, Totals, Worker, run_virtual};
use assay_model::Plan;
use assay_model::arrival::Part;
use assay_record::{
    ClockSample, Close, CloseReason, DiskCounters, Entry, Event, EventKind, FlowHead, FlowInterval, Frame, Header,
    HostSample, Interval, StepHead,
};
use real::Real;
use std::collections::BTreeMap;

/// How a plan is carried out.
#[derive(Clone, Debug, Default)]
pub struct Drive {
    /// Engine asked for.
    pub engine: Choice,
    /// Workers asked for.
    pub workers: Option<u16>,
    /// Spinning asked for.
    pub spin: Option<Spin>,
    /// How long operations are waited for.
    pub limits: Limits,
    /// Step of a certification.
    pub step: Option<StepHead>,
    /// What limits what the result proves, besides the targets' own.
    pub watermarks: Vec<String>,
    /// Preparations of the targets.
    pub prepared: Vec<Option<assay_record::Preparation>>,
    /// Measured time of this step that the log already holds, when it is continued, in nanoseconds.
    pub measured_before_ns: Option<u64>,
    /// Id of the key that will sign the result.
    pub signer: Option<String>,
    /// Other clocks than the machine's, for a test.
    pub readings: Option<Readings>,
}

/// The limits of a run, as asked for.
pub fn limits(output: &Output) -> Limits {
    let usual = Limits::default();
    Limits { drain: output.drain.unwrap_or(usual.drain), stuck: output.stuck.unwrap_or(usual.stuck), ..usual }
}

/// Runs `plan` on the first `plan.targets` of `targets` and appends a whole segment to `log`.
pub fn drive(
    plan: &Plan,
    targets: &Targets,
    how: &Drive,
    log: &mut LogFile,
    progress: &mut Progress,
    stop: &StopCell,
) -> Result<CloseReason, Failure> {
    let ready = integrity::possible(plan, targets)
        .and_then(|()| log.reserve(room(plan, targets, how)))
        .and_then(|()| targets.recheck());
    if let Err(failure) = ready {
        log.forget_unbegun();
        return Err(failure);
    }
    let marks: Vec<Option<Mark>> = targets.real().iter().map(Mark::of).collect();
    let result = match targets {
        Targets::Simulated(all) => {
            let specs = all.iter().take(usize::from(plan.targets)).map(|(_, spec)| spec.clone()).collect();
            simulated(plan, targets, how, Bank::new(plan.seed, specs), log, progress, stop)
        }
        _ => Real::new(plan, targets, how, stop).run(log, progress),
    };
    if result.is_err() {
        log.forget_unbegun();
    }
    if plan.writes() {
        let records = Records::host();
        targets.real().iter().zip(&marks).for_each(|(real, before)| records.wrote(real, before.as_ref()));
    }
    match (result, log.failure()) {
        (Ok(_), Some(why)) if log.is_empty() => {
            Err(Failure::incomplete(format!("the run log {} could not be kept: {why}", shown(log.path()))))
        }
        // What it holds is valid, and is judged.
        (Ok(_), Some(why)) => {
            tell(&format!(
                "error: the run log {} could not be kept: {why}; what follows is made of what it holds up to there",
                shown(log.path())
            ));
            Ok(CloseReason::LogFailed)
        }
        (result, _) => result,
    }
}

/// What the log of this step and of those after it will take, from what logs of real runs took: 300 to 980 bytes a flow and
/// interval, 2 to 16 KB a flow for the distributions of ten seconds.
fn room(plan: &Plan, targets: &Targets, how: &Drive) -> u64 {
    const HEAD: u64 = 64 << 10;
    const INTERVAL: (u64, u64) = (300, 700);
    const DISTRIBUTIONS: u64 = 8 << 10;
    let steps = how.step.as_ref().map_or(1, |step| u64::from(step.of - step.number.min(step.of) + 1));
    let flows = (plan.streams.len() * targets.len()) as u64;
    let intervals = plan.length().as_ns() / plan.interval.as_ns().max(1) + 2;
    let tens = plan.length().as_ns() / Span::from_secs(10).as_ns() + plan.phases.len() as u64;
    let step = intervals
        .saturating_mul(INTERVAL.0 + flows * INTERVAL.1)
        .saturating_add(tens.saturating_mul(flows * DISTRIBUTIONS));
    step.saturating_add(HEAD).saturating_mul(steps)
}

fn around(
    plan: &Plan,
    targets: &Targets,
    how: &Drive,
    engine: BTreeMap<String, String>,
    clocks: Option<ClockSample>,
) -> Around {
    // Simulated time begins with the epoch, so that equal runs have equal logs.
    let created = match targets {
        Targets::Simulated(_) => rundir::moment(0),
        _ => clocks.map_or_else(rundir::timestamp, |clocks| rundir::moment(clocks.real_ns)),
    };
    let count = usize::from(plan.targets);
    let mut heads = targets.heads(count);
    for (head, prepared) in heads.iter_mut().zip(&how.prepared) {
        head.prepared.clone_from(prepared);
    }
    let mut watermarks = how.watermarks.clone();
    watermarks.extend(targets.watermarks(count));
    let measured_before_ns = how.measured_before_ns;
    Around {
        created,
        step: how.step.clone(),
        measured_before_ns,
        clocks,
        signer: how.signer.clone(),
        lateness: false,
        watermarks,
        targets: heads,
        engine,
        host: header::host(targets),
    }
}

/// Whole intervals into the log.
struct Collector<'a> {
    log: &'a mut LogFile,
    progress: &'a mut Progress,
    intervals: u64,
    /// What the intervals so far hold.
    written: Totals,
    /// Where the warm-up waits.
    settling: Option<Settling>,
    /// When it ends, once that is decided.
    phase_end: Option<Instant>,
    /// Each flow by its names, and the one whose schedule fell behind, if one did.
    flows: Vec<String>,
    lagged: Option<String>,
}

/// What was looked at beside the operations of an interval; nothing in simulation.
#[derive(Default)]
struct Beside {
    disks: Vec<DiskCounters>,
    host: Option<HostSample>,
    clocks: Option<ClockSample>,
}

impl<'a> Collector<'a> {
    /// Opens a segment with its header.
    fn begin(plan: &Plan, header: Header, log: &'a mut LogFile, progress: &'a mut Progress) -> Collector<'a> {
        progress.start(&header);
        let name = |flow: &FlowHead| {
            let (stream, target) = (usize::from(flow.stream), usize::from(flow.target));
            format!("{} on {}", header.streams[stream].name, header.targets[target].name)
        };
        let flows = header.flows.iter().map(name).collect();
        log.write(&Entry::Header(Box::new(header)));
        let (settling, written) = (Settling::new(plan), Totals::default());
        Collector { log, progress, intervals: 0, written, settling, phase_end: None, flows, lagged: None }
    }

    fn interval(&mut self, frame: &Frame, beside: Beside) {
        let Beside { disks, host, clocks } = beside;
        let interval = Interval { disks, host, clocks, ..frame.interval() };
        let sum = |of: fn(&FlowInterval) -> u64| interval.flows.iter().map(of).sum::<u64>();
        self.written.issued += sum(|flow| flow.issued);
        self.written.completed += sum(FlowInterval::ended);
        self.written.stuck = sum(|flow| flow.stuck);
        self.progress.interval(&interval);
        let settled = self.settling.as_mut().and_then(|settling| settling.interval(&interval));
        self.log.write(&Entry::Interval(interval));
        if let Some(histograms) = frame.histograms() {
            self.log.write(&Entry::Histograms(histograms));
        }
        self.intervals += 1;
        if let Some(Settled { end, event }) = settled {
            self.phase_end = end;
            self.event(event);
        }
    }

    fn event(&mut self, event: Event) {
        self.progress.event(&event);
        if event.what == EventKind::LagStop && self.lagged.is_none() {
            let flow = event.details.get("flow").and_then(|flow| flow.parse::<usize>().ok());
            self.lagged = flow.and_then(|flow| self.flows.get(flow).cloned());
        }
        self.log.write(&Entry::Event(event));
    }

    /// Who fell behind, and with what.
    fn behind(&self, who: &str) -> String {
        let what = self.lagged.as_deref().unwrap_or("the load");
        format!("{who} did not keep up with {what} within the time that the workload allows (max_lag)")
    }

    /// `why` is what is known of a worker that died, or of why the end was asked for.
    fn close(&mut self, reason: CloseReason, why: Option<&str>, at: Instant, totals: Totals) {
        let text = match reason {
            CloseReason::Completed => "all phases ran to their end",
            CloseReason::Interrupted => why.unwrap_or("a signal asked for the end"),
            CloseReason::DeviceLag => &self.behind("the device"),
            CloseReason::GeneratorLag => &self.behind("the test machine"),
            CloseReason::TargetLost => "a target was lost",
            CloseReason::LogFailed => "the log could not be kept",
            CloseReason::EngineFailed => why.unwrap_or("the engine could not submit"),
        };
        let Totals { issued, completed, stuck } = totals;
        self.log.close(Close {
            reason,
            at_ns: at.as_ns(),
            text: text.to_owned(),
            intervals: self.intervals,
            issued,
            completed,
            stuck,
        });
        self.progress.finish();
    }
}

/// Frames of the one virtual worker go straight into the log.
struct Direct<'a, 'b> {
    collector: &'b mut Collector<'a>,
    spent: Vec<Frame>,
    last: Instant,
}

impl Sink for Direct<'_, '_> {
    fn frame(&mut self, frame: Frame) {
        self.collector.interval(&frame, Beside::default());
        self.last = Instant::from_ns(frame.end_ns);
        self.spent.push(frame);
    }
    fn event(&mut self, event: Event) {
        self.collector.event(event);
    }
    fn spent(&mut self) -> Option<Frame> {
        self.spent.pop()
    }
    fn phase_end(&mut self) -> Option<Instant> {
        self.collector.phase_end
    }
}

fn simulated(
    plan: &Plan,
    targets: &Targets,
    how: &Drive,
    bank: Bank,
    log: &mut LogFile,
    progress: &mut Progress,
    stop: &StopCell,
) -> Result<CloseReason, Failure> {
    let part = Part { index: 0, of: 1 };
    let setup = Setup {
        part,
        thresholds: header::thresholds(plan),
        bound: Worker::<Bank>::bound(plan, part),
        start: Instant::ZERO,
        run: plan.seed as u32,
        limits: how.limits,
        ledger: None,
    };
    let mut worker = Worker::new(plan, bank, setup).ok_or_else(too_large)?;
    let engine = BTreeMap::from([
        ("engine".to_owned(), "simulation".to_owned()),
        ("workers".to_owned(), "1".to_owned()),
        ("clock".to_owned(), "virtual".to_owned()),
        ("in-flight bound".to_owned(), format!("{}{}", plan.in_flight_bound, plan.beside())),
    ]);
    let mut collector =
        Collector::begin(plan, header::header(plan, around(plan, targets, how, engine, None)), log, progress);
    let mut sink = Direct { collector: &mut collector, spent: Vec::new(), last: Instant::ZERO };
    run_virtual(&mut worker, Instant::ZERO, &mut sink, || stop.is_set());
    let end = sink.last;
    collector.close(worker.reason(), stop.why(), end, worker.totals());
    Ok(worker.reason())
}

fn too_large() -> Failure {
    Failure::workload("a rate of the plan is too large to be scheduled")
}
