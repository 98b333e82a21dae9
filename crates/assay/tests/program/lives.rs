//! Runs whose streams begin later than the run or end before it.

use crate::bed::{Place, until};
use assay_record::EventKind;
use serde_json::Value;
use std::fs;

/// A stream of 4 KiB reads with these keys.
fn stream(name: &str, keys: &str) -> String {
    format!("[[stream]]\nname = \"{name}\"\ndirection = \"read\"\nsize = \"4KiB\"\n{keys}\n")
}

const HEAD: &str = "model = \"streams\"\nduration = \"20s\"\nslice = \"5s\"\n";

#[test]
fn each_stream_does_what_it_has_and_is_judged_while_it_lives() {
    let place = Place::new();
    let streams = [
        stream("base", "rate = \"500/s\""),
        stream("late", "in_flight = 4\nstart = \"7s\"\nfor = \"8s\""),
        stream("counted", "rate = \"100/s\"\noperations = 300"),
        stream("moved", "in_flight = 2\nbytes = \"10MiB\""),
        stream("behind", "in_flight = 1\nafter = \"counted\"\nstart = \"1s\"\nfor = \"3s\""),
    ];
    let bound = "[[criterion]]\nstream = \"late\"\nrate_at_least = \"20000/s\"\n";
    place.write("w.toml", &format!("{HEAD}{}{bound}", streams.concat()));
    let (said, log) = place.run(&["run", "w.toml", "sim:flash", "--seed", "5"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS", "{}", said.out);
    log.adds_up();
    assert_eq!((log.stream("counted").ok, log.stream("moved").ok), (300, 2560));
    assert!(log.stream("late").ok > 8 * 20_000 && log.stream("behind").ok > 3 * 5_000);
    let ends = log.events.iter().filter(|event| event.what == EventKind::StreamEnd).count();
    assert_eq!((ends, log.events.iter().filter(|event| event.what == EventKind::StreamBegin).count()), (4, 1));
    let explained = place.assay(&["explain", "w.toml", "sim:flash"]).out;
    for line in [
        "late: begins 7s into the measurement, and ends 8s after that",
        "counted: begins with the measurement, and ends after 300 operations on each target",
        "behind: begins 1s after the end of counted, and ends 3s after that",
    ] {
        assert!(explained.contains(line), "{explained}");
    }
    let again = place.assay(&["run", "w.toml", "sim:flash", "--seed", "5", "--out", "again"]);
    assert_eq!(again.code, Some(0), "{again:?}");
    let lines = |dir: &str| {
        let log = fs::read_to_string(place.path(dir).join("run.jsonl")).unwrap();
        log.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lines("run"), lines("again"), "the same seed gives the same log");
}

#[test]
fn several_workers_share_what_a_stream_has_and_tell_its_end_once() {
    let place = Place::new();
    let streams = [
        stream("first", "in_flight = 7\noperations = 50003"),
        stream("second", "in_flight = 3\nafter = \"first\"\noperations = 10"),
        stream("third", "rate = \"2000/s\"\nafter = \"second\"\nbytes = \"400KiB\""),
    ];
    place.write("w.toml", &format!("{HEAD}{}", streams.concat()));
    let (said, log) = place.run(&["run", "w.toml", "null:1GiB", "--workers", "3"]);
    assert!(matches!(said.code, Some(0 | 11)), "{said:?}");
    log.adds_up();
    assert_eq!(["first", "second", "third"].map(|name| log.stream(name).ok), [50_003, 10, 100]);
    let ends: Vec<_> = log.events.iter().filter(|event| event.what == EventKind::StreamEnd).collect();
    let told: Vec<&str> = ends.iter().map(|event| event.details["operations"].as_str()).collect();
    assert_eq!(told, ["50003", "10", "100"]);
    assert_eq!(log.events.iter().filter(|event| event.what == EventKind::StreamBegin).count(), 2);
}

/// What the last segment of a log holds: measured time before it, and completed operations of each flow.
fn last_segment(place: &Place) -> (u64, Vec<u64>) {
    let (mut before, mut ok) = (0, Vec::new());
    for line in fs::read_to_string(place.path("run/run.jsonl")).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        match line["kind"].as_str() {
            Some("header") => {
                before = line["measured_before_ns"].as_u64().unwrap_or(0);
                ok = vec![0; line["flows"].as_array().unwrap().len()];
            }
            Some("interval") => {
                let flows = line["flows"].as_array().unwrap().iter();
                ok.iter_mut().zip(flows).for_each(|(sum, flow)| *sum += flow["ok"].as_u64().unwrap_or(0));
            }
            _ => {}
        }
    }
    (before, ok)
}

/// Kills a run of this workload in its second second and continues it; the answer is the verdict and the last segment.
fn continued(place: &Place, text: &str) -> (String, u64, Vec<u64>) {
    place.write("w.toml", text);
    let running = place.begin(&["run", "w.toml", "null:1GiB", "--out", "run"]);
    let log = place.path("run/run.jsonl");
    until("its second second", || {
        fs::read_to_string(&log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= 15)
    });
    running.signal(libc::SIGKILL);
    running.end();
    let said = place.assay(&["run", "w.toml", "null:1GiB", "--resume", "run"]);
    let (before, ok) = last_segment(place);
    (said.is_of_verdict(&place.path("run")), before, ok)
}

#[test]
fn a_killed_run_goes_on_where_times_decide_and_starts_over_where_numbers_do() {
    let head = "model = \"streams\"\nduration = \"4s\"\nslice = \"1s\"\ninterval = \"100ms\"\n";
    let place = Place::new();
    let timed = [
        stream("base", "rate = \"500/s\""),
        stream("early", "rate = \"100/s\"\nfor = \"1s\""),
        stream("late", "rate = \"100/s\"\nstart = \"1s\"\nfor = \"1s\""),
    ];
    let (verdict, before, ok) = continued(&place, &format!("{head}{}", timed.concat()));
    assert!(["PASS", "INVALID"].contains(&verdict.as_str()), "{verdict}");
    assert_eq!(before, 1_000_000_000, "it goes on in the slice that was cut");
    assert_eq!(ok[1], 0, "it has ended before");
    assert!((40..220).contains(&ok[2]), "{ok:?}");

    let place = Place::new();
    let counted = [
        stream("a", "in_flight = 1\npause = \"2ms\"\noperations = 1000"),
        stream("b", "in_flight = 1\nafter = \"a\"\noperations = 7"),
    ];
    let (verdict, before, ok) = continued(&place, &format!("{head}{}", counted.concat()));
    assert!(["PASS", "INVALID"].contains(&verdict.as_str()), "{verdict}");
    assert_eq!(before, 0, "it measures again from the beginning");
    assert_eq!(ok, [1000, 7]);
}
