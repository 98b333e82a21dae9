//! Streams with slots of their own: a drive that delays one kind of operation takes no slots from the others, and the
//! result names the drive as the cause.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use assay_base::{BlockDevice, Completion, Device, Direction, Done, Geometry, Instant, Op, Span, Ticket};
use assay_engine::shell::Sink;
use assay_engine::{Blocks, Data, Limits, Setup, Worker, run_virtual};
use assay_model::{Lane, Plan, arrival::Part, workload};
use assay_record::{CloseReason, Event, FlowInterval, Frame, Interval, Thresholds};

/// A drive that completes each read in 100 µs, all at the same time, and writes one after the other, a tenth of a
/// second each.
#[derive(Default)]
struct SlowWrites {
    pending: Vec<Completion>,
    /// When the last write that it got is complete.
    busy: Instant,
    /// Reads and writes in flight, the maximum of each, and the highest ticket.
    in_flight: [u32; 2],
    most: [u32; 2],
    highest: u32,
}

const READ: Span = Span::from_us(100);
const WRITE: Span = Span::from_ms(100);

impl Device for SlowWrites {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        let write = op.direction == Direction::Write;
        let completed = if write { self.busy.max(now) + WRITE } else { now + READ };
        self.busy = if write { completed } else { self.busy };
        let kind = usize::from(write);
        self.in_flight[kind] += 1;
        self.most[kind] = self.most[kind].max(self.in_flight[kind]);
        self.highest = self.highest.max(ticket.0);
        self.pending.push(Completion { ticket, result: Ok(op.len), issued: now, accepted: now, completed });
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        for found in self.pending.extract_if(.., |completion| completion.completed <= now) {
            self.in_flight[usize::from(found.completed.since(found.issued) > READ)] -= 1;
            done.push(found);
        }
    }
    fn next_wakeup(&self) -> Option<Instant> {
        self.pending.iter().map(|completion| completion.completed).min()
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for SlowWrites {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 30, block: 512 }
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}

#[derive(Default)]
struct Kept {
    intervals: Vec<Interval>,
    events: Vec<Event>,
}

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        self.intervals.push(frame.interval_line());
    }
    fn receive_event(&mut self, event: Event) {
        self.events.push(event);
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

fn plan(file: &str) -> Plan {
    plan_for(1, file)
}

fn plan_for(targets: u16, file: &str) -> Plan {
    let adjust = workload::Adjust { targets, seed: 1, ..workload::Adjust::default() };
    workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap()
}

fn run(plan: &Plan) -> (Kept, Worker<SlowWrites, Blocks, Data>) {
    let part = Part { index: 0, of: 1 };
    let bound = assay_engine::in_flight_bound(plan, part);
    let (thresholds, limits) = (Thresholds::new([]), Limits::default());
    let setup = Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None };
    let mut worker = Worker::new(plan, SlowWrites::default(), setup).unwrap();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    (kept, worker)
}

/// The sum for a stream over the whole run.
fn sum(kept: &Kept, flow: usize, of: fn(&FlowInterval) -> u64) -> u64 {
    kept.intervals.iter().map(|interval| of(&interval.flows[flow])).sum()
}

/// ACT's load at 1x with twelve slots; it writes 23 blocks per second, of which the drive takes ten.
const ACT: &str = "model = \"act-storage\"\nduration = \"60s\"\nslice = \"60s\"\nin_flight_bound = 12\n";

#[test]
fn slow_writes_do_not_starve_reads_and_are_named() {
    let (kept, worker) = run(&plan(ACT));
    assert_eq!(worker.close_reason(), CloseReason::DeviceLag);
    let stop = kept.events.iter().find(|event| event.what == "lag-stop").unwrap();
    assert_eq!(stop.details["flow"], "2", "large-block-writes: {stop:?}");
    assert!(stop.text.contains("the device did not take them"), "{stop:?}");
    let seconds = stop.at_ns as f64 / 1e9;
    let reads = sum(&kept, 0, |flow| flow.ok) as f64;
    assert!((1900.0..2100.0).contains(&(reads / seconds)), "{reads} reads in {seconds} s");
    let bucket = Thresholds::new([]).first_over(Span::from_ms(1)).unwrap() as u64;
    let late = |interval: &Interval| interval.flows[0].response.counts.chunks(2).any(|pair| pair[0] >= bucket);
    assert!(!kept.intervals.iter().any(late), "no read waited");
    let own = sum(&kept, 2, |flow| flow.own_lag.sum_ns) as f64 / sum(&kept, 2, |flow| flow.lag.sum_ns) as f64;
    assert!(own < 0.01, "{own} of the writes' lag is own");
}

