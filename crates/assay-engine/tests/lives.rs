//! Streams that begin later than the run or end before it, over one to seven workers, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

use crate::even;

use assay_base::{Direction, Instant, Op, Span};
use assay_engine::shell::Sink;
use assay_engine::{Gates, Limits, Setup, Worker, run_virtual};
use assay_model::{Plan, arrival::Part, recording::Line, workload};
use assay_record::{Event, EventKind, FlowInterval, Frame, Interval, Thresholds};
use even::Even;

#[derive(Default)]
struct Kept(Vec<Interval>, Vec<Event>);

impl Sink for Kept {
    fn receive_frame(&mut self, frame: Frame) {
        self.0.push(frame.interval_line());
    }
    fn receive_event(&mut self, event: Event) {
        self.1.push(event);
    }
    fn spent_frame(&mut self) -> Option<Frame> {
        None
    }
}

/// What one worker did: when and what it was asked for, and what it told.
struct Did {
    asked: Vec<(Instant, assay_base::Op)>,
    events: Vec<Event>,
    /// Completed operations of each flow.
    ok: Vec<u64>,
    intervals: Vec<Interval>,
    end: Instant,
}

impl Did {
    /// For each interval what was scheduled and issued of a flow, and what waits at its end.
    fn course(&self, flow: usize) -> Vec<(u64, u64, u64)> {
        let cells = self.intervals.iter().map(|interval| &interval.flows[flow]);
        cells.map(|cell| (cell.scheduled, cell.issued, cell.waiting)).collect()
    }
}

fn plan(file: &str) -> Plan {
    let adjust = workload::Adjust { targets: 1, seed: 3, ..workload::Adjust::default() };
    workload::read_workload("t", file).unwrap().make_plan(&adjust).unwrap()
}

/// One of the workers, which completes each operation after 100 µs.
fn one(plan: &Plan, part: Part, gates: Option<std::sync::Arc<Gates>>) -> Did {
    slowly(plan, (part, assay_engine::in_flight_bound(plan, part)), gates, Span::from_us(100))
}

/// The same with a device that takes this long, and with so many operations in flight.
fn slowly(plan: &Plan, (part, bound): (Part, u32), gates: Option<std::sync::Arc<Gates>>, service: Span) -> Did {
    let (thresholds, limits) = (Thresholds::new([]), Limits::default());
    let setup = Setup { part, thresholds, bound, start: Instant::ZERO, run: 7, limits, ledger: None, gates };
    let mut worker = Worker::new(plan, Even::new(service, 1 << 30), setup).unwrap();
    let mut kept = Kept::default();
    run_virtual(&mut worker, Instant::ZERO, &mut kept, || false);
    let ok = (0..plan.load.stream_targets().count()).map(|flow| {
        let cells = || kept.0.iter().map(|interval| &interval.flows[flow]);
        let (ok, issued, scheduled): (u64, u64, u64) = (
            cells().map(|cell| cell.ok).sum(),
            cells().map(|cell| cell.issued).sum(),
            cells().map(|cell| cell.scheduled).sum(),
        );
        assert!(ok == issued && ok == scheduled, "flow {flow}: {ok} of {issued} issued, {scheduled} scheduled");
        ok
    });
    let ok = ok.collect();
    let end = kept.0.last().map_or(Instant::ZERO, |last| Instant::from_ns(last.end_ns));
    Did { asked: std::mem::take(&mut worker.device_mut().asked), events: kept.1, ok, intervals: kept.0, end }
}

fn run(file: &str, of: u64) -> Vec<Did> {
    let plan = plan(file);
    (0..of).map(|index| one(&plan, Part { index, of }, None)).collect()
}

fn stream(name: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"read\"\n{keys}\n")
}

const HEAD: &str = "model = \"streams\"\nduration = \"2s\"\nslice = \"1s\"\n";

