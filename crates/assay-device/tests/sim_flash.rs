//! The flash models: service time without load, the capacity that the formula gives, ACT's multiples, wear.

use crate::sim_common;

use assay_base::{Bytes, Direction, Rate, Span};
use assay_device::sim::Spec;
use sim_common::{Flow, Open, act, bank, closed, share_over, spec, uniform};

const GIB: u64 = 1 << 30;
const MS: Span = Span::from_ms(1);

fn seconds(tenths: u64) -> Span {
    Span::from_ms(tenths * 100)
}

#[test]
fn one_read_at_a_time_takes_the_stated_time() {
    for (text, len, want_us) in [
        ("sim:flash?spread=0%", 512, 90.16),
        ("sim:flash?spread=0%", 131_072, 90.0 + 40.69),
        ("sim:flash?spread=0%&read=250us&read_bandwidth=1GiB/s", 131_072, 250.0 + 122.07),
        // The mean of a log-normal is its median times e^(σ²/2): 90 µs × 1.0317.
        ("sim:flash", 512, 93.02),
    ] {
        let per_second = closed(&mut bank(1, text), 1, Span::from_secs(1), uniform(GIB, len, 2));
        let us = 1e6 / per_second;
        assert!((us / want_us - 1.0).abs() < 0.01, "{text} {len}: {us} us, not {want_us}");
    }
}

#[test]
fn a_cached_write_is_faster_than_a_read() {
    let mut slowest = Span::ZERO;
    let flow = (Rate::per_second(100), Direction::Write, 4096);
    Open::steady(flow, Span::ZERO, Span::from_secs(10)).run(&mut bank(1, "sim:flash?spread=0%&gc=0s/1GiB"), |_, c| {
        slowest = slowest.max(c.completed.since(c.issued));
    });
    assert_eq!(slowest, Span::from_ns(20_000 + 1_271));
}

#[test]
fn closed_loop_reaches_the_documented_capacity() {
    for (text, flow) in [
        ("sim:flash", (Rate::ZERO, Direction::Read, 512)),
        ("sim:flash", (Rate::ZERO, Direction::Read, 4096)),
        ("sim:flash", (Rate::ZERO, Direction::Read, 131_072)),
        ("sim:flash", (Rate::ZERO, Direction::Write, 131_072)),
        ("sim:flash?gc=2ms/64MiB", (Rate::ZERO, Direction::Write, 131_072)),
        ("sim:flash?channels=1&iops=10000", (Rate::ZERO, Direction::Read, 512)),
        ("sim:flash?channels=7&iops=123456", (Rate::ZERO, Direction::Read, 512)),
        ("sim:flash?iops=1000000&channels=128", (Rate::ZERO, Direction::Write, 512)),
    ] {
        let (_, direction, len) = flow;
        // The number of pauses is random: its mean needs a longer run.
        let seconds = if text.contains("gc") { 60 } else { 6 };
        let want = 1.0 / spec(text).mean_cost(direction, len);
        let mut next = uniform(GIB, len, 3);
        let write = move || assay_base::Op { direction, ..next() };
        let got = closed(&mut bank(1, text), 1024, Span::from_secs(seconds), write);
        assert!((got / want - 1.0).abs() < 0.01, "{text} {direction} {len}: {got}/s, not {want}/s");
    }
}

#[test]
fn the_formula_by_hand() {
    let flash: Spec = spec("sim:flash");
    let close = |got: f64, want: f64| (got / want - 1.0).abs() < 1e-9;
    assert!(close(flash.mean_cost(Direction::Read, 1536), 2.5e-6));
    assert!(close(flash.mean_cost(Direction::Read, 131_072), 131_072.0 / (3.0 * GIB as f64)));
    let pauses = 2e-3 * 131_072.0 / (4.0 * GIB as f64);
    assert!(close(flash.mean_cost(Direction::Write, 131_072), 131_072.0 / (1.5 * GIB as f64) + pauses));
    let capacity = flash.known_capacity(&act(1));
    assert!((127.0..127.2).contains(&capacity), "the documented 127x: {capacity}");
    assert!(close(flash.known_capacity(&act(10)), capacity / 10.0));
}

/// Whether ACT's first criterion holds in the last 4 of 6 s.
fn passes(text: &str, flows: &[Flow]) -> bool {
    share_over(&mut bank(1, text), flows, Span::ZERO, Span::from_secs(6), MS) < 0.05
}

#[test]
fn act_passes_below_the_capacity_and_fails_above() {
    for (multiple, pass) in [(1, true), (30, true), (60, true), (100, true), (124, true), (130, false), (160, false)] {
        assert_eq!(passes("sim:flash", &act(multiple)), pass, "{multiple}x");
    }
    let far_below = share_over(&mut bank(1, "sim:flash"), &act(30), Span::ZERO, Span::from_secs(5), MS);
    assert!(far_below < 0.005, "{far_below}");
}

