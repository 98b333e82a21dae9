//! The load ends at its planned end: operations that still wait then are not issued, count as waiting, and every
//! account balances.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use assay_base::{BlockDevice, Geometry, Instant};
use assay_device::null::Null;
use assay_device::sim::{Bank, Spec};
use assay_engine::shell::Sink;
use assay_engine::{Blocks, Data, Limits, Setup, Worker, run_virtual};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{CloseReason, Event, FlowInterval, Frame, Interval, Thresholds};

#[derive(Default)]
struct Kept(Vec<Interval>);

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        self.0.push(frame.interval_line());
    }
    fn receive_event(&mut self, _: Event) {}
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

/// Two seconds of reads, and of a second stream that is a closed loop.
fn plan(rate: u64, keys: &str) -> Plan {
    let file = format!(
        "model = \"streams\"\nduration = \"2s\"\nslice = \"2s\"\nmax_lag = \"0s\"\n{keys}\n\
        [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"{rate}/s\"\narrival = \"steady\"\n\
        [[stream]]\nname = \"walk\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 1\n"
    );
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

fn worker<D: BlockDevice>(plan: &Plan, device: D) -> Worker<D, Blocks, Data> {
    let part = Part { index: 0, of: 1 };
    let (bound, limits) = (assay_engine::in_flight_bound(plan, part), Limits::default());
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
    Worker::new(plan, device, setup).unwrap()
}

/// What was carried in plus scheduled equals what completed plus what is carried out, in every interval and in total.
fn adds_up(intervals: &[Interval]) {
    let flows = intervals[0].flows.len();
    for flow in 0..flows {
        let mut carried = 0;
        for interval in intervals {
            let FlowInterval { scheduled, in_flight, waiting, stuck, .. } = interval.flows[flow];
            let out = in_flight + waiting + stuck;
            assert_eq!(
                carried + scheduled,
                interval.flows[flow].ended_operations() + out,
                "flow {flow} of {}",
                interval.index
            );
            carried = out;
        }
    }
}

#[test]
fn a_drive_that_is_too_slow_ends_with_the_load_and_the_rest_is_not_done() {
    // A tenth of a second each, four at a time: forty per second out of a thousand.
    for seconds in [1, 2] {
        let plan = plan(1000, &format!("in_flight_bound = 4\ninterval = \"{seconds}s\""));
        let spec: Spec = "sim:flash?read=100ms&spread=0%".parse().unwrap();
        let mut worker = worker(&plan, Bank::new(1, vec![spec]));
        let mut kept = Kept::default();
        run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
        adds_up(&kept.0);
        let end = kept.0.last().unwrap().end_ns;
        assert!((2_000_000_000..2_110_000_000).contains(&end), "what was in flight is waited for, no more: {end} ns");
        let sum = |of: fn(&FlowInterval) -> u64| kept.0.iter().map(|interval| of(&interval.flows[0])).sum::<u64>();
        let (scheduled, issued, ok) = (sum(|flow| flow.scheduled), sum(|flow| flow.issued), sum(|flow| flow.ok));
        assert_eq!((scheduled, ok), (2000, issued));
        assert!(issued < 100, "{issued} were issued");
        assert_eq!(kept.0.last().unwrap().flows[0].waiting, scheduled - issued, "not delivered");
        // Intervals after the end of the load contain only operations that were in flight then.
        let drained = kept.0.iter().filter(|interval| interval.start_ns >= 2_000_000_000);
        let drained: Vec<u64> = drained.flat_map(|it| &it.flows).map(|flow| flow.issued + flow.scheduled).collect();
        assert!(!drained.is_empty() && drained.iter().all(|n| *n == 0), "{drained:?}");
        assert_eq!((worker.close_reason(), worker.operation_totals().stuck), (CloseReason::Completed, 0));
    }
}

/// Steps at these times, in milliseconds; returns the number of issued and of waiting operations.
fn stepped(moments: &[f64]) -> (u64, u64) {
    let plan = plan(10_000, "");
    let mut worker = worker(&plan, Null::new(vec![Geometry { size: 1 << 20, block: 512 }]));
    let mut intervals = Vec::new();
    for ms in moments {
        let now = Instant::from_ns((ms * 1e6) as u64);
        // As often as necessary for two seconds of operations with 512 slots.
        for _ in 0..60 {
            worker.step(now);
            worker.send_issued(now);
            intervals.extend(worker.take_frames().map(|frame| frame.interval_line()));
        }
    }
    adds_up(&intervals);
    let issued = intervals.iter().map(|it| it.flows[0].issued).sum();
    (issued, intervals.last().unwrap().flows[0].waiting)
}

#[test]
fn what_was_due_in_the_last_moment_goes_out_and_a_backlog_does_not() {
    let whole = 20_000;
    assert_eq!(stepped(&[1999.5, 2000.3]), (whole, 0), "asleep for the last half of a millisecond");
    assert_eq!(stepped(&[1960.0, 2010.0]), (whole, 0), "late by less than 50 ms, whatever the number of slots");
    let (issued, waiting) = stepped(&[1500.0, 2000.3, 2010.0]);
    assert!(issued.abs_diff(15_000) <= 1 && issued + waiting == whole, "away for half a second: {issued}, {waiting}");
    let (issued, waiting) = stepped(&[1500.0, 2800.0, 2810.0]);
    assert!(issued.abs_diff(15_000) <= 1 && issued + waiting == whole, "and far beyond the end: {issued}, {waiting}");
}
