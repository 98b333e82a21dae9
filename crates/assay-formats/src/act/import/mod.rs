//! Converts a log that ACT wrote to entries of a run log, so that the same judge judges it.
//!
//! A log of ACT counts from its start; an interval here is the difference between two of its blocks. What ACT does not
//! record stays unknown, and the header's watermarks state the consequences:
//!
//! - 6.x records how long the device took (service) and nothing about the time before (response). Up to 5.x `reads` is
//!   measured from the moment a request was queued, which is response ([`counts_waiting`]), and `device-reads` is
//!   service. The criteria are judged on what is there.
//! - The planned load is what the arithmetic of the ACT that wrote the log makes of its configuration ([`schedule`]);
//!   where that is less than the configuration asks for, a watermark says so. Operations that are missing from it are
//!   counted as waiting. The cause is the device where ACT's large-block or cache threads spent half of their time with
//!   it; if service threads are behind, there may be too few of them, so nothing is proven.
//! - The time after the last whole slice is not judged, as in ACT's analyzer; an error in it counts.
//! - Buckets of microseconds do not have a boundary at 1 ms: 1024 µs replaces it, 8192 µs replaces 8 ms, 65536 µs
//!   replaces 64 ms.
//! - There are no sums and no largest values: [`KNOWS_NO_MEANS`] tells the reader of a judgement.

mod schedule;

use super::log::{BUCKETS, Block, Event as Line, Header as Head, Item, LineKind, Log, LogError, Program, Unit};
use assay_base::{Bound, Code, Criterion, Direction, Measure, Multiple, Rate, Share, Span};
use assay_record::{
    Close, CloseReason, Entry, Event, EventKind, FlowHead, FlowInterval, Header, Interval, PhaseHead, PhaseKind,
    StreamHead, TargetHead, Timing,
};
use schedule::Schedule;
use std::collections::BTreeMap;
use std::io::BufRead;

/// The remark for every judgement of an ACT log.
pub const KNOWS_NO_MEANS: &str = "an ACT log holds counts per power of two: no means, maxima or percentiles";
/// The duration of ACT's procedure, where a log does not give one.
const DAY: Span = Span::from_secs(86_400);
/// The largest boundary: 2^40 units are more than a year, both in milliseconds and in microseconds.
const LARGEST: u32 = 40;
/// The target of histograms over several devices.
const TOGETHER: &str = "all devices";
/// The kind of that target, which is not a device.
pub const TOGETHER_KIND: &str = "devices";
/// The phase after the last whole slice, where there is one. It is not judged.
const REST: &str = "behind the last whole slice";
/// Number of lines without measurements that become events; further ones are counted.
const EVENTS: usize = 1000;

/// Whether a text with this beginning is a log of ACT: its banner is at the beginning of a line.
pub fn looks_like(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    text.lines().take(200).any(|line| line.starts_with("ACT version ") || line.starts_with("Aerospike act version "))
}

/// Reads a log and passes its entries to `sink`, in order. `slice` is the judging window.
pub fn entries<R: BufRead>(file: &str, input: R, slice: Span, sink: &mut dyn FnMut(Entry)) -> Result<(), LogError> {
    let mut log = Log::open(file, input)?;
    let mut import: Option<Import> = None;
    let mut early: Vec<Line> = log.header().remarks.clone();
    if early.iter().any(|line| line.kind == LineKind::SecondRun) {
        return Err(second_run(&log));
    }
    while let Some(item) = log.next().transpose()? {
        match (item, &mut import) {
            (Item::Event(Line { kind: LineKind::SecondRun, .. }), _) => return Err(second_run(&log)),
            (Item::Event(line), Some(import)) => import.line(line, sink),
            (Item::Event(line), None) => early.push(line),
            (Item::Block(block), Some(import)) => import.block(&block, &log, sink)?,
            (Item::Block(block), None) => {
                let begun = import.insert(Import::new(&log, slice));
                begun.begin(&mut early, sink);
                begun.block(&block, &log, sink)?;
            }
        }
    }
    let mut import = import.unwrap_or_else(|| {
        let mut import = Import::new(&log, slice);
        import.begin(&mut early, sink);
        import
    });
    import.end(sink);
    Ok(())
}

