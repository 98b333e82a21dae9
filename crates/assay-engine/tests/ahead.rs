//! On a device that is sure, operations are issued ahead and counted before they complete: every frame must be the same
//! as when the worker goes from event to event.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use assay_base::{BlockDevice, Code, Completion, Device, Done, Foretelling, Geometry, Instant, Op, Span, Ticket};
use assay_device::sim::{Bank, Spec};
use assay_engine::{Limits, Setup, Totals, Worker, run_virtual, shell::Sink};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{CloseReason, Event, Frame, Histograms, Interval, Thresholds};

/// A bank that claims to be sure or not, and counts how often it was asked to predict a completion.
struct Asked<'a> {
    bank: Bank,
    sure: bool,
    foretold: &'a mut u64,
}

impl Device for Asked<'_> {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        self.bank.submit_request(now, ticket, op);
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        self.bank.poll_completions(now, done);
    }
    fn next_wakeup(&self) -> Option<Instant> {
        self.bank.next_wakeup()
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for Asked<'_> {
    fn target_geometry(&self, target: u16) -> Geometry {
        self.bank.target_geometry(target)
    }

    fn slot_buffer(&mut self, ticket: Ticket) -> &mut [u8] {
        self.bank.slot_buffer(ticket)
    }
}

impl Foretelling for Asked<'_> {
    fn is_sure(&self) -> bool {
        self.sure && self.bank.is_sure()
    }

    fn foretell_completion(&mut self, now: Instant, op: &Op) -> Option<(Instant, Result<u32, Code>)> {
        *self.foretold += 1;
        self.bank.foretell_completion(now, op)
    }

    fn keep_foretold(&mut self, foretold: Completion) {
        self.bank.keep_foretold(foretold);
    }
}

#[derive(Default)]
struct Kept {
    intervals: Vec<Interval>,
    histograms: Vec<Histograms>,
    events: Vec<Event>,
}

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        let mut interval = frame.interval_line();
        // What is issued ahead is counted before it completes: how many are in flight at a time is not known then.
        interval.flows.iter_mut().for_each(|flow| flow.in_flight_max = 0);
        self.intervals.push(interval);
        self.histograms.extend(frame.histograms_line());
    }
    fn receive_event(&mut self, event: Event) {
        self.events.push(event);
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

fn run(plan: &Plan, device: Asked<'_>, drain: Span) -> (Kept, Totals, CloseReason) {
    let part = Part { index: 0, of: 1 };
    let bound = assay_engine::in_flight_bound(plan, part);
    let limits = Limits { drain, ..Limits::default() };
    let setup = Setup {
        part,
        thresholds: Thresholds::new([]),
        bound,
        start: Instant::ZERO,
        run: 7,
        limits,
        ledger: None,
        gates: None,
    };
    let mut worker = Worker::new(plan, device, setup).unwrap().with_foretelling();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    (kept, worker.operation_totals(), worker.close_reason())
}

#[test]
fn frames_are_the_same_as_from_event_to_event() {
    let drives = ["sim:flash", "sim:flash?channels=1&read=2ms&spread=100%", "sim:disk"];
    let mut full = 0;
    for (drive, targets, rate, bound) in [
        (0, 1, 20_000, 1024),
        (0, 1, 20_000, 1),
        (0, 1, 20_000, 3),
        (0, 1, 200_000, 64),
        // More than the drive carries: the queue fills and stays full.
        (0, 1, 500_000, 100),
        (0, 3, 90_000, 5),
        (1, 1, 400, 2),
        (1, 2, 2_000, 1000),
        (2, 1, 90, 1000),
        (2, 2, 400, 16),
    ] {
        for arrival in ["steady", "poisson"] {
            let file = format!(
                "model = \"streams\"\nduration = \"3s\"\nwarm_up = \"1500ms\"\nmax_lag = \"700ms\"\nin_flight_bound = {bound}
                [[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"{rate}/s\"\narrival = \"{arrival}\"
                [[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"128KiB\"\nrate = \"{}/s\"\narrival = \"{arrival}\"",
                rate / 50
            );
            let adjust = workload::Adjust { targets, seed: 3, ..workload::Adjust::default() };
            let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
            let asked = |sure| {
                let specs = vec![drives[drive].parse::<Spec>().unwrap(); usize::from(targets)];
                let mut foretold = 0;
                (
                    run(&plan, Asked { bank: Bank::new(5, specs), sure, foretold: &mut foretold }, Span::from_secs(1)),
                    foretold,
                )
            };
            let ((ahead, carried, reason), foretold) = asked(true);
            let ((plain, totals, why), none) = asked(false);
            let case = format!("{} x {targets}, {rate}/s {arrival}, {bound} in flight", drives[drive]);
            assert_eq!((carried, reason), (totals, why), "{case}");
            assert_eq!(ahead.events.len(), plain.events.len(), "{case}");
            assert!(ahead.intervals == plain.intervals, "intervals: {case}");
            assert!(ahead.histograms == plain.histograms, "distributions: {case}");
            assert!(foretold > 0 && none == 0, "{case}");
            full += u64::from(foretold < totals.issued);
        }
    }
    assert!(full >= 10, "lanes were full in {full} cases only");
}

/// Runs that end because of lag, most of them within an interval: what was counted early is waited for, and counted
/// once.
#[test]
fn a_run_that_its_lag_ends_is_the_same_too() {
    let drives = ["sim:flash?read=30ms&spread=50%", "sim:flash?channels=2&read=2ms&spread=50%", "sim:disk"];
    let (mut early, mut idle) = (0, 0);
    for seed in 0..120 {
        let (drive, bound) = (seed as usize % 3, [2, 6, 16, 64][seed as usize % 4]);
        let rate = [400, 1500, 90][drive] * (1 + seed % 5);
        let file = format!(
            "model = \"streams\"\nduration = \"3s\"\nmax_lag = \"20ms\"\nin_flight_bound = {bound}
            [[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"{rate}/s\"\narrival = \"{}\"",
            ["steady", "poisson"][seed as usize % 2]
        );
        let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
        let plan = workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap();
        // Either as long as an interval, or too short for what was counted early.
        let drain = Span::from_ms([1000, 1000, 30_000, 3][seed as usize / 3 % 4]);
        let asked = |sure| {
            let bank = Bank::new(seed, vec![drives[drive].parse::<Spec>().unwrap()]);
            let mut foretold = 0;
            (run(&plan, Asked { bank, sure, foretold: &mut foretold }, drain), foretold)
        };
        let ((ahead, carried, reason), foretold) = asked(true);
        let ((plain, totals, why), _) = asked(false);
        let case = format!("seed {seed}: {file} drain {}", drain.human_text());
        assert_eq!((carried, reason), (totals, why), "{case}");
        assert!(ahead.intervals == plain.intervals, "intervals: {case}");
        assert!(ahead.histograms == plain.histograms, "distributions: {case}");
        let mut left = 0;
        for flow in ahead.intervals.iter().map(|interval| &interval.flows[0]) {
            assert!(flow.is_balanced(left), "{case}: {flow:?}");
            left = flow.carried_out();
        }
        early += u64::from(reason != CloseReason::Completed && foretold > 0);
        idle += u64::from(foretold == 0);
    }
    assert!(early >= 20 && idle >= 20, "{early} ended by their lag after being issued ahead, {idle} were not");
}