#[test]
fn without_lanes_of_their_own_they_do() {
    let mut shared = plan(ACT);
    shared.load.lanes.clear();
    let (kept, worker) = run(&shared);
    assert_eq!(worker.close_reason(), CloseReason::DeviceLag);
    let waiting = kept.intervals.iter().map(|interval| interval.flows[0].waiting).max().unwrap();
    assert!(waiting > 2000, "{waiting} reads wait for the slots that writes hold");
}

#[test]
fn every_lane_holds_what_it_may_and_no_more() {
    let file = "model = \"streams\"\nduration = \"5s\"\nin_flight_bound = 7\nmax_lag = \"0s\"\n\
        [[stream]]\nname = \"a\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"500/s\"\nin_flight_bound = 3\n\
        [[stream]]\nname = \"b\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"90000/s\"\n\
        [[stream]]\nname = \"c\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 2\n";
    let plan = plan(file);
    let lanes = vec![Lane::for_stream("a", 3), Lane::for_stream("c", 2)];
    assert_eq!(
        (plan.load.lanes.clone(), plan.load.lane_bounds()),
        (lanes, vec![vec![7, 3, 2]]),
        "a closed loop has its own"
    );
    let (_, mut worker) = run(&plan);
    let device = worker.device_mut();
    assert_eq!((device.most, device.highest), ([9, 3], 11), "seven reads share slots, and every slot was used");
}

#[test]
fn workers_share_a_lane_as_they_share_the_bound() {
    let plan = plan(ACT);
    for (of, expected) in [(1, [12 + 12 + 12, 0, 0]), (2, [18, 18, 0]), (5, [9, 9, 6])] {
        let slots = |index| {
            let part = Part { index, of };
            assay_engine::slots_upper_bound(&plan, part, assay_engine::in_flight_bound(&plan, part))
        };
        for (index, expected) in (0..of).zip(expected) {
            assert_eq!(slots(index), expected, "worker {index} of {of}");
        }
    }
    assert_eq!(assay_engine::slots_upper_bound(&plan.in_one_lane(), Part { index: 0, of: 1 }, 1), 1, "one at a time");
}

/// A load of many targets needs memory for what can be in flight on each, and no more: sixteen jobs with a file each would
/// else ask for sixteen times their buffers.
#[test]
fn a_lane_takes_room_only_on_targets_that_its_streams_go_to() {
    let stream = |name: &str, keys: &str| {
        format!("[[stream]]\nname = \"{name}\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}\n")
    };
    let streams = [
        stream("a", "rate = \"5/s\"\nin_flight_bound = 8\ntarget = \"x\""),
        stream("b", "rate = \"5/s\"\ntarget = \"z\""),
        stream("c", "rate = \"5/s\"\nin_flight_bound = 2"),
    ];
    let file = "model = \"streams\"\nduration = \"1s\"\nin_flight_bound = 64\ntargets = [\"x\", \"y\", \"z\"]\n";
    let plan = plan_for(3, &(file.to_owned() + &streams.concat()));
    assert_eq!(plan.load.lane_bounds(), [vec![0, 8, 2], vec![0, 0, 2], vec![64, 0, 2]]);
    let slots = |index, of| {
        let part = Part { index, of };
        assay_engine::slots_upper_bound(&plan, part, assay_engine::in_flight_bound(&plan, part))
    };
    assert_eq!((slots(0, 1), slots(0, 2), slots(1, 2)), (10 + 2 + 66, 39, 39));
}