/// The logs of two runs in one file: a verdict on the first would be taken for one on both.
fn second_run<R: BufRead>(log: &Log<R>) -> LogError {
    log.fault_here("another run begins in the same log", "cut the file before this line, and judge each run for itself")
}

/// The state of one histogram.
struct Flow {
    /// Its name in the log.
    name: String,
    write: bool,
    /// Number of ACT's threads that carry it.
    threads: Option<u64>,
    /// Whether these threads serve only the drives.
    bound_to_drives: bool,
    /// Bytes of one operation; 0 where they vary, and where another histogram counts the same operations.
    bytes: u64,
    /// Counts up to the previous block.
    buckets: [u64; BUCKETS],
    /// Operations counted as scheduled and as ended so far.
    scheduled: u64,
    ended: u64,
    /// Failed operations since the previous block, by name.
    errors: BTreeMap<String, u64>,
    /// Whether the device kept its threads busy in the last interval.
    busy: bool,
}

struct Import {
    head: Head,
    header: Header,
    flows: Vec<Flow>,
    schedule: Schedule,
    planned: Span,
    after: Span,
    intervals: u64,
    next_index: u64,
    events: usize,
    /// How ACT ended early, if it did.
    stopped: Option<CloseReason>,
    why: String,
}

impl Import {
    fn new<R: BufRead>(log: &Log<R>, slice: Span) -> Import {
        let head = log.header().clone();
        let names = if log.names().is_empty() { &head.listed } else { log.names() };
        let flows: Vec<Flow> = names.iter().map(|name| flow(&head, name)).collect();
        let schedule = Schedule::new(&head, names);
        let planned = planned(&head);
        let header = header(&head, &flows, &schedule, planned, whole_intervals(&head, slice));
        Import {
            head,
            header,
            flows,
            schedule,
            planned,
            after: Span::ZERO,
            intervals: 0,
            next_index: 0,
            events: 0,
            stopped: None,
            why: String::new(),
        }
    }

    fn begin(&mut self, early: &mut Vec<Line>, sink: &mut dyn FnMut(Entry)) {
        sink(Entry::Header(Box::new(self.header.clone())));
        for line in early.drain(..) {
            self.line(line, sink);
        }
    }

    /// Takes a line that is not a measurement.
    fn line(&mut self, line: Line, sink: &mut dyn FnMut(Entry)) {
        let what = match line.kind {
            LineKind::IoError => {
                self.failed(&line.text);
                EventKind::IoError
            }
            LineKind::Lag | LineKind::Stopped => {
                self.stopped.get_or_insert(cause_of_lag(&line.text));
                EventKind::LagStop
            }
            LineKind::Crashed => {
                self.stopped = Some(CloseReason::EngineFailed);
                EventKind::Warning
            }
            // The log of a second run is refused before it comes here.
            LineKind::SecondRun | LineKind::Other => EventKind::Warning,
        };
        let words = line.text.trim_start_matches("ERROR: ");
        let ending = what == EventKind::LagStop || line.kind == LineKind::Crashed;
        if ending && !self.why.contains(words) {
            let joint = if self.why.is_empty() { "ACT: " } else { "; " };
            self.why = format!("{}{joint}{words}", self.why);
        }
        self.events += 1;
        if self.events <= EVENTS {
            let details = BTreeMap::from([("line".to_owned(), line.line.to_string())]);
            sink(Entry::Event(Event { at_ns: self.after.as_ns(), what, text: line.text, details }));
        }
    }

