//! Closed loops over several streams: shares, numbers in flight, cursors and pauses, over one to seven workers, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::even;

use assay_base::{Direction, Geometry, Instant, Op, Span};
use assay_engine::shell::Sink;
use assay_engine::{Limits, Setup, Worker, run_virtual};
use assay_model::{Plan, arrival::Part, workload};
use assay_record::{Event, Frame, Interval, Thresholds};
use even::Even;
use std::collections::BTreeMap;

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

/// What one worker did.
struct Did {
    asked: Vec<(Instant, Op)>,
    most: usize,
    /// Completed operations of each flow.
    ok: Vec<u64>,
}

/// Runs a plan over `of` workers, each by itself: in virtual time nothing makes one wait for another.
fn run(file: &str, of: u64, (service, size): (Span, u64)) -> Vec<Did> {
    run_on(&[Geometry { size, block: 512 }], file, of, service)
}

/// The same on several targets.
fn run_on(targets: &[Geometry], file: &str, of: u64, service: Span) -> Vec<Did> {
    let adjust = workload::Adjust { targets: targets.len() as u16, seed: 3, ..workload::Adjust::default() };
    let plan: Plan = workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap();
    let one = |index| {
        let part = Part { index, of };
        let (thresholds, limits) = (Thresholds::new([]), Limits::default());
        let bound = assay_engine::in_flight_bound(&plan, part);
        let setup = Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates: None };
        let mut device = Even::new(service, 0);
        device.others = targets.to_vec();
        let mut worker = Worker::new(&plan, device, setup).unwrap();
        let mut kept = Kept::default();
        run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
        let sum = |flow: usize| {
            let cells = kept.0.iter().map(|interval| &interval.flows[flow]);
            cells
                .map(|cell| (cell.ok, cell.scheduled, cell.issued))
                .fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2))
        };
        let ok = (0..plan.load.stream_targets().count()).map(|flow| {
            let (ok, scheduled, issued) = sum(flow);
            assert!(ok == issued && ok == scheduled, "flow {flow}: {ok} of {issued} issued, {scheduled} scheduled");
            ok
        });
        let ok = ok.collect();
        let device = worker.device_mut();
        Did { asked: std::mem::take(&mut device.asked), most: device.most, ok }
    };
    (0..of).map(one).collect()
}

fn stream(name: &str, direction: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\nsize = \"4KiB\"\nloop = \"mix\"\n{keys}\n")
}

const HEAD: &str = "model = \"streams\"\nduration = \"2s\"\nslice = \"1s\"\n";
const USUAL: (Span, u64) = (Span::from_us(100), 1 << 30);

#[test]
fn shares_hold_and_what_is_in_flight_is_the_loops_number_over_one_to_seven_workers() {
    let streams = [
        stream("a", "read", "share = \"70%\""),
        stream("b", "write", "share = \"20%\""),
        stream("c", "read", "share = \"10%\""),
    ];
    for (depth, copies) in [(8, 1), (1, 5), (3, 3), (1, 1)] {
        let file =
            format!("{HEAD}[[loop]]\nname = \"mix\"\nin_flight = {depth}\ncopies = {copies}\n{}", streams.concat());
        for of in 1..=7 {
            let workers = run(&file, of, USUAL);
            let all: u64 = workers.iter().flat_map(|did| &did.ok).sum();
            for (flow, share) in [0.7, 0.2, 0.1].into_iter().enumerate() {
                let n: u64 = workers.iter().map(|did| did.ok[flow]).sum();
                let (expected, spread) = (all as f64 * share, 4.0 * (all as f64 * share * (1.0 - share)).sqrt());
                assert!(
                    (n as f64 - expected).abs() < spread,
                    "{depth}x{copies}, {of} workers, flow {flow}: {n} of {all}"
                );
            }
            let most: usize = workers.iter().map(|did| did.most).sum();
            assert_eq!(most, depth * copies, "{depth}x{copies}, {of} workers");
            // Each slot does about 2 s / 100.5 µs.
            let rate = all as f64 / (depth * copies) as f64;
            assert!((19_700.0..20_000.0).contains(&rate), "{depth}x{copies}, {of} workers: {rate}");
        }
    }
}

