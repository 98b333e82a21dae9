//! Requests that are prepared: whoever completes a request of a closed loop goes on with the next one by itself. Nothing
//! about the load may differ from a device without a stock, but that the worker may look late.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::even;

use assay_base::{BlockDevice, Code, Completion, Device, Direction, Done, Geometry, Instant, Op, Span, Ticket};
use assay_engine::shell::Sink;
use assay_engine::{Limits, Setup, Worker, run_virtual};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{Event, Frame, Interval, Thresholds};
use even::Even;
use std::collections::VecDeque;

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

/// As [`Even`], but what completes goes on with what is prepared.
struct Stocked {
    /// The stock of each request in flight.
    pending: Vec<(Completion, Option<usize>)>,
    stocks: Vec<VecDeque<(Ticket, Op)>>,
    followers: Vec<Option<Ticket>>,
    asked: Vec<(Instant, Op)>,
    most: usize,
    prepared: usize,
    end: Instant,
    spare: u32,
    service: Span,
    /// The worker is woken so long after a completion that another request has followed.
    wakes_after: Span,
    /// Every so many requests one fails; 0 for none.
    fails: usize,
}

impl Stocked {
    fn new(spare: u32, service: Span) -> Stocked {
        Stocked {
            pending: Vec::new(),
            stocks: vec![VecDeque::new(); assay_base::STOCKS_MOST],
            followers: vec![None; 8192],
            asked: Vec::new(),
            most: 0,
            prepared: 0,
            end: Instant::FAR,
            spare,
            service,
            wakes_after: Span::ZERO,
            fails: 0,
        }
    }

    fn begin(&mut self, now: Instant, ticket: Ticket, op: &Op, stock: Option<usize>) {
        let number = self.asked.len();
        let completed = now + self.service + Span::from_ns(number as u64 * 7919 % 1000);
        let fails = self.fails > 0 && number % self.fails == self.fails - 1;
        let result = if fails { Err(Code(5)) } else { Ok(op.len) };
        self.pending.push((Completion { ticket, result, issued: now, accepted: now, completed }, stock));
        self.asked.push((now, *op));
        self.most = self.most.max(self.pending.len());
        self.followers[ticket.0 as usize] = None;
    }

    fn first(&self) -> Option<usize> {
        let all = self.pending.iter().enumerate();
        all.min_by_key(|(at, (completion, _))| (completion.completed, *at)).map(|(at, _)| at)
    }
}

impl Device for Stocked {
    type Request = Op;

    fn submit_request(&mut self, now: Instant, ticket: Ticket, op: &Op) {
        self.begin(now, ticket, op, None);
    }
    fn submit_with_stock(&mut self, now: Instant, stock: usize, ticket: Ticket, op: &Op) {
        self.begin(now, ticket, op, Some(stock));
    }
    fn spare_tickets(&self) -> u32 {
        self.spare
    }
    fn prepare_request(&mut self, stock: usize, ticket: Ticket, op: &Op) {
        self.prepared += 1;
        self.stocks[stock].push_back((ticket, *op));
    }
    fn withdraw_prepared(&mut self, stock: usize) -> Option<Ticket> {
        Some(self.stocks[stock].pop_front()?.0)
    }
    fn follower_ticket(&self, ticket: Ticket) -> Option<Ticket> {
        self.followers[ticket.0 as usize]
    }
    fn set_end_of_stock(&mut self, end: Instant) {
        self.end = end;
    }
    fn poll_completions(&mut self, now: Instant, done: &mut Done) {
        while let Some(at) = self.first().filter(|at| self.pending[*at].0.completed <= now) {
            let (completion, stock) = self.pending.remove(at);
            done.push(completion);
            let goes_on = completion.result.is_ok() && completion.completed < self.end;
            if let Some(stock) = stock.filter(|_| goes_on)
                && let Some((next, op)) = self.stocks[stock].pop_front()
            {
                self.begin(completion.completed, next, &op, Some(stock));
                self.followers[completion.ticket.0 as usize] = Some(next);
            }
        }
    }
    fn next_wakeup(&self) -> Option<Instant> {
        self.first().map(|at| self.pending[at].0.completed + self.wakes_after)
    }
    fn wait_for_completion(&mut self, _: Span) {}
}

impl BlockDevice for Stocked {
    fn target_geometry(&self, _: u16) -> Geometry {
        Geometry { size: 1 << 30, block: 512 }
    }

    fn slot_buffer(&mut self, _: Ticket) -> &mut [u8] {
        &mut []
    }
}