    /// `ERROR: reading D: 5 'Input/output error'`: counted with the device's operations in that direction.
    fn failed(&mut self, text: &str) {
        let write = text.starts_with("ERROR: writing ");
        let rest = text.trim_start_matches("ERROR: ").split_once(' ').map_or("", |(_, rest)| rest);
        let (device, errno) = rest.rsplit_once(": ").unwrap_or((rest, ""));
        let number = errno.split(' ').next().and_then(|n| n.parse().ok());
        let name = number.map_or_else(|| "unknown".to_owned(), |number| Code(number).to_string());
        let own = format!("{device}-{}", if write { "writes" } else { "reads" });
        let place = self.flows.iter().position(|flow| flow.name == own);
        let place = place.or_else(|| self.flows.iter().position(|flow| flow.write == write)).unwrap_or(0);
        if let Some(flow) = self.flows.get_mut(place) {
            *flow.errors.entry(name).or_default() += 1;
        }
    }

    fn block<R: BufRead>(&mut self, block: &Block, log: &Log<R>, sink: &mut dyn FnMut(Entry)) -> Result<(), LogError> {
        if !block.complete {
            self.why = "the log breaks off within a block".to_owned();
            return Ok(());
        }
        let length = Span::from_ns(block.after.as_ns().saturating_sub(self.after.as_ns()));
        let regular = self.head.interval.as_ns().max(1);
        let index = (block.after.as_ns() / regular).saturating_sub(1).max(self.next_index);
        let mut all = Vec::new();
        for flow in &self.flows {
            let known = log.names().iter().position(|name| *name == flow.name);
            let reading = block.readings.iter().find(|reading| Some(reading.histogram) == known);
            let buckets = reading.map_or([0; BUCKETS], |reading| reading.buckets);
            if buckets.iter().zip(&flow.buckets).any(|(now, before)| now < before) {
                let message = format!("the counts of {} go back", flow.name);
                return Err(log.fault_here(message, "give the log of one run, unchanged"));
            }
            all.push(buckets);
        }
        let flows = self.advance(&all, block.after, length);
        let interval = self.interval(index, block.after, flows);
        sink(Entry::Interval(interval));
        Ok(())
    }

    /// Advances all histograms to the end of the interval of `length` up to `after`, where the log counts `buckets`.
    fn advance(&mut self, buckets: &[[u64; BUCKETS]], after: Span, length: Span) -> Vec<FlowInterval> {
        let ended: Vec<u64> = self.flows.iter().zip(buckets).map(|(flow, buckets)| flow.ended_with(buckets)).collect();
        let behind = self.schedule.operations_behind(after, &ended);
        let unit = self.head.unit;
        let flows = self.flows.iter_mut().zip(buckets).zip(behind);
        flows.map(|((flow, buckets), behind)| flow.advance(buckets, behind, length, unit)).collect()
    }

    /// The interval up to `end`, which then counts as reached.
    fn interval(&mut self, index: u64, end: Span, flows: Vec<FlowInterval>) -> Interval {
        let start_ns = std::mem::replace(&mut self.after, end).as_ns();
        self.next_index = index + 1;
        self.intervals += 1;
        let judged = self.header.phases[0].span_ns;
        let phase = u16::from(self.header.phases.len() > 1 && start_ns >= judged);
        Interval { index, start_ns, end_ns: end.as_ns(), phase, flows, ..Interval::default() }
    }

    /// A log that was cut gets no closing line here either.
    fn end(&mut self, sink: &mut dyn FnMut(Entry)) {
        if self.flows.iter().any(|flow| !flow.errors.is_empty()) {
            // Errors after the last block.
            let buckets: Vec<_> = self.flows.iter().map(|flow| flow.buckets).collect();
            let after = self.after;
            let flows = self.advance(&buckets, after, Span::ZERO);
            sink(Entry::Interval(self.interval(self.next_index, after, flows)));
        }
        let reason = match self.stopped {
            Some(reason) => reason,
            None if self.after >= self.planned => CloseReason::Completed,
            None => return,
        };
        let ended = self.flows.iter().map(|flow| flow.ended).fold(0u64, u64::saturating_add);
        let text = if self.why.is_empty() { "ACT ran to its end".to_owned() } else { self.why.clone() };
        sink(Entry::Close(Close {
            reason,
            at_ns: self.after.as_ns(),
            text,
            intervals: self.intervals,
            issued: ended,
            completed: ended,
            stuck: 0,
        }));
    }
}

