//! A run in virtual time whose generator is late as the test says, through the real engine, log and judge.

use crate::devices::{Did, Kind, Simulated};
use assay_base::{Instant, Prng, Span};
use assay_engine::{Limits, Setup, Worker};
use assay_judge::{Judgement, Options, judge_log};
use assay_model::{PhaseKind as Planned, Plan, arrival::Part, workload};
use assay_record::{
    Close, DiskCounters, DiskWork, Entry, FlowHead, ForeignAccount, ForeignLoad, Header, Interval, LoopHead, OwnWork,
    PhaseHead, PhaseKind, Reader, StreamHead, TargetHead, Thresholds, WatchedDisk, Writer,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// When the generator cannot run. Times are in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct Late {
    pub seed: u64,
    /// Of a million wakes, this number is late, by a random time below `wakes_by`.
    pub wakes_ppm: u64,
    pub wakes_by: u64,
    /// The generator stands still for the last `stopped` of each period of `every`; 0 means never.
    pub every: u64,
    pub stopped: u64,
    /// Single stops: when each begins, and how long it lasts.
    pub once: Vec<(u64, u64)>,
}

impl Late {
    /// When the generator runs, if it should run at `at`; `number` says how often it ran before.
    fn runs(&self, at: u64, number: u64) -> u64 {
        let mut at = at;
        if self.wakes_ppm > 0 {
            let mut prng = Prng::for_path(self.seed, &[number]);
            if prng.uniform_below(1_000_000) < self.wakes_ppm {
                at += prng.uniform_below(self.wakes_by.max(1));
            }
        }
        let within = if self.every > 0 { at % self.every } else { 0 };
        if self.every > 0 && within >= self.every - self.stopped {
            at += self.every - within;
        }
        let still = self.once.iter().find(|(from, span)| (*from..from + span).contains(&at));
        still.map_or(at, |(from, span)| from + span)
    }
}

/// A wake that is later than this counts as disturbed, as in a real run.
const DISTURBED: Span = Span::from_us(100);

/// A plan of one stream, from the lines of its stream and of its criterion.
pub fn plan(head: &str, stream: &str, criterion: &str) -> Plan {
    let file = format!(
        "model = \"streams\"\n{head}\n[[stream]]\nname = \"s\"\nsize = \"4KiB\"\n{stream}\n\
         [[criterion]]\nstream = \"s\"\n{criterion}\n"
    );
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap_or_else(|e| panic!("{e:?}\n{file}")).make_plan(&adjust).unwrap()
}

fn header(plan: &Plan, thresholds: &Thresholds, lateness: bool) -> Header {
    let phase = |phase: &assay_model::Phase| PhaseHead {
        name: phase.name.clone(),
        kind: if phase.kind == Planned::Measure { PhaseKind::Measure } else { PhaseKind::WarmUp },
        span_ns: phase.span.as_ns(),
        steady_round_ns: None,
        until_done: phase.until_done,
    };
    let stream = &plan.load.streams[0];
    Header {
        format: 1,
        tool: "assay (test)".into(),
        created: "1970-01-01T00:00:00Z".into(),
        clocks: None,
        signer: None,
        name: "late".into(),
        step: None,
        continues: false,
        measured_before_ns: 0,
        seed: 1,
        model: "streams".into(),
        load: "1x".into(),
        slice_ns: plan.timing.slice.as_ns(),
        interval_ns: plan.timing.interval.as_ns(),
        phases: plan.timing.phases.iter().map(phase).collect(),
        streams: vec![StreamHead {
            name: "s".into(),
            direction: stream.data_direction(),
            operation: None,
            arrival: stream.arrival.arrival_name().into(),
            rate: stream.arrival.mean_rate(),
            size: "4KiB".into(),
            size_done: String::new(),
            per_target: false,
        }],
        flows: vec![FlowHead { stream: 0, target: 0 }],
        targets: vec![TargetHead {
            name: "disk".into(),
            size_bytes: 1 << 30,
            block_bytes: 512,
            ..TargetHead::default()
        }],
        hosts: Vec::new(),
        cache: None,
        meters: Vec::new(),
        loops: plan
            .closed_loops()
            .into_iter()
            .map(|it| LoopHead { flows: it.flows.iter().map(|flow| *flow as u32).collect(), slots: it.slots })
            .collect(),
        watched: Vec::new(),
        unwatched: Vec::new(),
        durability: Vec::new(),
        question: None,
        databases: Vec::new(),
        per_minute: Vec::new(),
        thresholds_ns: thresholds.bounds_ns().to_vec(),
        criteria: plan.criteria.clone(),
        max_lag_ns: plan.timing.max_lag.as_ns(),
        lateness,
        takes_marks: false,
        watermarks: Vec::new(),
        engine: BTreeMap::new(),
        host: BTreeMap::new(),
        plan: serde_json::to_value(plan).unwrap(),
    }
}

/// Where the disk lies that a neighbour uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is the target.
    Target,
    /// The target lies on it.
    Beneath,
}

/// Runs `plan` on a device that others may use, and counts what they do as a run on a real device does.
pub fn judged_beside(plan: &Plan, device: Simulated, bound: u32, late: &Late, place: Place) -> Judgement {
    let watched = WatchedDisk { name: "shared".into(), targets: vec![0], beneath: place == Place::Beneath };
    let log = logged(plan, device, bound, late, true, Counting::Everybody(watched));
    judge_log(Reader::new(&log[..]), &Options::default()).unwrap()
}