#[test]
fn the_workers_share_a_number_of_operations_and_end_with_it() {
    for keys in [
        "size = \"4KiB\"\nin_flight = 5\noperations = 1003",
        "size = \"4KiB\"\nin_flight = 1\npause = \"1ms\"\noperations = 1003",
        "size = \"4KiB\"\nrate = \"2000/s\"\noperations = 1003",
        "size = \"4KiB\"\nrate = \"2000/s\"\narrival = \"steady\"\noperations = 1003",
        // 1003 operations, the last of which reaches beyond.
        "size = \"4KiB\"\nin_flight = 5\nbytes = \"4009KiB\"",
        "size = \"4KiB\"\nrate = \"2000/s\"\nbytes = \"4012KiB\"",
    ] {
        for of in 1..=7 {
            let workers = run(&format!("{HEAD}{}", stream("a", keys)), of);
            assert_eq!(workers.iter().map(|did| did.ok[0]).sum::<u64>(), 1003, "{keys}, {of} workers");
            let told = workers.iter().flat_map(|did| &did.events).filter(|event| event.what == EventKind::StreamEnd);
            let told: u64 = told.map(|event| event.details["operations"].parse::<u64>().unwrap()).sum();
            assert_eq!(told, 1003, "{keys}, {of} workers");
            for event in workers.iter().flat_map(|did| &did.events) {
                assert_eq!(event.details.get("workers"), (of > 1).then(|| of.to_string()).as_ref());
                assert!(event.text.starts_with("a stream has done its "), "{}", event.text);
            }
            assert!(
                workers.iter().all(|did| did.end < Instant::from_ns(1_900_000_000)),
                "the run is over with the last"
            );
        }
    }
}

#[test]
fn a_loop_has_its_numbers_in_each_copy() {
    let member = |name: &str, size: &str| stream(name, &format!("size = \"{size}\"\nloop = \"mix\""));
    let of = |life: &str, sizes: [&str; 2]| {
        let file = "[[loop]]\nname = \"mix\"\nin_flight = 3\ncopies = 2\n";
        format!("{HEAD}{file}{life}\n{}{}", member("a", sizes[0]), member("b", sizes[1]))
    };
    for workers in 1..=7 {
        let all: u64 = run(&of("operations = 501", ["4KiB", "8KiB"]), workers).iter().flat_map(|did| &did.ok).sum();
        assert_eq!(all, 2 * 501, "{workers} workers");
        let did = run(&of("bytes = \"1MiB\"", ["4KiB", "8KiB"]), workers);
        let bytes: u64 = did.iter().flat_map(|did| &did.asked).map(|(_, op)| u64::from(op.len)).sum();
        // Each worker ends with the operation by which it has moved its part of each copy.
        let most = (2 << 20) + 2 * workers * 8192;
        assert!((2 << 20..most).contains(&bytes), "{workers} workers: {bytes}");
    }
}

#[test]
fn drawn_sizes_end_with_the_operation_that_reaches_the_bytes() {
    let size = "size = { shares = [[\"4KiB\", \"50%\"], [\"64KiB\", \"50%\"]] }\nbytes = \"8MiB\"\n";
    for arrival in ["in_flight = 4", "rate = \"1000/s\"", "rate = \"1000/s\"\narrival = \"steady\""] {
        let did = run(&format!("{HEAD}{}", stream("a", &format!("{size}{arrival}"))), 1);
        let lengths: Vec<u64> = did[0].asked.iter().map(|(_, op)| u64::from(op.len)).collect();
        let bytes: u64 = lengths.iter().sum();
        assert!(bytes >= 8 << 20 && bytes - lengths.last().unwrap() < 8 << 20, "{arrival}: {bytes}");
    }
}

#[test]
fn a_stream_issues_only_within_its_time() {
    let (half, one_and_a_half) = (Instant::from_ns(500_000_000), Instant::from_ns(1_500_000_000));
    for keys in [
        "in_flight = 3\nstart = \"500ms\"\nfor = \"1s\"",
        "rate = \"1000/s\"\nstart = \"500ms\"\nfor = \"1s\"",
        "rate = \"1000/s\"\narrival = { bursty = { on = \"10ms\", off = \"10ms\", quiet = \"10%\" } }\nstart = \"500ms\"\nfor = \"1s\"",
    ] {
        for of in 1..=3 {
            let file = format!(
                "{HEAD}{}{}",
                stream("a", &format!("size = \"4KiB\"\n{keys}")),
                stream("b", "size = \"8KiB\"\nrate = \"10/s\"")
            );
            let workers = run(&file, of);
            let own = workers.iter().flat_map(|did| &did.asked).filter(|(_, op)| op.len == 4096);
            let times: Vec<Instant> = own.map(|(at, _)| *at).collect();
            assert!(times.len() > 500, "{keys}: {}", times.len());
            assert!(times.iter().all(|at| *at >= half && *at < one_and_a_half), "{keys}, {of} workers");
            assert!(workers.iter().all(|did| did.end >= Instant::from_ns(2_000_000_000)), "b lasts as long as the run");
            let told: Vec<&Event> = workers.iter().flat_map(|did| &did.events).collect();
            assert!(told.iter().all(|event| event.text.starts_with("a stream has ended at its time, after ")));
            assert_eq!(told.len() as u64, of, "{keys}: each worker tells about its part");
        }
    }
}