impl Flow {
    /// Operations that have ended when the log counts `buckets`, including those that failed since the previous block.
    fn ended_with(&self, buckets: &[u64; BUCKETS]) -> u64 {
        let ok = buckets.iter().zip(&self.buckets).fold(0u64, |sum, (now, before)| sum.saturating_add(now - before));
        self.errors.values().fold(self.ended.saturating_add(ok), |sum, n| sum.saturating_add(*n))
    }

    /// The interval of `length`, at whose end the log counts `buckets`, and `behind` operations are due and have not
    /// ended.
    fn advance(&mut self, buckets: &[u64; BUCKETS], behind: u64, length: Span, unit: Unit) -> FlowInterval {
        let new: Vec<u64> = buckets.iter().zip(&self.buckets).map(|(now, before)| now - before).collect();
        self.buckets = *buckets;
        let errors = std::mem::take(&mut self.errors);
        let ok = new.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
        let ended = errors.values().fold(ok, |sum, n| sum.saturating_add(*n));
        self.ended = self.ended.saturating_add(ended);
        let before = self.scheduled;
        self.scheduled = self.ended.saturating_add(behind).max(before);
        // Each of ACT's threads may have one operation in flight.
        let behind = self.scheduled - self.ended;
        let in_flight = behind.min(self.threads.unwrap_or(0));
        self.busy = self.keeps_busy(&new, length, unit);
        let service = Timing { counts: Timing::sparse(&dense(&new)), ..Timing::default() };
        // The cause of a delay is the device where ACT's threads were busy with it, otherwise ACT.
        FlowInterval {
            scheduled: self.scheduled - before,
            issued: ended,
            ok,
            errors,
            in_flight,
            waiting: behind - in_flight,
            response: service.clone(),
            service,
            lag: lag(ended, behind > in_flight),
            own_lag: lag(ended, behind > in_flight && !self.busy),
            bytes: ok.saturating_mul(self.bytes),
            ..FlowInterval::default()
        }
    }

    /// Whether the threads spent at least half of the interval with the device. An operation in a bucket counts with
    /// the middle of its bounds.
    fn keeps_busy(&self, new: &[u64], length: Span, unit: Unit) -> bool {
        let Some(threads) = self.threads.filter(|_| self.bound_to_drives) else { return false };
        let busy: f64 = new.iter().enumerate().map(|(bucket, n)| *n as f64 * middle_of_bucket(bucket)).sum();
        let busy = busy * unit.span().as_secs_f64();
        busy >= 0.5 * threads as f64 * length.as_secs_f64()
    }
}

/// The lag of operations, of which the log says only whether there was any.
fn lag(operations: u64, any: bool) -> Timing {
    Timing { sum_ns: u64::from(any), max_ns: 0, counts: Timing::sparse(&[operations]) }
}

/// The middle of the bounds of a bucket, in units of the log.
fn middle_of_bucket(bucket: usize) -> f64 {
    if bucket == 0 { 0.0 } else { 1.5 * ((bucket - 1) as f64).exp2() }
}

/// ACT's own distinction: large-block and cache threads serve only the drives. Service threads that lag do not "mean
/// the devices failed" (README, max-lag-sec): there may be too few of them.
fn cause_of_lag(text: &str) -> CloseReason {
    let drives = ["large block", "cache thread", "drive(s)"].iter().any(|words| text.contains(words));
    if drives { CloseReason::DeviceLag } else { CloseReason::GeneratorLag }
}

/// ACT's buckets as buckets between our boundaries.
fn dense(buckets: &[u64]) -> Vec<u64> {
    let last = LARGEST as usize + 1;
    let mut dense = vec![0u64; last + 1];
    for (bucket, n) in buckets.iter().enumerate() {
        let cell = &mut dense[bucket.min(last)];
        *cell = cell.saturating_add(*n);
    }
    dense
}

