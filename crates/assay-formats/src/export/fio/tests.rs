//! What the export says of logs that are made here, interval by interval.

use super::*;
use assay_base::Direction;
use assay_record::{Entry, EventKind, FlowHead, FlowInterval, Reader, StreamHead};

/// The header of a stored log, with one flow that is measured for three seconds.
fn header() -> Header {
    let log = include_bytes!("../../../../assay-record/tests/golden/run-v1.jsonl");
    let Ok(Entry::Header(mut header)) = Reader::new(&log[..]).next_entry().unwrap().unwrap() else {
        panic!("no header")
    };
    header.streams.truncate(1);
    header.flows.truncate(1);
    header.interval_ns = 1_000_000_000;
    header.phases.retain(|phase| phase.kind == PhaseKind::Measure);
    header.phases.truncate(1);
    header.phases[0].span_ns = 3_000_000_000;
    *header
}

#[test]
fn what_completes_while_the_run_drains_and_what_an_interruption_cut_is_no_rate() {
    let mut fio = Fio::new(None);
    let mut out = String::new();
    let interval = |index, start_ns, end_ns, ok| {
        let flow = FlowInterval { ok, bytes: ok * 1024, issued: ok, ..FlowInterval::default() };
        Interval { index, start_ns, end_ns, phase: 0, flows: vec![flow], ..Interval::default() }
    };
    fio.begin_segment(&header(), &mut out).unwrap();
    // Cut after a second and a half; the rest is measured by a second segment, which drains for five microseconds.
    for (index, start_ns, end_ns, ok) in [(0, 0, 1_000_000_000, 100), (1, 1_000_000_000, 1_500_000_000, 7)] {
        fio.take_interval(&interval(index, start_ns, end_ns, ok), &mut out).unwrap();
    }
    let mut rest = Header { continues: true, ..header() };
    rest.phases[0].span_ns = 1_500_000_000;
    fio.begin_segment(&rest, &mut out).unwrap();
    for (index, start_ns, end_ns, ok) in
        [(0, 0, 1_000_000_000, 120), (1, 1_000_000_000, 1_500_000_000, 60), (2, 1_500_000_000, 1_500_005_000, 3)]
    {
        fio.take_interval(&interval(index, start_ns, end_ns, ok), &mut out).unwrap();
    }
    fio.end_log(&mut out).unwrap();
    let json: Value = serde_json::from_str(&out).unwrap();
    let job = &json["jobs"][0];
    let side = if job["read"]["total_ios"] == 0 { &job["write"] } else { &job["read"] };
    assert_eq!((side["iops_min"].as_u64(), side["iops_max"].as_u64()), (Some(100), Some(120)), "{side:#}");
    assert_eq!((side["iops_samples"].as_u64(), side["iops_mean"].as_f64()), (Some(2), Some(110.0)));
    assert_eq!(
        (side["runtime"].as_u64(), side["total_ios"].as_u64()),
        (Some(3000), Some(287)),
        "what drains is left out"
    );
    assert!((side["iops"].as_f64().unwrap() - 287.0 / 3.0).abs() < 1e-9, "{side:#}");
}

