//! A mail store in virtual time: what two hours of it ask of a disk is what the reference report of Jetstress 2010 has (one database, two
//! hours), and its log is one sequence whoever issues it.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::even;

use assay_base::{BlockDevice, Direction, Instant, Op, Span};
use assay_device::sim::Bank;
use assay_engine::shell::Sink;
use assay_engine::{Limits, Setup, Worker, run_virtual};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{Event, Frame, Thresholds};
use even::Even;
use std::collections::BTreeMap;

/// Of one stream: operations, bytes, and the sum of the service times.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    operations: f64,
    bytes: f64,
    service_ns: f64,
}

#[derive(Default)]
struct Sums(Vec<Sum>);

impl Sink for Sums {
    fn receive_frame(&mut self, frame: Frame) {
        let interval = frame.interval_line();
        self.0.resize(interval.flows.len(), Sum::default());
        for (sum, flow) in self.0.iter_mut().zip(&interval.flows) {
            assert_eq!(flow.ok, flow.ended_operations(), "nothing fails");
            sum.operations += flow.ok as f64;
            sum.bytes += flow.bytes as f64;
            sum.service_ns += flow.service.sum_ns as f64;
        }
    }
    fn receive_event(&mut self, event: Event) {
        panic!("{event:?}");
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

fn plan(keys: &str, length: Span) -> Plan {
    let file = format!("model = \"mail\"\nverify = false\n{keys}");
    let adjust = workload::Adjust { targets: 1, seed: 3, measure: Some(length), ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

fn setup(part: Part) -> Setup {
    let (thresholds, limits) = (Thresholds::new([]), Limits::default());
    Setup { part, thresholds, bound: 512, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None }
}

/// By stream, of a run of one worker on a simulated target.
fn run(plan: &Plan, target: &str) -> BTreeMap<String, Sum> {
    let bank = Bank::new(1, vec![target.parse().unwrap()]);
    let mut worker = Worker::new(plan, bank, setup(Part { index: 0, of: 1 })).unwrap();
    let mut sums = Sums::default();
    run_virtual(&mut worker, Instant::ZERO, &mut sums, || false);
    plan.load.streams.iter().map(|stream| stream.name.clone()).zip(sums.0).collect()
}

/// What the device of one of several workers is asked for, of the whole target's operations.
fn asked(plan: &Plan, part: Part) -> Vec<(Instant, Op)> {
    let mut worker = Worker::new(plan, Even::new(Span::from_us(100), 4 << 30), setup(part)).unwrap();
    run_virtual(&mut worker, Instant::ZERO, &mut Sums::default(), || false);
    assert_eq!(worker.device_mut().target_geometry(0).size, 4 << 30);
    std::mem::take(&mut worker.device_mut().asked)
}

#[test]
fn two_hours_have_the_rates_and_mean_sizes_of_the_reference_report() {
    let seconds = 7200.0;
    let plan = plan("edition = \"2010\"\niops_per_mailbox = \"1.013577/s\"", Span::from_secs(7200));
    let sums = run(&plan, "sim:flash?read=5ms");
    let of = |names: &[&str]| {
        names.iter().fold((0.0, 0.0), |sum, name| (sum.0 + sums[*name].operations, sum.1 + sums[*name].bytes))
    };
    for (names, rate, mean) in [
        (&["db-reads"][..], 501.278, 33_146.672),
        (&["db-writes", "db-extends"], 512.300, 34_842.730),
        (&["log-writes"], 163.294, 7_864.278),
    ] {
        let (operations, bytes) = of(names);
        assert!((operations / seconds / rate - 1.0).abs() < 0.01, "{names:?}: {}/s", operations / seconds);
        assert!((bytes / operations / mean - 1.0).abs() < 0.01, "{names:?}: {} B", bytes / operations);
    }
    // 98,832 pages, and 1 % more than that report has is a whole standard deviation of them.
    let grown = sums["db-extends"].operations;
    assert!((grown / 98_832.0 - 1.0).abs() < 0.02, "{grown}");
    // One at a time with 20 ms of rest.
    let scan = sums["maintenance"];
    let each = 0.020 + scan.service_ns / scan.operations / 1e9;
    assert!((scan.operations / seconds * each - 1.0).abs() < 0.02, "{}/s of {each} s", scan.operations / seconds);
    assert!((scan.bytes / scan.operations - 262_144.0).abs() < 1.0);
}

#[test]
fn the_scan_of_2013_is_steady_and_no_load_multiplies_it() {
    let plan = plan("mailboxes = 100", Span::from_secs(600));
    let sums = run(&plan, "sim:flash");
    assert!((sums["maintenance"].operations / 600.0 - 4.0).abs() < 0.01, "{}", sums["maintenance"].operations);
    assert_eq!(sums.len(), 5, "no log is read where there is one copy: {:?}", sums.keys());
    let twice = workload::Adjust { load: Some(assay_base::Multiple::from_whole(8)), ..workload::Adjust::default() };
    let plan = workload::read_workload("t", "model = \"mail\"\nmailboxes = 100").unwrap().make_plan(&twice).unwrap();
    let rate =
        |name: &str| plan.load.streams.iter().find(|it| it.name == name).unwrap().arrival.mean_rate().unwrap().as_f64();
    assert!((rate("maintenance") - 4.0).abs() < 1e-9 && (rate("log-writes") - 48.0 * 0.1611).abs() < 1e-6);
}

/// The log is written without gap or overlap, and what several workers issue is what one issues.
#[test]
fn workers_share_the_log_by_position() {
    let keys = "iops_per_mailbox = \"3/s\"\ncopies = 3\nlog_size = \"256MiB\"";
    let plan = plan(keys, Span::from_secs(60));
    let log = |op: &Op| op.offset >= (4 << 30) - (256 << 20);
    let own = |part| asked(&plan, part).into_iter().map(|(_, op)| op).filter(log);
    let one: Vec<Op> = own(Part { index: 0, of: 1 }).collect();
    let key = |op: &Op| (op.direction == Direction::Write, op.offset, op.len);
    let sorted = |mut ops: Vec<Op>| {
        ops.sort_by_key(key);
        ops
    };
    let three = (0..3).flat_map(|index| own(Part { index, of: 3 })).collect();
    assert_eq!(sorted(one.clone()), sorted(three));
    let mut end = (4 << 30) - (256 << 20);
    let writes: Vec<&Op> = one.iter().filter(|op| op.direction == Direction::Write).collect();
    for op in &writes {
        assert_eq!(op.offset, end);
        assert!(op.durable && op.len % 512 == 0 && op.len <= 64_512);
        end += u64::from(op.len);
    }
    // 64 MiB behind, for each of two other copies.
    let written: u64 = writes.iter().map(|op| u64::from(op.len)).sum();
    let read: u64 = one.iter().filter(|op| op.direction == Direction::Read).map(|op| u64::from(op.len)).sum();
    let expected = 2 * (written - (64 << 20));
    assert!(written > 200 << 20 && read.abs_diff(expected) < 1 << 20, "{read} of {expected}, {written} written");
}
