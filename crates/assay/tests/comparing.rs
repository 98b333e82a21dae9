//! `assay compare` on simulated runs, as a user calls it.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a test")]

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

fn assay(dir: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_assay")).args(line.split(' ')).current_dir(dir).output().unwrap()
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&[output.stdout.as_slice(), &output.stderr].concat()).into_owned()
}

#[test]
fn the_same_drive_twice_and_a_slower_one() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    for (name, target, more) in [
        ("a", "sim:flash", "--seed 1"),
        ("b", "sim:flash", "--seed 2"),
        ("slow", "sim:disk", "--seed 3"),
        ("2x", "sim:flash", "--load 0.02x"),
    ] {
        let load = if name == "2x" { "" } else { " --load 0.01x" };
        let output = assay(dir, &format!("run act-storage {target} --for 100s --slice 10s {more}{load} --out {name}"));
        assert!(dir.join(name).join("run.jsonl").exists(), "{}", told(&output));
    }
    let output = assay(dir, "compare a b slow --label slow=Disk --json --html c.html");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["labels"], serde_json::json!(["a", "b", "Disk"]));
    let p99 = &result["comparison"]["streams"][0]["figures"][2];
    assert_eq!((&p99["what"], &p99["against_first"][1]["answer"]), (&"p99".into(), &"differs".into()), "{p99}");
    let streams = result["comparison"]["streams"].as_array().unwrap();
    let measures: Vec<&str> = streams.iter().map(|row| row["measure"].as_str().unwrap()).collect();
    assert_eq!(measures[..4], ["response", "service", "response", "service"]);
    let figures: Vec<&str> =
        streams[1]["figures"].as_array().unwrap().iter().map(|figure| figure["what"].as_str().unwrap()).collect();
    assert_eq!(figures, ["p50", "p90", "p99", "p99.9", "over 1ms", "over 8ms", "over 64ms"]);
    // The comparison shows what the judgement of each run says.
    let judged: Value = serde_json::from_slice(&std::fs::read(dir.join("slow/verdict.json")).unwrap()).unwrap();
    for (row, measure) in [(0, "response"), (1, "service")] {
        for (figure, member) in [(0, "p50_ns"), (1, "p90_ns"), (2, "p99_ns"), (3, "p99_9_ns")] {
            let compared = streams[row]["figures"][figure]["values"][2].as_f64().unwrap();
            assert_eq!(Some(compared as u64), judged["streams"][0][measure][member].as_u64(), "{measure} {member}");
        }
    }
    let last = result["comparison"]["ranking"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["label"], "Disk");
    let page = std::fs::read_to_string(dir.join("c.html")).unwrap();
    assert!(page.contains("<th scope=\"row\">Disk</th>") && !page.contains("<script"));
    assert!(told(&assay(dir, "compare a slow")).contains("DIFFERS"));

    let refused = assay(dir, "compare a 2x");
    assert!(
        refused.status.code() == Some(3) && told(&refused).contains("load is 0.01x in a and 0.02x in 2x"),
        "{}",
        told(&refused)
    );
    let anyway = assay(dir, "compare a 2x --anyway");
    assert!(anyway.status.code() == Some(0) && told(&anyway).contains("NOT THE SAME PLAN"), "{}", told(&anyway));
    for (line, code) in
        [("compare a", 2), ("compare a b --label c=x", 2), ("compare a b --label x", 2), ("compare a none", 3)]
    {
        let output = assay(dir, line);
        assert_eq!(output.status.code(), Some(code), "{line}: {}", told(&output));
    }
}

#[test]
fn a_certificate_stands_for_its_log_and_for_no_other() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    for seed in ["1", "2"] {
        let line = format!("run act-storage sim:flash --for 100s --slice 10s --load 0.01x --seed {seed} --out {seed}");
        assay(dir, &line);
    }
    let by_log = assay(dir, "compare 1 2 --label 1=a --label 2=b --json");
    let by_certificate =
        assay(dir, "compare 1/verdict.json 2/verdict.json --label 1/verdict.json=a --label 2/verdict.json=b --json");
    assert_eq!(by_certificate.status.code(), Some(0), "{}", told(&by_certificate));
    assert_eq!(by_log.stdout, by_certificate.stdout);
    std::fs::copy(dir.join("2/run.jsonl"), dir.join("1/run.jsonl")).unwrap();
    let other = assay(dir, "compare 1/verdict.json 2/verdict.json");
    assert!(
        other.status.code() == Some(3) && told(&other).contains("not the log of this certificate"),
        "{}",
        told(&other)
    );
    std::fs::write(dir.join("none.json"), "{}").unwrap();
    let none = assay(dir, "compare none.json 2");
    assert!(none.status.code() == Some(3) && told(&none).contains("not a certificate"), "{}", told(&none));
}

#[test]
fn logs_of_act_itself_are_compared_whatever_their_devices_are_called() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-formats/tests/golden/act");
    let logs = std::fs::read_dir(golden).unwrap().map(|entry| entry.unwrap().path().join("log.txt"));
    let logs: Vec<_> = logs.filter(|log| log.exists()).collect();
    assert!(!logs.is_empty());
    for log in logs {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        std::fs::write(dir.path().join("a"), &text).unwrap();
        std::fs::write(dir.path().join("b"), text.replace("/dev/loop", "/dev/other")).unwrap();
        let said = assay(dir.path(), "compare a b");
        assert_eq!(said.status.code(), Some(0), "{}: {}", log.display(), told(&said));
    }
}