#[test]
fn flushes_are_of_the_job_whose_writes_they_follow() {
    let mut head = header();
    let stream = |name: &str, direction, operation: Option<&str>| StreamHead {
        name: name.into(),
        direction,
        operation: operation.map(str::to_owned),
        ..header().streams.remove(0)
    };
    let (read, write, flush) = (Some(Direction::Read), Some(Direction::Write), Some("flush"));
    head.streams = vec![
        stream("a", write, None),
        stream("a.flushes", None, flush),
        stream("a.end-flush", None, flush),
        stream("b.reads", read, None),
        stream("b.writes", write, None),
        stream("b.flushes", None, flush),
        stream("c", write, None),
        stream("c.end-flush", None, flush),
        stream("syncs", None, flush),
        stream("d", read, None),
        stream("d", write, None),
    ];
    head.flows = (0..11).map(|stream| FlowHead { stream, ..head.flows[0] }).collect();
    let mut fio = Fio::new(None);
    let mut out = String::new();
    fio.begin_segment(&head, &mut out).unwrap();
    let flow = |ok| FlowInterval { ok, issued: ok, ..FlowInterval::default() };
    let flows = (1..=11).map(flow).collect();
    fio.take_interval(&Interval { end_ns: 1_000_000_000, phase: 0, flows, ..Interval::default() }, &mut out).unwrap();
    fio.end_log(&mut out).unwrap();
    let json: Value = serde_json::from_str(&out).unwrap();
    let shown = |job: &Value| {
        let ios = |way: &str| job[way]["total_ios"].as_u64().unwrap();
        let name = job["jobname"].as_str().unwrap().split(": ").last().unwrap().to_owned();
        (name, ios("read"), ios("write"), ios("sync"))
    };
    let expected =
        [("a", 0, 1, 2), ("b", 4, 5, 6), ("c", 0, 7, 0), ("syncs", 0, 0, 9), ("d", 10, 0, 0), ("d", 0, 11, 0)];
    let expected: Vec<_> = expected.iter().map(|(name, r, w, s)| ((*name).to_owned(), *r, *w, *s)).collect();
    assert_eq!(json["jobs"].as_array().unwrap().iter().map(shown).collect::<Vec<_>>(), expected);
}

#[test]
fn a_job_of_both_directions_is_one_job_and_a_step_is_a_group() {
    let mut head = header();
    let mut writes = head.streams[0].clone();
    (head.streams[0].name, writes.name) = ("a.reads".into(), "a.writes".into());
    (head.streams[0].direction, writes.direction) = (Some(Direction::Read), Some(Direction::Write));
    let mut single = writes.clone();
    single.name = "b.writes".into();
    head.streams.extend([writes, single]);
    head.flows = (0..3).map(|stream| FlowHead { stream, ..head.flows[0] }).collect();
    let mut fio = Fio::new(None);
    let mut out = String::new();
    for _ in 0..2 {
        fio.begin_segment(&head, &mut out).unwrap();
        let flow = |ok| FlowInterval { ok, bytes: ok * 512, issued: ok, ..FlowInterval::default() };
        let flows = vec![flow(7), flow(5), flow(3)];
        let end_ns = 1_000_000_000;
        fio.take_interval(&Interval { end_ns, phase: 0, flows, ..Interval::default() }, &mut out).unwrap();
    }
    fio.end_log(&mut out).unwrap();
    let json: Value = serde_json::from_str(&out).unwrap();
    let jobs = json["jobs"].as_array().unwrap();
    let shown = |job: &Value| {
        let ios = |way: &str| job[way]["total_ios"].as_u64().unwrap();
        let name = job["jobname"].as_str().unwrap().split(": ").last().unwrap().to_owned();
        (name, job["groupid"].as_u64().unwrap(), ios("read"), ios("write"), ios("sync"))
    };
    let expected = [("a", 0, 7, 5), ("b.writes", 0, 0, 3), ("a", 1, 7, 5), ("b.writes", 1, 0, 3)];
    let expected: Vec<_> = expected.iter().map(|(name, group, r, w)| ((*name).to_owned(), *group, *r, *w, 0)).collect();
    assert_eq!(jobs.iter().map(shown).collect::<Vec<_>>(), expected);
    assert_eq!(jobs[0]["job options"]["rw"], "randrw");
}