#[test]
fn a_limit_search_finds_the_known_capacity_within_two_percent() {
    let text = "sim:flash?iops=50000&read_bandwidth=400MiB/s&write_bandwidth=200MiB/s";
    let reads = |rate| [(Rate::per_second(rate), Direction::Read, 4096u32)];
    for (name, known, flows) in [
        ("reads", 50_000.0, &reads as &dyn Fn(u64) -> [Flow; 1]),
        ("large writes", 1.0 / spec(text).mean_cost(Direction::Write, 131_072), &|rate| {
            [(Rate::per_second(rate), Direction::Write, 131_072u32)]
        }),
    ] {
        let holds = |rate| {
            let (mut over, mut all) = (0, 0);
            Open::steady(flows(rate)[0], Span::ZERO, Span::from_secs(8)).run(&mut bank(1, text), |_, c| {
                all += u64::from(c.issued.as_ns() >= 4_000_000_000);
                over +=
                    u64::from(c.issued.as_ns() >= 4_000_000_000 && c.completed.since(c.issued) >= Span::from_ms(10));
            });
            over * 20 < all
        };
        let (mut low, mut high) = (1, 100_000);
        while high - low > (low / 200).max(1) {
            let middle = u64::midpoint(low, high);
            if holds(middle) { low = middle } else { high = middle }
        }
        assert!((low as f64 / known - 1.0).abs() < 0.02, "{name}: found {low}/s, known {known}/s");
    }
}

#[test]
fn act_limit_is_within_two_percent_of_the_formula() {
    let known = spec("sim:flash").known_capacity(&act(1));
    let (mut low, mut high) = (60, 200);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        if passes("sim:flash", &act(middle)) { low = middle } else { high = middle }
    }
    assert!((low as f64 / known - 1.0).abs() < 0.02, "found {low}x, known {known}x");
}

#[test]
fn writes_delay_reads() {
    let reads = (Rate::per_second(200_000), Direction::Read, 1536);
    let mean = |flows: &[Flow]| {
        let (mut sum, mut all) = (0.0, 0.0);
        Open::poisson(flows, Span::ZERO, Span::from_secs(3)).run(&mut bank(1, "sim:flash"), |op, c| {
            if op.len == 1536 && c.issued.as_ns() >= 2_000_000_000 {
                sum += c.completed.since(c.issued).as_ns() as f64;
                all += 1.0;
            }
        });
        sum / all
    };
    let (alone, beside) = (mean(&[reads]), mean(&[reads, (Rate::per_second(5700), Direction::Write, 131_072)]));
    assert!(beside > alone * 1.1, "{alone} ns without writes, {beside} ns with them");
}

#[test]
fn garbage_collection_comes_as_often_as_stated() {
    // 1000 writes of 128 KiB per second for 100 s are 12.2 GiB; at 20 ms per 64 MiB that is 195 pauses, each of which
    // delays the operations that arrive in it by up to 20 ms.
    let text = "sim:flash?spread=0%&gc=20ms/64MiB";
    let flow = (Rate::per_second(1000), Direction::Write, 131_072);
    let mut waited = 0.0;
    Open::steady(flow, Span::ZERO, Span::from_secs(100)).run(&mut bank(4, text), |_, c| {
        waited += c.completed.since(c.issued).saturating_sub(Span::from_us(61)).as_secs_f64();
    });
    // Each pause delays 20 or 21 writes by 20, 19, … 1 ms: about 0.21 s of waiting in total.
    let pauses = waited / 0.21;
    assert!((150.0..250.0).contains(&pauses), "{pauses}");
}

#[test]
fn worn_drive_holds_until_it_does_not() {
    let hour = |n: u64| Span::from_secs(3600 * n);
    let until = |from: Span| from + Span::from_secs(60);
    let mut drive = bank(1, "sim:flash-worn");
    for (from, least, most) in [
        (Span::ZERO, 0.0, 0.001),
        (Span::from_ns(hour(5).as_ns() - 60_000_000_000), 0.0, 0.001),
        (hour(5), 0.075, 0.085),
        (hour(23), 0.075, 0.085),
    ] {
        let share = share_over(&mut drive, &act(1), from, until(from), MS);
        assert!((least..=most).contains(&share), "from {from}: {share}");
    }
}

#[test]
fn wear_parameters_are_obeyed() {
    for (text, over, least, most) in [
        ("sim:flash-worn?after=0s&slow=0%", MS, 0.0, 0.001),
        ("sim:flash-worn?after=0s&slow=50%", MS, 0.49, 0.51),
        ("sim:flash-worn?after=0s&slow=100%", MS, 0.9999, 1.0),
        // Half of the slow reads take longer than the median.
        ("sim:flash-worn?after=0s&slow=100%&slow_read=20ms", Span::from_ms(20), 0.48, 0.52),
        ("sim:flash-worn?after=10s", seconds(3), 0.0, 0.0),
    ] {
        let share = share_over(&mut bank(1, text), &act(1), Span::ZERO, Span::from_secs(10), over);
        assert!((least..=most).contains(&share), "{text}: {share}");
    }
}

#[test]
fn default_geometry_is_whole_large_blocks() {
    for text in ["sim:flash", "sim:flash-worn", "sim:disk"] {
        let geometry = spec(text).geometry();
        assert_eq!((geometry.size % Bytes::from_kib(128).get(), geometry.block), (0, 512), "{text}");
    }
}