/// ACT ends with a report: a test of 10 s with a report every 3 s takes 12 s.
fn planned(head: &Head) -> Span {
    let asked = head.item("test-duration-sec").and_then(|text| text.parse::<u32>().ok());
    let asked = asked.map_or(DAY, |seconds| Span::from_secs(seconds.into()));
    let interval = head.interval.as_ns().max(1);
    Span::from_ns(asked.as_ns().div_ceil(interval).saturating_mul(interval))
}

/// A number of the configuration.
fn number(head: &Head, key: &str) -> Option<u64> {
    head.item(key).and_then(|text| text.parse::<u64>().ok())
}

fn flow(head: &Head, name: &str) -> Flow {
    let devices = number(head, "num-devices").unwrap_or(head.devices.len() as u64).max(1);
    let queues = number(head, "num-queues")
        .zip(number(head, "threads-per-queue"))
        .map(|(queues, threads)| queues.saturating_mul(threads));
    let service = number(head, "service-threads").or(queues);
    let threads = match (name, head.program) {
        ("large-block-reads" | "large-block-writes", _) => Some(devices),
        ("writes" | "device-writes", Program::Index) => number(head, "cache-threads"),
        ("reads" | "writes" | "trans-reads" | "device-reads", _) => service,
        _ => None,
    };
    Flow {
        name: name.to_owned(),
        write: name.ends_with("writes"),
        threads,
        bound_to_drives: name.starts_with("large-block-")
            || (head.program == Program::Index && matches!(name, "writes" | "device-writes")),
        bytes: bytes(head, name),
        buckets: [0; BUCKETS],
        scheduled: 0,
        ended: 0,
        errors: BTreeMap::new(),
        busy: false,
    }
}

fn bytes(head: &Head, name: &str) -> u64 {
    let minimum = head.devices.first().and_then(|line| line.minimum_io).unwrap_or(512).max(1);
    let record = number(head, "record-bytes").unwrap_or(0).div_ceil(minimum).saturating_mul(minimum);
    match (head.program, name) {
        (Program::Index, "reads" | "writes" | "device-reads" | "device-writes") => 4096,
        (_, "large-block-reads" | "large-block-writes") => {
            number(head, "large-block-op-kbytes").unwrap_or(0).saturating_mul(1024)
        }
        (Program::Act | Program::Storage, "reads" | "writes")
            if number(head, "record-bytes-range-max").unwrap_or(0) == 0 =>
        {
            record
        }
        _ => 0,
    }
}

/// The load as a multiple of ACT's 1x, where it is a multiple.
fn load(head: &Head, devices: u64) -> String {
    let rates = number(head, "read-reqs-per-sec").zip(number(head, "write-reqs-per-sec"));
    let together = rates.and_then(|(reads, writes)| assay_model::act::standard(reads, writes));
    let multiple = together.and_then(|together| together.per(Multiple::whole(devices)));
    let named = multiple.map_or_else(|| "its own load".to_owned(), |multiple| multiple.to_string());
    if schedule::shortfalls(head).is_empty() { named } else { format!("{named} as ACT offers it") }
}

