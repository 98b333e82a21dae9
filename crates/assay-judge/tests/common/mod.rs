//! Builds logs as the engine writes them, from a description of the behaviour of device and generator.
#![allow(dead_code, clippy::unwrap_used, reason = "helpers of tests, of which each file uses its part")]

use assay_base::{Code, Criterion, Direction, Rate, Span};
use assay_judge::{Judgement, Options, judge_log};
use assay_record::*;
use std::collections::BTreeMap;

pub const MINUTE: u64 = 60_000_000_000;
pub const HOUR: u64 = 60 * MINUTE;
/// Operations scheduled per flow in an interval of a minute.
pub const PER_MINUTE: u64 = 600;

/// What happens to one flow in one interval.
#[derive(Clone, Copy, Default)]
pub struct Minute {
    /// Number of operations out of a thousand that take 2 ms instead of 200 µs.
    pub slow: u64,
    /// Own lag of every operation.
    pub own_us: u64,
    /// Number of operations out of a thousand whose own lag is 1.9 ms, which pushes them over 1 ms.
    pub pushed: u64,
    /// Lag of every operation that the device caused.
    pub queue_us: u64,
    pub errors: u64,
    pub short: u64,
    pub stuck: u64,
    /// Waiting and in flight at the end.
    pub waiting: u64,
    pub in_flight: u64,
    /// Number of operations missing from the schedule.
    pub unscheduled: u64,
}

pub struct Scenario {
    pub header: Header,
    pub writer: Writer<Vec<u8>>,
    recorder: Recorder,
    carried: Vec<(u64, u64, u64)>,
    pub index: u64,
    pub at_ns: u64,
    issued: u64,
    completed: u64,
    group: u64,
    pub disks: Option<fn(u64, u64) -> DiskCounters>,
}

pub fn criteria(texts: &[&str]) -> Vec<Criterion> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

pub const STANDARD: [&str; 3] = [
    "reads response over 1ms below 5% per 1h",
    "reads response over 8ms below 1% per 1h",
    "reads response over 64ms below 0.1% per 1h",
];

pub fn header(hours: u64, targets: u64) -> Header {
    let target = |name| TargetHead {
        name,
        kind: "simulated".into(),
        size_bytes: 1 << 30,
        block_bytes: 512,
        ..TargetHead::default()
    };
    Header {
        format: 1,
        tool: "assay 0.1.0 (test)".into(),
        created: "1970-01-01T00:00:00Z".into(),
        clocks: None,
        signer: None,
        name: "orders volume".into(),
        step: None,
        continues: false,
        measured_before_ns: 0,
        seed: 7,
        model: "streams".into(),
        load: "1x".into(),
        slice_ns: HOUR,
        interval_ns: MINUTE,
        phases: vec![
            PhaseHead {
                name: "warm-up".into(),
                kind: PhaseKind::WarmUp,
                span_ns: 2 * MINUTE,
                steady_round_ns: None,
                until_done: false,
            },
            PhaseHead {
                name: "measure".into(),
                kind: PhaseKind::Measure,
                span_ns: hours * HOUR,
                steady_round_ns: None,
                until_done: false,
            },
        ],
        streams: vec![StreamHead {
            name: "reads".into(),
            direction: Some(Direction::Read),
            operation: None,
            arrival: "steady".into(),
            rate: Some(Rate::per_second(targets * PER_MINUTE / 60)),
            size: "1536B".into(),
            size_done: String::new(),
            per_target: true,
        }],
        flows: (0..targets as u16).map(|target| FlowHead { stream: 0, target }).collect(),
        targets: ["sim:a", "sim:b", "sim:c", "sim:d"][..targets as usize]
            .iter()
            .map(|n| target(n.to_string()))
            .collect(),
        hosts: Vec::new(),
        cache: None,
        meters: Vec::new(),
        loops: Vec::new(),
        watched: Vec::new(),
        unwatched: Vec::new(),
        durability: Vec::new(),
        question: None,
        databases: Vec::new(),
        per_minute: Vec::new(),
        thresholds_ns: Thresholds::new([]).bounds_ns().to_vec(),
        criteria: criteria(&STANDARD),
        max_lag_ns: 10_000_000_000,
        lateness: false,
        takes_marks: false,
        watermarks: vec!["SIMULATED".into()],
        engine: BTreeMap::from([("engine".into(), "sim".into())]),
        host: BTreeMap::new(),
        plan: serde_json::json!({"seed": 7}),
    }
}

