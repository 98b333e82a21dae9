//! ACT's tools and files, where no device is needed: the analyzer, configs, and logs that are read and written.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive the program as its users do"
)]

use crate::act_logs;

use act_logs::Ideal;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn assay(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The golden files in the repository, and the complete set where it is present.
fn golden() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = [here.join("../assay-formats/tests/golden"), here.join("../../../shared/golden")];
    all.into_iter().filter(|root| root.is_dir()).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).map(|list| list.map(|entry| entry.unwrap().path()).collect()).unwrap_or_default();
    paths.sort();
    paths
}

fn log(name: &str) -> PathBuf {
    let found = golden().into_iter().map(|root| root.join(name).join("log.txt")).find(|path| path.is_file());
    found.unwrap_or_else(|| panic!("no golden log {name}"))
}

#[test]
fn the_analyzer_answers_by_its_own_name_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("act_latency.py");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_assay"), &link).unwrap();
    let mut compared = 0;
    for case in ["act/storage-1x", "act/index-4x-us"] {
        let home = log(case).parent().unwrap().to_owned();
        for cmd in entries(&home.join("lat")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "cmd")) {
            let words = std::fs::read_to_string(&cmd).unwrap();
            let args: Vec<&str> = words.split_whitespace().skip(1).collect();
            let expected = std::fs::read(cmd.with_extension("txt")).unwrap();
            let code: i32 = std::fs::read_to_string(cmd.with_extension("rc")).unwrap().trim().parse().unwrap();
            let by_link = Command::new(&link).args(&args).current_dir(&home).output().unwrap();
            let named = Command::new(env!("CARGO_BIN_EXE_assay"))
                .args(["as", "act_latency"])
                .args(&args)
                .current_dir(&home)
                .output()
                .unwrap();
            for (how, output) in [("link", by_link), ("as", named)] {
                assert_eq!(output.status.code(), Some(code), "{how} {}", cmd.display());
                // Where the original ended in a traceback, only its output before that is compared.
                if code != 1 {
                    assert_eq!(text(&output.stdout), text(&expected), "{how} {}", cmd.display());
                }
            }
            compared += 1;
        }
    }
    assert!(compared > 15, "{compared} cases");
}

#[test]
fn refused_configs_have_acts_words_and_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("regular.img"), [0; 4096]).unwrap();
    let root = golden().pop().unwrap().join("act-badcfg");
    let mut compared = 0;
    for conf in entries(&root).into_iter().filter(|path| path.extension().is_some_and(|e| e == "conf")) {
        let name = conf.file_stem().unwrap().to_str().unwrap().to_owned();
        let expected = std::fs::read_to_string(conf.with_extension("out")).unwrap_or_default();
        let code = std::fs::read_to_string(conf.with_extension("rc")).unwrap();
        // A file that exists and that ACT refuses. The number of processors that it prints depends on the machine.
        if code.trim() != "255" || expected.contains("usage:") || expected.contains("couldn't open config file") {
            continue;
        }
        let program = name.split('-').next().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_assay"))
            .args(["as", program])
            .arg(&conf)
            .current_dir(dir.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(255), "{name}: {}", text(&output.stderr));
        let plain = |text: &str| {
            let keep = |line: &&str| !line.starts_with("detected ") && !line.starts_with("service-threads: ");
            text.lines().filter(keep).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(plain(&text(&output.stdout)), plain(&expected), "{name}");
        compared += 1;
    }
    assert!(compared > 20, "{compared} configs");
    for (args, code) in [(&["as", "act_storage"][..], 255), (&["as", "act_prep"], 0), (&["as", "act_cook", "x"], 2)] {
        assert_eq!(assay(args).status.code(), Some(code), "{args:?}");
    }
    let missing = assay(&["as", "act_index", "/no/such.conf"]);
    let expected = "ERROR: couldn't open config file /no/such.conf errno 2 'No such file or directory'\n";
    assert!(text(&missing.stdout).ends_with(expected), "{}", text(&missing.stdout));
    assert_eq!(missing.status.code(), Some(255));
}

