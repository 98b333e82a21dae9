//! An OLTP load as a user meets it: one run, the search for the most BSUs, the curve, the curve of a cache's hits,
//! verified data on files, and what is refused.

use super::bed::Place;
use serde_json::Value;
use std::fs;

const THREE: [&str; 3] = ["sim:flash", "sim:flash", "sim:flash"];

fn json(place: &Place, args: &[&str]) -> (Option<i32>, Value, String) {
    let said = place.assay(&[args, &["--json"]].concat());
    (said.code, serde_json::from_str(&said.out).unwrap_or(Value::Null), said.err)
}

/// The mean that decides is that of all operations: the means of the streams, weighted by their operations.
#[test]
fn the_mean_of_all_operations_is_judged() {
    let place = Place::new();
    let args = [&["run", "oltp"], &THREE[..], &["--load", "40x", "--for", "30s", "--warm-up", "0s", "--out", "run"]];
    let (code, verdict, told) = json(&place, &args.concat());
    assert_eq!(code, Some(0), "{told}");
    let streams: Vec<&Value> = verdict["streams"].as_array().unwrap().iter().collect();
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap();
    let operations: f64 = streams.iter().map(|it| number(it, "operations")).sum();
    let times = |it: &&Value| number(it, "operations") * number(&it["response"], "mean_ns");
    let mean = streams.iter().map(times).sum::<f64>() / operations;
    let all = &verdict["together"];
    assert_eq!((all["name"].as_str(), number(all, "operations")), (Some("all"), operations));
    assert!((number(&all["response"], "mean_ns") - mean).abs() < 15.0, "{all} and {mean}");
    assert!((number(all, "rate_asked") - 2000.0).abs() < 1e-6 && streams.len() == 13, "{all}");
    let criterion = verdict["criteria"].as_array().unwrap().iter().find(|it| it["stream"] == "all").unwrap();
    assert_eq!((criterion["outcome"].as_str(), criterion["windows"].as_u64()), (Some("pass"), Some(1)), "{criterion}");
    assert!(verdict.to_string().contains("not comparable with audited SPC-1 results"));
    // The pictures of the original: everything first, then its reads and writes, then each ASU. The parts are the whole.
    let groups: Vec<&Value> = verdict["groups"].as_array().unwrap().iter().collect();
    let names = ["all", "all reads", "all writes", "ASU 1, data store", "ASU 2, user store", "ASU 3, log"];
    assert_eq!(groups.iter().map(|group| group["name"].as_str().unwrap()).collect::<Vec<_>>(), names);
    let of = |parts: &[usize]| -> f64 { parts.iter().map(|part| number(groups[*part], "operations")).sum() };
    assert_eq!((of(&[0]), of(&[1, 2]), of(&[3, 4, 5])), (operations, operations, operations));
    assert_eq!(groups[0]["response"], all["response"], "two ways to the figures of everything");
    let log = streams.iter().find(|it| it["name"] == "asu3-1-writes").unwrap();
    assert_eq!((&groups[5]["operations"], &groups[5]["response"]), (&log["operations"], &log["response"]));
    let page = fs::read_to_string(place.path("run/report.html")).unwrap();
    let pictures: Vec<&str> =
        page.match_indices("data-chart=\"response\"").map(|(at, _)| &page[at..at + 120]).collect();
    for (number, picture) in pictures.iter().take(6).enumerate() {
        let of = format!("data-of=\"groups\" data-stream=\"{number}\"");
        assert!(picture.contains(&of), "the picture at place {number}: {picture}");
    }
    assert!(pictures.len() > 6 && !pictures[6].contains("groups"), "then each stream: {pictures:?}");
    // Without a criterion on all streams, the result has no figures of all streams together.
    let args = [
        &["run", "oltp"],
        &THREE[..],
        &["--for", "1s", "--warm-up", "0s", "--criterion", "asu3-1-writes mean at most 1s"],
    ];
    let (code, verdict, told) = json(&place, &args.concat());
    assert!(code == Some(0) && verdict["together"].is_null(), "{told}");
}

