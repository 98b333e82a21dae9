//! The disk: seeks per second as published, sequential bandwidth, first come, first served.

use crate::sim_common;

use assay_base::{Device, Direction, Instant, Rate, Span, Ticket};
use sim_common::{Open, bank, closed, read, spec, uniform};

#[test]
fn random_reads_a_second_as_seekmark_published() {
    let size = spec("sim:disk").geometry().size;
    for (seed, in_flight) in [(1, 1), (2, 1), (3, 2), (4, 32)] {
        let got = closed(&mut bank(seed, "sim:disk"), in_flight, Span::from_secs(300), uniform(size, 512, seed));
        assert!((got - 74.0).abs() < 2.0, "{in_flight} in flight: {got}/s");
    }
}

#[test]
fn the_formula_gives_the_mean() {
    for text in ["sim:disk", "sim:disk?rpm=15000&stroke=6ms&settle=500us", "sim:disk?bandwidth=10MB/s"] {
        let spec = spec(text);
        for len in [512, 131_072] {
            let want = 1.0 / spec.mean_cost(Direction::Read, len);
            let op = uniform(spec.geometry().size, len, 9);
            let got = closed(&mut bank(1, text), 1, Span::from_secs(600), op);
            assert!((got / want - 1.0).abs() < 0.01, "{text} {len}: {got}/s, not {want}/s");
        }
    }
}

#[test]
fn sequential_reads_run_at_the_bandwidth() {
    for (text, len, want) in
        [("sim:disk", 131_072, 150e6), ("sim:disk", 4096, 150e6), ("sim:disk?bandwidth=80MB/s", 65_536, 80e6)]
    {
        let mut offset = 0;
        let next = || {
            offset += u64::from(len);
            read(offset - u64::from(len), len)
        };
        let got = closed(&mut bank(1, text), 1, Span::from_secs(10), next) * f64::from(len);
        assert!((got / want - 1.0).abs() < 0.001, "{text} {len}: {got} B/s");
    }
}

#[test]
fn two_sequential_streams_are_random() {
    let mut turn = 0u64;
    let next = || {
        turn += 1;
        read((turn % 2) * (900 << 30) + turn / 2 * 4096, 4096)
    };
    let got = closed(&mut bank(1, "sim:disk"), 1, Span::from_secs(60), next);
    assert!((50.0..80.0).contains(&got), "{got}/s");
}

#[test]
fn requests_are_served_in_order_of_arrival() {
    let mut disk = bank(1, "sim:disk");
    let mut next = uniform(1 << 40, 512, 5);
    (0..100).for_each(|ticket| disk.submit_request(Instant::ZERO, Ticket(ticket), &next()));
    let mut done = Vec::new();
    disk.poll_completions(Instant::from_ns(1 << 40), &mut done);
    assert!(done.iter().map(|completion| completion.ticket).eq((0..100).map(Ticket)));
}

#[test]
fn rotation_is_uniform() {
    // Without arm movement the service time is settle (0) plus a uniform part of 8.33 ms: tenths of it are equally
    // frequent.
    let mut tenths = [0u32; 10];
    let flow = (Rate::per_second(50), Direction::Read, 512);
    let text = "sim:disk?settle=0s&stroke=0s&bandwidth=100000000MB/s";
    Open::steady(flow, Span::ZERO, Span::from_secs(400)).run(&mut bank(6, text), |_, completion| {
        let turn = completion.completed.since(completion.issued).as_secs_f64() * 120.0;
        tenths[((turn * 10.0) as usize).min(9)] += 1;
    });
    let chi_square: f64 = tenths.iter().map(|n| (f64::from(*n) - 2000.0).powi(2) / 2000.0).sum();
    assert!(chi_square < 27.9, "9 degrees of freedom: {chi_square}, {tenths:?}");
}

#[test]
fn seek_time_follows_the_square_root_of_the_distance() {
    // One rotation takes a fraction of a nanosecond; the head starts at 0.
    let text = "sim:disk?rpm=1000000&settle=1ms&stroke=100ms&size=1024GiB&bandwidth=100000000MB/s";
    for (part, want_ms) in [(1u64, 101.0), (4, 51.0), (16, 26.0), (1 << 20, 1.1)] {
        let mut disk = bank(1, text);
        disk.submit_request(Instant::ZERO, Ticket(0), &read((1u64 << 40) / part - 512, 512));
        let ms = disk.next_wakeup().expect("in flight").as_ns() as f64 / 1e6;
        assert!((ms - want_ms).abs() < 0.1, "1/{part}: {ms} ms, not {want_ms}");
    }
}
