//! Little's law in closed loops: responses and pauses cover the time of every slot without a gap, to the nanosecond, on
//! any device and with any generator; and it is known what of that time was the device's.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::even;

use assay_base::{BlockDevice, Completion, Device, Done, Geometry, HandOver, Instant, Op, Span, Ticket};
use assay_engine::shell::{Host, Sink, Spin, Stop, Waiting};
use assay_engine::{Limits, Setup, Worker, run_real, run_virtual};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{Event, Frame, Interval, Thresholds};
use even::Even;
use std::cell::Cell;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

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

fn plan(file: &str, targets: u16) -> Plan {
    let adjust = workload::Adjust { targets, seed: 3, ..workload::Adjust::default() };
    workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap()
}

fn setup(plan: &Plan, part: Part) -> Setup {
    let (thresholds, limits) = (Thresholds::new([]), Limits::default());
    let bound = assay_engine::in_flight_bound(plan, part);
    Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None }
}

/// For each interval in which the load lasts and each closed loop: its slots' time, and what is counted of it. Sums over
/// all workers.
fn both_sides(plan: &Plan, workers: &[Vec<Interval>]) -> Vec<(i128, i128)> {
    let end = plan.timing.total_length().as_ns();
    let mut sides = Vec::new();
    for (index, looped) in plan.closed_loops().iter().enumerate() {
        let mut open_before = 0;
        for at in 0..workers[0].len() {
            let of = |worker: &Vec<Interval>| worker.get(at).cloned();
            let all: Vec<Interval> = workers.iter().filter_map(of).filter(|it| it.end_ns <= end).collect();
            let Some(first) = all.first() else { continue };
            let sum = |of: &dyn Fn(&Interval) -> i128| all.iter().map(of).sum::<i128>();
            let flows =
                |interval: &Interval| looped.flows.iter().map(|flow| interval.flows[*flow].clone()).collect::<Vec<_>>();
            let response = sum(&|it| flows(it).iter().map(|flow| i128::from(flow.response.sum_ns)).sum());
            let open = sum(&|it| it.loops[index].open_ns.into());
            let paused = sum(&|it| it.loops[index].paused_ns.into());
            let length = i128::from(first.end_ns - first.start_ns);
            sides.push((i128::from(looped.slots) * length, response + open - open_before + paused));
            open_before = open;
        }
    }
    sides
}

/// Runs a plan in virtual time, on devices whose operations take `service`.
fn in_virtual_time(plan: &Plan, of: u64, service: Span) -> Vec<Vec<Interval>> {
    let one = |index| {
        let mut device = Even::new(service, 1 << 30);
        device.others = vec![Geometry { size: 1 << 30, block: 512 }; usize::from(plan.load.targets)];
        let mut worker = Worker::new(plan, device, setup(plan, Part { index, of })).unwrap();
        let mut kept = Kept::default();
        run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
        kept.0
    };
    (0..of).map(one).collect()
}

fn stream(name: &str, direction: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\nsize = \"4KiB\"\n{keys}\n")
}

