//! Stalls, errors, hangs and a device that disappears.

use crate::sim_common;

use assay_base::{Code, Device, Direction, Done, Instant, Rate, Span, Ticket};
use sim_common::{Open, bank, read};

fn at(ms: u64) -> Instant {
    Instant::from_ns(ms * 1_000_000)
}

/// Reads at 1000/s for `seconds`: the service time of each, in the order of the schedule.
fn service(text: &str, seconds: u64) -> Vec<Span> {
    let mut spans = vec![Span::ZERO; seconds as usize * 1000];
    let flow = (Rate::per_second(1000), Direction::Read, 512);
    Open::steady(flow, Span::ZERO, Span::from_secs(seconds)).run(&mut bank(1, text), |_, c| {
        spans[(c.issued.as_ns() / 1_000_000) as usize] = c.completed.since(c.issued);
    });
    spans
}

#[test]
fn a_stall_is_waited_for_by_everything_submitted_in_it() {
    // At 400 000/s: the backlog of 2000 reads leaves 16 at a time, every 40 µs.
    let spans = service("sim:flash?spread=0%&stall=2s@10s", 15);
    for (i, span) in spans.iter().enumerate() {
        let i = i as u64;
        let read = 90_158;
        let want = match i {
            10_000..12_000 => (12_000 - i) * 1_000_000 + (i - 10_000) / 16 * 40_000 + read,
            // 2000 reads take 5 ms to leave; those that arrive meanwhile wait behind them.
            12_000..12_006 => span.as_ns().clamp(read, 6_000_000),
            _ => read,
        };
        assert_eq!(span.as_ns(), want, "read {i}");
    }
    // Read 11 001 waits 999 ms of the stall, 62 holds of 40 µs and its own 90 µs: 1001.57 ms.
    let over = |ms| spans.iter().filter(|span| **span >= Span::from_ms(ms)).count();
    assert_eq!((over(2000), over(1001), over(1000)), (1, 1002, 1003), "a schedule of 1000/s sees the stall in full");
}

#[test]
fn what_is_in_service_when_a_stall_begins_ends_later_by_its_length() {
    let mut drive = bank(1, "sim:flash?spread=0%&read=500us&stall=1s@10ms&stall=3s@5s");
    for (ticket, (submitted, completed_us)) in
        [(5, 5_500), (9, 9_500), (10, 1_010_500), (1_009, 1_010_500), (1_010, 1_010_500), (5_500, 8_000_500)]
            .into_iter()
            .enumerate()
    {
        drive.submit_request(at(submitted), Ticket(ticket as u32), &read(0, 512));
        let got = drive.next_wakeup().expect("in flight");
        let mut done = Done::new();
        drive.poll_completions(Instant::FAR, &mut done);
        assert_eq!(got.as_ns(), completed_us * 1000 + 158, "submitted at {submitted} ms");
    }
    let mut drive = bank(1, "sim:flash?spread=0%&read=500us&stall=1s@10ms");
    drive.submit_request(Instant::from_ns(9_800_000), Ticket(0), &read(0, 512));
    assert_eq!(drive.next_wakeup(), Some(Instant::from_ns(1_010_300_158)));
}

#[test]
fn two_stalls_on_a_disk_delay_its_queue_by_both() {
    let ends = |text| {
        let mut disk = bank(1, text);
        (0..100)
            .for_each(|ticket| disk.submit_request(Instant::ZERO, Ticket(ticket), &read(u64::from(ticket) << 32, 512)));
        let mut done = Done::new();
        disk.poll_completions(Instant::FAR, &mut done);
        done.iter().map(|c| c.completed).collect::<Vec<_>>()
    };
    // Stalled from 100 to 1100 ms and from 1300 to 3300 ms: what the disk completes in its first 100 ms is not delayed,
    // what it completes in the next 200 ms is delayed by 1 s, the rest by 3 s.
    let (plain, stalled) = (ends("sim:disk"), ends("sim:disk?stall=2s@1300ms&stall=1s@100ms"));
    let mut delays = [0; 4];
    for (plain, stalled) in plain.iter().zip(&stalled) {
        let delay = if *plain <= at(100) {
            0
        } else if *plain <= at(300) {
            1
        } else {
            3
        };
        assert_eq!(stalled.since(*plain), Span::from_secs(delay));
        delays[delay as usize] += 1;
    }
    assert!(delays[0] > 0 && delays[1] > 0 && delays[3] > 0, "{delays:?}");
}

#[test]
fn errors_come_as_often_as_stated() {
    for (text, part, whole) in
        [("errors=1/100", 1.0, 100.0), ("errors=1/100000", 1.0, 100_000.0), ("errors=3/7", 3.0, 7.0)]
    {
        let (mut failed, mut all) = (0.0, 0.0);
        let flow = (Rate::per_second(100_000), Direction::Read, 512);
        let mut drive = bank(5, &format!("sim:flash?{text}"));
        Open::steady(flow, Span::ZERO, Span::from_secs(10)).run(&mut drive, |op, c| {
            all += 1.0;
            failed += f64::from(u8::from(c.result == Err(Code::EIO)));
            assert!(c.result == Err(Code::EIO) || c.result == Ok(op.len), "{c:?}");
        });
        let want: f64 = all * part / whole;
        // Four standard deviations of a binomial count.
        let most = 4.0 * (want * (1.0 - part / whole)).sqrt();
        assert!((failed - want).abs() <= most, "{text}: {failed} of {all}, {want} expected");
    }
    let every = service("sim:flash?errors=1/1", 1);
    assert!(every.iter().all(|span| *span > Span::from_us(10)), "an error takes its time");
}

#[test]
fn hung_operations_never_wake_anybody() {
    let mut drive = bank(1, "sim:flash?spread=0%&hang=2@30s&hang=1@40s");
    let flow = (Rate::per_second(100), Direction::Read, 512);
    let (submitted, completed) = Open::steady(flow, Span::ZERO, Span::from_secs(50)).run(&mut drive, |_, c| {
        let second = c.issued.as_ns() / 1_000_000;
        assert!(![30_000, 30_010, 40_000].contains(&second), "{c:?}");
    });
    assert_eq!((submitted, completed, drive.hung_operations(), drive.in_flight()), (5000, 4997, 3, 3));
    assert_eq!(drive.next_wakeup(), None);
}

#[test]
fn a_device_that_is_gone_fails_all_that_is_in_flight_and_all_that_comes() {
    let enodev = Err(Code(19));
    let mut drive = bank(1, "sim:flash?spread=0%&read=1ms&hang=1@59s&gone@60s");
    for (ticket, us) in [(0, 58_000_000), (1, 59_000_000), (2, 59_999_500), (3, 60_000_000), (4, 61_000_000)] {
        drive.submit_request(Instant::from_ns(us * 1000), Ticket(ticket), &read(0, 512));
    }
    let mut done = Done::new();
    drive.poll_completions(Instant::FAR, &mut done);
    let got: Vec<_> = done.iter().map(|c| (c.ticket.0, c.result, c.completed.as_ns())).collect();
    let s = 1_000_000_000;
    assert_eq!(
        got,
        [
            (0, Ok(512), 58 * s + 1_000_158),
            (1, enodev, 60 * s),
            (2, enodev, 60 * s),
            (3, enodev, 60 * s + 1000),
            (4, enodev, 61 * s + 1000),
        ]
    );
    assert_eq!((drive.in_flight(), drive.hung_operations()), (0, 0));
}