#[test]
fn configs_of_every_dialect_are_workloads() {
    let dir = tempfile::tempdir().unwrap();
    let base = "device-names: sim:flash,sim:disk\nread-reqs-per-sec: 4000\nwrite-reqs-per-sec: 2000\n";
    for (more, wanted) in [
        ("record-bytes: 1536\n", &["4000.000/s", "46.875/s", "measure    24h"][..]),
        (
            "num-queues: 8\nthreads-per-queue: 4\ntest-duration-sec: 60\nrecord-bytes: 1536\n",
            &["measure    1min", "num-queues means nothing"],
        ),
        ("scheduler-mode: noop\ncommit-to-device: yes\ncommit-min-bytes: 512\n", &["writes", "2000.000/s", "noop"]),
        (
            "service-threads: 40\nmax-lag-sec: 0\nmicrosecond-histograms: yes\nrecord-bytes: 512\n",
            &["service-threads does not matter"],
        ),
        ("cache-threads: 16\n", &["cache-reads", "6000.000/s"]),
    ] {
        let file = dir.path().join("act.conf");
        std::fs::write(&file, format!("# comment\n{base}{more}")).unwrap();
        let output = assay(&["explain", file.to_str().unwrap()]);
        let shown = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        for word in wanted {
            assert!(shown.contains(word), "{word} in\n{shown}");
        }
    }
    for (line, caret) in [
        ("read-reqs-per-sec: 60x60", "write 3600"),
        ("no-defrag-reads: Yes", "write yes"),
        ("test-duration-sec: 99999999999", "^^^^^^^^^^^"),
        ("read-req-per-sec: 7", "did you mean read-reqs-per-sec?"),
        ("record-bytes=5", "record-bytes: 5"),
    ] {
        let file = dir.path().join("bad.txt");
        std::fs::write(&file, format!("device-names: sim:flash\n{line}\nwrite-reqs-per-sec: 1\n")).unwrap();
        let output = assay(&["run", file.to_str().unwrap()]);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}: {shown}");
        assert!(shown.contains("bad.txt:2:") && shown.contains('^') && shown.contains(caret), "{line}: {shown}");
        assert_eq!(shown.matches("error:").count(), 1, "{shown}");
    }
}

#[test]
fn a_config_is_run_on_the_devices_it_names() {
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("two.conf"), dir.path().join("out"));
    let conf = "device-names: sim:flash,sim:flash-worn\nread-reqs-per-sec: 400\nwrite-reqs-per-sec: 0\ntest-duration-sec: 7200\nrecord-bytes: 1536\n";
    std::fs::write(&file, conf).unwrap();
    let output = assay(&["run", file.to_str().unwrap(), "--out", out.to_str().unwrap(), "--json"]);
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // 400/s over both devices together, for two hours.
    let all = result["streams"].as_array().unwrap();
    let together = all.iter().find(|s| s["name"] == "reads" && s["target"].is_null()).unwrap();
    let scheduled = together["scheduled"].as_f64().unwrap();
    assert!((scheduled / 2_880_000.0 - 1.0).abs() < 0.01, "{scheduled}");
    assert_eq!(result["slices"].as_array().unwrap().len(), 2);
}

/// Logs of ACT up to 5.x do not count bytes.
#[test]
fn what_an_old_log_of_act_does_not_count_is_not_zero() {
    for (case, counts) in [("act-edge/version-5.3", false), ("act/storage-1x", true)] {
        let path = log(case);
        let shown = text(&assay(&["judge", path.to_str().unwrap()]).stdout);
        let page = text(&assay(&["report", path.to_str().unwrap(), "--out", "-"]).stdout);
        assert!(!shown.contains("in flight up to 0") && !shown.contains("read 0 B, wrote 0 B"), "{case}: {shown}");
        assert_eq!(shown.contains("how many bytes were moved is not in this log"), !counts, "{case}: {shown}");
        let (_, moved) = page.split_once("<dt>Written, read</dt><dd>").unwrap();
        let first = moved.chars().next().unwrap();
        assert_eq!(first.is_ascii_digit(), counts, "{case}: {}", &moved[..80]);
        assert_eq!(shown.contains(" MB/s"), counts, "{case}: no rate of bytes that nobody counted: {shown}");
        assert!(!shown.contains("steady"), "{case}: a mean that is not in the log is neither steady nor not: {shown}");
    }
}

/// The figures of the analyzer's row `avg`.
fn averages(table: &str) -> Vec<f64> {
    let row = table.lines().find(|line| line.trim_start().starts_with("avg")).unwrap();
    row.split_whitespace().skip(1).map(|figure| figure.parse().unwrap()).collect()
}