/// Exports a log of streams with these plans; `ok` operations of each complete in each of its seconds.
fn exported(plan: Value, seconds: &[&[u64]], events: &[(usize, EventKind, u64, u64)]) -> Vec<Value> {
    let mut head = header();
    let names = plan["streams"].as_array().unwrap();
    let stream = |planned: &Value| StreamHead {
        name: planned["name"].as_str().unwrap().into(),
        direction: planned["direction"].as_str().map(|word| word.parse().unwrap()),
        operation: planned["operation"].as_str().map(str::to_owned),
        rate: None,
        ..header().streams.remove(0)
    };
    head.streams = names.iter().map(stream).collect();
    head.flows = (0..names.len() as u16).map(|stream| FlowHead { stream, target: 0 }).collect();
    head.phases[0].span_ns = seconds.len() as u64 * 1_000_000_000;
    head.plan = plan;
    let (mut fio, mut out) = (Fio::new(None), String::new());
    fio.begin_segment(&head, &mut out).unwrap();
    for (index, done) in seconds.iter().enumerate() {
        for (_, what, flow, at_ms) in events.iter().filter(|(second, ..)| *second == index) {
            let name = if *what == EventKind::StreamBegin { "begun_ns" } else { "completed_ns" };
            let details = [("flow", *flow), (name, at_ms * 1_000_000)];
            let details = details.map(|(name, number)| (name.to_owned(), number.to_string())).into();
            let event = Event { at_ns: 0, what: what.clone(), text: String::new(), details };
            fio.take_event(&event, &mut out).unwrap();
        }
        let flow = |ok: &u64| FlowInterval { ok: *ok, issued: *ok, bytes: ok * 4096, ..FlowInterval::default() };
        let flows = done.iter().map(flow).collect();
        let start_ns = index as u64 * 1_000_000_000;
        let interval = Interval { start_ns, end_ns: start_ns + 1_000_000_000, flows, ..Interval::default() };
        fio.take_interval(&interval, &mut out).unwrap();
    }
    fio.end_log(&mut out).unwrap();
    let json: Value = serde_json::from_str(&out).unwrap();
    json["jobs"].as_array().unwrap().clone()
}

fn plan(streams: Value) -> Value {
    let whole = json!({"name": "reads", "direction": "read", "per_target": true, "targets": [0], "compress_to": "100%",
        "durable": false, "size": {"from": "4KiB", "to": "4KiB"}, "address": {"uniform": {"align": "0B"}},
        "arrival": {"closed": {"in_flight": 4}}});
    let stream = |own: &Value| {
        let mut stream = whole.clone();
        stream.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        stream
    };
    let streams: Vec<Value> = streams.as_array().unwrap().iter().map(stream).collect();
    json!({"name": "w", "model": "streams", "load": "1x", "seed": 1, "slice": "1h", "interval": "1s", "max_lag": "0s",
        "in_flight_bound": 512, "criteria": [], "phases": [{"kind": "measure", "name": "measure", "span": "4s"}],
        "notes": [], "targets": 1, "streams": streams})
}

#[test]
fn the_plan_of_these_tests_is_one() {
    serde_json::from_value::<Plan>(plan(json!([{}]))).unwrap();
}

/// Jobs that ran one after another, for a part of an interval, or until a number of operations.
#[test]
fn rates_are_over_the_time_in_which_the_job_ran() {
    let jobs = exported(
        plan(json!([
            {"name": "early", "for": "2s"},
            {"name": "late", "start": "2s", "for": "1500ms"},
            {"name": "counted", "operations": 30},
            {"name": "behind", "after": "counted", "operations": 10},
            {"name": "all"},
        ])),
        &[&[100, 0, 20, 0, 7], &[100, 0, 10, 5, 7], &[0, 100, 0, 5, 7], &[0, 50, 0, 0, 7]],
        &[
            (1, EventKind::StreamEnd, 2, 1500),
            (1, EventKind::StreamBegin, 3, 1500),
            (2, EventKind::StreamEnd, 3, 2500),
            (2, EventKind::StreamEnd, 0, 1990),
            (3, EventKind::StreamEnd, 1, 3500),
        ],
    );
    let shown: Vec<(f64, u64, u64, u64)> = jobs
        .iter()
        .map(|job| {
            let read = &job["read"];
            let number = |name: &str| read[name].as_u64().unwrap();
            (read["iops"].as_f64().unwrap(), number("runtime"), number("iops_samples"), number("bw_bytes"))
        })
        .collect();
    let expected = [
        (100.0, 2000, 2, 409_600),
        (100.0, 1500, 1, 409_600),
        (20.0, 1500, 1, 81_920),
        (10.0, 1000, 1, 40_960),
        (7.0, 4000, 4, 28_672),
    ];
    assert_eq!(shown, expected);
    assert!(jobs.iter().all(|job| job["read"]["iops_mean"].as_f64() == job["read"]["iops"].as_f64()), "{jobs:#?}");
}