#[test]
fn one_begins_when_another_has_ended_and_the_run_ends_with_the_last() {
    let first = stream("a", "size = \"4KiB\"\nin_flight = 2\noperations = 1000");
    let then = stream("b", "size = \"8KiB\"\nrate = \"1000/s\"\nafter = \"a\"\nstart = \"100ms\"\noperations = 100");
    let last = stream("c", "size = \"16KiB\"\nin_flight = 1\nafter = \"b\"\nfor = \"50ms\"");
    let did = &run(&format!("{HEAD}{last}{then}{first}"), 1)[0];
    let of = |len: u32| did.asked.iter().filter(move |(_, op)| op.len == len).map(|(at, _)| *at);
    assert_eq!((of(4096).count(), of(8192).count()), (1000, 100));
    let service = Span::from_us(101);
    assert!(of(8192).min() > of(4096).max().map(|at| at + Span::from_ms(100)), "100 ms behind the last of a");
    assert!(of(16_384).min() > of(8192).max() && of(16_384).max() < of(16_384).min().map(|at| at + Span::from_ms(50)));
    assert!(did.end < of(16_384).max().unwrap() + service + Span::from_ms(1), "{:?}", did.end);
    let begins = did.events.iter().filter(|event| event.what == EventKind::StreamBegin);
    let begins: Vec<u64> = begins.map(|event| event.details["begun_ns"].parse().unwrap()).collect();
    assert_eq!(begins.len(), 2);
    assert!(begins.contains(&of(16_384).min().unwrap().as_ns()), "{begins:?}");
}

#[test]
fn who_waits_for_several_workers_waits_for_all_of_them() {
    let file = format!(
        "{HEAD}{}{}",
        stream("a", "size = \"4KiB\"\nin_flight = 4\noperations = 1000"),
        stream("b", "size = \"8KiB\"\nin_flight = 2\nafter = \"a\"\noperations = 10")
    );
    let plan = plan(&file);
    // In virtual time the first worker runs to its end before the second begins: it waits in vain.
    let gates = Gates::new(&plan, 2);
    let first = one(&plan, Part { index: 0, of: 2 }, Some(gates.clone()));
    assert_eq!(first.ok, [500, 0], "the other worker has not done its half");
    let second = one(&plan, Part { index: 1, of: 2 }, Some(gates));
    assert_eq!(second.ok, [500, 5], "both halves are done");
}

/// Several streams wait for the same ones and for others, in one or several workers.
#[test]
fn who_waits_for_several_streams_waits_for_the_last_of_them() {
    let file = [
        stream("a", "size = \"4KiB\"\nin_flight = 1\noperations = 300"),
        stream("b", "size = \"8KiB\"\nin_flight = 1\noperations = 50"),
        stream("c", "size = \"16KiB\"\nin_flight = 1\nafter = [\"a\", \"b\"]\noperations = 10"),
        stream("d", "size = \"32KiB\"\nin_flight = 1\nafter = \"b\"\noperations = 10"),
        stream("e", "size = \"64KiB\"\nin_flight = 1\nafter = [\"d\", \"c\"]\noperations = 10"),
    ];
    let did = &run(&format!("{HEAD}{}", file.concat()), 1)[0];
    assert_eq!(did.ok, [300, 50, 10, 10, 10]);
    let times = |len: u32| {
        let of = || did.asked.iter().filter(move |(_, op)| op.len == len).map(|(at, _)| *at);
        (of().min().unwrap(), of().max().unwrap())
    };
    let [a, b, c, d, e] = [4096, 8192, 16_384, 32_768, 65_536].map(times);
    let service = Span::from_us(100);
    assert!(b.1 < a.1 && c.0 >= a.1 + service, "c waits for the later one");
    assert!(d.0 >= b.1 + service && d.0 < a.1, "d waits for b alone");
    assert!(e.0 >= c.1.max(d.1) + service, "e waits for both");
    let plan = plan(&format!("{HEAD}{}", file.concat()));
    let gates = Gates::new(&plan, 2);
    let first = one(&plan, Part { index: 0, of: 2 }, Some(gates.clone()));
    let second = one(&plan, Part { index: 1, of: 2 }, Some(gates));
    let both: Vec<u64> = first.ok.iter().zip(&second.ok).map(|(one, other)| one + other).collect();
    // In virtual time the first worker runs to its end before the second begins, and waits in vain.
    assert_eq!((both[0], both[1]), (300, 50), "{both:?}");
}