#[test]
fn judge_has_the_analyzers_numbers() {
    for (case, slice, unit_ns) in [
        ("act/storage-1x", 60, 1_000_000u64),
        ("act/storage-1x", 10, 1_000_000),
        ("act/storage-commit", 20, 1_000_000),
        ("act/storage-eio", 8, 1_000_000),
    ] {
        let path = log(case);
        let path = path.to_str().unwrap();
        let seconds = slice.to_string();
        let table = assay(&["as", "act_latency", "-l", path, "-t", &seconds, "-h", "reads", "-e", "3"]);
        let expected = averages(&text(&table.stdout));
        let judged = assay(&["judge", path, "--slice", &format!("{slice}s"), "--json"]);
        let judged: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
        let slices = judged["slices"].as_array().unwrap();
        let percent = |slice: &serde_json::Value, over: u64| {
            let streams = slice["streams"].as_array().unwrap();
            let reads = &streams.iter().find(|s| s["stream"] == "reads").unwrap()["service"];
            let name = format!("{over}ms");
            let over = reads["over"][&name].as_f64().unwrap_or_else(|| panic!("{name} in {reads}"));
            (over * 10_000.0 / reads["operations"].as_f64().unwrap()).round() / 100.0
        };
        for (column, over) in [1, 8, 64].into_iter().enumerate() {
            let mean = slices.iter().map(|slice| percent(slice, over * unit_ns / 1_000_000)).sum::<f64>()
                / slices.len() as f64;
            assert!((mean - expected[column]).abs() < 0.011, "{case} over {over}: {mean} against {expected:?}");
        }
        assert_eq!(judged["streams"][0]["response"]["operations"], 0, "ACT does not know response");
    }
}

#[test]
fn verdicts_of_logs_that_act_wrote() {
    for (case, verdict, words) in [
        ("act/storage-1x", "PASS", "closest: reads service over 1 ms 4.07%"),
        ("act/storage-eio", "FAIL", "EIO"),
        ("act/index-4x-us", "FAIL", "can't keep up"),
        ("act-edge/truncated-midblock", "INCOMPLETE", "cut off"),
        ("act-edge/gap-errors", "FAIL", "EIO"),
        ("act-old/run-3.0", "FAIL", "over 1 ms"),
        ("act-old/run-5.2-index", "PASS", ""),
        ("act-old/run-5.0-storage", "PASS", "closest: reads response over 1024 µs 0.18%"),
        ("act/storage-threads320", "PASS", "1920 of 2000 reads a second, because ACT divides a rate by 320 threads"),
        ("act/storage-lag-largeblock", "FAIL", "large block writes can't keep up"),
    ] {
        let Some(path) = golden().into_iter().map(|root| root.join(case).join("log.txt")).find(|path| path.is_file())
        else {
            continue;
        };
        let output = assay(&["judge", path.to_str().unwrap(), "--json"]);
        let judged: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(judged["verdict"], verdict, "{case}: {}", judged["reason"]);
        let all = judged.to_string();
        assert!(all.contains(words), "{case}: {words} in {}", judged["reason"]);
        assert!(all.contains("LOG: "), "{case} says what an ACT log does not know");
        let code = match verdict {
            "PASS" => 0,
            "FAIL" => 10,
            "INVALID" => 11,
            _ => 12,
        };
        assert_eq!(output.status.code(), Some(code), "{case}");
    }
    let two = golden().into_iter().map(|root| root.join("act-edge/concatenated-two-runs/log.txt"));
    for path in two.filter(|path| path.is_file()) {
        let path = path.to_str().unwrap();
        for args in [&["judge", path][..], &["report", path], &["compare", path, path]] {
            let refused = assay(args);
            let told = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(3), "{args:?}: {told}");
            assert!(told.contains("another run begins in the same log"), "{args:?}: {told}");
        }
    }
    let response = assay(&["judge", log("act/storage-1x").to_str().unwrap(), "--judge", "response"]);
    assert_eq!(response.status.code(), Some(2));
}

/// The output of `assay judge` for a log, with its JSON.
fn judged(log: &str, more: &[&str]) -> (serde_json::Value, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.txt");
    std::fs::write(&path, log).unwrap();
    let path = path.to_str().unwrap();
    let json = assay(&[&["judge", path, "--json"], more].concat());
    let plain = assay(&[&["judge", path], more].concat());
    let json = serde_json::from_slice(&json.stdout).unwrap_or_else(|_| panic!("{}", text(&json.stderr)));
    (json, text(&plain.stdout))
}

/// A log that ends before it names a histogram has no stream to which a failure could be attributed; the failure counts
/// nevertheless.
#[test]
fn an_error_in_a_log_without_a_histogram_fails() {
    let whole = std::fs::read_to_string(log("act/storage-1x")).unwrap();
    let head = whole.split("HISTOGRAM NAMES").next().unwrap();
    let error = "ERROR: reading /dev/loop5: 5 'Input/output error'\n";
    for log in [
        format!("{head}{error}"),
        format!("{head}\n{error}"),
        format!("{head}HISTOGRAM NAMES\n\nafter 1 sec:\n{error}\nafter 2 sec:\n\n"),
    ] {
        let (verdict, text) = judged(&log, &[]);
        assert_eq!(verdict["verdict"], "FAIL", "{text}");
        assert!(verdict["reason"].as_str().unwrap().contains("an operation failed"), "{text}");
        assert!(!text.contains("no errors"), "{text}");
    }
}

