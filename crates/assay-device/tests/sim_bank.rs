//! The bank as a device: determinism, conservation, order, geometry, refused requests.

use crate::sim_common;

use assay_base::{
    BlockDevice, Code, Completion, Device, Direction, Done, Geometry, Instant, Op, Prng, Rate, Span, Ticket,
};
use assay_device::sim::Bank;
use sim_common::{Open, act, bank, read, spec};

const FAR: Instant = Instant::from_ns(1 << 62);

/// A digest of every field of every completion, in order (FNV-1a over 64-bit words).
fn digest(seed: u64, text: &str, seconds: u64) -> (u64, u64) {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
    let (_, completed) =
        Open::poisson(&act(30), Span::ZERO, Span::from_secs(seconds)).run(&mut bank(seed, text), |_, c| {
            mix(u64::from(c.ticket.0));
            mix(c.result.map_or_else(|errno| errno.0 as u64 | 1 << 40, u64::from));
            mix(c.issued.as_ns());
            mix(c.completed.as_ns());
        });
    (hash, completed)
}

#[test]
fn same_seed_same_completions() {
    for (text, seconds) in [
        ("sim:flash", 17),
        ("sim:flash-worn?after=1s", 2),
        ("sim:flash?errors=1/1000&stall=100ms@500ms&hang=2@1s", 2),
        ("sim:disk?stroke=1us&settle=0s&rpm=1000000", 1),
    ] {
        let (first, second) = (digest(1, text, seconds), digest(1, text, seconds));
        assert_eq!(first, second, "{text}");
        assert!(seconds < 17 || first.1 > 1_000_000, "a million operations: {}", first.1);
        assert_ne!(first.0, digest(2, text, seconds).0, "{text}: another seed");
    }
}

#[test]
fn own_seed_overrides_the_run() {
    let text = "sim:flash?seed=5";
    assert_eq!(digest(1, text, 1), digest(2, text, 1));
    assert_ne!(digest(1, text, 1), digest(1, "sim:flash?seed=6", 1));
}

#[test]
fn golden_completions() {
    // Fixed values, so that a change of the model cannot change replays unnoticed.
    let mut drive = bank(1, "sim:flash");
    let write = Op { direction: Direction::Write, ..read(0, 128 << 10) };
    for (ticket, op) in [read(0, 512), write, read(4096, 4096), read(1 << 30, 128 << 10)].iter().enumerate() {
        drive.submit_request(Instant::from_ns(1000), Ticket(ticket as u32), op);
    }
    let mut done = Done::new();
    drive.poll_completions(FAR, &mut done);
    let got: Vec<(u32, u64)> = done.iter().map(|c| (c.ticket.0, c.completed.as_ns())).collect();
    assert_eq!(got, GOLDEN);
}

const GOLDEN: [(u32, u64); 4] = [(1, 63_086), (2, 113_357), (3, 128_443), (0, 137_708)];

#[test]
fn everything_submitted_comes_back_exactly_once_and_in_order() {
    for text in ["sim:flash", "sim:flash-worn?after=0s", "sim:flash?iops=1000&stall=1s@1s", "sim:disk"] {
        let mut drive = bank(3, text);
        let mut last = (Instant::ZERO, Ticket(0));
        let flow = (Rate::per_second(60), Direction::Read, 4096);
        let run = Open::poisson(&[flow], Span::ZERO, Span::from_secs(60)).run(&mut drive, |op, c| {
            assert!(c.completed > c.issued && c.accepted == c.issued && c.result == Ok(op.len), "{c:?}");
            assert!(c.completed > last.0 || (c.completed == last.0 && c.ticket > last.1), "{c:?} after {last:?}");
            last = (c.completed, c.ticket);
        });
        assert!(run.0 == run.1 && run.0 > 3000 && drive.in_flight() == 0, "{text}: {run:?}");
    }
}

#[test]
fn ties_come_in_order_of_tickets() {
    let mut drive = bank(1, "sim:flash?spread=0%&channels=8");
    for ticket in [5, 1, 7, 3] {
        drive.submit_request(Instant::ZERO, Ticket(ticket), &read(0, 512));
    }
    let mut done = Done::new();
    drive.poll_completions(FAR, &mut done);
    assert_eq!(done.iter().map(|c| c.ticket.0).collect::<Vec<_>>(), [1, 3, 5, 7]);
    assert!(done.iter().all(|c| c.completed == done[0].completed));
}

#[test]
fn poll_gives_what_is_due_and_no_more() {
    let mut drive = bank(1, "sim:flash?spread=0%");
    assert_eq!(drive.next_wakeup(), None);
    drive.submit_request(Instant::ZERO, Ticket(0), &read(0, 512));
    drive.submit_request(Instant::from_ns(10), Ticket(1), &read(0, 512));
    let first = drive.next_wakeup().expect("in flight");
    assert_eq!(first, Instant::from_ns(90_158));
    let mut done: Vec<Completion> = Vec::new();
    drive.poll_completions(Instant::from_ns(first.as_ns() - 1), &mut done);
    assert_eq!((done.len(), drive.in_flight()), (0, 2));
    drive.poll_completions(first, &mut done);
    assert_eq!((done.len(), drive.in_flight(), drive.next_wakeup()), (1, 1, Some(Instant::from_ns(90_168))));
    drive.wait_for_completion(Span::from_secs(3600));
    assert!(drive.slot_buffer(Ticket(1)).is_empty());
}