fn plan(load: &str, targets: u16) -> Plan {
    let file = format!("model = \"streams\"\nduration = \"200ms\"\ninterval = \"50ms\"\nslice = \"100ms\"\n{load}");
    let adjust = workload::Adjust { targets, seed: 3, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

fn setup(plan: &Plan) -> Setup {
    let part = Part { index: 0, of: 1 };
    let (thresholds, limits) = (Thresholds::new([]), Limits::default());
    let bound = assay_engine::in_flight_bound(plan, part);
    Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None }
}

/// Runs a plan on a device with a stock; returns the intervals and the device.
fn run(plan: &Plan, device: Stocked) -> (Vec<Interval>, Stocked) {
    let mut worker = Worker::new(plan, device, setup(plan)).unwrap();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    let totals = worker.operation_totals();
    assert_eq!((totals.issued, totals.stuck), (totals.completed, 0));
    let device = std::mem::replace(worker.device_mut(), Stocked::new(0, Span::ZERO));
    assert_eq!(totals.issued as usize, device.asked.len(), "what was withdrawn does not count, what was issued does");
    (kept.0, device)
}

fn spare(plan: &Plan) -> u32 {
    assay_engine::spare_tickets(plan, Part { index: 0, of: 1 }, 4096)
}

/// The same plan on a device without a stock.
fn without(plan: &Plan, service: Span) -> (Vec<Interval>, Vec<(Instant, Op)>, usize) {
    let mut worker = Worker::new(plan, Even::new(service, 1 << 30), setup(plan)).unwrap();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    let device = worker.device_mut();
    (kept.0, std::mem::take(&mut device.asked), device.most)
}

fn stream(name: &str, direction: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\nsize = \"4KiB\"\n{keys}\n")
}

fn mix(keys: &str) -> String {
    let streams = stream("a", "read", "loop = \"mix\"\nshare = \"70%\"")
        + &stream("b", "write", "loop = \"mix\"\nshare = \"30%\"");
    format!("[[loop]]\nname = \"mix\"\n{keys}\n{streams}")
}

/// Loops that are prepared, each with how many targets it has.
fn prepared() -> Vec<(String, u16)> {
    vec![
        (stream("a", "read", "in_flight = 1"), 1),
        (stream("a", "read", "in_flight = 32"), 2),
        (stream("a", "write", "in_flight = 300\naddress = \"sequential\""), 1),
        (stream("a", "read", "in_flight = 8") + &stream("b", "write", "in_flight = 3"), 1),
        (mix("in_flight = 8"), 1),
        (mix("in_flight = 8\ncopies = 3"), 1),
    ]
}

#[test]
fn each_request_goes_out_when_and_where_it_would_without_a_stock() {
    let service = Span::from_us(700);
    for (load, targets) in prepared() {
        let plan = plan(&load, targets);
        let (_, asked, most) = without(&plan, service);
        for (spare, wakes_after) in [(spare(&plan), 0), (spare(&plan), 900), (3, 0)] {
            let mut device = Stocked::new(spare, service);
            device.wakes_after = Span::from_us(wakes_after);
            let (intervals, device) = run(&plan, device);
            assert!(device.prepared > 0, "{load}");
            assert_eq!(device.most, most, "{load}");
            // Where the worker comes so late that the stock runs dry, less goes out, in the same order.
            let punctual = wakes_after == 0;
            if plan.load.stream_targets().count() == 1 && punctual {
                assert!(device.asked == asked, "{load}, {spare} spare, woken after {wakes_after} us");
            }
            // Each copy of a loop has an order of its own.
            let one_order = plan.load.loops.iter().all(|looped| looped.copies == 1);
            for flow in (0..4).filter(|_| one_order) {
                let (own, others) = (of_flow(&device.asked, flow), of_flow(&asked, flow));
                assert!(own.iter().zip(&others).all(|(one, other)| one == other), "{load}: the order is the same");
                assert!(!punctual || own.len().abs_diff(others.len()) * 50 <= others.len(), "{load}: as many");
            }
            law_holds(&plan, &intervals, &load);
        }
    }
}

/// The requests of one direction on one of two targets. Which of two targets comes first where both complete at the same
/// time is nobody's concern.
fn of_flow(asked: &[(Instant, Op)], flow: u16) -> Vec<Op> {
    let is_of = |op: &&Op| op.target == flow / 2 && (op.direction == Direction::Read) == flow.is_multiple_of(2);
    asked.iter().map(|(_, op)| op).filter(is_of).copied().collect()
}

/// Responses, what is open and pauses cover the time of all slots.
fn law_holds(plan: &Plan, intervals: &[Interval], load: &str) {
    for (index, looped) in plan.closed_loops().iter().enumerate() {
        let mut open_before = 0;
        for it in intervals.iter().filter(|it| it.end_ns <= plan.timing.total_length().as_ns()) {
            let response: u64 = looped.flows.iter().map(|flow| it.flows[*flow].response.sum_ns).sum();
            let failed = looped.flows.iter().filter_map(|flow| it.flows[*flow].failures.as_ref());
            let failed: u64 = failed.map(|failures| failures.response.sum_ns).sum();
            let open = it.loops[index].open_ns;
            let counted = (response + failed) as i64 + open - open_before + it.loops[index].paused_ns as i64;
            assert_eq!(counted, i64::from(looped.slots) * (it.end_ns - it.start_ns) as i64, "{load}: {it:?}");
            open_before = open;
            let of_flow = |flow: &usize| it.flows[*flow].in_flight_max;
            assert!(looped.flows.iter().any(|flow| of_flow(flow) > 0), "something is always in flight");
            assert!(looped.flows.iter().all(|flow| of_flow(flow) <= looped.slots.into()), "{load}");
        }
    }
}

