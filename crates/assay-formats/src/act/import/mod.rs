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

mod flow;
mod header;
mod schedule;

pub use header::{TOGETHER_KIND, counts_waiting};

use super::log::{BUCKETS, Block, Event as Line, Header as Head, Item, LineKind, Log, LogError};
use assay_base::{Code, Span};
use assay_record::{Close, CloseReason, Entry, Event, EventKind, FlowInterval, Header, Interval};
use flow::Flow;
use header::{build_header, planned_time, whole_intervals};
use schedule::Schedule;
use std::collections::BTreeMap;
use std::io::BufRead;

/// The remark for every judgement of an ACT log.
pub const KNOWS_NO_MEANS: &str = "an ACT log holds counts per power of two: no means, maxima or percentiles";
/// Number of lines without measurements that become events; further ones are counted.
const EVENTS: usize = 1000;

/// Whether a text with this beginning is a log of ACT: its banner is at the beginning of a line.
pub fn looks_like(start: &[u8]) -> bool {
    let text = String::from_utf8_lossy(start);
    text.lines().take(200).any(|line| line.starts_with("ACT version ") || line.starts_with("Aerospike act version "))
}

/// Reads a log and passes its entries to `sink`, in order. `slice` is the judging window.
pub fn import_entries<R: BufRead>(
    file: &str,
    input: R,
    slice: Span,
    sink: &mut dyn FnMut(Entry),
) -> Result<(), LogError> {
    let mut log = Log::open(file, input)?;
    let mut import: Option<Import> = None;
    let mut early: Vec<Line> = log.header().remarks.clone();
    if early.iter().any(|line| line.kind == LineKind::SecondRun) {
        return Err(second_run(&log));
    }
    while let Some(item) = log.next().transpose()? {
        match (item, &mut import) {
            (Item::Event(Line { kind: LineKind::SecondRun, .. }), _) => return Err(second_run(&log)),
            (Item::Event(line), Some(import)) => import.take_line(line, sink),
            (Item::Event(line), None) => early.push(line),
            (Item::Block(block), Some(import)) => import.take_block(&block, &log, sink)?,
            (Item::Block(block), None) => {
                let begun = import.insert(Import::new(&log, slice));
                begun.emit_header(&mut early, sink);
                begun.take_block(&block, &log, sink)?;
            }
        }
    }
    let mut import = import.unwrap_or_else(|| {
        let mut import = Import::new(&log, slice);
        import.emit_header(&mut early, sink);
        import
    });
    import.end_log(sink);
    Ok(())
}

/// The logs of two runs in one file: a verdict on the first would be taken for one on both.
fn second_run<R: BufRead>(log: &Log<R>) -> LogError {
    log.fault_here("another run begins in the same log", "cut the file before this line, and judge each run for itself")
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
        let names = if log.histogram_names().is_empty() { &head.listed } else { log.histogram_names() };
        let flows: Vec<Flow> = names.iter().map(|name| Flow::new(&head, name)).collect();
        let schedule = Schedule::new(&head, names);
        let planned = planned_time(&head);
        let header = build_header(&head, &flows, &schedule, planned, whole_intervals(&head, slice));
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

    fn emit_header(&mut self, early: &mut Vec<Line>, sink: &mut dyn FnMut(Entry)) {
        sink(Entry::Header(Box::new(self.header.clone())));
        for line in early.drain(..) {
            self.take_line(line, sink);
        }
    }

    /// Takes a line that is not a measurement.
    fn take_line(&mut self, line: Line, sink: &mut dyn FnMut(Entry)) {
        let what = match line.kind {
            LineKind::IoError => {
                self.count_failed(&line.text);
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
    fn count_failed(&mut self, text: &str) {
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

    fn take_block<R: BufRead>(
        &mut self,
        block: &Block,
        log: &Log<R>,
        sink: &mut dyn FnMut(Entry),
    ) -> Result<(), LogError> {
        if !block.complete {
            self.why = "the log breaks off within a block".to_owned();
            return Ok(());
        }
        let length = Span::from_ns(block.after.as_ns().saturating_sub(self.after.as_ns()));
        let regular = self.head.interval.as_ns().max(1);
        let index = (block.after.as_ns() / regular).saturating_sub(1).max(self.next_index);
        let mut all = Vec::new();
        for flow in &self.flows {
            let known = log.histogram_names().iter().position(|name| *name == flow.name);
            let reading = block.readings.iter().find(|reading| Some(reading.histogram) == known);
            let buckets = reading.map_or([0; BUCKETS], |reading| reading.buckets);
            if buckets.iter().zip(&flow.buckets).any(|(now, before)| now < before) {
                let message = format!("the counts of {} go back", flow.name);
                return Err(log.fault_here(message, "give the log of one run, unchanged"));
            }
            all.push(buckets);
        }
        let flows = self.advance_flows(&all, block.after, length);
        let interval = self.build_interval(index, block.after, flows);
        sink(Entry::Interval(interval));
        Ok(())
    }

    /// Advances all histograms to the end of the interval of `length` up to `after`, where the log counts `buckets`.
    fn advance_flows(&mut self, buckets: &[[u64; BUCKETS]], after: Span, length: Span) -> Vec<FlowInterval> {
        let ended: Vec<u64> = self.flows.iter().zip(buckets).map(|(flow, buckets)| flow.ended_with(buckets)).collect();
        let behind = self.schedule.operations_behind(after, &ended);
        let unit = self.head.unit;
        let flows = self.flows.iter_mut().zip(buckets).zip(behind);
        flows.map(|((flow, buckets), behind)| flow.advance_interval(buckets, behind, length, unit)).collect()
    }

    /// The interval up to `end`, which then counts as reached.
    fn build_interval(&mut self, index: u64, end: Span, flows: Vec<FlowInterval>) -> Interval {
        let start_ns = std::mem::replace(&mut self.after, end).as_ns();
        self.next_index = index + 1;
        self.intervals += 1;
        let judged = self.header.phases[0].span_ns;
        let phase = u16::from(self.header.phases.len() > 1 && start_ns >= judged);
        Interval { index, start_ns, end_ns: end.as_ns(), phase, flows, ..Interval::default() }
    }

    /// A log that was cut gets no closing line here either.
    fn end_log(&mut self, sink: &mut dyn FnMut(Entry)) {
        if self.flows.iter().any(|flow| !flow.errors.is_empty()) {
            // Errors after the last block.
            let buckets: Vec<_> = self.flows.iter().map(|flow| flow.buckets).collect();
            let after = self.after;
            let flows = self.advance_flows(&buckets, after, Span::ZERO);
            sink(Entry::Interval(self.build_interval(self.next_index, after, flows)));
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

/// ACT's own distinction: large-block and cache threads serve only the drives. Service threads that lag do not "mean
/// the devices failed" (README, max-lag-sec): there may be too few of them.
fn cause_of_lag(text: &str) -> CloseReason {
    let drives = ["large block", "cache thread", "drive(s)"].iter().any(|words| text.contains(words));
    if drives { CloseReason::DeviceLag } else { CloseReason::GeneratorLag }
}
