//! Who caused a lag, in a simulated world whose clock only moves when the test moves it: what a late generator causes
//! is never charged to the device, and what the device causes is never forgiven.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use assay_base::{BlockDevice, Completion, Device, Done, Geometry, HandOver, Instant, Op, Span, Ticket};
use assay_device::sim::{Bank, Spec};
use assay_engine::shell::{Host, Sink, Spin, Stop, Waiting};
use assay_engine::{Blocks, Data, Limits, Setup, Worker, run_real, run_virtual};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{CloseReason, Event, Frame, Interval, Thresholds};
use std::cell::Cell;
use std::rc::Rc;

const MS: u64 = 1_000_000;

/// The time of the world in nanoseconds, and what will happen in it.
#[derive(Default)]
struct World {
    now: Cell<u64>,
    /// Every sleep ends this much later.
    late: Cell<u64>,
    /// The generator is away, from the first time on, for the second.
    away: Cell<Option<(u64, u64)>>,
}

impl World {
    fn pass(&self, ns: u64) {
        self.now.set(self.now.get() + ns);
    }
    fn now(&self) -> Instant {
        Instant::from_ns(self.now.get())
    }
}

impl Host for &World {
    fn now(&self) -> Instant {
        self.pass(100);
        World::now(self)
    }
    fn stood_still(&self, _: Instant, _: Instant) -> Option<(Instant, Instant)> {
        None
    }
    fn requested_stop(&self) -> Option<Stop> {
        None
    }
}

/// What carries the operations.
#[derive(Clone, Copy)]
enum Kind {
    /// The worker itself: each call takes `ns`; `slow` are the time from which a call is slow, and how long it takes
    /// then.
    Call { ns: u64, slow: (u64, u64) },
    /// A disk where each operation takes `ns`, all at the same time, and which answers nothing during a stall. `own`:
    /// completions carry times of their own, not those at which they were found.
    Disk { ns: u64, stall: (u64, u64), own: bool },
    /// The same, but handed over sixteen at a time, and from `at` on one hand-over blocks for `takes`.
    Blocks { ns: u64, at: u64, takes: u64 },
}

struct Mock<'a> {
    world: &'a World,
    kind: Kind,
    queued: Vec<(Ticket, u32)>,
    pending: Vec<Completion>,
    hand_overs: Vec<HandOver>,
}

impl Mock<'_> {
    fn flush(&mut self) {
        for (ticket, len) in std::mem::take(&mut self.queued) {
            let issued = self.world.now();
            let completed = match self.kind {
                Kind::Call { ns, slow: (at, takes) } => {
                    let first = (at..at + 10 * MS).contains(&self.world.now.get()) && takes > 0;
                    if first {
                        self.kind = Kind::Call { ns, slow: (at, 0) };
                    }
                    self.world.pass(if first { takes } else { ns });
                    self.world.now()
                }
                Kind::Disk { ns, stall: (from, until), .. } => {
                    let end = self.world.now.get() + ns;
                    Instant::from_ns(if (from..until).contains(&end) { until } else { end })
                }
                Kind::Blocks { ns, .. } => issued + Span::from_ns(ns),
            };
            let accepted = self.world.now();
            if let Kind::Call { .. } = self.kind {
                self.hand_overs.push(HandOver { from: issued, until: accepted });
            }
            self.pending.push(Completion { ticket, result: Ok(len), issued, accepted, completed });
        }
    }
}

impl Device for Mock<'_> {
    type Request = Op;

    fn submit_request(&mut self, _: Instant, ticket: Ticket, op: &Op) {
        self.queued.push((ticket, op.len));
        if let Kind::Blocks { ns, at, takes } = self.kind
            && self.queued.len() == 16
        {
            self.flush();
            if self.world.now.get() >= at {
                let from = self.world.now();
                self.world.pass(takes);
                self.hand_overs.push(HandOver { from, until: self.world.now() });
                self.kind = Kind::Blocks { ns, at, takes: 0 };
            }
        }
    }
    fn poll_completions(&mut self, _: Instant, done: &mut Done) {
        self.flush();
        let now = self.world.now();
        let found = self.pending.extract_if(.., |completion| completion.completed <= now);
        let own = !matches!(self.kind, Kind::Disk { own: false, .. });
        done.extend(found.map(|found| if own { found } else { Completion { completed: now, ..found } }));
    }
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
    fn take_hand_overs(&mut self, into: &mut Vec<HandOver>) {
        into.append(&mut self.hand_overs);
    }
    fn wait_for_completion(&mut self, span: Span) {
        let end = World::now(self.world) + span;
        if span.is_zero() {
            return;
        }
        let first = self.pending.iter().map(|completion| completion.completed).min().unwrap_or(end);
        self.world.now.set(first.min(end).max(World::now(self.world)).as_ns());
        self.world.pass(self.world.late.get());
        // A sleep that ends much later: away between two steps, and not within a call to the device.
        if let Some((_, ns)) = self.world.away.get().filter(|(at, _)| *at <= self.world.now.get()) {
            self.world.away.set(None);
            self.world.pass(ns);
        }
    }
}