#[test]
fn a_shared_cursor_goes_on_from_each_others_places_and_each_copy_has_its_own() {
    let keys = "address = \"sequential\"\nplaces = \"file\"";
    let file = |copies| {
        let streams = stream("a", "read", keys) + &stream("b", "write", keys);
        format!("{HEAD}[[loop]]\nname = \"mix\"\ncopies = {copies}\n{streams}")
    };
    let one = &run(&file(1), 1, USUAL)[0];
    let (reads, all) = (one.asked.iter().filter(|(_, op)| op.direction == Direction::Read).count(), one.asked.len());
    assert!(
        (reads as f64 - all as f64 / 2.0).abs() < 4.0 * (all as f64).sqrt() / 2.0,
        "equal shares where none is said"
    );
    assert!(
        one.asked.windows(2).all(|pair| pair[1].1.offset == pair[0].1.offset + 4096),
        "one behind the other, whoever it is"
    );
    // Three copies read each place three times, wherever they run.
    for of in [1, 2, 3, 5] {
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        let workers = run(&file(3), of, USUAL);
        workers.iter().flat_map(|did| &did.asked).for_each(|(_, op)| *counts.entry(op.offset).or_default() += 1);
        assert!((0..19_000u64).all(|place| counts[&(place * 4096)] == 3), "{of} workers");
    }
}

#[test]
fn what_goes_behind_follows_the_last_operation_of_its_loop_whoever_issued_it() {
    let streams =
        stream("random", "write", "share = \"30%\"\nrange = { from = \"25%\" }\naddress = { uniform = \"64KiB\" }")
            + &stream("behind", "read", "share = \"70%\"\naddress = { behind = \"8KiB\" }");
    let file = format!("{HEAD}[[loop]]\nname = \"mix\"\nin_flight = 6\n{streams}");
    for of in 1..=3u64 {
        let size = 1 << 24;
        for (index, did) in (0..).zip(run(&file, of, (Span::from_us(100), size))) {
            let first = did.asked.iter().position(|(_, op)| op.direction == Direction::Read).unwrap();
            if first == 0 {
                assert_eq!(
                    did.asked[0].1.offset,
                    size / 8192 * index / of * 8192,
                    "each worker begins at its own place"
                );
            }
            for pair in did.asked.windows(2).filter(|pair| pair[1].1.direction == Direction::Read) {
                let behind = (pair[0].1.offset + 4096).next_multiple_of(8192);
                assert_eq!(pair[1].1.offset, if behind == size { 0 } else { behind }, "{of} workers");
            }
            assert!(did.asked.iter().any(|(_, op)| op.direction == Direction::Write && op.offset >= size / 4));
        }
    }
}

#[test]
fn permutations_are_whole_over_one_to_seven_workers() {
    let keys = "address = { once = \"4KiB\" }\nplaces = \"file\"";
    let streams = stream("a", "read", keys) + &stream("b", "write", keys);
    for of in 1..=7u64 {
        let file = format!("{HEAD}[[loop]]\nname = \"mix\"\nin_flight = {of}\n{streams}");
        let places = 4000;
        let workers = run(&file, of, (Span::from_us(100), places * 4096));
        let mut seen: Vec<u64> = Vec::new();
        for (index, did) in (0..).zip(&workers) {
            let own = places / of + u64::from(index < places % of);
            seen.extend(did.asked.iter().take(own as usize).map(|(_, op)| op.offset / 4096));
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..places).collect::<Vec<_>>(), "{of} workers");
    }
}

#[test]
fn thinking_users_make_the_rate_that_they_must() {
    // X = N / (R + Z).
    for (users, service, think, every, spread) in
        [(50, 1000, 9000, 1, "exponential"), (8, 500, 1500, 1, "none"), (20, 200, 8000, 4, "exponential")]
    {
        let think_keys = format!("think = {{ time = \"{think}us\", every = {every}, spread = \"{spread}\" }}");
        let streams = stream("a", "read", "");
        let file = format!("{HEAD}[[loop]]\nname = \"mix\"\nin_flight = {users}\n{think_keys}\n{streams}")
            .replace("duration_is_below = 0\n", "")
            .replace("\"2s\"", "\"20s\"");
        for of in [1, 3] {
            let workers = run(&file, of, (Span::from_us(service), 1 << 30));
            let done: u64 = workers.iter().map(|did| did.ok[0]).sum();
            let expected =
                20e6 * f64::from(users) / (f64::from(service as u32) + 0.5 + f64::from(think) / f64::from(every));
            assert!((done as f64 / expected - 1.0).abs() < 0.02, "{users} users, {of} workers: {done} of {expected}");
            let most: usize = workers.iter().map(|did| did.most).sum();
            assert!(most <= users as usize, "{most}");
        }
    }
}