#[test]
fn the_law_holds_to_the_nanosecond_whatever_the_loop() {
    let mix = |keys: &str| {
        let streams = stream("a", "read", "loop = \"mix\"\nshare = \"70%\"")
            + &stream("b", "write", "loop = \"mix\"\nshare = \"30%\"");
        format!("[[loop]]\nname = \"mix\"\n{keys}\n{streams}")
    };
    let lines = "[[loop]]\nname = \"mix\"\nin_flight = 5\n[[loop.line]]\nname = \"x\"\nshare = \"30%\"\nburst = 4\n\
                 delay = \"2ms\"\n[[loop.line]]\nname = \"y\"\nshare = \"70%\"\nburst = 9\n"
        .to_owned()
        + &stream("a", "read", "loop = \"mix\"\nline = \"x\"")
        + &stream("b", "read", "loop = \"mix\"\nline = \"y\"");
    let flushes = mix("in_flight = 6") + "[[stream]]\nname = \"f\"\ndirection = \"flush\"\nloop = \"mix\"\nevery = 3\n";
    for (load, targets) in [
        (stream("a", "read", "in_flight = 1"), 1),
        (stream("a", "read", "in_flight = 32"), 3),
        (stream("a", "read", "in_flight = 1\npause = \"3ms\""), 2),
        (stream("a", "read", "in_flight = 1024"), 1),
        (
            stream("a", "read", "in_flight = 8")
                + &stream("b", "write", "in_flight = 3")
                + &stream("c", "read", "rate = \"500/s\""),
            1,
        ),
        (mix("in_flight = 8\ncopies = 3"), 2),
        (mix("in_flight = 20\nthink = { time = \"30ms\", spread = \"exponential\" }"), 1),
        (mix("in_flight = 8\nthink = { time = \"5ms\", every = 7 }"), 1),
        (mix("in_flight = 8\nthink = { time = \"5ms\", every = 20, together = true }"), 1),
        (mix("in_flight = 6\ntargets = \"in-turn\""), 3),
        (lines, 1),
        (flushes, 1),
    ] {
        let file = format!("model = \"streams\"\nduration = \"500ms\"\ninterval = \"50ms\"\nslice = \"100ms\"\n{load}");
        let plan = plan(&file, targets);
        assert!(!plan.closed_loops().is_empty(), "{file}");
        for of in [1, 2, 5] {
            let workers = in_virtual_time(&plan, of, Span::from_us(700));
            let sides = both_sides(&plan, &workers);
            assert!(sides.len() >= 10, "{file}");
            assert!(sides.iter().all(|(asked, counted)| asked == counted), "{of} workers, {file}: {sides:?}");
        }
    }
}

/// The same seed gives the same frames, and rate × mean response is the number in flight.
#[test]
fn rate_times_response_is_what_was_asked_for() {
    for (depth, us) in [(1u64, 90u64), (32, 400), (1024, 5000)] {
        let load = stream("a", "read", &format!("in_flight = {depth}"));
        let plan = plan(&format!("model = \"streams\"\nduration = \"2s\"\nslice = \"2s\"\n{load}"), 1);
        let run = || in_virtual_time(&plan, 1, Span::from_us(us));
        let (one, other) = (run(), run());
        assert_eq!(one, other);
        let (ok, sum) =
            one[0].iter().fold((0, 0), |(ok, sum), it| (ok + it.flows[0].ok, sum + it.flows[0].response.sum_ns));
        let made = sum as f64 / 2e9;
        assert!((made / depth as f64 - 1.0).abs() < 0.005, "{depth}: {ok} operations make {made}");
        let most = one[0].iter().map(|it| it.flows[0].in_flight_max).max();
        assert_eq!(most, Some(depth), "counted where it changes");
    }
}

/// A machine whose time only passes when somebody lets it pass.
#[derive(Default)]
struct World {
    now: Cell<u64>,
    /// The generator is away for this long in every so many nanoseconds.
    away: Cell<(u64, u64)>,
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

/// A disk that takes `tags` requests at a time, each for `service`: handing over another one blocks until one of them has
/// completed. Completions are found, as io_uring finds them.
struct Tagged<'a> {
    world: &'a World,
    tags: usize,
    service: u64,
    queued: VecDeque<(Ticket, u32)>,
    /// In the order in which they complete.
    running: VecDeque<Completion>,
    found: Vec<Completion>,
    hand_overs: Vec<HandOver>,
}

impl Tagged<'_> {
    /// Hands over up to sixteen.
    fn enter(&mut self) {
        let issued = self.world.now();
        for (ticket, len) in self.queued.drain(..self.queued.len().min(16)) {
            if self.running.len() >= self.tags {
                let first = self.running[self.running.len() - self.tags].completed;
                self.world.now.set(self.world.now.get().max(first.as_ns()));
            }
            self.world.pass(200);
            let completed = self.world.now() + Span::from_ns(self.service);
            self.running.push_back(Completion { ticket, result: Ok(len), issued, accepted: completed, completed });
        }
        let accepted = self.world.now();
        self.running.iter_mut().rev().take_while(|it| it.issued == issued).for_each(|it| it.accepted = accepted);
        self.hand_overs.push(HandOver { from: issued, until: accepted });
        self.reap();
    }

    fn reap(&mut self) {
        let now = self.world.now();
        while self.running.front().is_some_and(|it| it.completed <= now && it.accepted <= now) {
            let completion = self.running.pop_front().unwrap();
            self.found.push(Completion { completed: now, ..completion });
        }
    }
}

