//! What is printed when nothing is run: plans, shipped workloads, devices. The standard output contains only the
//! document.

use super::bed::{Place, until};
use super::devices::{Disk, LOOKED_AT, Loop};
use serde_json::Value;

const EXPLAINED: &str = "\
act-storage (act-storage), load 30x on 1 target, seed 1

streams, over all targets together
  name                                     rate               size      bytes/s  address
  reads                read         60000.000/s              1536B    87.89 MiB  uniform over blocks
  large-block-reads    read           703.125/s             128KiB    87.89 MiB  uniform over multiples of 128KiB
  large-block-writes   write (D)      703.125/s             128KiB    87.89 MiB  uniform over multiples of 128KiB
  arrival: poisson; (D) durable, on stable media when complete

phases
  measure    24h

read 176 MiB/s, written 87.89 MiB/s, 7.24 TiB written in 24h

criteria, each in every slice
  delivered load at least 99.9% of the schedule per 1h
  reads response over 1ms below 5% per 1h
  reads response over 8ms below 1% per 1h
  reads response over 64ms below 0.1% per 1h
  stops when it is 10s behind its schedule; at most 512 in flight on each target, beside them 32 of large-block-reads, 32 of large-block-writes
  note: derived rates use exact arithmetic

ALL DATA ON THE TARGETS WILL BE DESTROYED
";

