//! Steady state as a user sees it: a warm-up that waits for it, the message if it never comes, and the level shift of a
//! device that slows down. In virtual time, and once on a file in real time.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a test")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn assay(dir: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(line.split(' '))
        .current_dir(dir)
        .env("XDG_STATE_HOME", dir.join("state"))
        .output()
        .unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", told(output)))
}

/// Lines of a log by kind.
fn lines(dir: &Path, kind: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.join("run.jsonl")).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|line| line["kind"] == kind).collect()
}

fn place() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// 200 reads per second for five minutes, after waiting for a steady load.
fn workload(limit: &str) -> String {
    format!(
        "model = \"streams\"\nname = \"reads\"\nduration = \"5min\"\nslice = \"1min\"\n\n\
         [warm_up]\nuntil = \"steady\"\nlimit = \"{limit}\"\nround = \"20s\"\n\n\
         [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"200/s\"\n\n\
         [[criterion]]\nstream = \"reads\"\nshare_over = \"1ms\"\nat_most = \"5%\"\n"
    )
}

/// A drive whose operations take 60 % less time at first, and lose that advantage with a time constant of two minutes:
/// the slope over 100 s falls below 10 % when about a seventh of the advantage is left, after four to five minutes.
const FRESH: &str = "sim:flash?fresh=60%/2min";

#[test]
fn measuring_begins_when_the_fresh_drive_is_steady_and_the_log_is_the_same_to_the_byte() {
    let dir = place();
    std::fs::write(dir.path().join("w.toml"), workload("1h")).unwrap();
    let output = assay(dir.path(), &format!("run w.toml {FRESH} --json --out a"));
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assay(dir.path(), &format!("run w.toml {FRESH} --json --out b"));
    let log = |run: &str| std::fs::read(dir.path().join(run).join("run.jsonl")).unwrap();
    assert!(log("a") == log("b"), "the same seed, another log");

    let events = lines(&dir.path().join("a"), "event");
    let [steady] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(steady["what"], "steady");
    let waited = steady["at_ns"].as_u64().unwrap() / 1_000_000_000;
    assert!((180..=400).contains(&waited) && waited.is_multiple_of(20), "{waited} s");
    let slope: f64 = steady["details"]["reads slope"].as_str().unwrap().parse().unwrap();
    assert!(slope > 0.02 && slope <= 0.1, "it still rose a little: {slope}");
    // The phases follow each other without a gap, and the measured phase has its full length.
    let intervals = lines(&dir.path().join("a"), "interval");
    let first = intervals.iter().find(|interval| interval["phase"] == 1).unwrap();
    assert_eq!(first["start_ns"].as_u64().unwrap() / 1_000_000_000, waited + 2, "two seconds of notice");
    assert_eq!(result["measured_ns"], 300_000_000_000u64);
    assert_eq!(result["warnings"], serde_json::json!([]));
    // Rounds of twenty seconds on a nearly steady drive.
    assert_eq!(result["steadiness"][0]["round_ns"], 20_000_000_000u64);
    assert_eq!(result["steadiness"][0]["last"]["steady"], true, "{}", result["steadiness"]);
    let offered = result["streams"][0]["scheduled"].as_u64().unwrap();
    assert!(offered.abs_diff(60_000) < 1200, "200 a second for 300 s: {offered}");
}