impl Device for Tagged<'_> {
    type Request = Op;

    fn submit_request(&mut self, _: Instant, ticket: Ticket, op: &Op) {
        self.queued.push_back((ticket, op.len));
        self.world.pass(100);
        if self.queued.len() >= 16 {
            self.enter();
        }
    }
    fn poll_completions(&mut self, _: Instant, done: &mut Done) {
        while !self.queued.is_empty() {
            self.enter();
        }
        self.reap();
        done.append(&mut self.found);
    }
    fn next_wakeup(&self) -> Option<Instant> {
        None
    }
    fn is_stamped_when_found(&self) -> bool {
        true
    }
    fn take_hand_overs(&mut self, into: &mut Vec<HandOver>) {
        into.append(&mut self.hand_overs);
    }
    fn wait_for_completion(&mut self, span: Span) {
        let end = self.world.now() + span;
        let first = self.running.front().map_or(end, |it| it.completed.min(end));
        self.world.now.set(self.world.now.get().max(first.as_ns()));
        let (ns, every) = self.world.away.get();
        if every > 0 && self.world.now.get() % every < ns {
            self.world.pass(ns);
        }
        self.reap();
    }
}

impl BlockDevice for Tagged<'_> {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 30, block: 512 }
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}

/// Where the slots of a loop were on average, in operations.
#[derive(Debug)]
struct Whereabouts {
    all: f64,
    on_target: f64,
    own: f64,
    left_idle: f64,
}

/// Two seconds of a closed loop on a disk with so many tags.
fn driven(depth: u32, tags: usize, service: u64, away: (u64, u64)) -> Whereabouts {
    let load = stream("a", "read", &format!("in_flight = {depth}"));
    let plan = plan(&format!("model = \"streams\"\nduration = \"2s\"\nslice = \"2s\"\n{load}"), 1);
    let world = World::default();
    world.away.set(away);
    let device = Tagged {
        world: &world,
        tags,
        service,
        queued: VecDeque::new(),
        running: VecDeque::new(),
        found: Vec::new(),
        hand_overs: Vec::new(),
    };
    let mut worker = Worker::new(&plan, device, setup(&plan, Part { index: 0, of: 1 })).unwrap();
    let mut kept = Kept::default();
    run_real(&mut worker, &&world, &mut kept, Waiting { spin: Spin::Fixed(Span::ZERO) });
    let intervals = [kept.0];
    for (asked, counted) in both_sides(&plan, &intervals) {
        assert_eq!(asked, counted, "{depth} on {tags} tags");
    }
    let sum = |of: &dyn Fn(&Interval) -> u64| intervals[0].iter().take(2).map(of).sum::<u64>() as f64 / 2e9;
    Whereabouts {
        all: sum(&|it| it.flows[0].response.sum_ns),
        on_target: sum(&|it| it.flows[0].service.sum_ns),
        own: sum(&|it| it.flows[0].own_lag.sum_ns),
        left_idle: sum(&|it| it.loops[0].idle.sum_ns),
    }
}

/// The kernel takes 32 requests at a time: what waits for a tag is the target's time, however deep the loop is.
#[test]
fn a_hand_over_that_blocks_is_in_the_figure_and_not_the_generators() {
    for (depth, tags) in [(1, 32), (32, 32), (64, 32), (256, 32), (1024, 32), (512, 256)] {
        let at = driven(depth, tags, 2 * MS, (0, 0));
        let depth = f64::from(depth);
        assert!((at.all / depth - 1.0).abs() < 0.02, "{depth} on {tags} tags: {at:?}");
        assert!(at.own < 0.02 * depth && at.left_idle == 0.0, "{depth} on {tags} tags: {at:?}");
        // A hand-over takes sixteen, some of which wait within it.
        assert!(at.on_target < tags as f64 + 33.0, "{depth} on {tags} tags: {at:?}");
    }
}

/// The generator is away for 8 ms of each 40: what its slots wait for then is its own.
#[test]
fn a_slot_that_the_generator_leaves_idle_is_the_generators() {
    for (depth, tags) in [(1, 32), (16, 32)] {
        let at = driven(depth, tags, MS, (8 * MS, 40 * MS));
        let depth = f64::from(depth);
        assert!((at.all / depth - 1.0).abs() < 0.02, "{depth}: {at:?}");
        assert!(at.left_idle > 0.1 * depth, "{depth}: {at:?}");
    }
}
