//! The cost of one simulated operation in real time. Not a check (the speed of a machine is not a mistake) but a
//! measurement: `cargo test --release -p assay-device --test sim_speed -- --ignored --nocapture`.

#![allow(clippy::disallowed_methods, clippy::disallowed_macros)]

use assay_base::{Device, Direction, Done, Instant, Op, Prng, Ticket};
use assay_device::sim::Bank;

/// Number of prepared operations; a power of two, and few enough to fit into the nearest cache, so that they cost next
/// to nothing.
const OPS: usize = 1 << 9;

/// Submits `operations` (ACT's mix) `gap` nanoseconds apart, polling before each, and returns how many completed.
fn drive(bank: &mut Bank, ops: &[Op], operations: usize, gap: u64) -> usize {
    let mut done = Done::with_capacity(64);
    let mut free: Vec<u32> = (0..4096).rev().collect();
    let mut completed = 0;
    for i in 0..operations {
        let now = Instant::from_ns(i as u64 * gap);
        bank.poll_completions(now, &mut done);
        completed += done.len();
        done.drain(..).for_each(|completion| free.push(completion.ticket.0));
        let ticket = free.pop().expect("fewer than 4096 in flight");
        bank.submit_request(now, Ticket(ticket), &ops[i & (OPS - 1)]);
    }
    completed + bank.in_flight() as usize
}

/// 98 % small reads, 1 % large reads, 1 % large writes, about ACT's proportions.
fn mix(prng: &mut Prng) -> Vec<Op> {
    let op = |direction, len: u32, block: u64| Op {
        target: 0,
        direction,
        durable: false,
        offset: block * u64::from(len),
        len,
    };
    let one = |i: u64| match i % 100 {
        0 => op(Direction::Read, 128 << 10, prng.uniform_below(6 << 20)),
        50 => op(Direction::Write, 128 << 10, prng.uniform_below(6 << 20)),
        _ => op(Direction::Read, 1536, prng.uniform_below(500 << 20)),
    };
    (0..OPS as u64).map(one).collect()
}

#[test]
#[ignore = "a measurement, wants an idle machine and --release"]
fn nanoseconds_per_operation() {
    let ops = mix(&mut Prng::from_seed(1));
    let operations = 20_000_000;
    for (text, gap) in [
        ("sim:flash", 500_000),
        ("sim:flash", 16_000),
        ("sim:flash", 4_000),
        ("sim:flash-worn?after=0s", 16_000),
        ("sim:flash?errors=1/100000&stall=1ms@2s", 16_000),
        ("sim:disk", 20_000_000),
    ] {
        let mut bank = Bank::new(1, vec![text.parse().expect("a target")]);
        let start = std::time::Instant::now();
        let completed = drive(&mut bank, &ops, operations, gap);
        let ns = start.elapsed().as_nanos() as f64 / operations as f64;
        assert_eq!(completed, operations);
        println!("{text}, one operation each {gap} ns: {ns:.1} ns of CPU per operation");
    }
}