#[test]
fn a_plan_that_waits_says_so_and_other_loads_are_as_they_were() {
    let dir = place();
    std::fs::write(dir.path().join("w.toml"), workload("1h")).unwrap();
    let plan = told(&assay(dir.path(), "explain w.toml"));
    assert!(plan.contains("until steady over rounds of 20s, at most 1h"), "{plan}");
    let asked = told(&assay(dir.path(), "explain act-storage --until-steady 2h"));
    assert!(asked.contains("until steady over rounds of 1min, at most 2h"), "{asked}");
    assert!(told(&assay(dir.path(), "explain w.toml --warm-up 5s")).contains("warm-up    5s"));
    for (from, to, code, why) in [
        ("\"1h\"", "\"99s\"", 3, "ends before 5 rounds of 20s"),
        ("\"20s\"", "\"500ms\"", 3, "cannot be cut from intervals of 1s"),
        ("\"steady\"", "\"stable\"", 3, "known here: steady"),
        ("round = ", "rounds = ", 3, "did you mean round?"),
        ("limit = \"1h\"\n", "", 3, "limit is missing"),
    ] {
        let text = workload("1h").replacen(from, to, 1);
        assert_ne!(text, workload("1h"));
        std::fs::write(dir.path().join("bad.toml"), text).unwrap();
        let output = assay(dir.path(), "explain bad.toml");
        assert!(output.status.code() == Some(code) && told(&output).contains(why), "{why}: {}", told(&output));
    }
    let both = assay(dir.path(), "explain act-storage --until-steady 2h --warm-up 1min");
    assert_eq!(both.status.code(), Some(2), "{}", told(&both));
}

#[test]
fn never_steady_is_a_warning_of_a_run_and_makes_a_certification_invalid() {
    let dir = place();
    // The time of its operations grows by about a tenth every 20 s, for longer than the warm-up may wait.
    let falling = "sim:flash?fresh=90%/4min";
    std::fs::write(dir.path().join("w.toml"), workload("100s")).unwrap();
    let output = assay(dir.path(), &format!("run w.toml {falling} --json --out run"));
    let result = json(&output);
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert!(result["warnings"].to_string().contains("measured without having reached a steady state"), "{result}");
    assert_eq!(lines(&dir.path().join("run"), "event")[0]["what"], "not-steady");
    let phase = |phase: u64| {
        lines(&dir.path().join("run"), "interval").iter().filter(|interval| interval["phase"] == phase).count()
    };
    assert!(phase(0) == 100 && phase(1) >= 300, "the limit, then what was to be measured");

    let certify =
        format!("certify {falling} --at 0.02x --for 2min --slice 1min --until-steady 5min --json --out first");
    let output = assay(dir.path(), &certify);
    let result = json(&output);
    assert_eq!(output.status.code(), Some(11), "{}", told(&output));
    assert!(result["reason"].as_str().unwrap().contains("never reached a steady state"), "{}", result["reason"]);
    let calm = assay(dir.path(), &certify.replace(falling, "sim:flash").replace("first", "calm"));
    assert_eq!(calm.status.code(), Some(0), "{}", told(&calm));
}