#[test]
fn explain_prints_the_plan() {
    let place = Place::new();
    let said = place.assay(&["explain", "act-storage", "--load", "30x"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    assert_eq!(said.out, EXPLAINED);
    let reads = place.assay(&["explain", "random-read", "sim:flash"]).out;
    assert!(
        reads.contains("reads only: nothing is destroyed") && reads.contains("target sim:flash: 894 GiB"),
        "{reads}"
    );
    let verified = place.assay(&["explain", "act-storage", "--verify"]).out;
    let told = ["verify: 512B sealed at a time, 8 B of memory for every 128KiB", "read-back", "until all is read"];
    assert!(told.iter().all(|told| verified.contains(told)), "{verified}");
    assert!(place.left(&[]).is_empty(), "it does no I/O");
}

#[test]
fn explain_as_json_has_the_derived_rates() {
    let place = Place::new();
    for (load, devices, reads, large) in
        [("1x", 1, 2000.0, 23.4375), ("30x", 1, 60_000.0, 703.125), ("1.5x", 2, 6000.0, 70.3125)]
    {
        let targets = vec!["null:1GiB"; devices];
        let json =
            place.assay(&[&["explain", "act-storage"], &targets[..], &["--load", load, "--json"]].concat()).json();
        let streams = json["derived"]["streams"].as_array().unwrap();
        let rate = |name: &str| {
            let stream = streams.iter().find(|stream| stream["name"] == name).unwrap();
            (stream["operations_per_second"].as_f64().unwrap(), stream["bytes_per_second"].as_f64().unwrap())
        };
        assert_eq!(rate("reads"), (reads, reads * 1536.0), "{load}");
        assert_eq!(rate("large-block-reads"), (large, large * 131_072.0), "{load}");
        assert_eq!(rate("large-block-writes"), (large, large * 131_072.0), "{load}");
        assert_eq!(json["derived"]["written_bytes"].as_f64().unwrap(), large * 131_072.0 * 86_400.0, "{load}");
        assert_eq!(json["derived"]["duration_seconds"], 86_400.0);
        assert_eq!((&json["load"], &json["targets"]), (&load.into(), &devices.into()));
        assert_eq!(json["criteria"].as_array().unwrap().len(), 3);
    }
}

fn explained(json: &str) -> serde_json::Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn shipped_workloads_are_listed_printed_explained_and_run() {
    let place = Place::new();
    let list = place.assay(&["workloads", "--json"]).json();
    let names: Vec<&str> = list.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    for name in ["act-storage", "act-storage-quick", "random-read"] {
        assert!(names.contains(&name), "{names:?}");
    }
    let text = place.assay(&["workloads"]).out;
    for name in names {
        assert!(text.contains(name));
        let printed = place.assay(&["workloads", name]);
        assert_eq!(printed.code, Some(0));
        // The output is a workload file, to copy and change.
        place.write(&format!("my-{name}.toml"), &printed.out);
        let shipped = place.assay(&["explain", name, "--json"]).out;
        assert_eq!(place.assay(&["explain", &format!("my-{name}.toml"), "--json"]).out, shipped);
        if printed.out.contains("\nverify ") {
            // Workloads that verify need a real target, because only that has data; its speed does not matter here.
            let file = ["run", name, "data.img", "--create", "64MiB", "--for", "1s", "--warm-up", "0s"];
            let run = place.assay(&[&file[..], &["--slice", "1s", "--json", "--out", name]].concat());
            let result = run.json();
            assert!(matches!(result["verdict"].as_str(), Some("PASS" | "INVALID")), "{name}: {}", result["reason"]);
            assert_eq!(result["integrity"]["damaged"].as_u64().unwrap_or(0), 0, "{}", result["integrity"]);
            continue;
        }
        if printed.out.contains("= \"files\"") || printed.out.contains("= \"service\"") {
            // It works in a directory. Some of them are small enough to be carried out here.
            if ["commit", "mailspool", "sqlite-commit", "redis-always"].contains(&name) {
                std::fs::create_dir_all(place.path("directory")).unwrap();
                let run = place.assay(&["run", name, "directory", "--for", "1s", "--slice", "1s", "--out", name]);
                // A percentile of a server needs more operations than a second has, and says so.
                let is_too_short = printed.out.contains("operations_at_least") && run.code == Some(11);
                let said = run.out.split_whitespace().collect::<Vec<&str>>().join(" ");
                let is_unproven = said.contains("too few") || said.contains("processors were too busy");
                let is_as_said = run.passed_or_late() || is_too_short && is_unproven;
                assert!(is_as_said && run.err.contains("all is there"), "{name}: {}{}", run.out, run.err);
                let report = std::fs::read_to_string(place.path(name).join("report.html")).unwrap();
                assert_eq!(report.contains("[A]"), printed.out.contains("\nassumed "), "{name} marks what is assumed");
            }
            continue;
        }
        if explained(&shipped)["model"] == "tpcc" {
            // It drives a database; how fast that is does not matter here.
            let url = "sqlite:shop.db?synchronous=off";
            assert_eq!(place.assay(&["prep", url, "--warehouses", "1"]).code, Some(0));
            let line = ["run", name, url, "--for", "2s", "--slice", "1s", "--warm-up", "0s", "--out", name];
            let run = place.assay(&line);
            assert!(matches!(run.code, Some(0 | 11)) && run.out.contains("NOPM"), "{name}: {}{}", run.out, run.err);
            continue;
        }
        // Workloads with phases define their own length; the others are shortened.
        let short: &[&str] = &["--for", "5s", "--slice", "5s", "--warm-up", "1s"];
        let length = if printed.out.contains("[[phase]]") { &[] } else { short };
        let cache: &[&str] = if printed.out.contains("[cache]") { &["--cache", "sim:flash"] } else { &[] };
        let run = place.assay(&[&["run", name, "sim:flash", "--out", name], length, cache].concat());
        assert_eq!(run.code, Some(0), "{name}: {}{}", run.out, run.err);
    }
}

#[test]
fn json_is_all_that_stdout_carries() {
    let place = Place::new();
    let run = ["--for", "3s", "--slice", "1s", "--json"];
    let table: [&[&str]; 7] = [
        &["explain", "act-storage", "--json"],
        &["workloads", "--json"],
        &["devices", "--json"],
        &[&["run", "random-read", "sim:flash", "--out", "a"], &run[..]].concat(),
        &[&["run", "random-read", "null:1GiB", "--warm-up", "0s", "--out", "b"], &run[..]].concat(),
        &[&["certify", "sim:flash", "--at", "1x", "--out", "c"], &run[..]].concat(),
        &["judge", "a", "--json"],
    ];
    let _looking = LOOKED_AT.write().unwrap_or_else(std::sync::PoisonError::into_inner);
    for arguments in table {
        let said = place.assay(arguments);
        let json = said.json();
        assert!(json.is_object() || json.is_array(), "{arguments:?}");
        if arguments[0] == "run" {
            assert!(!said.err.is_empty(), "progress and the place of the results are told, on stderr");
            assert_eq!(json["schema"], 1);
        }
    }
    assert!(place.assay(&["--help"]).out.contains("certify") && place.assay(&["--version"]).out.starts_with("assay "));
}

#[test]
fn devices_tells_each_rule_and_a_token_that_consents() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 64 << 20) else { return };
    let seen = || {
        let looking = LOOKED_AT.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let said = place.assay(&["devices", "--json"]);
        drop(looking);
        assert_eq!(said.code, Some(0));
        let all = said.json();
        all.as_array().unwrap().iter().find(|device| device["path"] == disk.path()).expect("it is listed").clone()
    };
    // Another test may examine all devices too, and has each of them open for a moment.
    let is_held = |text: &str| text.contains("(assay) has");
    let mut device = Value::Null;
    until("the device to be looked at by nobody else", || {
        device = seen();
        !is_held(&device.to_string())
    });
    assert_eq!(device["size_bytes"], 64 << 20);
    assert_eq!(device["accepted"], true, "{device}");
    for rule in device["rules"].as_array().unwrap() {
        assert!(rule["id"].is_string() && rule["ok"] == true && rule["evidence"].is_string(), "{rule}");
    }
    let token = device["token"].as_str().unwrap().to_owned();
    assert!(token.len() == 8 && token.chars().all(|c| c.is_ascii_hexdigit()), "{token}");
    let mut text = String::new();
    until("the device to be looked at by nobody else", || {
        text = place.assay(&["devices", disk.path()]).out;
        !is_held(&text)
    });
    assert!(text.contains(&token) && text.contains("--destroy-data"), "{text}");
    let over = format!("over {}", disk.backing.display());
    assert!(text.lines().any(|line| line.starts_with(disk.path()) && line.ends_with(&over)), "{text}");
    let (said, log) = place.run(&["run", "act-storage", disk.path(), "--for", "1s", "--destroy-data", &token]);
    said.is_of_verdict(&place.path("run"));
    log.adds_up();
    assert!(log.header.watermarks.iter().any(|mark| mark.contains("NON-CERTIFIABLE") && mark.contains("loop")));
}