#[test]
fn a_worker_without_a_part_tells_that_it_is_over() {
    let file = format!("{HEAD}{}", stream("a", "size = \"4KiB\"\nin_flight = 2\noperations = 9"));
    for of in [3, 7] {
        let told = run(&file, of);
        assert!(
            told.iter().all(|did| did.events.iter().any(|event| event.what == EventKind::StreamEnd)),
            "{of} workers"
        );
    }
}

#[test]
fn a_stream_that_never_begins_and_a_number_that_is_not_reached() {
    let file = format!(
        "{HEAD}{}{}",
        stream("a", "size = \"4KiB\"\nrate = \"10/s\"\noperations = 1000"),
        stream("b", "size = \"8KiB\"\nrate = \"100/s\"\nafter = \"a\"\noperations = 10")
    );
    let did = &run(&file, 1)[0];
    assert!(did.ok[0] < 60 && did.ok[1] == 0, "{:?}", did.ok);
    assert!(did.events.is_empty() && did.end >= Instant::from_ns(2_000_000_000), "it lasts as long as it may");
}

#[test]
fn who_waits_for_one_whose_time_is_over_waits_for_what_it_has_in_flight() {
    let file = format!(
        "{HEAD}{}[[stream]]\nname = \"b\"\ndirection = \"flush\"\nin_flight = 1\noperations = 1\nafter = \"a\"\n",
        stream("a", "size = \"4KiB\"\nin_flight = 3\nfor = \"50ms\"").replace("\"read\"", "\"write\"")
    );
    let did = &run(&file, 1)[0];
    let (flush, before): (Vec<_>, Vec<_>) = did.asked.iter().partition(|(_, op)| op.is_flush());
    let last = before.iter().map(|(at, _)| *at).max().unwrap();
    assert!(last < Instant::from_ns(50_000_000) && flush.len() == 1, "{last:?} {flush:?}");
    assert!(flush[0].0 >= last + Span::from_us(100), "the last write has completed: {last:?} {flush:?}");
}

/// The plan of a workload that plays `lines` from the file t.
fn playing(file: &str, lines: &[Line]) -> Plan {
    let mut workload = workload::read_workload("w", file).unwrap();
    workload.play_recording("t", lines).unwrap();
    workload.make_plan(&workload::Adjust { targets: 1, seed: 3, ..workload::Adjust::default() }).unwrap()
}