#[test]
fn a_run_that_was_cut_while_it_waited_waits_again() {
    let dir = place();
    std::fs::write(dir.path().join("w.toml"), workload("1h")).unwrap();
    assay(dir.path(), &format!("run w.toml {FRESH} --out run"));
    let log = dir.path().join("run/run.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    // The header, a hundred seconds of warm-up, and half a line.
    let kept: Vec<&str> = text.split_inclusive('\n').take(100).collect();
    std::fs::write(&log, kept.concat() + "{\"crc\":\"0").unwrap();
    let output = assay(dir.path(), &format!("run w.toml {FRESH} --json --resume run"));
    assert_eq!(json(&output)["verdict"], "PASS", "{}", told(&output));
    let events: Vec<Value> = lines_of(&std::fs::read_to_string(&log).unwrap(), "event");
    assert_eq!(events.iter().filter(|event| event["what"] == "steady").count(), 1, "{events:?}");
}

fn lines_of(text: &str, kind: &str) -> Vec<Value> {
    let all = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    all.filter(|line| line["kind"] == kind).collect()
}

#[test]
fn the_hour_in_which_a_drive_slowed_down_is_told() {
    let dir = place();
    // 8 % of its reads take 4 ms from minute 37 on: the mean rises from 0.09 ms to about 0.4 ms.
    let line = "run act-storage sim:flash-worn?after=37min --load 0.05x --for 1h --slice 10min --out run";
    let output = assay(dir.path(), line);
    let said = told(&output);
    assert!(said.contains("change at 0:37:0"), "{said}");
    assert!(said.lines().count() <= 40 + 3 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let result = json(&assay(dir.path(), "judge run --json"));
    let reads = &result["steadiness"].as_array().unwrap().iter().find(|it| it["stream"] == "reads").unwrap().clone();
    let changes = reads["changes"].as_array().unwrap();
    assert_eq!(changes.len(), 1, "{reads}");
    let at = changes[0]["at_ns"].as_u64().unwrap() / 1_000_000_000;
    assert!(at.abs_diff(37 * 60) <= 12, "changed at {at} s, told within two points");
    let (before, after) = (changes[0]["before"].as_f64().unwrap(), changes[0]["after"].as_f64().unwrap());
    assert!((after - before - 0.08 * 4_000_000.0).abs() < 40_000.0, "{before} to {after}");
    let page = std::fs::read_to_string(dir.path().join("run/report.html")).unwrap();
    assert!(page.contains("Was it steady?") && page.contains("<li>0:37:0"));
}

#[test]
fn the_summary_has_a_line_along_the_hours_and_is_ascii_where_the_terminal_is() {
    let dir = place();
    let line = "run act-storage sim:flash-worn?after=3h --load 0.02x --for 5h --out run";
    assert_eq!(assay(dir.path(), line).status.code(), Some(10));
    let judged = |locale: &[(&str, &str)]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(["judge", "run"]).current_dir(dir.path()).env_clear();
        String::from_utf8(command.envs(locale.iter().copied()).output().unwrap().stdout).unwrap()
    };
    let wide = judged(&[("LANG", "de_DE.UTF-8")]);
    let spark = wide.lines().find(|line| line.contains("each 1 h")).unwrap_or_else(|| panic!("{wide}"));
    assert!(spark.starts_with("reads > 1 ms ▁▁▁██ each 1 h, █ "), "{spark}");
    assert!(wide.contains('µ') && wide.lines().count() <= 40, "{wide}");
    for locale in
        [&[][..], &[("LANG", "C")], &[("LC_ALL", "POSIX"), ("LANG", "de_DE.UTF-8")], &[("LANG", "de_DE.ISO-8859-1")]]
    {
        let narrow = judged(locale);
        assert!(narrow.is_ascii() && narrow.contains("reads > 1 ms ___## each 1 h, # "), "{locale:?}: {narrow}");
        let same = |(a, b): (&str, &str)| a.chars().count() == b.chars().count();
        assert!(
            narrow.lines().zip(wide.lines()).all(same) && narrow.matches('?').count() == wide.matches('?').count(),
            "{narrow}"
        );
    }
}

#[test]
fn real_workers_end_their_warm_up_together() {
    let dir = place();
    let text = workload("30s")
        .replace("\"20s\"", "\"200ms\"")
        .replace("duration = \"5min\"\nslice = \"1min\"", "duration = \"1s\"\nslice = \"1s\"\ninterval = \"100ms\"");
    std::fs::write(dir.path().join("w.toml"), text).unwrap();
    let output = assay(dir.path(), "run w.toml null:1GiB --workers 3 --json --out run");
    let result = json(&output);
    assert!(result["contradictions"].is_null() && result["damage"].as_array().unwrap().is_empty(), "{result}");
    let what: Vec<Value> = lines(&dir.path().join("run"), "event").iter().map(|event| event["what"].clone()).collect();
    assert!(what == ["steady"] || what == ["not-steady"], "{what:?}");
    let measured: Vec<Value> =
        lines(&dir.path().join("run"), "interval").into_iter().filter(|interval| interval["phase"] == 1).collect();
    assert!(measured.len() >= 10, "{} intervals of 100 ms", measured.len());
    assert_eq!(result["measured_ns"], 1_000_000_000u64);
}