fn header(head: &Head, flows: &[Flow], schedule: &Schedule, planned: Span, slice: Span) -> Header {
    let names: Vec<String> = device_names(head);
    let several = names.len() != 1;
    let mut targets: Vec<TargetHead> = Vec::new();
    if several {
        targets.push(TargetHead { name: TOGETHER.to_owned(), kind: TOGETHER_KIND.to_owned(), ..TargetHead::default() });
    }
    targets.extend(names.iter().map(|name| {
        let line = head.devices.iter().find(|line| line.name == *name);
        TargetHead {
            name: name.clone(),
            kind: "block device".to_owned(),
            size_bytes: line.map_or(0, |line| line.size),
            block_bytes: line.and_then(|line| line.minimum_io).map_or(0, |size| size as u32),
            ..TargetHead::default()
        }
    }));
    let program = match head.program {
        Program::Index => "act-index",
        Program::Act | Program::Storage => "act-storage",
    };
    let placed = flows
        .iter()
        .enumerate()
        .map(|(stream, flow)| FlowHead { stream: stream as u16, target: target_of(flow, &names) });
    Header {
        format: assay_record::header::FORMAT,
        tool: format!("ACT {}", head.version),
        created: "unknown".to_owned(),
        clocks: None,
        signer: None,
        name: format!("ACT {} log", head.version),
        step: None,
        continues: false,
        measured_before_ns: 0,
        seed: 0,
        model: program.to_owned(),
        load: load(head, names.len().max(1) as u64),
        slice_ns: slice.as_ns(),
        interval_ns: head.interval.as_ns(),
        phases: phases(planned, slice),
        streams: flows.iter().enumerate().map(|(index, flow)| stream(head, flow, schedule.rate(index))).collect(),
        flows: placed.collect(),
        targets,
        cache: None,
        meters: Vec::new(),
        loops: Vec::new(),
        watched: Vec::new(),
        unwatched: Vec::new(),
        databases: Vec::new(),
        per_minute: Vec::new(),
        thresholds_ns: (0..=LARGEST).map(|e| head.unit.span().as_ns() << e).collect(),
        criteria: criteria(head, flows, several, slice),
        max_lag_ns: head
            .item("max-lag-sec")
            .and_then(|n| n.parse::<u64>().ok())
            .unwrap_or(0)
            .saturating_mul(1_000_000_000),
        lateness: false,
        watermarks: watermarks(head, planned, slice),
        engine: BTreeMap::from([("engine".to_owned(), format!("ACT {}", head.version))]),
        host: BTreeMap::new(),
        plan: plan(head),
    }
}

/// The index of the target of a flow. Where there are several devices, the first target stands for all of them.
fn target_of(flow: &Flow, names: &[String]) -> u16 {
    let device = flow.name.strip_suffix("-reads").or(flow.name.strip_suffix("-writes"));
    let place = device.and_then(|device| names.iter().position(|name| name == device));
    place.map_or(0, |place| place + usize::from(names.len() != 1)) as u16
}

fn stream(head: &Head, flow: &Flow, rate: Option<Rate>) -> StreamHead {
    StreamHead {
        name: flow.name.clone(),
        direction: Some(if flow.write { Direction::Write } else { Direction::Read }),
        operation: None,
        arrival: if rate.is_some() { "steady".to_owned() } else { "unknown".to_owned() },
        rate,
        size: size(head, &flow.name),
        size_done: String::new(),
        per_target: false,
    }
}

/// Device names from the configuration; those of 3.x and 4.x are in the lines with their sizes.
fn device_names(head: &Head) -> Vec<String> {
    let written = head.item("device-names").unwrap_or("");
    let names: Vec<String> =
        written.split([' ', ',', ';']).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    if names.is_empty() { head.devices.iter().map(|line| line.name.clone()).collect() } else { names }
}

fn size(head: &Head, name: &str) -> String {
    let large = head.item("large-block-op-kbytes").map(|kbytes| format!("{kbytes}KiB"));
    match (head.program, name.contains("large-block")) {
        (Program::Index, _) => "4KiB".to_owned(),
        (_, true) => large.unwrap_or_else(|| "unknown".to_owned()),
        (_, false) => head.item("record-bytes").map_or_else(|| "unknown".to_owned(), |bytes| format!("{bytes}B")),
    }
}

/// The standard criteria on all reads and, where there are several devices, on the reads of each.
fn criteria(head: &Head, flows: &[Flow], several: bool, slice: Span) -> Vec<Criterion> {
    let over = match head.unit {
        Unit::Milliseconds => [1, 8, 64].map(Span::from_ms),
        Unit::Microseconds => [1 << 10, 1 << 13, 1 << 16].map(Span::from_us),
    };
    let below = [Share::from_percent(5), Share::from_percent(1), Share::from_ppb(1_000_000)];
    let devices = device_names(head);
    let mut criteria = Vec::new();
    for flow in flows.iter().filter(|flow| is_judged(&flow.name, several, &devices)) {
        criteria.extend(over.into_iter().zip(below).map(|(over, below)| Criterion {
            stream: flow.name.clone(),
            measure: if head.major < 6 && queued(&flow.name) { Measure::Response } else { Measure::Service },
            bound: Bound::Over { over, below },
            window: Some(slice),
        }));
    }
    criteria
}