#[test]
fn whatever_act_does_by_its_own_arithmetic_on_an_ideal_device_passes() {
    // Twenty logs of a day, each with another random division into reads and writes.
    for seed in 1..=20 {
        let (json, _) = judged(&Ideal { commit: true, seed, ..Ideal::default() }.text(), &[]);
        assert_eq!(json["verdict"], "PASS", "seed {seed}: {}", json["reason"]);
        assert_eq!((&json["load"], json["slices"].as_array().unwrap().len()), (&"1x".into(), 24));
    }
    let short = Ideal { seconds: 7200, interval: 10, ..Ideal::default() };
    let index = Ideal { index: true, ..short.clone() };
    for (what, ideal, said) in [
        ("one device", short.clone(), &["log at 1x on /dev/nvme0n1"][..]),
        ("an index device", index.clone(), &["log at 1x on /dev/nvme0n1"]),
        // Each shortfall of ACT is named, and the load is said to be what ACT offers, not the full multiple.
        (
            "an index on two devices",
            Ideal { devices: 2, reads: 4000, writes: 2000, ..index.clone() },
            &["log at 1x as ACT offers it on 2 targets", "2000 of 4000 cache reads"],
        ),
        (
            "an index on three devices",
            Ideal { devices: 3, reads: 6000, writes: 3000, ..index.clone() },
            &["on 3 targets", "one part in 3"],
        ),
        (
            "36 processors",
            Ideal { service_threads: 180, ..short.clone() },
            &["log at 1x as ACT offers it", "1980 of 2000 reads a second"],
        ),
        (
            "committed writes and 180 threads, two devices",
            Ideal { service_threads: 180, commit: true, devices: 2, ..short.clone() },
            &["2880 of 3000 reads and writes a second", "on 2 targets"],
        ),
        // One large block in ten seconds: its rate is printed as 0.11 and is really 0.106.
        ("almost no writes", Ideal { writes: 4, ..short.clone() }, &["its own load"]),
        ("almost no reads", Ideal { reads: 40, writes: 30_000, commit: true, ..short.clone() }, &[]),
    ] {
        let (json, plain) = judged(&ideal.text(), &[]);
        assert_eq!(json["verdict"], "PASS", "{what}: {}", json["reason"]);
        let all = json["watermarks"].to_string() + &plain;
        said.iter().for_each(|said| assert!(all.contains(said), "{what}: {said} in\n{all}"));
        assert_eq!(plain.contains("as ACT offers it"), all.contains("OFFERED LESS"), "{what}");
    }
}

#[test]
fn a_load_that_act_did_not_deliver_passes_by_no_arithmetic() {
    let short = Ideal { seconds: 7200, interval: 10, ..Ideal::default() };
    let commit = Ideal { commit: true, ..short.clone() };
    let index = Ideal { index: true, devices: 2, reads: 4000, writes: 2000, ..short.clone() };
    for (what, ideal) in [
        ("99.5 % of all", Ideal { done: (0.995, 0.995), ..commit.clone() }),
        ("99.5 % of the reads", Ideal { done: (0.995, 1.0), ..commit.clone() }),
        ("writes in place of reads", Ideal { done: (0.5, 2.0), ..commit }),
        ("99.5 % of the large blocks", Ideal { done: (1.0, 0.995), writes: 100_000, ..short.clone() }),
        ("half of an index's one part in two", Ideal { done: (1.0, 0.5), ..index.clone() }),
        ("99 % of an index's reads", Ideal { done: (0.99, 1.0), ..index }),
        ("half, with any number of threads", Ideal { done: (0.5, 1.0), service_threads: 180, ..short }),
    ] {
        let (json, _) = judged(&ideal.text(), &[]);
        assert!(["INVALID", "FAIL"].contains(&json["verdict"].as_str().unwrap()), "{what}: {}", json["reason"]);
        assert!(json["reason"].as_str().unwrap().contains("scheduled") || what.contains("in place"), "{what}: {json}");
    }
}