/// The load is on three disks, which together carry about 200 operations a second.
#[test]
fn limit_and_curve_count_in_bsus() {
    let place = Place::new();
    let disks = ["sim:disk", "sim:disk", "sim:disk"];
    let usual = ["--for", "60s", "--slice", "60s", "--warm-up", "0s"];
    let search = [&["limit", "oltp"], &disks[..], &usual, &["--from", "1x", "--out", "limit"]].concat();
    let (code, limit, told) = json(&place, &search);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!((limit["counted"]["name"].as_str(), limit["counted"]["at_1x"].as_f64()), (Some("BSU"), Some(1.0)));
    let judged = |run: &Value| run["measured"].as_str().unwrap_or_default().contains("all response mean");
    assert!(limit["runs"].as_array().unwrap().iter().any(judged), "{limit}");
    let page = fs::read_to_string(place.path("limit/limit.html")).unwrap();
    assert!(page.contains("<small>1 BSU</small>"), "the page counts them too");
    let again = place.assay(&[&search[..], &["--resume", "limit"]].concat()[..search.len() - 2]);
    assert!(again.out.contains("BSU"), "{}", again.out);
    let points = ["--max", "2x", "--points", "50%,100%", "--out", "curve", "--runs", "each"];
    let (_, curve, told) = json(&place, &[&["curve", "oltp"], &disks[..], &usual, &points].concat());
    assert_eq!((curve["stream"].as_str(), curve["counted"]["name"].as_str()), (Some("all"), Some("BSU")), "{told}");
    let rate = curve["points"][0]["rate_asked"].as_f64().unwrap();
    assert!((rate - 50.0).abs() < 1e-9, "one BSU at half of two: {rate}");
    let rates = ["--max", "100/s", "--points", "50%", "--out", "rates"];
    let (_, curve, told) = json(&place, &[&["curve", "oltp"], &disks[..], &usual, &rates].concat());
    assert_eq!(curve["maximum"], "2x", "a hundred operations a second are two BSUs: {told}");
}

/// All points in one uninterrupted run: the default for the curve of an OLTP load.
#[test]
fn a_curve_is_one_uninterrupted_run_from_the_highest_load_to_the_lowest() {
    let place = Place::new();
    let disks = ["sim:flash", "sim:flash", "sim:flash"];
    let usual = ["--max", "100x", "--for", "60s", "--slice", "20s", "--warm-up", "10s"];
    let shown = |more: &[&str]| json(&place, &[&["curve", "oltp"], &disks[..], &usual, more].concat());
    let (code, curve, told) = shown(&["--points", "10%,50%,100%", "--out", "curve"]);
    assert_eq!((code, curve["in_one_run"].as_bool()), (Some(0), Some(true)), "{told}");
    let points = curve["points"].as_array().unwrap();
    for (point, (load, rate)) in points.iter().zip([("10x", 500.0), ("50x", 2500.0), ("100x", 5000.0f64)]) {
        let achieved = point["rate_achieved"].as_f64().unwrap();
        let spread = 4.0 * (rate / 60.0).sqrt();
        assert!((point["rate_asked"].as_f64().unwrap() - rate).abs() < 1e-3, "{point}");
        assert!((achieved - rate).abs() <= spread && point["load"] == load, "{point}");
        assert_eq!((point["verdict"].as_str(), point["directory"].as_str()), (Some("PASS"), Some("ramp")));
        assert!(point["p99_9_ns"].is_u64(), "{point}");
    }
    let text = fs::read_to_string(place.path("curve/ramp/run.jsonl")).unwrap();
    let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let names: Vec<&str> = head["phases"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["warm-up", "100-percent", "50-percent", "10-percent"], "the load falls");
    // A ramp that was cut is measured again as a whole; one that is whole is not, whatever the document says.
    let (code, same, _) = shown(&["--points", "10%,50%,100%", "--resume", "curve"]);
    assert_eq!((code, fs::read_to_string(place.path("curve/ramp/run.jsonl")).unwrap()), (Some(0), text.clone()));
    assert_eq!(same, curve);
    let kept = fs::read_to_string(place.path("curve/curve.json")).unwrap();
    let mut cut: Value = serde_json::from_str(&kept).unwrap();
    cut["points"].as_array_mut().unwrap().remove(1);
    fs::write(place.path("curve/curve.json"), cut.to_string()).unwrap();
    assert_eq!(shown(&["--points", "10%,50%,100%", "--resume", "curve"]).1, curve);
    let lines = text.split_inclusive('\n').take(50).collect::<String>();
    fs::write(place.path("curve/ramp/run.jsonl"), lines).unwrap();
    let (code, whole, _) = shown(&["--points", "10%,50%,100%", "--resume", "curve"]);
    assert_eq!((code, whole["points"][2]["directory"].as_str()), (Some(0), Some("ramp-2")));
    assert_eq!(whole["repeated"][0]["verdict"], "INCOMPLETE", "{whole}");
    assert_eq!(shown(&["--points", "10%,50%,100%", "--resume", "curve", "--runs", "each"]).0, Some(2));
    // If the targets do not take a load, the run ends, and the lower points are missing.
    let (code, failed, told) = json(
        &place,
        &[
            "curve",
            "oltp",
            "sim:disk",
            "sim:disk",
            "sim:disk",
            "--max",
            "40x",
            "--for",
            "20s",
            "--warm-up",
            "0s",
            "--slice",
            "20s",
            "--out",
            "failed",
        ],
    );
    assert_eq!((code, failed["points"].as_array().unwrap().len()), (Some(10), 1), "{told}");
    // A load that cannot change within a run is refused before anything runs.
    place.write("b.toml", BURSTY);
    let said =
        place.assay(&["curve", "b.toml", "sim:flash", "--runs", "one", "--for", "5s", "--max", "1x", "--out", "no"]);
    assert!(said.code == Some(2) && said.err.contains("--runs each"), "{:?} {}", said.code, said.err);
    assert!(!place.path("no/01-0.1x").exists());
}