/// Whether the criteria are on the histogram with this name.
fn is_judged(name: &str, several: bool, devices: &[String]) -> bool {
    let device = name.strip_suffix("-reads");
    matches!(name, "reads" | "trans-reads") || several && device.is_some_and(|d| devices.iter().any(|known| known == d))
}

/// The judged phase, and the phase after the last whole slice. A test shorter than a slice is one slice.
fn phases(planned: Span, slice: Span) -> Vec<PhaseHead> {
    let judged = judged(planned, slice).as_ns();
    let mut phases = vec![phase("measure", PhaseKind::Measure, judged)];
    if judged < planned.as_ns() {
        phases.push(phase(REST, PhaseKind::WarmUp, planned.as_ns() - judged));
    }
    phases
}

fn phase(name: &str, kind: PhaseKind, span_ns: u64) -> PhaseHead {
    PhaseHead { name: name.to_owned(), kind, span_ns, steady_round_ns: None, until_done: false }
}

/// The whole slices of `planned`; all of it where it is shorter than one slice.
fn judged(planned: Span, slice: Span) -> Span {
    let (planned, slice) = (planned.as_ns(), slice.as_ns().max(1));
    Span::from_ns(if planned < slice { planned } else { planned / slice * slice })
}

/// Rounds a slice up to whole report intervals, like ACT's analyzer.
fn whole_intervals(head: &Head, slice: Span) -> Span {
    let interval = head.interval.as_ns().max(1);
    Span::from_ns(slice.as_ns().max(1).div_ceil(interval).saturating_mul(interval))
}

/// Whether the times of `stream` in the log that `header` was made from include the time in ACT's queues: then they are
/// response, not service. That is so up to 5.x for streams that are not named after a device.
pub fn counts_waiting(header: &Header, stream: &str) -> bool {
    let version = header.tool.strip_prefix("ACT ").and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    version.is_some_and(|major| major < 6) && queued(stream)
}

fn queued(stream: &str) -> bool {
    matches!(stream, "reads" | "writes" | "trans-reads")
}

fn watermarks(head: &Head, planned: Span, slice: Span) -> Vec<String> {
    let measured = match head.major {
        6.. => "service time only; what users waited (response) is unknown".to_owned(),
        _ => "response begins when ACT queued a request; service is that of the device histograms".to_owned(),
    };
    let mut marks = vec![format!("ACT {} LOG: {measured}", head.version)];
    if head.unit == Unit::Microseconds {
        marks.push("ACT LOG IN MICROSECONDS: judged at 1024, 8192 and 65536 µs".to_owned());
    }
    marks.extend(schedule::shortfalls(head));
    let rest = planned.as_ns() - judged(planned, slice).as_ns();
    if rest > 0 {
        let rest = Span::from_ns(rest);
        marks.push(format!("REST: the last {rest} are not a whole slice and are not judged, as in ACT's analyzer"));
    }
    if planned < DAY {
        marks.push(format!("SHORT: {planned} planned, ACT's procedure asks for {DAY}"));
    }
    marks
}

/// The plan of the run as the log itself states it, in its own words.
fn plan(head: &Head) -> serde_json::Value {
    serde_json::json!({ "act": { "configuration": object(&head.items), "derived": object(&head.derived) } })
}

fn object(items: &[(String, String)]) -> serde_json::Value {
    let pairs = items.iter().map(|(key, value)| (key.clone(), serde_json::Value::String(value.clone())));
    serde_json::Value::Object(pairs.collect())
}