#[test]
fn what_is_behind_the_last_whole_slice_is_not_judged_and_a_slice_is_whole_intervals() {
    // A whole hour, and then two seconds in which everything takes too long.
    let tail = Ideal { seconds: 3602, interval: 1, slow_from: 3600, ..Ideal::default() };
    let (json, plain) = judged(&tail.text(), &[]);
    assert_eq!(json["verdict"], "PASS", "{}", json["reason"]);
    assert_eq!((json["slices"].as_array().unwrap().len(), &json["planned_ns"]), (1, &3_600_000_000_000u64.into()));
    assert!(json["watermarks"].to_string().contains("the last 2s are not a whole slice"), "{}", json["watermarks"]);
    assert!(plain.contains("REST"), "{plain}");
    // With slices of two seconds, the last two seconds are a complete slice and count. An error counts anywhere.
    let (json, _) = judged(&tail.text(), &["--slice", "2s"]);
    assert_eq!((&json["verdict"], json["slices"].as_array().unwrap().len()), (&"FAIL".into(), 1801));
    let failed =
        tail.text().replace("after 3602 sec:", "ERROR: reading /dev/nvme0n1: 5 'Input/output error'\nafter 3602 sec:");
    let (json, _) = judged(&failed, &[]);
    assert_eq!(json["verdict"], "FAIL", "{}", json["reason"]);
    // A log that ends after its last whole slice, but before its planned end, is incomplete.
    let cut = tail.text();
    let (json, _) = judged(&cut[..cut.find("after 3602").unwrap()], &[]);
    assert_eq!(json["verdict"], "INCOMPLETE", "{}", json["reason"]);
    // Seven seconds do not divide an hour: the analyzer makes slices of 3605 s.
    let sevens = Ideal { seconds: 7210, interval: 7, ..Ideal::default() };
    let (json, _) = judged(&sevens.text(), &[]);
    assert_eq!(
        (&json["verdict"], &json["slice_ns"]),
        (&"PASS".into(), &3_605_000_000_000u64.into()),
        "{}",
        json["reason"]
    );
    // A log that is shorter than a slice is judged as one slice.
    let (json, _) = judged(&Ideal { seconds: 100, interval: 1, ..Ideal::default() }.text(), &[]);
    assert_eq!((&json["verdict"], json["slices"].as_array().unwrap().len()), (&"PASS".into(), 1), "{}", json["reason"]);
}

#[test]
fn what_act_5_measured_from_its_queues_is_response() {
    for (case, name, device) in [
        ("run-3.0", "reads", "device-reads"),
        ("run-5.0-storage", "reads", "device-reads"),
        ("run-5.2-index", "trans-reads", "device-reads"),
    ] {
        let Some(path) = golden()
            .into_iter()
            .map(|root| root.join("act-old").join(case).join("log.txt"))
            .find(|path| path.is_file())
        else {
            continue;
        };
        let path = path.to_str().unwrap();
        let of = |more: &[&str]| assay(&[&["judge", path], more].concat());
        let shown = text(&of(&[]).stdout);
        let head = format!("      {:<21}   {device} service", format!("{name} response"));
        assert!(shown.contains(&head) && !shown.contains("device-trans"), "{case}: {head} in\n{shown}");
        assert!(
            shown.contains(&format!("{name} response over 1")) && !shown.contains(&format!("{name} service over")),
            "{shown}"
        );
        let row = shown.lines().skip_while(|line| !line.starts_with("-----")).nth(1).unwrap();
        assert!(!row.contains('-') && row.split_whitespace().count() >= 7, "{case}: {row}");
        let json: serde_json::Value = serde_json::from_slice(&of(&["--json"]).stdout).unwrap();
        let stream = json["streams"].as_array().unwrap().iter().find(|s| s["name"] == name).unwrap();
        assert_eq!(stream["service"]["operations"], 0);
        assert!(stream["response"]["operations"].as_u64().unwrap() > 40_000, "{stream}");
        // Service is judged on the service times of the devices.
        let service = text(&of(&["--judge", "service"]).stdout);
        assert!(service.contains(&format!("{device} service over 1")), "{service}");
        assert_ne!(of(&["--judge", "response"]).status.code(), Some(2));
    }
}