#[test]
fn bursts_are_of_one_line_and_nothing_is_issued_in_their_delay() {
    let lines = "[[loop.line]]\nname = \"big\"\nshare = \"30%\"\nburst = 8\ndelay = \"5ms\"\n[[loop.line]]\nname = \"small\"\nshare = \"70%\"\nburst = 2\n";
    let streams = stream("a", "read", "line = \"big\"") + &stream("b", "write", "line = \"small\"");
    let file = format!("{HEAD}[[loop]]\nname = \"mix\"\n{lines}{streams}").replace("\"2s\"", "\"60s\"");
    let did = &run(&file, 1, USUAL)[0];
    // Runs of one direction are whole bursts.
    let asked = &did.asked[..did.asked.len() - 8];
    let mut bursts: Vec<(Direction, usize, Span)> = Vec::new();
    for (at, (now, op)) in asked.iter().enumerate() {
        let gap = if at == 0 { Span::ZERO } else { now.since(asked[at - 1].0) };
        match bursts.last_mut() {
            Some((direction, n, _)) if *direction == op.direction && gap < Span::from_ms(5) => *n += 1,
            _ => bursts.push((op.direction, 1, gap)),
        }
    }
    let last = bursts.len() - 1;
    assert!(bursts[1..last].iter().all(|(direction, n, gap)| match direction {
        Direction::Read => *n == 8 && *gap >= Span::from_ms(5),
        Direction::Write => n % 2 == 0,
    }));
    // Of the operations 0.3 · 8 by (0.3 · 8 + 0.7 · 2).
    let (reads, all) = (did.ok[0] as f64, did.ok.iter().sum::<u64>() as f64);
    assert!((reads / all - 2.4 / 3.8).abs() < 0.02, "{reads} of {all}");
}

fn flush(keys: &str) -> String {
    format!("[[stream]]\nname = \"flushes\"\ndirection = \"flush\"\n{keys}\n")
}

#[test]
fn a_flush_comes_after_every_nth_write_and_takes_a_slot_of_its_copy() {
    let streams = stream("a", "read", "share = \"50%\"") + &stream("b", "write", "share = \"50%\"");
    for (depth, copies, every) in [(1, 1, 1), (1, 1, 8), (4, 1, 3), (1, 3, 8), (3, 2, 2)] {
        let file = format!(
            "{HEAD}[[loop]]\nname = \"mix\"\nin_flight = {depth}\ncopies = {copies}\n{streams}{}",
            flush(&format!("loop = \"mix\"\nevery = {every}"))
        );
        for of in 1..=4 {
            let workers = run(&file, of, USUAL);
            let most: usize = workers.iter().map(|did| did.most).sum();
            assert_eq!(most, depth * copies, "{depth}x{copies}, {of} workers");
            for did in &workers {
                // Each worker counts the writes of each copy that it has slots of.
                let (writes, flushes) = (did.ok[1], did.ok[2]);
                let least = (writes / every).saturating_sub(copies as u64);
                assert!((least..=writes / every).contains(&flushes), "{flushes} after {writes} writes, every {every}");
            }
            if (depth, copies) == (1, 1) {
                let asked = &workers[0].asked;
                let mut writes = 0;
                for (_, op) in asked {
                    let due = writes == every;
                    assert_eq!(op.is_flush(), due, "after {writes} writes");
                    assert!(!op.is_flush() || *op == Op::flush_on_target(0), "{op:?}");
                    writes = if due { 0 } else { writes + u64::from(op.direction == Direction::Write) };
                }
            }
        }
    }
}

#[test]
fn flushes_are_none_of_the_operations_of_a_life_and_none_follows_the_last() {
    for (end, every, writes, flushes) in [
        ("operations = 1024", 1, 1024, 1023),
        ("operations = 256", 8, 256, 31),
        ("bytes = \"1MiB\"", 8, 256, 31),
        ("operations = 7", 8, 7, 0),
        ("operations = 8", 8, 8, 0),
        ("operations = 9", 8, 9, 1),
    ] {
        let file = format!(
            "{HEAD}[[loop]]\nname = \"mix\"\n{end}\n{}{}",
            stream("a", "write", "address = \"sequential\""),
            flush(&format!("loop = \"mix\"\nevery = {every}"))
        );
        let did = &run(&file, 1, USUAL)[0];
        assert_eq!(did.ok, [writes, flushes], "{end}, every {every}");
        let offsets: Vec<u64> = did.asked.iter().filter(|(_, op)| !op.is_flush()).map(|(_, op)| op.offset).collect();
        assert!(offsets.windows(2).all(|pair| pair[1] == pair[0] + 4096), "flushes leave the places as they are");
    }
}

