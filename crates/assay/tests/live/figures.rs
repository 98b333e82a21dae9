//! What is served at a line of the log is what the judge says of the log up to that line.

use super::bed::Place;
use super::growing::{Live, Writer, lines_of};
use super::http::Events;
use serde_json::Value;

/// What `assay judge` says of the first lines of a log.
fn judged(place: &Place, lines: &[String], name: &str) -> Value {
    std::fs::create_dir(place.path(name)).unwrap();
    std::fs::write(place.path(name).join("run.jsonl"), lines.concat()).unwrap();
    place.assay(&["judge", name, "--json"]).json()
}

/// The step of a result that the newest lines belong to.
fn newest_step(judgement: &Value) -> &Value {
    judgement["steps"].as_array().and_then(|steps| steps.last()).unwrap_or(judgement)
}

/// Compares every member that is served with that of the result, but for those that are not in it.
fn is_part_of(served: &Value, result: &Value, place: &str) -> usize {
    match (served, result) {
        (Value::Object(served), Value::Object(result)) => {
            let known = |name: &String| !["seq", "load"].contains(&name.as_str());
            served
                .iter()
                .filter(|(name, _)| known(name))
                .map(|(name, value)| is_part_of(value, &result[name], &format!("{place}/{name}")))
                .sum()
        }
        (Value::Array(served), Value::Array(result)) => {
            assert_eq!(served.len(), result.len(), "{place}");
            served.iter().zip(result).map(|(one, other)| is_part_of(one, other, place)).sum()
        }
        _ => {
            assert_eq!(served, result, "{place}");
            1
        }
    }
}

const OF_RESULT: [&str; 5] = ["criteria", "streams", "targets", "measured_ns", "planned_ns"];

/// Compares a snapshot with the result of the lines that it is of.
fn compare(snapshot: &Value, judgement: &Value, place: &str) {
    let step = newest_step(judgement);
    let served = &snapshot["judged"];
    let compared: usize =
        OF_RESULT.iter().map(|name| is_part_of(&served[name], &step[name], &format!("{place}/{name}"))).sum();
    assert!(compared > 50, "{place}: {compared} figures");
    for (tile, slice) in served["slices"].as_array().unwrap().iter().zip(step["slices"].as_array().unwrap()) {
        for name in ["number", "start_ns", "end_ns", "complete", "valid", "within", "note"] {
            assert_eq!(tile[name], slice[name], "{place}: {name} of a slice");
        }
    }
    assert_eq!(served["slices"].as_array().unwrap().len(), step["slices"].as_array().unwrap().len(), "{place}");
    let (lines, series) = (&snapshot["lines_along_time"], &step["series"]);
    for (line, whole) in lines["streams"].as_array().unwrap().iter().zip(series["streams"].as_array().unwrap()) {
        is_part_of(line, whole, &format!("{place}/series"));
    }
    assert_eq!((&lines["at_ns"], &lines["width_ns"]), (&series["at_ns"], &series["width_ns"]));
}