#[test]
fn an_exported_log_gives_the_same_numbers_to_the_analyzer() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("run");
    let out = out.to_str().unwrap();
    assay(&["run", "act-storage", "sim:flash-worn", "--for", "3h", "--out", out]);
    let judged = assay(&["judge", out, "--judge", "service", "--json"]);
    let judged: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    for (unit, exponent) in [("ms", 0), ("us", 10)] {
        let export = assay(&["export", out, "--to", "act-log", "--unit", unit]);
        let path = dir.path().join(unit);
        std::fs::write(&path, &export.stdout).unwrap();
        let start = exponent.to_string();
        let table =
            assay(&["as", "act_latency", "-l", path.to_str().unwrap(), "-s", &start, "-e", "3", "-n", "3", "-x"]);
        assert_eq!(table.status.code(), Some(0));
        let figures = averages(&text(&table.stdout));
        let slices = judged["slices"].as_array().unwrap();
        let rate = figures.last().unwrap();
        let operations: f64 = slices.iter().map(|slice| slice["streams"][0]["operations"].as_f64().unwrap()).sum();
        // Both count operations that are in flight at the end of a slice in the next slice.
        assert!((rate - operations / 10_800.0).abs() < 0.2, "{rate} against {operations}");
        if unit == "ms" {
            for (column, over) in ["1ms", "8ms", "64ms"].iter().enumerate() {
                let share = |slice: &serde_json::Value| {
                    let service = &slice["streams"][0]["service"];
                    service["over"][over].as_f64().unwrap() * 100.0 / service["operations"].as_f64().unwrap()
                };
                let mean = slices.iter().map(share).sum::<f64>() / slices.len() as f64;
                assert!((mean - figures[column]).abs() < 0.02, "{over}: {mean} against {figures:?}");
            }
        }
        let again = assay(&["judge", path.to_str().unwrap(), "--json"]);
        let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
        assert_eq!(again["slices"].as_array().unwrap().len(), 3, "{}", again["reason"]);
    }
}

/// 93 of 20000 are 0.465 %, which ACT's analyzer rounds up.
#[test]
fn judge_rounds_as_the_analyzer_does() {
    let dir = tempfile::tempdir().unwrap();
    let head = text(&std::fs::read(log("act/storage-1x")).unwrap());
    let head = head.split("after ").next().unwrap().to_owned();
    let block = "after 10 sec:\nreads (20000 total)\n (00: 0000019907) (01: 0000000093)\n\n";
    let path = dir.path().join("log.txt");
    std::fs::write(&path, head + block).unwrap();
    let path = path.to_str().unwrap();
    let table = text(&assay(&["as", "act_latency", "-l", path, "-t", "10", "-h", "reads"]).stdout);
    assert_eq!(averages(&table)[0], 0.47, "{table}");
    let shown = text(&assay(&["judge", path, "--slice", "10s", "--table"]).stdout);
    let row = shown.lines().find(|line| line.trim_start().starts_with("1 ")).unwrap_or_else(|| panic!("{shown}"));
    assert!(row.contains(" 0.47 ") && !row.contains("0.46"), "{shown}");
}

#[test]
fn a_directory_is_refused_as_c_reads_it_and_processors_are_all_that_are_online() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().to_str().unwrap();
    let as_config = assay(&["as", "act_storage", path]);
    let said = text(&as_config.stdout);
    assert!(said.ends_with("ERROR: invalid or missing configuration of 'device-names'\n"), "{said}");
    assert_eq!(as_config.status.code(), Some(255));
    let conf = dir.path().join("act.conf");
    std::fs::write(&conf, format!("device-names: {path}\ntest-duration-sec: 1\nread-reqs-per-sec: 1000\n")).unwrap();
    let conf = conf.to_str().unwrap();
    let as_device = assay(&["as", "act_storage", conf]);
    let said = text(&as_device.stdout);
    assert!(said.ends_with(&format!("ERROR: open device {path} errno 21 'Is a directory'\n")), "{said}");
    assert_eq!(as_device.status.code(), Some(255));
    let first =
        Command::new("taskset").args(["-c", "0", env!("CARGO_BIN_EXE_assay"), "as", "act_storage", conf]).output();
    if let Some(bound) = first.ok().filter(|output| output.status.code() == Some(255)) {
        assert_eq!(text(&bound.stdout), said, "threads by the machine, not by what this process may use");
    }
    std::fs::write(conf, "device-names: a,./a\nservice-threads: 8\ntest-duration-sec: 1\nread-reqs-per-sec: 1000\nfile-size-mbytes: 16\n").unwrap();
    std::fs::write(dir.path().join("a"), [0; 8192]).unwrap();
    let twice = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["as", "act_storage", conf])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert_eq!(twice.status.code(), Some(4), "{}", text(&twice.stderr));
    assert!(text(&twice.stderr).contains("the same target"));
}