impl Scenario {
    pub fn new(header: Header) -> Scenario {
        let mut writer = Writer::new(Vec::new(), 0);
        writer.write_entry(&Entry::Header(Box::new(header.clone()))).unwrap();
        let thresholds = Thresholds::from_bounds(header.thresholds_ns.clone());
        let flows = header.flows.len();
        Scenario {
            recorder: Recorder::new(thresholds, flows),
            carried: vec![(0, 0, 0); flows],
            header,
            writer,
            index: 0,
            at_ns: 0,
            issued: 0,
            completed: 0,
            group: 10,
            disks: None,
        }
    }

    /// What the block device counts, given the operations and bytes of the interval.
    pub fn with_disks(mut self, disks: fn(u64, u64) -> DiskCounters) -> Scenario {
        self.disks = Some(disks);
        self
    }

    /// A new segment in the same file.
    pub fn segment(mut self, header: Header) -> Scenario {
        self.writer.write_entry(&Entry::Header(Box::new(header.clone()))).unwrap();
        let thresholds = Thresholds::from_bounds(header.thresholds_ns.clone());
        Scenario { writer: self.writer, disks: self.disks, ..Scenario::new_with(header, thresholds) }
    }

    /// A segment after what was written before.
    pub fn segment_of(self, before: Vec<u8>, header: Header) -> Scenario {
        let lines = before.iter().filter(|byte| **byte == b'\n').count() as u64;
        Scenario { writer: Writer::new(before, lines), ..self }.segment(header)
    }

    fn new_with(header: Header, thresholds: Thresholds) -> Scenario {
        let flows = header.flows.len();
        Scenario {
            recorder: Recorder::new(thresholds, flows),
            carried: vec![(0, 0, 0); flows],
            header,
            writer: Writer::new(Vec::new(), 0),
            index: 0,
            at_ns: 0,
            issued: 0,
            completed: 0,
            group: 10,
            disks: None,
        }
    }

    /// The whole plan: warm-up, then the measured phase; `behave` gets the minute of measured time and the flow.
    pub fn run(self, behave: impl Fn(u64, usize) -> Minute) -> Scenario {
        let minutes = self.header.phases[1].span_ns / MINUTE;
        self.warm_up().minutes(0..minutes, behave)
    }

    pub fn warm_up(mut self) -> Scenario {
        for _ in 0..self.header.phases[0].span_ns / MINUTE {
            self.interval(0, MINUTE, &|_| Minute::default());
        }
        self
    }

    pub fn minutes(mut self, range: std::ops::Range<u64>, behave: impl Fn(u64, usize) -> Minute) -> Scenario {
        for minute in range {
            self.interval(1, MINUTE, &|flow| behave(minute, flow));
        }
        self
    }

    pub fn interval(&mut self, phase: u16, length_ns: u64, behave: &dyn Fn(usize) -> Minute) {
        self.interval_of(PER_MINUTE * length_ns / MINUTE, phase, length_ns, behave);
    }

    /// An interval with `scheduled` operations.
    pub fn interval_of(&mut self, scheduled: u64, phase: u16, length_ns: u64, behave: &dyn Fn(usize) -> Minute) {
        let mut moved = 0;
        for flow in 0..self.carried.len() {
            moved += self.flow(flow, scheduled, &behave(flow));
        }
        let end = self.at_ns + length_ns;
        let close_group = self.index % self.group == self.group - 1;
        let frame = self.recorder.take_frame(self.index, self.at_ns, end, phase, close_group);
        let mut interval = frame.interval_line();
        interval.disks.extend(self.disks.map(|disks| disks(moved, moved * 512)));
        self.writer.write_entry(&Entry::Interval(interval)).unwrap();
        if let Some(lines) = frame.histograms_line() {
            self.writer.write_entry(&Entry::Histograms(lines)).unwrap();
        }
        self.recorder.recycle_frame(frame);
        (self.index, self.at_ns) = (self.index + 1, end);
    }