impl BlockDevice for Mock<'_> {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 20, block: 512 }
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}

#[derive(Default)]
struct Kept {
    frames: Rc<Cell<u32>>,
    intervals: Vec<Interval>,
    distributions: usize,
    events: Vec<Event>,
}

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        self.frames.set(self.frames.get() + 1);
        self.intervals.push(frame.interval_line());
        self.distributions += usize::from(frame.histograms_line().is_some());
    }
    fn receive_event(&mut self, event: Event) {
        self.events.push(event);
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

fn plan(rate: u64, duration: &str, keys: &str) -> Plan {
    let file = format!(
        "model = \"streams\"\nduration = \"{duration}\"\n{keys}\n[[stream]]\nname = \"s\"\ndirection = \"read\"
        size = \"4KiB\"\nrate = \"{rate}/s\"\narrival = \"steady\""
    );
    let adjust = workload::Adjust { targets: 1, seed: 1, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

fn setup(bound: u32) -> Setup {
    let part = Part { index: 0, of: 1 };
    let (thresholds, limits) = (Thresholds::new([]), Limits::default());
    Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None }
}

/// The result of a second at a steady rate: the share of the lag that is own lag, operations over 1 ms, and how many of
/// those are forgiven.
fn carried(kind: Kind, rate: u64, bound: u32, away: Option<(u64, u64)>) -> (f64, u64, u64) {
    carried_late(kind, rate, bound, away, 0)
}

/// The same where each sleep ends `late` nanoseconds after its time.
fn carried_late(kind: Kind, rate: u64, bound: u32, away: Option<(u64, u64)>, late: u64) -> (f64, u64, u64) {
    let world = World::default();
    world.late.set(late);
    world.away.set(away);
    let device = Mock { world: &world, kind, queued: Vec::new(), pending: Vec::new(), hand_overs: Vec::new() };
    let mut worker = Worker::new(&plan(rate, "1s", ""), device, setup(bound)).unwrap();
    let waiting = Waiting { spin: Spin::Fixed(Span::ZERO) };
    let mut kept = Kept::default();
    run_real(&mut worker, &&world, &mut kept, waiting);
    // What a device that is too slow leaves over is not issued after the end.
    let schedule: u64 = kept.intervals.iter().map(|interval| interval.flows[0].scheduled).sum();
    assert!(
        schedule == rate && worker.operation_totals().issued * 100 > rate * 80,
        "{} of {rate}",
        worker.operation_totals().issued
    );
    let bucket = Thresholds::new([]).first_over(Span::from_ms(1)).unwrap() as u64;
    let over = |list: &[u64]| list.chunks(2).filter(|pair| pair[0] >= bucket).map(|pair| pair[1]).sum::<u64>();
    let at = |list: &[u64]| list.chunks(2).find(|pair| pair[0] == bucket).map_or(0, |pair| pair[1]);
    let flows = || kept.intervals.iter().map(|interval| &interval.flows[0]);
    let sum = |of: fn(&assay_record::FlowInterval) -> u64| flows().map(of).sum::<u64>() as f64;
    let own = sum(|flow| flow.own_lag.sum_ns) / sum(|flow| flow.lag.sum_ns);
    (own, flows().map(|flow| over(&flow.response.counts)).sum(), flows().map(|flow| at(&flow.forgiven)).sum())
}

const NEVER: (u64, u64) = (0, 0);

#[test]
fn a_late_generator_is_not_the_device_where_the_queue_then_fills() {
    let call = Kind::Call { ns: 5_000, slow: NEVER };
    for (kind, bound, away, least) in [
        (call, 1, 5 * MS, 40),
        (call, 512, 5 * MS, 40),
        (Kind::Disk { ns: 100_000, stall: NEVER, own: true }, 64, 50 * MS, 480),
        (Kind::Disk { ns: 100_000, stall: NEVER, own: false }, 64, 50 * MS, 480),
    ] {
        let (own, over, forgiven) = carried(kind, 10_000, bound, Some((300 * MS, away)));
        assert!(
            over >= least && forgiven * 100 >= over * 97,
            "{bound}: {over} over 1 ms, {forgiven} forgiven, own {own:.2}"
        );
        assert!(own > 0.75, "{bound}: {own:.2} of the lag is own");
    }
}

#[test]
fn a_device_that_holds_operations_back_is_not_forgiven() {
    let second = (300 * MS, 350 * MS);
    for (kind, rate, bound) in [
        // One call of 50 ms; a stall of 50 ms; more than the device carries; a hand-over that blocks for 50 ms.
        (Kind::Call { ns: 5_000, slow: (300 * MS, 50 * MS) }, 10_000, 1),
        (Kind::Disk { ns: 100_000, stall: second, own: true }, 10_000, 8),
        (Kind::Disk { ns: 100_000, stall: second, own: false }, 10_000, 8),
        (Kind::Disk { ns: 100_000, stall: NEVER, own: true }, 44_000, 4),
        (Kind::Disk { ns: 100_000, stall: NEVER, own: false }, 44_000, 4),
        (Kind::Disk { ns: 1_000_000, stall: NEVER, own: true }, 70_000, 64),
    ] {
        let (own, over, forgiven) = carried(kind, rate, bound, None);
        assert!(over > 300 && forgiven * 100 <= over, "{rate}/s: {over} over 1 ms, {forgiven} forgiven, own {own:.3}");
        assert!(own < 0.03, "{rate}/s: {own:.3} of the lag is own");
    }
}

/// With sixty-four in flight it does not matter that a slot is refilled 20 µs late.
#[test]
fn a_device_that_is_full_is_not_idle_because_one_slot_is() {
    let disk = Kind::Disk { ns: MS, stall: NEVER, own: true };
    let (own, over, forgiven) = carried_late(disk, 70_000, 64, None, 20_000);
    assert!(over > 10_000 && forgiven == 0 && own < 0.0001, "{over} over 1 ms, {forgiven} forgiven, own {own:.6}");
}

/// The device was finished, and the worker looked much later.
#[test]
fn what_completed_long_before_it_was_looked_at_held_nothing_back() {
    let one = Kind::Disk { ns: 2 * MS, stall: NEVER, own: true };
    let (own, over, _) = carried(one, 400, 1, Some((101 * MS, 50 * MS)));
    // Twenty were due meanwhile, one every 2.5 ms. Each waits for the generator, and for those before it, 2 ms each: by
    // arithmetic 0.21 of all lag is own lag.
    assert!(over >= 20 && (0.15..0.3).contains(&own), "{own:.2} of the lag");
}

/// If sixteen or more are due in one step, they are handed over within the step.
#[test]
fn a_hand_over_that_blocks_within_a_step_is_the_devices() {
    let (own, over, forgiven) =
        carried(Kind::Blocks { ns: 50_000, at: 300 * MS, takes: 20 * MS }, 100_000, 512, Some((300 * MS, MS)));
    assert!(over > 1000 && forgiven * 100 <= over, "{over} over 1 ms, {forgiven} forgiven, own {own:.3}");
}

/// A run of a minute on a simulated drive, which ends after this many intervals.
fn simulated(drive: &str, rate: u64, bound: u32, keys: &str, intervals: u32) -> (Kept, Worker<Bank, Blocks, Data>) {
    let bank = Bank::new(1, vec![drive.parse::<Spec>().unwrap()]);
    let mut worker = Worker::new(&plan(rate, "60s", keys), bank, setup(bound)).unwrap();
    let mut kept = Kept::default();
    let frames = kept.frames.clone();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || frames.get() == intervals);
    (kept, worker)
}

#[test]
fn the_lag_rule_asks_for_those_that_find_no_slot_too() {
    let (kept, worker) = simulated("sim:flash?hang=4@3s", 100, 4, "max_lag = \"2s\"", u32::MAX);
    assert_eq!(worker.close_reason(), CloseReason::DeviceLag);
    let stop = kept.events.iter().find(|event| event.what == "lag-stop").unwrap();
    assert!((5_000 * MS..7_000 * MS).contains(&stop.at_ns) && stop.text.contains("device"), "{stop:?}");
    assert_eq!(worker.operation_totals().stuck, 4);
}

/// The last operation completes exactly at the end of an interval whose group was not full, of which a short run has one each two seconds.
#[test]
fn no_distribution_is_lost_where_draining_ends_with_an_interval() {
    let (kept, worker) = simulated("sim:flash?read=999998729ns&spread=0%", 10, 64, "", 4);
    let ended = kept.intervals.last().unwrap().end_ns;
    assert!(ended.is_multiple_of(1000 * MS), "draining ends with an interval: {ended}");
    assert!(worker.operation_totals().completed > 0 && worker.operation_totals().stuck == 0);
    assert_eq!(kept.distributions, 3, "{} intervals", kept.intervals.len());
}