/// What a certification costs, computed from the plans it would run: 30x writes 703.125 blocks of 128 KiB per second,
/// and the stress test twice as many, a day each. With several devices, the first one is also tested alone.
#[test]
fn explain_says_what_a_certification_takes() {
    const DAY: f64 = 703.125 * 131_072.0 * 86_400.0;
    let place = Place::new();
    for (targets, hours, written) in
        [(&["sim:flash"][..], 48.0, &[3.0 * DAY][..]), (&["sim:flash", "sim:disk"], 96.0, &[6.0 * DAY, 3.0 * DAY])]
    {
        let json = place.assay(&[&["explain", "certify"], targets, &["--json"]].concat()).json();
        assert_eq!(json["duration_seconds"].as_f64(), Some(hours * 3600.0));
        for (target, written) in json["targets"].as_array().unwrap().iter().zip(written) {
            assert_eq!(target["written_bytes"].as_f64(), Some(*written), "{target}");
            assert_eq!(target["preparation_bytes"].as_u64(), Some(2 * target["size_bytes"].as_u64().unwrap()));
        }
        assert_eq!(json["steps"].as_array().unwrap().len(), 2 * targets.len());
    }
    let text = place.assay(&["explain", "certify", "sim:flash"]).out;
    for told in [
        "certify act-storage on 1 target: 2 steps, 48 h in all",
        "load test at 30x, one device           24 h    14.48 TiB     7.24 TiB  every criterion",
        "stress test at 60x, one device         24 h    28.97 TiB    14.48 TiB  that the load is carried",
        "reads response over 1ms below 5% per 1h",
        "response times do not count",
        "--keep-going",
        "target sim:flash: 894 GiB, 21.73 TiB written to it in all steps, 24.9 drive writes",
        "ALL DATA ON THE TARGETS WILL BE DESTROYED",
    ] {
        assert!(text.contains(told), "\"{told}\" is not in:\n{text}");
    }
    // The steps that are explained are those that are run.
    let short = ["--at", "1x", "--for", "2s", "--slice", "1s"];
    let explained =
        place.assay(&[&["explain", "certify", "sim:flash", "sim:disk", "--json"], &short[..]].concat()).json();
    let run =
        place.assay(&[&["certify", "sim:flash", "sim:disk", "--keep-going", "--json"], &short[..]].concat()).json();
    let titles = |json: &serde_json::Value| -> Vec<(String, serde_json::Value)> {
        let steps = json["steps"].as_array().unwrap().iter();
        steps.map(|step| (step["title"].as_str().unwrap().to_owned(), step["plan"]["streams"].clone())).collect()
    };
    assert_eq!(titles(&explained), titles(&run));
    let other = place.assay(&["explain", "certify", "act-index", "sim:flash", "--for", "1h"]).out;
    assert!(other.starts_with("certify act-index on 1 target: 2 steps, 2 h in all"), "{other}");
    assert_eq!(place.assay(&["explain", "certify", "random-read", "none"]).code, Some(2));
}