const BURSTY: &str = "model = \"streams\"\nslice = \"5s\"\n[[stream]]\nname = \"s\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"100/s\"\n\
    arrival = { bursty = { on = \"1s\", off = \"1s\" } }\n";

#[test]
fn the_ramp_is_one_run_with_the_figures_of_each_phase() {
    let place = Place::new();
    let ramp = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/oltp-ramp.toml")).unwrap();
    place.write("ramp.toml", &ramp.replace("10min", "10s").replace("\"1min\"", "\"10s\"").replace("\"1h\"", "\"5s\""));
    let (code, verdict, told) = json(&place, &[&["run", "ramp.toml"], &THREE[..], &["--load", "50x"]].concat());
    assert_eq!(code, Some(0), "{told}");
    let phases = verdict["phases"].as_array().unwrap();
    let rate = |phase: &Value| -> f64 {
        phase["streams"].as_array().unwrap().iter().filter_map(|it| it["rate_achieved"].as_f64()).sum()
    };
    for (phase, share) in phases.iter().zip([1.0, 0.95, 0.9, 0.8, 0.5, 0.1]) {
        let (found, expected) = (rate(phase), 2500.0 * share);
        // Five standard deviations of a Poisson count in ten seconds, divided by these ten seconds.
        assert!((found - expected).abs() < 5.0 * (expected / 10.0).sqrt(), "{}: {found}", phase["name"]);
    }
    assert_eq!(phases.len(), 6);
}

/// Whichever worker carries an operation, it is done once: a verified run on files reads back what each operation has
/// written.
#[test]
fn verified_data_are_as_written_on_one_target_and_on_several() {
    let place = Place::new();
    let made = ["--create", "64MiB", "--warm-up", "0s", "--for", "3s", "--slice", "1s", "--load", "40x", "--verify"];
    for (targets, workers, keys) in
        [(&["a"][..], "1", ""), (&["b", "c", "d"], "3", ""), (&["e", "f", "g", "h"], "2", "asu_targets = [2, 1, 1]")]
    {
        place.write("load.toml", &format!("model = \"oltp\"\nmix = \"published\"\n{keys}\n"));
        let args = [&["run", "load.toml"], targets, &made[..], &["--workers", workers]].concat();
        let (code, verdict, told) = json(&place, &args);
        // Blank files prove nothing about speed; what was written is proven.
        assert!(matches!(code, Some(0 | 10 | 11)), "{told}");
        let integrity = &verdict["integrity"];
        let count = |key: &str| integrity[key].as_u64().unwrap();
        assert!(
            count("verified_reads") > 50 && count("damaged") == 0,
            "{targets:?}: {integrity} {}",
            verdict["reason"]
        );
    }
}