#[test]
fn a_recording_comes_out_line_for_line() {
    let line = |n: u64| Line {
        // Some come at the same time, and one after a long pause.
        at_ns: n / 3 * 1_000_000 + if n > 50 { 1_000_000_000 } else { 0 },
        offset: n * 7919 % 1000 * 4096,
        len: 512 * (1 + n as u32 % 8),
        direction: if n.is_multiple_of(4) { Direction::Write } else { Direction::Read },
    };
    let lines: Vec<Line> = (0..100).map(line).collect();
    let stream = |name: &str, direction: &str, speed: &str| {
        format!(
            "[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\narrival = {{ recorded = \"t\", speed = \"{speed}\" }}\n"
        )
    };
    for (speed, times) in [("1x", 1), ("2x", 2)] {
        let file = format!("{HEAD}{}{}", stream("r", "read", speed), stream("w", "write", speed));
        let plan = playing(&file, &lines);
        for of in [1, 3] {
            let mut asked = Vec::new();
            for index in 0..of {
                let did = one(&plan, Part { index, of }, None);
                asked.extend(did.asked);
            }
            let key = |(at, op): &(Instant, Op)| (*at, op.direction == Direction::Write, op.offset, op.len);
            let mut found: Vec<_> = asked.iter().map(key).collect();
            let expected = lines.iter().map(|line| {
                let at = Instant::ZERO + Span::from_ns(line.at_ns / times);
                (at, line.direction == Direction::Write, line.offset, line.len)
            });
            let mut expected: Vec<_> = expected.collect();
            if of == 1 {
                // One after the other as they were recorded, but reads before writes of the same moment.
                expected.sort_by_key(|line| (line.0, line.1));
            } else {
                found.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(found, expected, "{speed}, {of} workers");
        }
    }
}

#[test]
fn a_recording_may_be_cut_and_begin_later() {
    let line = |n: u64| Line { at_ns: n * 1_000_000, offset: n * 4096, len: 4096, direction: Direction::Read };
    let lines: Vec<Line> = (0..100).map(line).collect();
    let file = |keys: &str| {
        format!(
            "{HEAD}[[stream]]\nname = \"r\"\ndirection = \"read\"\narrival = {{ recorded = \"t\" }}\n{keys}\n\
             [[stream]]\nname = \"b\"\ndirection = \"write\"\nsize = \"8KiB\"\nin_flight = 1\noperations = 10\n"
        )
    };
    for (keys, operations) in
        [("operations = 30", 30), ("bytes = \"64KiB\"", 16), ("for = \"50ms\"", 50), ("after = \"b\"", 100)]
    {
        let did = one(&playing(&file(keys), &lines), Part { index: 0, of: 1 }, None);
        assert_eq!(did.ok, [operations, 10], "{keys}");
    }
}

/// Ten operations are due in the first hundredth of a second, and the device does one after another: they are issued
/// late, but issued, and at the end of each interval those are counted that are due and still wait.
#[test]
fn what_is_due_within_a_life_and_waits_for_the_device_is_counted_and_issued() {
    let arrival = "rate = \"1000/s\"\narrival = \"steady\"";
    let drawn = "size = { shares = [[\"4KiB\", \"50%\"], [\"64KiB\", \"50%\"]] }";
    for (size, life, at_once) in [
        ("size = \"4KiB\"", "operations = 10", 7),
        ("size = \"4KiB\"", "bytes = \"40KiB\"", 7),
        ("size = \"4KiB\"", "bytes = \"37KiB\"", 7),
        (drawn, "bytes = \"400KiB\"", 7),
        // The run ends with its only stream, and so does the first interval.
        ("size = \"4KiB\"", "for = \"10ms\"", 1),
    ] {
        let plan = plan(&format!("{HEAD}{}", stream("a", &format!("{size}\n{arrival}\n{life}"))));
        let did = slowly(&plan, (Part { index: 0, of: 1 }, 1), None, Span::from_ms(150));
        let all = did.asked.len() as u64;
        assert!(all == 10 || size == drawn && (8..60).contains(&all), "{life}: {all}");
        let course = did.course(0);
        assert_eq!(course[0], (all, at_once, all - at_once), "{life}");
        let (mut scheduled, mut issued) = (0, 0);
        for (at, (more, out, waiting)) in course.iter().enumerate() {
            (scheduled, issued) = (scheduled + more, issued + out);
            assert_eq!((scheduled, waiting), (all, &(all - issued)), "{life}: interval {at}");
        }
        let lag = did.intervals.iter().map(|interval| interval.flows[0].lag.sum_ns).sum::<u64>();
        assert!(lag > 10 * 75_000_000, "{life}: each waited for those before it: {lag}");
    }
}

/// Behind a pause, an operation of a closed loop is due when that is over, without one when the one before it completed.
/// Where another loop has the only slot then, it waits for the device.
#[test]
fn a_loop_with_a_life_waits_for_a_slot_that_another_one_has() {
    for pause in ["pause = \"1ms\"\n", ""] {
        let keys = format!("size = \"4KiB\"\nin_flight = 1\n{pause}for = \"500ms\"");
        // Two of them, between which the device has one slot.
        let plan = plan(&format!("{HEAD}{}{}", stream("a", &keys), stream("b", &keys))).in_one_lane();
        let did = slowly(&plan, (Part { index: 0, of: 1 }, 1), None, Span::from_ms(50));
        let sum = |of: fn(&FlowInterval) -> u64| did.intervals.iter().flat_map(|it| &it.flows).map(of).sum::<u64>();
        assert!(did.ok.iter().all(|ok| (4..7).contains(ok)), "ten have room: {:?}", did.ok);
        let (lag, own) = (sum(|flow| flow.lag.sum_ns), sum(|flow| flow.own_lag.sum_ns));
        assert!(lag > 8 * 45_000_000 && own == 0, "{pause}: each waits for the other: {lag}, own {own}");
    }
}