#[test]
fn nothing_follows_what_failed_before_the_worker_has_looked() {
    for (load, targets) in prepared() {
        let plan = plan(&load, targets);
        let mut device = Stocked::new(spare(&plan), Span::from_us(700));
        (device.fails, device.wakes_after) = (5, Span::from_us(300));
        let (intervals, device) = run(&plan, device);
        law_holds(&plan, &intervals, &load);
        let flows = intervals.iter().flat_map(|it| &it.flows);
        let (ok, failed) =
            flows.fold((0, 0), |(ok, failed), flow| (ok + flow.ok, failed + flow.errors.values().sum::<u64>()));
        let all = device.asked.len() as u64;
        assert_eq!((ok + failed, failed), (all, all / 5), "{load}");
    }
}

#[test]
fn nothing_goes_out_at_the_end_or_later() {
    for (load, targets) in prepared() {
        let plan = plan(&load, targets);
        let mut device = Stocked::new(spare(&plan), Span::from_us(70));
        device.wakes_after = Span::from_us(1900);
        let (intervals, device) = run(&plan, device);
        let end = Instant::ZERO + plan.timing.total_length();
        assert!(device.asked.iter().all(|(at, _)| *at < end), "{load}");
        assert!(device.stocks.iter().all(VecDeque::is_empty), "all of it was withdrawn");
        let flows = || intervals.iter().flat_map(|it| &it.flows);
        let issued: u64 = flows().map(|flow| flow.issued).sum();
        assert_eq!((issued, flows().map(|flow| flow.scheduled).sum()), (device.asked.len() as u64, issued), "{load}");
    }
}

/// Where it is not known in advance when a request is intended, or whether it is at all, nothing is prepared.
#[test]
fn what_pauses_ends_or_waits_for_others_is_not_prepared() {
    for (load, targets) in [
        (stream("a", "read", "in_flight = 2\noperations = 300"), 1),
        (stream("a", "read", "in_flight = 2\nfor = \"100ms\""), 1),
        (stream("a", "read", "in_flight = 1\npause = \"3ms\""), 1),
        (mix("in_flight = 8\nthink = { time = \"5ms\", every = 7 }"), 1),
        (mix("in_flight = 6\ntargets = \"in-turn\""), 3),
        (stream("a", "read", "rate = \"900/s\""), 1),
    ] {
        let plan = plan(&load, targets);
        let (_, device) = run(&plan, Stocked::new(256, Span::from_us(700)));
        let (_, asked, _) = without(&plan, Span::from_us(700));
        assert_eq!((device.prepared, device.asked), (0, asked), "{load}");
    }
}

#[test]
fn a_schedule_beside_a_loop_is_carried_as_without_a_stock() {
    let load = stream("a", "read", "in_flight = 8") + &stream("b", "read", "rate = \"2000/s\"");
    let plan = plan(&load, 1);
    let service = Span::from_us(700);
    let (with, device) = run(&plan, Stocked::new(spare(&plan), service));
    let (intervals, mut asked, _) = without(&plan, service);
    law_holds(&plan, &with, &load);
    let mut own = device.asked;
    [&mut own, &mut asked].into_iter().for_each(|all| all.sort_by_key(|(at, op)| (*at, op.offset)));
    assert_eq!(own.len(), asked.len());
    let issued = |intervals: &[Interval], flow: usize| intervals.iter().map(|it| it.flows[flow].issued).sum::<u64>();
    assert_eq!(issued(&with, 1), issued(&intervals, 1));
}

#[test]
fn what_is_prepared_has_a_bound_in_requests_and_in_bytes() {
    let one = Part { index: 0, of: 1 };
    let of = |load: &str, bytes| assay_engine::spare_tickets(&plan(load, 1), one, bytes);
    assert_eq!(of(&stream("a", "read", "in_flight = 1"), 4096), 64);
    assert_eq!(of(&stream("a", "read", "in_flight = 100"), 4096), 100);
    assert_eq!(of(&stream("a", "read", "in_flight = 1000"), 4096), 256);
    assert_eq!(of(&stream("a", "read", "in_flight = 1000"), 1 << 20), 64);
    assert_eq!(of(&mix("in_flight = 2\ncopies = 3"), 4096), 192);
    assert_eq!(of(&mix("in_flight = 1\ncopies = 100"), 4096), 1024);
    assert_eq!(of(&stream("a", "read", "rate = \"5/s\""), 4096), 0);
}