/// The model's own tests check the curve of the data store's reuse; this is what a user types.
#[test]
fn a_cache_curve_follows_the_streams_as_one_sequence() {
    let place = Place::new();
    let args = ["cache-curve", "oltp", "null:1GiB", "null:1GiB", "null:1GiB", "--operations", "200000"];
    let (code, curve, told) = json(&place, &args);
    assert_eq!(code, Some(0), "{told}");
    let points = curve["points"].as_array().unwrap();
    let hits: Vec<f64> = points.iter().map(|it| it["hits"].as_f64().unwrap()).collect();
    assert!(hits.windows(2).all(|pair| pair[0] <= pair[1] + 1e-9) && hits.last() > Some(&0.2), "{hits:?}");
    let (_, behind, told) =
        json(&place, &["explain", "oltp", "null:1GiB", "null:1GiB", "null:1GiB", "--behind", "64MiB"]);
    assert!(behind["cache_sides"].is_object(), "{told}");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_written() {
    let place = Place::new();
    place.write("bad.toml", "model = \"oltp\"\nbsu = 0\n");
    place.write("many.toml", "model = \"oltp\"\nasu_targets = [2, 2, 1]\n");
    for (line, code, words) in [
        (&["run", "oltp", "sim:flash", "sim:flash"][..], 3, "asu_targets = [2, 2, 1]"),
        (&["run", "oltp", "null:1GiB", "null:1GiB", "null:64MiB"], 2, "the log, ASU 3, has 64 MiB"),
        (&["explain", "oltp", "null:1GiB", "null:1GiB", "null:64MiB"], 2, "the log, ASU 3, has 64 MiB"),
        (&["run", "bad.toml", "sim:flash"], 3, "write 1 to 1000000"),
        (&["run", "many.toml", "sim:flash", "sim:flash"], 3, "is for 5 targets"),
        (
            &["run", "oltp", "random-read", "sim:flash", "--for", "1s", "--slice", "1s", "--warm-up", "0s"],
            3,
            "the streams of an OLTP load are drawn together",
        ),
        (&["run", "oltp", "sim:flash", "--criterion", "al mean at most 1s"], 3, "there is no stream"),
        (&["run", "oltp", "sim:flash", "--criterion", "all errors at most 1%"], 3, "one for each stream"),
        (
            &["run", "random-read", "sim:flash", "--criterion", "all mean at most 1ns", "--for", "1s"],
            10,
            "all response mean",
        ),
    ] {
        let said = place.assay(line);
        let both = format!("{}{}", said.out, said.err);
        assert!(said.code == Some(code) && both.contains(words), "{line:?}: {:?}\n{both}", said.code);
    }
}

/// The quick start of the page as it is typed, only shorter.
#[test]
fn the_quick_start_works_as_typed() {
    let place = Place::new();
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/oltp.md")).unwrap();
    let typed = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert_eq!(typed.lines().filter(|line| line.starts_with("fallocate -l ")).count(), 3);
    let mut verdicts = 0;
    for line in typed.lines() {
        let short = line.replace("--warm-up 5s --for 30s --slice 10s", "--warm-up 0s --for 3s --slice 1s");
        let words: Vec<&str> = short.split(' ').collect();
        match words[0] {
            "assay" => {
                let said = place.assay(&words[1..]);
                let told = format!("{}{}", said.out, said.err);
                // Any verdict of a run is accepted, because the speed of this machine's disk is not a property of the
                // program.
                let fine: &[i32] = if words[1] == "run" { &[0, 10, 11] } else { &[0] };
                assert!(said.code.is_some_and(|code| fine.contains(&code)), "{line}: {:?}\n{told}", said.code);
                assert!(!told.contains("never written"), "it was prepared: {told}");
                verdicts += u32::from(told.contains("oltp at 2x on 3 targets"));
            }
            program => {
                let done = std::process::Command::new(program).args(&words[1..]).current_dir(place.path(".")).status();
                assert!(done.unwrap().success(), "{line}");
            }
        }
    }
    assert_eq!(verdicts, 1);
    // A file in which somebody wrote is not taken, and the message says what to do.
    fs::write(place.path("theirs"), vec![0; 45 << 20]).unwrap();
    let said = place.assay(&["run", "oltp", "theirs", "file2", "file3", "--load", "2x", "--for", "1s"]);
    assert!(said.code == Some(4) && said.err.contains("it holds data at byte 0"), "{}", said.err);
    assert!(said.err.contains("fallocate -l SIZE FILE"), "{}", said.err);
}