#[test]
fn flushes_may_have_a_rate_or_a_life_of_their_own() {
    let writes = "[[stream]]\nname = \"a\"\ndirection = \"write\"\nsize = \"4KiB\"\nin_flight = 1\noperations = 100\n";
    let rated = format!("{HEAD}{writes}{}", flush("rate = \"10/s\"\narrival = \"steady\""));
    assert_eq!(run(&rated, 1, USUAL)[0].ok, [100, 20]);
    let after = format!("{HEAD}{writes}{}", flush("in_flight = 1\noperations = 1\nafter = \"a\""));
    let did = &run(&after, 1, USUAL)[0];
    assert_eq!(did.ok, [100, 1]);
    assert!(did.asked.last().is_some_and(|(_, op)| op.is_flush()), "when the writes have ended");
}

#[test]
fn a_pause_counts_the_operations_that_move_data() {
    let file = format!(
        "{HEAD}[[loop]]\nname = \"mix\"\nthink = {{ time = \"5ms\", every = 4 }}\noperations = 40\n{}{}",
        stream("a", "write", ""),
        flush("loop = \"mix\"\nevery = 2")
    );
    let did = &run(&file, 1, USUAL)[0];
    let pauses: Vec<usize> =
        (1..did.asked.len()).filter(|at| did.asked[*at].0.since(did.asked[at - 1].0) >= Span::from_ms(5)).collect();
    assert_eq!(did.ok, [40, 19]);
    // Four writes and two flushes lie between two pauses; the flush that follows the fourth write comes behind the pause.
    assert_eq!(pauses, [5, 11, 17, 23, 29, 35, 41, 47, 53], "{pauses:?}");
}

#[test]
fn slots_that_pause_together_wait_for_each_other() {
    for (depth, every, burst) in [(1u64, 3, 3), (4, 1, 4), (4, 4, 7), (4, 10, 13)] {
        let file = format!(
            "{HEAD}[[loop]]\nname = \"mix\"\nin_flight = {depth}\nthink = {{ time = \"5ms\", every = {every}, together = true }}\n{}",
            stream("a", "read", "")
        );
        let did = &run(&file, 1, USUAL)[0];
        assert_eq!(did.most as u64, depth);
        let pauses: Vec<usize> =
            (1..did.asked.len()).filter(|at| did.asked[*at].0.since(did.asked[at - 1].0) >= Span::from_ms(5)).collect();
        assert!(pauses.len() > 100, "{depth} {every}: {}", pauses.len());
        // What is in flight when the last completion of a burst counts belongs to it.
        assert_eq!(pauses[0], burst, "{depth} {every}: {:?}", &pauses[..3]);
        for pair in pauses.windows(2) {
            assert_eq!(pair[1] - pair[0], burst, "{depth} {every}");
        }
        // Nothing is in flight in a pause: the operations before it have come back 5 ms earlier.
        for at in &pauses {
            assert!(did.asked[*at].0.since(did.asked[at - 1].0) >= Span::from_us(5100), "{depth} {every}");
        }
    }
}

/// Targets of so many blocks of 4 KiB.
fn targets(blocks: &[u64]) -> Vec<Geometry> {
    blocks.iter().map(|n| Geometry { size: n * 4096, block: 512 }).collect()
}

/// The operations of all workers on each target.
fn counts(workers: &[Did], targets: usize) -> Vec<u64> {
    let of = |target: usize| {
        workers.iter().flat_map(|did| &did.asked).filter(|(_, op)| usize::from(op.target) == target).count() as u64
    };
    (0..targets).map(of).collect()
}

#[test]
fn a_loop_that_takes_turns_has_its_number_in_flight_on_all_targets_together() {
    let streams = stream("a", "read", "share = \"70%\"") + &stream("b", "write", "share = \"30%\"");
    for (depth, copies, next) in [(8, 1, "in-turn"), (3, 3, "in-turn"), (1, 1, "random"), (5, 2, "random")] {
        let head = format!("[[loop]]\nname = \"mix\"\nin_flight = {depth}\ncopies = {copies}\ntargets = \"{next}\"\n");
        let file = format!("{HEAD}{head}{streams}");
        for of in 1..=7 {
            let workers = run_on(&targets(&[1 << 18, 1 << 16, 1 << 17]), &file, of, USUAL.0);
            let most: usize = workers.iter().map(|did| did.most).sum();
            assert_eq!(most, depth * copies, "{depth}x{copies}, {of} workers");
            let (counts, all) = (counts(&workers, 3), workers.iter().flat_map(|did| &did.ok).sum::<u64>() as f64);
            let spread = match next {
                // Each worker's part of each copy goes round by itself.
                "in-turn" => (copies as u64 * of) as f64,
                _ => 4.0 * (all * 2.0 / 9.0).sqrt(),
            };
            assert!(
                counts.iter().all(|n| (*n as f64 - all / 3.0).abs() <= spread),
                "{counts:?} of {all}, {of} workers"
            );
            // Flows are those of the first stream on all targets, then those of the second.
            let reads: u64 = workers.iter().flat_map(|did| &did.ok[..3]).sum();
            assert!((reads as f64 - all * 0.7).abs() < 4.0 * (all * 0.21).sqrt(), "{reads} of {all}");
        }
    }
}