#[test]
fn targets_are_independent() {
    let specs = || vec![spec("sim:flash"), spec("sim:disk?size=1GiB&block=4KiB"), spec("sim:flash")];
    let mut drives = Bank::new(9, specs());
    assert_eq!(drives.target_geometry(1), Geometry { size: 1 << 30, block: 4096 });
    let mut done = Done::new();
    let mut once = |target| {
        drives.submit_request(Instant::ZERO, Ticket(0), &Op { target, ..read(4096, 4096) });
        drives.poll_completions(FAR, &mut done);
        done.pop().expect("one completion").completed
    };
    let (flash, disk, other) = (once(0), once(1), once(2));
    assert!(disk > Instant::from_ns(1_300_000) && flash < Instant::from_ns(1_000_000));
    assert_ne!(flash, other, "two drives of one kind draw differently");
}

#[test]
fn refused_requests_end_as_the_kernel_would_end_them() {
    const SIZE: u64 = 1 << 20;
    let op = |direction, offset, len| Op { direction, ..read(offset, len) };
    for (op, want) in [
        (op(Direction::Read, 0, 4096), Ok(4096)),
        (op(Direction::Read, 256, 4096), Err(Code(22))),
        (op(Direction::Read, 0, 100), Err(Code(22))),
        (op(Direction::Read, 0, 0), Err(Code(22))),
        (op(Direction::Read, SIZE - 512, 4096), Ok(512)),
        (op(Direction::Write, SIZE - 512, 4096), Ok(512)),
        (op(Direction::Read, SIZE, 512), Ok(0)),
        (op(Direction::Write, SIZE, 512), Err(Code::ENOSPC)),
        (op(Direction::Write, u64::MAX - 511, 512), Err(Code::ENOSPC)),
    ] {
        let mut drive = bank(1, "sim:flash?size=1MiB");
        drive.submit_request(Instant::ZERO, Ticket(0), &op);
        let mut done = Done::new();
        drive.poll_completions(FAR, &mut done);
        assert_eq!(done[0].result, want, "{op:?}");
        assert!(done[0].completed > Instant::ZERO, "time moves on");
    }
}

#[test]
fn extreme_parameters_do_not_overflow() {
    for text in [
        "sim:flash?channels=1024&iops=1&read=60s&write=60s&spread=200%&read_bandwidth=1kB/s&write_bandwidth=1kB/s",
        "sim:flash?iops=1000000000&channels=1&read=1ns&write=1ns&read_bandwidth=1000000000MB/s&gc=1h/1KiB",
        "sim:flash?cache=0s&gc=1h/1KiB&program=0s",
        "sim:disk?rpm=1&bandwidth=1kB/s&settle=1h&stroke=1h",
    ] {
        let mut drive = bank(1, text);
        let mut prng = Prng::from_seed(1);
        for ticket in 0..500 {
            let direction = if ticket % 2 == 0 { Direction::Read } else { Direction::Write };
            let op = Op { direction, ..read(prng.uniform_below(1 << 20) * 512, 128 << 10) };
            drive.submit_request(Instant::from_ns(u64::from(ticket)), Ticket(ticket), &op);
        }
        let mut done = Done::new();
        drive.poll_completions(Instant::FAR, &mut done);
        assert_eq!(done.len(), 500, "{text}");
    }
}

#[test]
fn a_flush_takes_the_time_of_a_small_write_on_flash_and_its_turn_on_a_disk() {
    let now = Instant::from_ns(1000);
    for (spec, read_first, least, most) in
        [("sim:flash", false, 10_000, 60_000), ("sim:disk", false, 1, 1), ("sim:disk", true, 1_000_000, 100_000_000)]
    {
        let mut bank = Bank::new(1, vec![spec.parse().unwrap()]);
        if read_first {
            bank.submit_request(now, Ticket(1), &read(4 << 20, 4096));
        }
        bank.submit_request(now, Ticket(0), &Op::flush_on_target(0));
        let mut done = Done::new();
        bank.poll_completions(Instant::from_ns(1_000_000_000), &mut done);
        let flushed = done.iter().find(|it| it.ticket == Ticket(0)).unwrap();
        let took = flushed.completed.since(now).as_ns();
        assert_eq!(flushed.result, Ok(0), "{spec}");
        assert!((least..=most).contains(&took), "{spec}: {took} ns");
    }
    let mut bank = Bank::new(1, vec!["sim:flash?errors=1/1".parse().unwrap()]);
    bank.submit_request(now, Ticket(0), &Op::flush_on_target(0));
    let mut done = Done::new();
    bank.poll_completions(Instant::from_ns(1_000_000_000), &mut done);
    assert_eq!(done[0].result, Err(Code::EIO), "a flush fails as anything else does");
}