#[test]
fn links_answer_however_the_tools_are_started() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("act/bin");
    let made = assay(&["links", bin.to_str().unwrap()]);
    assert_eq!(made.status.code(), Some(0), "{}", text(&made.stderr));
    assert_eq!(assay(&["links", bin.to_str().unwrap()]).status.code(), Some(0), "again changes nothing");
    let home = log("act/storage-1x").parent().unwrap().to_owned();
    let expected = assay(&["as", "act_latency", "-l", home.join("log.txt").to_str().unwrap(), "-t", "10"]).stdout;
    let script = bin.join("act_latency.py");
    std::os::unix::fs::symlink(&script, dir.path().join("elsewhere.py")).unwrap();
    let elsewhere = dir.path().join("elsewhere.py");
    for (program, before) in [
        (script.as_path(), None),
        (Path::new("python3"), Some(&script)),
        (Path::new("python3"), Some(&elsewhere)),
        (&bin.join("act_latency"), None),
    ] {
        let mut command = Command::new(program);
        command.args(before).arg("-l").arg(home.join("log.txt")).args(["-t", "10"]);
        let output = command.output().unwrap();
        assert_eq!(text(&output.stdout), text(&expected), "{command:?}: {}", text(&output.stderr));
    }
    for tool in ["act_storage", "act_index", "act_prep"] {
        let usage = Command::new(bin.join(tool)).output().unwrap();
        assert!(text(&usage.stdout).contains(&format!("usage: {tool}")), "{tool}");
    }
    std::fs::remove_file(bin.join("act_prep")).unwrap();
    std::fs::write(bin.join("act_prep"), "the original").unwrap();
    for more in [&[][..], &["--force-links"]] {
        let again = assay(&[&["links", bin.to_str().unwrap()], more].concat());
        assert_eq!(again.status.code(), Some(2), "{more:?}");
        assert!(
            text(&again.stderr).contains("act_prep is not a link, and is never replaced"),
            "{}",
            text(&again.stderr)
        );
        assert_eq!(std::fs::read_to_string(bin.join("act_prep")).unwrap(), "the original");
    }
}

/// In ACT's own directory some names are taken: the others become links, and what is in the way is named.
#[test]
fn what_is_in_the_way_of_a_link_is_named_and_the_rest_is_linked() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let links = |more: &[&str]| assay(&[&["links", dir.path().to_str().unwrap()], more].concat());
    std::os::unix::fs::symlink("/usr/bin/true", at("act_storage")).unwrap();
    std::fs::write(at("act_latency.py"), "#!/usr/bin/python3\n# my own analyzer\n").unwrap();
    let made = links(&[]);
    assert_eq!(made.status.code(), Some(2));
    for name in ["act_index", "act_prep", "act_latency", "pblio", "seekmark", "bonnie++"] {
        assert_eq!(std::fs::read_link(at(name)).unwrap(), Path::new(env!("CARGO_BIN_EXE_assay")), "{name}");
        assert!(text(&made.stdout).contains(name), "{}", text(&made.stdout));
    }
    let said = text(&made.stderr);
    assert!(said.contains("act_storage is a link to /usr/bin/true; --force-links replaces it"), "{said}");
    assert!(said.contains("act_latency.py is not a link, and is never replaced"), "{said}");
    // The link is replaced when it is asked for, somebody's file never.
    assert_eq!(links(&["--force-links"]).status.code(), Some(2));
    assert_eq!(std::fs::read_link(at("act_storage")).unwrap(), Path::new(env!("CARGO_BIN_EXE_assay")));
    assert!(std::fs::read_to_string(at("act_latency.py")).unwrap().contains("my own analyzer"));
    // A script of an earlier version is ours.
    std::fs::write(
        at("act_latency.py"),
        "#!/bin/sh\n# Made by assay links: starts assay in place of ACT's analyzer, called by its name or by python.\n",
    )
    .unwrap();
    assert!(text(&links(&[]).stderr).contains("of an earlier version; --force-links"));
    assert_eq!(links(&["--force-links"]).status.code(), Some(0));
    assert_eq!(links(&[]).status.code(), Some(0));
}