/// Reads, writes and flushes of a job run for as long as the job; its last flush does not count, as in fio.
#[test]
fn a_job_runs_as_long_as_any_of_its_streams() {
    let jobs = exported(
        plan(json!([
            {"name": "mix.reads", "for": "1s"},
            {"name": "mix.writes", "direction": "write", "for": "3s"},
            {"name": "mix.end-flush", "after": "mix.writes", "direction": null, "operation": "flush"},
        ])),
        &[&[30, 30, 0], &[0, 30, 0], &[0, 30, 0], &[0, 0, 1]],
        &[(3, EventKind::StreamBegin, 2, 3000)],
    );
    assert_eq!(jobs.len(), 1);
    let shown = ["read", "write"].map(|way| (jobs[0][way]["iops"].as_f64(), jobs[0][way]["runtime"].as_u64()));
    assert_eq!(shown, [(Some(10.0), Some(3000)), (Some(30.0), Some(3000))]);
    assert_eq!(jobs[0]["job options"]["rw"], "randrw");
}

/// Each row: streams, and the options of the first job.
#[test]
fn options_are_what_the_job_was_asked() {
    let sequential = json!("sequential");
    let looped = |own: Value| {
        let mut plan = plan(json!([
            {"name": "mix.reads", "address": "sequential", "arrival": {"looped": {"looped": "mix", "share": "50%"}}},
            {"name": "mix.writes", "direction": "write", "address": "sequential",
                "arrival": {"looped": {"looped": "mix", "share": "50%"}}},
        ]));
        let mut mix = json!({"name": "mix", "in_flight": 8, "copies": 1});
        mix.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
        plan["loops"] = json!([mix]);
        plan
    };
    let mut laned = plan(json!([{"arrival": {"poisson": {"rate": "100/s"}}}]));
    laned["lanes"] = json!([{"streams": ["reads"], "in_flight_bound": 16}]);
    for (plan, expected) in [
        (plan(json!([{}])), json!({"rw": "randread", "iodepth": "4", "numjobs": "1", "name": "reads"})),
        (plan(json!([{"address": sequential}])), json!({"rw": "read"})),
        (plan(json!([{"address": {"strided": {"by": "8KiB"}}, "direction": "write"}])), json!({"rw": "write"})),
        (plan(json!([{"arrival": {"paced": {"pause": "1ms"}}}])), json!({"iodepth": "1"})),
        (plan(json!([{"arrival": {"poisson": {"rate": "100/s"}}}])), json!({"iodepth": "512"})),
        (laned, json!({"iodepth": "16"})),
        (looped(json!({})), json!({"rw": "rw", "iodepth": "8", "numjobs": "1", "name": "mix"})),
        (looped(json!({"copies": 3, "bytes": "1MiB"})), json!({"numjobs": "3", "io_size": "1048576"})),
        (
            plan(json!([{"name": "a.0", "operations": 128}, {"name": "a.1"}])),
            json!({"name": "a", "numjobs": "2", "number_ios": "128"}),
        ),
        (plan(json!([{"name": "a.0"}, {"name": "a.2"}])), json!({"name": "a.0", "numjobs": "1"})),
        (plan(json!([{"name": "a.0"}])), json!({"name": "a.0", "numjobs": "1"})),
        (plan(json!([{"for": "2s"}])), json!({"runtime": "2"})),
    ] {
        let streams = plan["streams"].as_array().unwrap().len();
        let jobs = exported(plan, &[&vec![1; streams][..], &vec![1; streams][..]], &[]);
        for (name, value) in expected.as_object().unwrap() {
            assert_eq!(jobs[0]["job options"][name], *value, "{name}: {:#}", jobs[0]["job options"]);
        }
    }
}

#[test]
fn the_read_back_is_no_job() {
    let jobs =
        exported(plan(json!([{"direction": "write"}, {"name": "read-back", "address": "written"}])), &[&[5, 0]], &[]);
    assert_eq!(jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect::<Vec<_>>(), ["reads"]);
}
