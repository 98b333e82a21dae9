//! Loads for the tests of simulated devices: open loops in virtual time with as many slots as they need, and closed loops.

#![allow(dead_code)]

use assay_base::{Completion, Device, Direction, Done, Instant, Op, Prng, Rate, Span, Ticket};
use assay_device::sim::{Bank, Spec};

/// The specification with this text.
pub fn spec(text: &str) -> Spec {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

/// One simulated target.
pub fn bank(seed: u64, text: &str) -> Bank {
    Bank::new(seed, vec![spec(text)])
}

/// A read of target 0.
pub fn read(offset: u64, len: u32) -> Op {
    Op { target: 0, direction: Direction::Read, durable: false, offset, len }
}

/// A flow of operations at uniform addresses: rate, direction, length.
pub type Flow = (Rate, Direction, u32);

/// ACT's load on one device at `multiple` times 1x (1536 B records, 128 KiB large blocks, defragmentation at 50 %).
pub fn act(multiple: u64) -> [Flow; 3] {
    let large = Rate::from_ratio(1000 * 1536 * 2, 128 * 1024).expect("a rate");
    let times = |rate: Rate| rate.scaled_by(multiple, 1).expect("in range");
    [
        (times(Rate::per_second(2000)), Direction::Read, 1536),
        (times(large), Direction::Read, 128 << 10),
        (times(large), Direction::Write, 128 << 10),
    ]
}

/// An open loop on target 0: each flow is a Poisson process (or evenly spaced), from `from` to `until`.
pub struct Open {
    flows: Vec<(f64, Op)>,
    due: Vec<f64>,
    until: f64,
    steady: bool,
    size: u64,
    prng: Prng,
}

impl Open {
    pub fn poisson(flows: &[Flow], from: Span, until: Span) -> Open {
        let op = |direction, len| Op { target: 0, direction, durable: false, offset: 0, len };
        let mut open = Open {
            flows: flows.iter().map(|(rate, direction, len)| (1e9 / rate.as_f64(), op(*direction, *len))).collect(),
            due: vec![from.as_ns() as f64; flows.len()],
            until: until.as_ns() as f64,
            steady: false,
            size: 800 << 30,
            prng: Prng::from_seed(99),
        };
        (0..flows.len()).for_each(|flow| open.advance(flow));
        open
    }

    pub fn steady(flow: Flow, from: Span, until: Span) -> Open {
        let mut open = Open::poisson(&[flow], from, until);
        open.steady = true;
        open.due[0] = from.as_ns() as f64;
        open
    }

    fn advance(&mut self, flow: usize) {
        let gap = if self.steady { 1.0 } else { -self.prng.uniform_unit().ln() };
        self.due[flow] += gap * self.flows[flow].0;
    }

    fn next(&mut self) -> Option<(Instant, Op)> {
        let flow = (0..self.due.len()).min_by(|a, b| self.due[*a].total_cmp(&self.due[*b]))?;
        let due = self.due[flow];
        self.advance(flow);
        let op = self.flows[flow].1;
        let offset = self.prng.uniform_below(self.size / u64::from(op.len)) * u64::from(op.len);
        (due < self.until).then_some((Instant::from_ns(due as u64), Op { offset, ..op }))
    }

    /// Runs to the last completion and passes each with its operation to `see`; returns how many were submitted and
    /// completed.
    pub fn run(mut self, bank: &mut Bank, mut see: impl FnMut(&Op, &Completion)) -> (u64, u64) {
        let (mut free, mut ops, mut done): (Vec<u32>, Vec<Op>, Done) = (Vec::new(), Vec::new(), Vec::new());
        let (mut submitted, mut completed) = (0, 0);
        let mut next = self.next();
        loop {
            let due = next.map(|(due, _)| due);
            let now = match (due, bank.next_wakeup()) {
                (Some(due), Some(wake)) => due.min(wake),
                (due, wake) => match due.or(wake) {
                    Some(now) => now,
                    None => return (submitted, completed),
                },
            };
            bank.poll_completions(now, &mut done);
            for completion in done.drain(..) {
                completed += 1;
                see(&ops[completion.ticket.0 as usize], &completion);
                free.push(completion.ticket.0);
            }
            if let Some((due, op)) = next.filter(|(due, _)| *due <= now) {
                let ticket = free.pop().unwrap_or_else(|| {
                    ops.push(op);
                    ops.len() as u32 - 1
                });
                ops[ticket as usize] = op;
                bank.submit_request(due, Ticket(ticket), &op);
                submitted += 1;
                next = self.next();
            }
        }
    }
}

/// A closed loop of `in_flight` operations until `until`; returns completions per second in its second half.
pub fn closed(bank: &mut Bank, in_flight: u32, until: Span, mut op: impl FnMut() -> Op) -> f64 {
    let half = Instant::from_ns(until.as_ns() / 2);
    let mut done = Done::new();
    (0..in_flight).for_each(|ticket| bank.submit_request(Instant::ZERO, Ticket(ticket), &op()));
    let mut completed = 0u64;
    while let Some(now) = bank.next_wakeup().filter(|now| *now <= Instant::ZERO + until) {
        bank.poll_completions(now, &mut done);
        for completion in done.drain(..) {
            completed += u64::from(now > half);
            bank.submit_request(now, completion.ticket, &op());
        }
    }
    completed as f64 / until.as_secs_f64() * 2.0
}

/// Uniform addresses, aligned to `len`, within `size` bytes.
pub fn uniform(size: u64, len: u32, seed: u64) -> impl FnMut() -> Op {
    let mut prng = Prng::from_seed(seed);
    move || read(prng.uniform_below(size / u64::from(len)) * u64::from(len), len)
}

/// Share of target 0's small reads that took `over` or longer under a Poisson load, without the first third.
pub fn share_over(bank: &mut Bank, flows: &[Flow], from: Span, until: Span, over: Span) -> f64 {
    let warm = Instant::ZERO + from + Span::from_ns(until.saturating_sub(from).as_ns() / 3);
    let (mut slow, mut all) = (0u64, 0u64);
    Open::poisson(flows, from, until).run(bank, |op, completion| {
        if op.direction == Direction::Read && op.len < 128 << 10 && completion.issued >= warm {
            all += 1;
            slow += u64::from(completion.completed.since(completion.issued) >= over);
        }
    });
    slow as f64 / all as f64
}