/// A copy of the script whose link leads to a script like it would start itself for ever.
#[test]
fn a_copied_script_never_starts_itself() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("bin");
    assert_eq!(assay(&["links", bin.to_str().unwrap()]).status.code(), Some(0));
    let at = |place: &str, name: &str| dir.path().join(place).join(name);
    for place in ["none", "linked", "copied", "one", "other"] {
        std::fs::create_dir(dir.path().join(place)).unwrap();
        std::fs::copy(bin.join("act_latency.py"), at(place, "act_latency.py")).unwrap();
    }
    std::os::unix::fs::symlink("act_latency.py", at("linked", "act_latency")).unwrap();
    std::fs::copy(bin.join("act_latency.py"), at("copied", "act_latency")).unwrap();
    std::os::unix::fs::symlink(at("other", "act_latency.py"), at("one", "act_latency")).unwrap();
    std::os::unix::fs::symlink(at("one", "act_latency.py"), at("other", "act_latency")).unwrap();
    for place in ["none", "linked", "copied", "one", "other"] {
        let script = at(place, "act_latency.py");
        for mut command in [Command::new(&script), Command::new("python3")] {
            if command.get_program() == "python3" {
                command.arg(&script);
            }
            let mut timed = Command::new("timeout");
            timed.arg("60").arg(command.get_program()).args(command.get_args()).args(["-l", "log.txt"]);
            let output = timed.output().unwrap();
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(5), "{place}: {said}");
            assert!(said.contains("does not start assay") && said.contains("assay links DIRECTORY"), "{place}: {said}");
        }
    }
}

/// The average below the table of a log of ACT is the one that ACT's analyzer prints.
#[test]
fn averages_of_acts_logs_are_the_analyzers() {
    let (mut compared, mut logs) = (0, 0);
    for path in golden().into_iter().flat_map(|root| entries(&root.join("act"))) {
        let path = path.join("log.txt");
        let shown = text(&std::fs::read(&path).unwrap_or_default());
        if !shown.contains("microsecond-histograms: no") || !shown.contains("\nreads (") {
            continue;
        }
        logs += 1;
        for slice in ["1", "2", "5"] {
            let table = text(
                &assay(&[
                    "as",
                    "act_latency",
                    "-l",
                    path.to_str().unwrap(),
                    "-t",
                    slice,
                    "-h",
                    "reads",
                    "-e",
                    "3",
                    "-n",
                    "3",
                ])
                .stdout,
            );
            if !table.lines().any(|line| line.trim_start().starts_with("avg")) {
                continue;
            }
            let judged = assay(&["judge", path.to_str().unwrap(), "--slice", &format!("{slice}s"), "--table"]);
            let judged = text(&judged.stdout);
            let row =
                judged.lines().find(|line| line.trim_start().starts_with("avg")).unwrap_or_else(|| panic!("{judged}"));
            let figures: Vec<f64> = row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            assert_eq!(
                figures,
                averages(&table)[..figures.len().min(3)],
                "{} -t {slice}: {row}\n{table}",
                path.display()
            );
            compared += figures.len();
        }
    }
    // The project carries three such logs; beside the whole set there are more.
    let (least_logs, least_figures) = if golden().len() > 1 { (5, 30) } else { (3, 27) };
    assert!(logs >= least_logs && compared >= least_figures, "{compared} figures of {logs} logs");
}

/// ACT takes up to 128 devices.
#[test]
fn a_log_of_as_many_devices_as_act_takes_is_judged() {
    for devices in [84, 85, 128] {
        let many = Ideal {
            devices,
            reads: 2000 * devices,
            writes: 1000 * devices,
            commit: true,
            seconds: 3600,
            interval: 600,
            ..Ideal::default()
        };
        let (json, plain) = judged(&many.text(), &[]);
        assert_eq!(json["verdict"], "PASS", "{devices}: {}", json["reason"]);
        assert!(plain.contains(&format!("{devices} targets")), "{devices}: {plain}");
    }
}

#[test]
fn the_manual_shows_what_the_program_prints() {
    let manual = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/act.md")).unwrap();
    let blocks: Vec<&str> = manual.split("```").skip(1).step_by(2).collect();
    let mut shown = 0;
    for pair in blocks.windows(2) {
        let (Some(commands), Some(expected)) = (pair[0].strip_prefix("sh\n"), pair[1].strip_prefix("text\n")) else {
            continue;
        };
        let args: Vec<&str> = commands.split_whitespace().skip(1).collect();
        assert_eq!(text(&assay(&args).stdout), expected, "{commands}");
        shown += 1;
    }
    assert!(shown > 0);
    // Every key of the table is accepted.
    let keys = manual.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let keys: Vec<&str> = keys.flat_map(|cell| cell.split('`').skip(1).step_by(2)).collect();
    assert!(keys.len() > 30, "{keys:?}");
    let dir = tempfile::tempdir().unwrap();
    for key in keys.iter().filter(|key| key.contains('-') && !key.contains(' ')) {
        let file = dir.path().join("key.conf");
        std::fs::write(&file, format!("{key}: ?\n")).unwrap();
        let said = text(&assay(&["explain", file.to_str().unwrap()]).stderr);
        assert!(!said.contains("is not a key of ACT"), "{key}: {said}");
    }
}