/// What a disk counts beside the operations of the run.
pub enum Counting {
    Nothing,
    /// Operations that a disk has merged.
    Merged(Rc<Cell<u64>>),
    /// All that the disk does, whoever asked for it.
    Everybody(WatchedDisk),
}

/// The device's counters, and what others did according to them.
#[derive(Default)]
struct Shared {
    account: ForeignAccount,
    before: Did,
}

impl Shared {
    /// What others did in an interval, from counters that were read at `now`.
    fn interval(&mut self, interval: &Interval, did: Did, now: u64) -> Vec<ForeignLoad> {
        let before = std::mem::replace(&mut self.before, did);
        let work = |reads, read_bytes| DiskWork { reads, read_bytes, ..DiskWork::default() };
        let counted = work(did.operations - before.operations, did.bytes - before.bytes);
        let flow = &interval.flows[0];
        let within = |ns| OwnWork::late_operations(flow.ended_operations(), ns, interval.end_ns - interval.start_ns);
        let late = within(now - interval.end_ns);
        let overslept = interval.lateness.first().map_or(0, |late| late.overslept.max_ns);
        let open = flow.in_flight + flow.stuck + late;
        let likely = within(1_000_000 + overslept).min(flow.in_flight) + late;
        let own = OwnWork {
            completed: work(flow.ended_operations(), flow.bytes),
            open: work(open, open * 4096),
            likely: work(likely, likely * 4096),
            caused: DiskWork::default(),
        };
        let foreign = self.account.account_interval(Some(counted), &own);
        ForeignLoad::new(0, foreign, counted).into_iter().collect()
    }
}

/// Runs `plan` on a device with a generator that is `late`, and judges the log. Unless `counted`, the log lacks the
/// counts of lateness, as logs of earlier versions do.
pub fn judged(plan: &Plan, kind: &Kind, device: Simulated, bound: u32, late: &Late, counted: bool) -> Judgement {
    let counting = match kind {
        Kind::Merges { carried, .. } => Counting::Merged(carried.clone()),
        _ => Counting::Nothing,
    };
    let log = logged(plan, device, bound, late, counted, counting);
    judge_log(Reader::new(&log[..]), &Options::default()).unwrap()
}

/// The log of such a run.
pub fn logged(plan: &Plan, device: Simulated, bound: u32, late: &Late, counted: bool, counting: Counting) -> Vec<u8> {
    let thresholds = Thresholds::new(plan.criteria.iter().filter_map(assay_base::Criterion::counted_threshold));
    let mut writer = Writer::new(Vec::new(), 0);
    let mut head = header(plan, &thresholds, counted);
    if let Counting::Everybody(watched) = &counting {
        head.watched.push(watched.clone());
    }
    writer.write_entry(&Entry::Header(Box::new(head))).unwrap();
    let mut shared = Shared::default();
    let part = Part { index: 0, of: 1 };
    let (start, limits) = (Instant::ZERO, Limits::default());
    let setup = Setup { part, thresholds, bound, start, run: 7, limits, ledger: None, gates: None };
    let mut worker = Worker::new(plan, device, setup).unwrap();
    let (mut now, mut number, mut intervals, mut before) = (Instant::ZERO, 0, 0, 0);
    loop {
        let step = worker.step(now);
        for event in worker.take_events().collect::<Vec<_>>() {
            writer.write_entry(&Entry::Event(event)).unwrap();
        }
        for frame in worker.take_frames().collect::<Vec<_>>() {
            let mut interval: Interval = frame.interval_line();
            if let Counting::Everybody(_) = &counting {
                interval.foreign = shared.interval(&interval, worker.device_mut().did(now.as_ns()), now.as_ns());
            }
            if let Counting::Merged(carried) = &counting {
                let reads = carried.get() - std::mem::replace(&mut before, carried.get());
                // Merging makes fewer operations, but moves the same bytes.
                let read_bytes = interval.flows[0].bytes;
                interval.disks = vec![DiskCounters { reads, read_bytes, ..DiskCounters::default() }];
            }
            if !counted {
                interval.lateness.clear();
                interval.flows.iter_mut().for_each(|flow| (flow.floor, flow.service_floor) = (None, None));
            }
            writer.write_entry(&Entry::Interval(interval)).unwrap();
            intervals += 1;
            worker.recycle_frame(frame);
        }
        if step.done {
            break;
        }
        // The worker waits as that of a real run does: until something is due, at most a millisecond while operations
        // are in flight, and until a completion comes, which it notices only by looking.
        let planned = now + worker.time_to_wait(step.wake.since(now));
        let wake = worker.device_mut().next_completion().map_or(planned, |at| at.min(planned)).max(now);
        let ended = Instant::from_ns(late.runs(wake.as_ns(), number));
        worker.note_watched(if ended.since(planned) > DISTURBED { now } else { planned.min(ended) });
        now = ended;
        number += 1;
    }
    let assay_engine::Totals { issued, completed, stuck } = worker.operation_totals();
    let close = Close {
        reason: worker.close_reason(),
        at_ns: now.as_ns(),
        text: String::new(),
        intervals,
        issued,
        completed,
        stuck,
    };
    writer.write_entry(&Entry::Close(close)).unwrap();
    writer.into_inner()
}