/// The figures of the newest interval are those of the newest point of the judge's lines, where a point is an interval.
fn moment_is_newest_point(snapshot: &Value, judgement: &Value, place: &str) {
    let step = newest_step(judgement);
    let Some(moment) = snapshot["recent"].as_array().unwrap().last() else { return };
    let series = &step["series"];
    if moment["measured_ns"] == 0 {
        return;
    }
    assert_eq!(series["width_ns"].as_array().unwrap().last().unwrap(), &moment["length_ns"], "{place}");
    let over =
        snapshot["run"]["thresholds"].as_array().unwrap().iter().position(|one| *one == series["threshold"]).unwrap();
    let newest = |line: &Value, name: &str| line[name].as_array().unwrap().last().unwrap().clone();
    let streams = moment["streams"].as_array().unwrap();
    assert!(!streams.is_empty());
    for (stream, line) in streams.iter().zip(series["streams"].as_array().unwrap()) {
        for name in ["asked", "achieved", "bytes_per_second", "errors", "response_max_ns"] {
            assert_eq!(stream[name], newest(line, name), "{place}: {name}");
        }
        let operations = stream["operations"].as_f64().unwrap();
        let share = (operations > 0.0).then(|| stream["over"][over].as_f64().unwrap() / operations);
        assert_eq!(share, newest(line, "share_over").as_f64(), "{place}");
        let heat: u64 = stream["heat"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .chunks(2)
            .map(|pair| pair[1].as_u64().unwrap())
            .sum();
        assert_eq!(heat as f64, operations, "{place}: each response has its place in the heat map");
    }
}

/// Workloads with several streams, several targets, a warm-up, a load that fails, and a procedure of two steps.
const RUNS: [&[&str]; 3] = [
    &[
        "run",
        "act-storage",
        "sim:flash",
        "sim:flash?seed=2",
        "--for",
        "20s",
        "--slice",
        "6s",
        "--warm-up",
        "3s",
        "--seed",
        "1",
    ],
    &["run", "act-storage", "sim:flash", "--for", "12s", "--slice", "4s", "--load", "60x", "--seed", "2"],
    &["certify", "sim:flash", "--for", "6s", "--seed", "3"],
];

#[test]
fn each_figure_is_what_the_judge_says_of_the_lines_so_far() {
    for (number, args) in RUNS.iter().enumerate() {
        let place = Place::new();
        place.assay(&[args, &["--out", "whole"][..]].concat());
        let lines = lines_of(&place, "whole");
        let mut writer = Writer::begin(&place, "live");
        writer.append(&lines[..1]);
        let live = Live::serve(&place, &["live"]);
        assert_eq!(live.at(0)["standing"]["word"], "RUNNING");
        let mut written = 1;
        let mut last_judged = 0;
        while written < lines.len() {
            // Steps of different lengths, so that cuts are behind every kind of line.
            let next = (written + 1 + written % 3).min(lines.len());
            writer.append(&lines[written..next]);
            written = next;
            let name = format!("{number} to line {written}");
            let snapshot = live.at(written - 1);
            let word = snapshot["standing"]["word"].as_str().unwrap();
            assert!(["RUNNING", "FAIL"].contains(&word), "{name}: {snapshot}");
            assert!(!snapshot["standing"].to_string().contains("PASS"), "{name}: never before the end");
            let judged_at = snapshot["judged"]["seq"].as_u64().unwrap() as usize;
            let is_new = judged_at + 1 == written && judged_at != last_judged;
            if is_new || written % 7 == 0 {
                let judgement = judged(&place, &lines[..written], &format!("judged-{number}-{written}"));
                moment_is_newest_point(&snapshot, &judgement, &name);
                if is_new {
                    compare(&snapshot, &judgement, &name);
                    last_judged = judged_at;
                }
            }
        }
        drop(writer);
        let snapshot = live.at_end();
        let judgement = place.assay(&["judge", "whole", "--json"]).json();
        assert_eq!(snapshot["standing"]["word"], judgement["verdict"]);
        assert_eq!(snapshot["standing"]["text"], judgement["reason"]);
        compare(&snapshot, &judgement, "at the end");
    }
}

#[test]
fn whoever_comes_later_is_told_the_same() {
    let place = Place::new();
    place.assay(&["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "6s", "--seed", "1", "--out", "whole"]);
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    let early = Live::serve(&place, &["live"]);
    for line in 1..lines.len() {
        writer.append(&lines[line..=line]);
        early.at(line);
    }
    let late = Live::serve(&place, &["live"]);
    let (mut one, mut other) = (early.at(lines.len() - 1), late.at(lines.len() - 1));
    one["age_ms"].take();
    other["age_ms"].take();
    assert_eq!(one, other);
}

#[test]
fn a_stream_tells_everything_once_and_then_what_is_new() {
    let place = Place::new();
    place.assay(&[
        "run",
        "act-storage",
        "sim:flash",
        "--for",
        "40s",
        "--slice",
        "10s",
        "--seed",
        "1",
        "--out",
        "whole",
    ]);
    let lines = lines_of(&place, "whole");
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..3]);
    let live = Live::serve(&place, &["live"]);
    live.at(2);
    let mut events = Events::open(live.port);
    let first = events.next().unwrap();
    assert_eq!((first.kind.as_str(), first.id), ("snapshot", 2));
    let mut seen = first.data["recent"].as_array().unwrap().len();
    let mut kinds = std::collections::BTreeSet::new();
    for line in 3..lines.len() {
        writer.append(&lines[line..=line]);
        live.at(line);
    }
    drop(writer);
    let mut last = 2;
    while let Some(event) = events.next() {
        assert!(event.id >= last, "the order is that of the log");
        last = event.id;
        assert!(event.kind != "interval" || event.length <= 4096, "an interval takes {} bytes", event.length);
        match event.kind.as_str() {
            "snapshot" => seen = event.data["recent"].as_array().unwrap().len(),
            "interval" => seen += 1,
            _ => {}
        }
        let standing = &event.data["standing"];
        assert!(standing["ended"] == true || !standing.to_string().contains("PASS"), "never before the end");
        kinds.insert(event.kind);
    }
    let intervals = lines.iter().filter(|line| line.contains("\"kind\":\"interval\"")).count();
    assert_eq!(seen, intervals, "every interval was told");
    for kind in ["interval", "histograms", "end"] {
        assert!(kinds.contains(kind), "{kinds:?}");
    }
}

#[test]
fn many_streams_keep_an_interval_short() {
    let place = Place::new();
    let streams: String = (0..40)
        .map(|n| format!("[[stream]]\nname = \"a-stream-with-quite-a-long-name-number-{n}\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"50/s\"\n"))
        .collect();
    place.write("many.toml", &format!("name = \"many\"\nmodel = \"streams\"\n{streams}"));
    let said = place.assay(&["run", "many.toml", "sim:flash", "--for", "5s", "--seed", "1", "--out", "run"]);
    assert!(place.path("run/run.jsonl").exists(), "{said:?}");
    let live = Live::serve(&place, &["run"]);
    let snapshot = live.at_end();
    let moment = snapshot["recent"].as_array().unwrap().last().unwrap();
    let shown = moment["streams"].as_array().unwrap().len() as u64;
    assert!(moment.to_string().len() <= 3800, "{} bytes", moment.to_string().len());
    assert_eq!(shown + moment["left_out"].as_u64().unwrap(), 40);
}

#[test]
fn a_log_that_is_cut_damaged_or_no_log_at_all_is_shown_as_that() {
    let place = Place::new();
    place.assay(&["run", "act-storage", "sim:flash", "--for", "20s", "--slice", "5s", "--seed", "1", "--out", "whole"]);
    let lines = lines_of(&place, "whole");
    let whole = lines.concat().into_bytes();
    let serve = |name: &str, bytes: &[u8]| {
        Writer::begin(&place, name).append_bytes(bytes);
        Live::serve(&place, &[name]).at_end()
    };
    let cut = serve("cut", &whole[..whole.len() / 2]);
    assert_eq!((&cut["standing"]["word"], &cut["judged"]["damage"]), (&"INCOMPLETE".into(), &1.into()), "{cut}");
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    let damaged = serve("damaged", &damaged);
    assert_eq!(damaged["standing"]["word"], "INVALID", "{damaged}");
    assert_eq!(place.assay(&["judge", "damaged", "--json"]).json()["reason"], damaged["standing"]["text"]);
    let spliced = serve("spliced", &[lines[..8].concat(), lines[12..].concat()].concat().into_bytes());
    assert_eq!(spliced["standing"]["word"], "INVALID", "{spliced}");
    let nonsense = [b"\xff\x00\n{\"crc\"".as_slice(), &[b'x'; 100_000]].concat();
    for (name, bytes) in [("headless", lines[1..].concat().as_bytes()), ("nonsense", &nonsense), ("empty", b"")] {
        let mut writer = Writer::begin(&place, name);
        writer.append_bytes(bytes);
        let live = Live::serve(&place, &[name]);
        drop(writer);
        let shown = live.at_end();
        assert_eq!(shown["standing"]["word"], "UNREADABLE", "{name}: {shown}");
        // Nobody who writes it will make a log of it now.
        let refused = place.assay(&["live", name]);
        assert!(refused.code == Some(3) && refused.err.contains("not a run log"), "{refused:?}");
    }
}

#[test]
fn all_runs_of_a_search_are_followed() {
    let place = Place::new();
    let limit = [
        "limit",
        "act-storage",
        "sim:flash",
        "--for",
        "4s",
        "--seed",
        "1",
        "--from",
        "8x",
        "--to",
        "64x",
        "--out",
        "limit",
    ];
    place.assay(&limit);
    let path: Value = serde_json::from_str(&std::fs::read_to_string(place.path("limit/limit.json")).unwrap()).unwrap();
    let snapshot = Live::serve(&place, &["limit"]).at_end();
    let shown = |list: &Value, name: &str| -> Vec<String> {
        list.as_array().unwrap().iter().map(|run| run[name].as_str().unwrap().to_owned()).collect()
    };
    assert!(shown(&path["runs"], "load").len() > 2);
    for name in ["load", "verdict"] {
        assert_eq!(shown(&snapshot["runs"], name), shown(&path["runs"], name));
    }
}

#[test]
fn each_step_of_a_log_is_told_with_its_own_streams_and_its_own_time() {
    let place = Place::new();
    place.assay(&["certify", "sim:flash", "--for", "6s", "--seed", "3", "--out", "whole"]);
    let lines = lines_of(&place, "whole");
    let headers: Vec<u64> =
        (0u64..).zip(&lines).filter(|(_, line)| line.contains("\"kind\":\"header\"")).map(|(seq, _)| seq).collect();
    assert!(headers.len() >= 2);
    let mut writer = Writer::begin(&place, "live");
    writer.append(&lines[..1]);
    let live = Live::serve(&place, &["live"]);
    live.at(0);
    let mut events = Events::open(live.port);
    for line in 1..lines.len() {
        writer.append(&lines[line..=line]);
        let snapshot = live.at(line);
        let times: Vec<u64> =
            snapshot["recent"].as_array().unwrap().iter().map(|moment| moment["at_ns"].as_u64().unwrap()).collect();
        assert!(times.is_sorted(), "one time line: {times:?}");
    }
    drop(writer);
    let mut known = None;
    while let Some(event) = events.next() {
        if event.kind == "snapshot" {
            known = event.data["run"]["seq"].as_u64();
        }
        if event.kind == "interval" {
            let own = headers.iter().rev().find(|header| **header < event.id);
            assert_eq!(known.as_ref(), own, "line {} is of the segment that was told", event.id);
        }
    }
    assert_eq!(known.as_ref(), headers.last());
}