    fn flow(&mut self, flow: usize, scheduled: u64, minute: &Minute) -> u64 {
        let scheduled = scheduled - minute.unscheduled;
        let (waiting, in_flight, stuck) = self.carried[flow];
        let issued = waiting + scheduled - minute.waiting;
        let completed = in_flight + issued - minute.in_flight - minute.stuck;
        let own = |n: u64| if n * 1000 < minute.pushed * completed { 1900 } else { minute.own_us };
        let took = |n: u64, service_us: u64| {
            let (own_lag, lag) = (Span::from_us(own(n)), Span::from_us(own(n) + minute.queue_us));
            let service = Span::from_us(service_us);
            let excess = Excess { own_lag, response: own_lag, service: Span::ZERO };
            OperationTimes { response: service + lag, service, lag, submit: Span::ZERO, excess }
        };
        let ok = completed - minute.errors - minute.short;
        (ok..completed).for_each(|n| self.recorder.fell_short(flow, &took(n, 0)));
        for _ in 0..minute.errors {
            self.recorder.count_failed(
                flow,
                Code::EIO.symbolic_name(),
                Failure { part: 3, response: Span::from_ms(20) },
            );
        }
        for n in 0..ok {
            let slow = (ok - 1 - n) * 1000 < minute.slow * ok;
            self.recorder.count_completed(flow, 512, took(n, if slow { 2000 } else { 200 }));
        }
        let cell = self.recorder.flow_counters_mut(flow);
        cell.scheduled += scheduled;
        cell.issued += issued;
        cell.short += minute.short;
        (cell.waiting, cell.in_flight, cell.stuck) = (minute.waiting, minute.in_flight, stuck + minute.stuck);
        self.carried[flow] = (minute.waiting, minute.in_flight, stuck + minute.stuck);
        self.issued += issued;
        self.completed += completed;
        completed
    }

    pub fn event(self, what: &str, text: &str) -> Scenario {
        self.event_with(what, text, &[])
    }

    pub fn event_with(mut self, what: &str, text: &str, details: &[(&str, &str)]) -> Scenario {
        let details = details.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let event = Event { at_ns: self.at_ns, what: what.into(), text: text.into(), details };
        self.writer.write_entry(&Entry::Event(event)).unwrap();
        self
    }

    pub fn close(mut self, reason: CloseReason, text: &str) -> Scenario {
        let close = Close {
            reason,
            at_ns: self.at_ns,
            text: text.into(),
            intervals: self.index,
            issued: self.issued,
            completed: self.completed,
            stuck: self.carried.iter().map(|(_, _, stuck)| stuck).sum(),
        };
        self.writer.write_entry(&Entry::Close(close)).unwrap();
        self
    }

    pub fn completed(self) -> Scenario {
        self.close(CloseReason::Completed, "")
    }

    pub fn bytes(self) -> Vec<u8> {
        self.writer.into_inner()
    }

    pub fn judge(self) -> Judgement {
        judge_bytes(&self.bytes())
    }
}

pub fn judge_bytes(bytes: &[u8]) -> Judgement {
    judge_log(Reader::new(bytes), &Options::default()).unwrap()
}

pub fn judge_with(bytes: &[u8], options: &Options) -> Judgement {
    judge_log(Reader::new(bytes), options).unwrap()
}

/// What a good device does in a minute: one operation of sixty is slow.
pub const GOOD: Minute = Minute {
    slow: 10,
    own_us: 0,
    pushed: 0,
    queue_us: 0,
    errors: 0,
    short: 0,
    stuck: 0,
    waiting: 0,
    in_flight: 0,
    unscheduled: 0,
};

/// The same where a third of the operations are slow.
pub const BAD: Minute = Minute { slow: 200, ..GOOD };

/// A device that always answers in 200 µs, except for 1 % of the operations.
pub fn good(_: u64, _: usize) -> Minute {
    Minute { slow: 10, ..Minute::default() }
}