#[test]
fn turns_keep_the_cursors_of_each_target() {
    let keys = "address = \"sequential\"\nplaces = \"file\"";
    let streams = stream("a", "read", keys) + &stream("b", "write", keys);
    let file = format!("{HEAD}[[loop]]\nname = \"mix\"\ntargets = {{ next = \"in-turn\", operations = 4 }}\n{streams}");
    let did = &run_on(&targets(&[1 << 18; 3]), &file, 1, USUAL.0)[0];
    for (at, (_, op)) in did.asked.iter().enumerate() {
        let at = at as u64;
        let place = (u64::from(op.target), op.offset / 4096);
        assert_eq!(place, (at / 4 % 3, at / 12 * 4 + at % 4), "operation {at}");
    }
    let streams =
        stream("a", "write", "share = \"50%\"") + &stream("b", "read", "share = \"50%\"\naddress = \"behind\"");
    let file = format!("{HEAD}[[loop]]\nname = \"mix\"\ntargets = \"random\"\n{streams}");
    let did = &run_on(&targets(&[1 << 18; 2]), &file, 1, USUAL.0)[0];
    let mut ended = [None; 2];
    for (_, op) in &did.asked {
        let before = ended[usize::from(op.target)].replace(op.offset + 4096);
        let goes_on = op.direction == Direction::Read && before.is_some_and(|end| end < 4096 << 18);
        assert!(!goes_on || Some(op.offset) == before, "{op:?} behind {before:?}");
    }
}

#[test]
fn passes_through_targets_of_different_sizes_are_whole_over_several_workers() {
    for next in ["in-turn", "random", "one-after-another"] {
        let head = format!(
            "[[loop]]\nname = \"mix\"\nin_flight = 4\ntargets = {{ next = \"{next}\", passes = true }}\noperations = 1716\n"
        );
        let file = format!("{HEAD}{head}{}", stream("a", "read", "address = { once = \"4KiB\" }"));
        // Each worker has the same part of all of them.
        let sizes = [1008, 204, 504];
        for of in 1..=4 {
            let workers = run_on(&targets(&sizes), &file, of, USUAL.0);
            assert_eq!(counts(&workers, 3), sizes, "{next}, {of} workers");
            let mut seen: Vec<(u16, u64)> =
                workers.iter().flat_map(|did| &did.asked).map(|(_, op)| (op.target, op.offset)).collect();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 1716, "each place of each target once: {next}, {of} workers");
            if next == "one-after-another" && of == 1 {
                assert!(workers[0].asked.windows(2).all(|pair| pair[0].1.target <= pair[1].1.target));
            }
        }
    }
}

#[test]
fn the_life_of_a_loop_that_takes_turns_is_that_of_all_its_targets_together() {
    let blocks = [Geometry { size: 1 << 24, block: 512 }, Geometry { size: 1 << 24, block: 8192 }];
    for (life, size, expected) in [
        ("operations = 999", "4KiB", 999),
        ("bytes = \"400KiB\"", "8KiB", 50),
        // Rounded up to 8 KiB on the second target: 4 and 8 KiB in turn.
        ("bytes = \"600KiB\"", "4KiB", 100),
    ] {
        let streams = stream("a", "write", "").replace("4KiB", size);
        let after =
            "[[stream]]\nname = \"flushes\"\ndirection = \"flush\"\nin_flight = 1\noperations = 1\nafter = \"mix\"\n";
        let file =
            format!("{HEAD}[[loop]]\nname = \"mix\"\nin_flight = 2\ntargets = \"in-turn\"\n{life}\n{streams}{after}");
        let did = &run_on(&blocks, &file, 1, USUAL.0)[0];
        assert_eq!((did.ok[0] + did.ok[1], &did.ok[2..]), (expected, &[1, 1][..]), "{life}");
        assert!(did.ok[0].abs_diff(did.ok[1]) <= 1, "{:?}", did.ok);
        let last = did.asked.iter().position(|(_, op)| op.is_flush()).unwrap();
        assert_eq!(last as u64, expected, "each target is flushed once, behind the last write");
    }
}