#[test]
fn what_act_5_measured_from_its_queues_is_compared_as_response() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../assay-formats/tests/golden/act-old");
    for (case, response, service) in [
        ("run-3.0", vec!["reads"], vec!["device 1-reads", "device-reads", "large-block-reads", "large-block-writes"]),
        ("run-6.0-storage", vec![], vec!["device 1-reads", "large-block-reads", "large-block-writes", "reads"]),
    ] {
        let log = golden.join(case).join("log.txt");
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["a", "b"] {
            std::fs::copy(&log, dir.path().join(name)).unwrap();
        }
        let result: Value = serde_json::from_slice(&assay(dir.path(), "compare a b --json").stdout).unwrap();
        let rows = result["comparison"]["streams"].as_array().unwrap();
        let of = |measure: &str| -> std::collections::BTreeSet<&str> {
            rows.iter().filter(|row| row["measure"] == measure).map(|row| row["stream"].as_str().unwrap()).collect()
        };
        assert_eq!(of("response"), response.into_iter().collect(), "{case}");
        assert_eq!(of("service"), service.into_iter().collect(), "{case}");
    }
}

#[test]
fn two_logs_that_act_wrote_are_compared_by_what_they_know() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    let target = "sim:flash --for 100s --slice 10s --load 0.05x";
    for (name, seed) in [("a", "1"), ("b", "2")] {
        assay(dir, &format!("run act-storage {target} --seed {seed} --out {name}"));
        let log = assay(dir, &format!("export {name} --to act-log --unit ms"));
        std::fs::write(dir.join(format!("{name}.log")), &log.stdout).unwrap();
    }
    let output = assay(dir, "compare a.log b.log --json");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    let streams = result["comparison"]["streams"].as_array().unwrap();
    assert!(!streams.is_empty() && streams.iter().all(|row| row["measure"] == "service"), "{result}");
    let over = streams[0]["figures"]
        .as_array()
        .unwrap()
        .iter()
        .find(|figure| figure["share"] == true)
        .unwrap_or_else(|| panic!("{result}"));
    assert!(over["values"][0].is_f64() && over["against_first"][0]["answer"] == "noise", "{over}");
    let mixed = assay(dir, "compare a a.log");
    assert_eq!(mixed.status.code(), Some(3), "ACT's plan is not ours: {}", told(&mixed));
    let mixed = told(&assay(dir, "compare a a.log --anyway"));
    assert!(mixed.contains("NOT THE SAME PLAN") && mixed.contains("reads service"), "{mixed}");
}

/// The second run is worse, the same, or too short to tell; the conclusion is the last sentence, and the exit code is a gate's.
#[test]
fn a_gate_closes_for_a_slower_run_and_knows_when_it_does_not_know() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = dir.path();
    for (name, target, more) in [
        ("a", "sim:flash", "--for 300s --seed 1"),
        ("b", "sim:flash", "--for 300s --seed 2"),
        ("slow", "sim:disk", "--for 300s --seed 3"),
        ("short", "sim:flash", "--for 2s --seed 4"),
        ("overload", "sim:disk", "--for 100s --seed 5 --load 1x"),
    ] {
        let load = if more.contains("--load") { "" } else { " --load 0.01x" };
        let output = assay(dir, &format!("run act-storage {target} --slice 1s {more}{load} --out {name}"));
        assert!(dir.join(name).join("run.jsonl").exists(), "{}", told(&output));
    }
    for (line, code, words) in [
        ("compare a b --fail-if-worse 25%", 0, "b is not worse than a by more than 25%"),
        ("compare a slow --fail-if-worse", 10, "slow is worse: "),
        ("compare a b slow --fail-if-worse 25%", 10, "slow is worse: "),
        ("compare a short --fail-if-worse", 11, "too little to tell whether short is worse"),
        ("compare a overload --anyway --fail-if-worse", 10, "it is FAIL where a is PASS"),
    ] {
        let output = assay(dir, line);
        let shown = told(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!((output.status.code(), shown.contains(words)), (Some(code), true), "{line}: {shown}");
        assert!(shown.ends_with(&format!("(exit code {code})")), "{line}: {shown}");
        let json = assay(dir, &format!("{line} --json"));
        let document: Value = serde_json::from_slice(&json.stdout).unwrap();
        let outcome = ["not-worse", "unknown", "worse"][[0, 11, 10].iter().position(|known| *known == code).unwrap()];
        assert_eq!((json.status.code(), &document["gate"]["outcome"]), (Some(code), &outcome.into()), "{document}");
    }
    let shown = |line| told(&assay(dir, line));
    let slower = shown("compare a slow");
    assert!(slower.contains("times slower in reads p99") && !slower.contains("exit code"), "{slower}");
    assert!(
        shown("compare a short").contains("To tell more, measure each run for at least"),
        "{}",
        shown("compare a short")
    );
    assert!(shown("compare a b").contains("b "), "{}", shown("compare a b"));
    for wrong in ["compare --fail-if-worse a b", "compare a b --fail-if-worse 101%", "compare a b --fail-if-worse -1%"]
    {
        let output = assay(dir, wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong}: {}", told(&output));
    }
}
