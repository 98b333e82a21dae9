//! Complete procedures in virtual time: a certification with a bad device, one that is interrupted and continues, and
//! the search for the limit of a device whose limit is known.

use crate::bed::Place;
use assay_base::{Direction, Rate};
use assay_device::sim::Spec;
use assay_record::{Entry, Event, Writer};
use serde_json::Value;

/// The whole procedure: four steps of a day each on four devices, one of which degrades after five hours. A fiftieth of
/// 1x keeps the number of operations small; the hours are complete.
#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "345,600 intervals take minutes without optimisation; two hours a step are tried instead"
)]
fn ninety_six_hours_on_four_devices_name_the_bad_one() {
    procedure("sim:flash-worn", "24h", 96, 6);
}

#[test]
fn eight_hours_on_four_devices_name_the_bad_one() {
    procedure("sim:flash-worn?after=1h", "2h", 8, 2);
}

fn procedure(bad: &str, time: &str, hours: u64, slice: u64) {
    let place = Place::new();
    let devices = ["sim:flash", "sim:flash?seed=2", bad, "sim:flash?seed=3"];
    let times = ["--at", "0.02x", "--for", time, "--keep-going", "--json"];
    let (said, _) = place.run(&[&["certify"], &devices[..], &times].concat());
    let json = said.json();
    assert_eq!((said.code, json["verdict"].as_str()), (Some(10), Some("FAIL")));
    let steps = json["steps"].as_array().unwrap();
    let verdicts: Vec<&str> = steps.iter().map(|step| step["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["PASS", "PASS", "FAIL", "PASS"], "latencies do not count in a stress step");
    let measured: u64 = steps.iter().map(|step| step["measured_ns"].as_u64().unwrap()).sum();
    assert_eq!(measured / 3_600_000_000_000, hours);
    let deciding = &json["deciding"];
    assert_eq!((deciding["target"].as_str(), deciding["slice"].as_u64()), (Some(bad), Some(slice)), "{deciding}");
    let table = place.assay(&["judge", "run", "--table"]).out;
    let of = |name: &str| table.split(&format!("reads on {name}\n")).nth(1).unwrap().split("reads on ").next().unwrap();
    assert!(of(bad).contains("  over"), "{table}");
    assert!(!of("sim:flash?seed=2").contains("  over"), "a good device is not to blame:\n{table}");
}

/// A device that becomes bad after ten minutes. When its first bad slice has ended, ten minutes later, nothing can
/// change the verdict.
#[test]
fn a_certification_ends_when_its_verdict_is_certain() {
    let place = Place::new();
    let command =
        ["certify", "sim:flash-worn?after=10min", "sim:flash", "--at", "0.02x", "--for", "1h", "--slice", "10min"];
    let (said, log) = place.run(&[&command[..], &["--json"]].concat());
    let json = said.json();
    assert_eq!((said.code, json["verdict"].as_str()), (Some(10), Some("FAIL")), "{}", said.err);
    assert!(said.err.contains("--keep-going"), "{}", said.err);
    assert_eq!((json["deciding"]["slice"].as_u64(), json["planned_ns"].as_u64()), (Some(2), Some(3_600_000_000_000)));
    let minutes = json["measured_ns"].as_f64().unwrap() / 6e10;
    assert!((20.0..20.1).contains(&minutes), "it ended after {minutes} min");
    let undone = "of 1 h, steps 2 to 4 of 4 were not run";
    assert!(json["warnings"].to_string().contains(undone), "{}", json["warnings"]);
    assert_eq!(log.close.unwrap().text, "the verdict was certain: FAIL");
    assert!(place.assay(&["judge", "run"]).out.contains("step 1 of 4"), "{}", place.assay(&["judge", "run"]).out);
    let report = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(report.contains(undone), "the report says so too");
    // It is over, unless the rest is requested explicitly.
    let over = place.assay(&[&command[..], &["--resume", "run"]].concat());
    assert!(over.code == Some(10) && over.err.contains("--keep-going"), "{}", over.err);
    assert!(over.out.contains("step 1 of 4"), "its result is shown: {}", over.out);
    let rest = place.assay(&[&command[..], &["--keep-going", "--resume", "run", "--json"]].concat());
    let json = rest.json();
    let verdicts: Vec<&str> =
        json["steps"].as_array().unwrap().iter().map(|step| step["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["FAIL", "PASS", "FAIL", "PASS"], "{}", rest.err);
    assert!(!json["warnings"].to_string().contains("FAIL was certain"), "{}", json["warnings"]);
}

/// If only the last slice of a step is bad, that step is complete and the others are not run.
#[test]
fn a_step_that_fails_at_its_very_end_is_the_last() {
    let place = Place::new();
    let (said, log) = place.run(&[
        "certify",
        "sim:flash-worn?after=10min",
        "--at",
        "0.02x",
        "--for",
        "20min",
        "--slice",
        "10min",
        "--json",
    ]);
    let json = said.json();
    assert_eq!((said.code, json["measured_ns"].as_u64()), (Some(10), Some(1_200_000_000_000)));
    assert!(json["warnings"].to_string().contains("FAIL was certain: step 2 of 2 was not run"), "{}", json["warnings"]);
    assert_eq!(log.close.unwrap().text, "all phases ran to their end");
    // An error makes FAIL certain immediately.
    let (said, _) = Place::new().run(&["certify", "sim:flash?errors=1/100", "--at", "0.02x", "--for", "2h", "--json"]);
    let json = said.json();
    assert_eq!((said.code, json["verdict"].as_str()), (Some(10), Some("FAIL")), "{}", said.err);
    assert!(json["measured_ns"].as_f64().unwrap() < 120e9, "{}", json["measured_ns"]);
}

/// Every workload with criteria can be certified: ACT's other model, an ACT configuration, a file.
#[test]
fn any_workload_with_criteria_can_be_certified() {
    let place = Place::new();
    place.write(
        "my-act.conf",
        "device-names: sim:flash,sim:flash?seed=2\nread-reqs-per-sec: 80\nwrite-reqs-per-sec: 40\ntest-duration-sec: 120\nrecord-bytes: 1536\n",
    );
    place.write("index.txt", "device-names: sim:flash\nread-reqs-per-sec: 40\nwrite-reqs-per-sec: 20\ncache-threads: 4\ntest-duration-sec: 120\n");
    place.write(
        "orders.toml",
        "model = \"streams\"\nduration = \"2min\"\n[[stream]]\nname = \"orders\"\ndirection = \"write\"\nsize = \"8KiB\"\n\
         rate = \"30/s\"\n[[criterion]]\nstream = \"orders\"\nshare_over = \"100ms\"\nat_most = \"5%\"\n",
    );
    let times = ["--for", "2min", "--slice", "1min"];
    // The words of the command, the model, the load of the load test, and the reads or orders per second of each step.
    for (words, model, load, rates) in [
        (&["act-index", "sim:flash", "--at", "0.01x"][..], "act-index", "0.01x", &[50.0, 100.0][..]),
        // The rates of a configuration are for all its devices together: one device has its part of them. The multiple
        // is ACT's.
        (&["my-act.conf"], "act-storage", "0.02x", &[40.0, 80.0, 80.0, 160.0]),
        (&["my-act.conf", "sim:flash?seed=3"], "act-storage", "0.02x", &[40.0, 80.0]),
        (&["index.txt", "--at", "0.04x"], "act-index", "0.04x", &[200.0, 400.0]),
        (&["orders.toml", "sim:flash", "sim:flash"], "streams", "1x", &[30.0, 60.0, 60.0, 120.0]),
    ] {
        let place_of = Place::new();
        for name in ["my-act.conf", "index.txt", "orders.toml"] {
            std::fs::copy(place.path(name), place_of.path(name)).unwrap();
        }
        let (said, _) = place_of.run(&[&["certify"], words, &times, &["--keep-going", "--json"]].concat());
        let json = said.json();
        assert_eq!(json["verdict"], "PASS", "{words:?}: {} {}", json["reason"], said.err);
        assert_eq!((json["model"].as_str(), json["steps"][0]["load"].as_str()), (Some(model), Some(load)), "{words:?}");
        let first = if model == "streams" { &["orders"][..] } else { &["reads", "cache-reads"] };
        let rate = |step: &Value| {
            let streams = step["streams"].as_array().unwrap().iter();
            let together = streams.filter(|s| first.contains(&s["name"].as_str().unwrap()));
            // The first entry of a stream is that of all targets together.
            let mut seen = std::collections::BTreeSet::new();
            together
                .filter(|s| seen.insert(s["name"].to_string()))
                .map(|s| s["rate_asked"].as_f64().unwrap())
                .sum::<f64>()
        };
        let found: Vec<f64> = json["steps"].as_array().unwrap().iter().map(rate).collect();
        assert_eq!(found, rates, "{words:?}");
    }
    place.write(
        "writes.conf",
        "device-names: sim:flash\nread-reqs-per-sec: 0\nwrite-reqs-per-sec: 40\nrecord-bytes: 1536\n",
    );
    for (words, code, why) in [
        (&["writes.conf"][..], 3, "no criteria"),
        (&["missing.conf", "sim:flash"], 3, "cannot be read"),
        (&["act-index", "--quick"], 2, "a quick look has a workload of its own"),
        (&["act-index"], 2, "needs a device"),
    ] {
        let said = place.assay(&[&["certify"], words].concat());
        assert!(said.code == Some(code) && said.err.contains(why), "{words:?}: {:?} {}", said.code, said.err);
    }
}

#[test]
fn an_interrupted_certification_goes_on_where_it_stopped_and_marks_the_gap() {
    let place = Place::new();
    let command = ["certify", "sim:flash", "sim:flash", "--at", "0.02x", "--for", "6h", "--slice", "1h"];
    let running = place.start(&command, 500);
    running.signal(libc::SIGINT);
    let cut = running.end();
    assert_eq!(cut.code, Some(12), "{}", cut.err);
    assert!(cut.out.contains("--resume run"), "it says how to go on:\n{}", cut.out);
    let other = place.assay(&["certify", "sim:flash", "sim:flash", "--at", "0.4x", "--for", "6h", "--resume", "run"]);
    assert_eq!(other.code, Some(2), "another load is another certification");
    let other = place.assay(&[&command[..], &["--resume", "run", "--seed", "77"]].concat());
    assert!(other.code == Some(2) && other.err.contains("its seed is 1"), "{}", other.err);
    let log = std::fs::read(place.path("run/run.jsonl")).unwrap();
    let elsewhere = command.map(|word| if word == "sim:flash" { "sim:flash?seed=2" } else { word });
    let elsewhere = place.assay(&[&elsewhere[..], &["--resume", "run"]].concat());
    assert_eq!(elsewhere.code, Some(2), "and so is another device: {}", elsewhere.err);
    assert!(elsewhere.err.contains("sim:flash?seed=2"), "{}", elsewhere.err);
    let alone = place.assay(&["run", "act-storage", "sim:flash", "--load", "0.02x", "--for", "6h", "--resume", "run"]);
    assert_eq!(alone.code, Some(2), "and a run is no step: {}", alone.err);
    assert!(std::fs::read(place.path("run/run.jsonl")).unwrap() == log, "nobody wrote");
    let resumed = place.assay(&[&command[..], &["--resume", "run", "--json"]].concat());
    let json = resumed.json();
    assert_eq!((resumed.code, json["verdict"].as_str()), (Some(0), Some("PASS")), "{}", resumed.err);
    let first = &json["steps"][0];
    assert_eq!(first["gaps"].as_array().unwrap().len(), 1, "the gap is marked");
    let slices = first["slices"].as_array().unwrap();
    assert_eq!(slices.len(), 6);
    assert!(slices.iter().all(|slice| slice["complete"] == true), "the slice that was cut was measured afresh");
    let again = place.assay(&[&command[..], &["--resume", "run"]].concat());
    assert!(again.code == Some(2) && again.err.contains("nothing to resume"), "{}", again.err);
}

/// The devices are compared even if the step that remains begins with another device than the step that is finished.
#[test]
fn a_certification_goes_on_only_with_the_devices_it_began_with() {
    let place = Place::new();
    let command = ["certify", "sim:flash", "--at", "0.02x", "--for", "2min", "--slice", "1min"];
    let (_, log) = place.run(&command);
    assert_eq!(log.header.step.unwrap().of, 2);
    // The state after the machine died between the steps.
    let path = place.path("run/run.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let first = text.split_inclusive('\n').take_while(|line| !line.contains("\"number\":2,"));
    let first: String = first.collect();
    assert!(first.len() < text.len());
    std::fs::write(&path, &first).unwrap();
    for other in ["sim:flash?seed=2", "sim:flash?iops=200000"] {
        let said = place
            .assay(&[&command.map(|it| if it == "sim:flash" { other } else { it })[..], &["--resume", "run"]].concat());
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(other), "{}", said.err);
    }
    let louder =
        place.assay(&["certify", "sim:flash", "--at", "2x", "--for", "2min", "--slice", "1min", "--resume", "run"]);
    assert_eq!(louder.code, Some(2), "another load for the rest: {}", louder.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
    assert_eq!(place.assay(&[&command[..], &["--resume", "run"]].concat()).code, Some(0));
}

#[test]
fn a_curve_without_a_maximum_is_not_said_to_go_on() {
    let place = Place::new();
    let said = place.assay(&[
        "curve",
        "act-storage",
        "sim:flash",
        "--from",
        "10000x",
        "--resolution",
        "10000x",
        "--for",
        "1s",
        "--slice",
        "1s",
        "--out",
        "curve",
    ]);
    assert_eq!(said.code, Some(10), "{}", said.err);
    assert!(said.err.contains("no maximum") && !said.err.contains("--resume"), "{}", said.err);
}

/// The same name may stand for another device tomorrow, so that not only names are compared.
#[test]
fn searches_and_curves_go_on_only_with_the_devices_they_began_with() {
    let place = Place::new();
    let profile = "name = \"p\"\nmodel = \"profile\"\n[[application]]\nname = \"a\"\n[application.reads]\nrate = \"50/s\"\nsizes = [[\"4KiB\", \"100%\"]]\n[[iostat]]\ndrive = \"sda\"\nreads = \"50/s\"\n";
    place.write("profile.toml", profile);
    for name in ["one", "other"] {
        assert_eq!(place.assay(&["prep", name, "--create", "64MiB", "--skip-zero"]).code, Some(0));
    }
    let link = |to: &str| {
        let _ = std::fs::remove_file(place.path("disk"));
        std::os::unix::fs::symlink(place.path(to), place.path("disk")).unwrap();
    };
    for (verb, file) in [
        (&["limit", "random-read", "disk", "--from", "1x", "--to", "1x"][..], "limit.json"),
        (&["curve", "random-read", "disk", "--max", "1x", "--points", "100%"], "curve.json"),
        (&["fit", "profile.toml", "disk", "--rounds", "1"], "fit.json"),
    ] {
        link("one");
        let command = [verb, &["--for", "1s", "--slice", "1s", "--warm-up", "0s"]].concat();
        place.assay(&[&command[..], &["--out", "many"]].concat());
        let kept = std::fs::read(place.path("many").join(file)).unwrap();
        link("other");
        let said = place.assay(&[&command[..], &["--resume", "many"]].concat());
        assert!(said.code == Some(2) && said.err.contains("the place of its target disk is"), "{}", said.err);
        assert_eq!(std::fs::read(place.path("many").join(file)).unwrap(), kept, "nobody wrote");
        link("one");
        let said = place.assay(&[&command[..], &["--resume", "many"]].concat());
        assert!(!said.err.contains("another run"), "{}", said.err);
        std::fs::remove_dir_all(place.path("many")).unwrap();
    }
}

/// What a simulated flash can carry follows from its parameters.
fn capacity(target: &str) -> f64 {
    let spec: Spec = target.parse().unwrap();
    let large = Rate::from_ratio(1000 * 1536 * 2, 131_072).unwrap();
    spec.known_capacity(&[
        (Rate::per_second(2000), Direction::Read, 1536),
        (large, Direction::Read, 131_072),
        (large, Direction::Write, 131_072),
    ])
}

#[test]
fn limit_finds_the_known_capacity_within_two_percent_and_goes_on_after_an_interruption() {
    for target in ["sim:flash", "sim:flash?iops=200000"] {
        let known = capacity(target);
        let place = Place::new();
        let command = ["limit", "act-storage", target, "--from", "10x", "--for", "20s", "--slice", "10s", "--json"];
        let whole = place.assay(&[&command[..], &["--out", "whole"]].concat());
        let json = whole.json();
        let passes: f64 = json["outcome"]["between"]["passes"].as_str().unwrap().trim_end_matches('x').parse().unwrap();
        assert!((passes / known - 1.0).abs() < 0.02, "{target}: found {passes}x, known {known}x");
        // After an interruption, `limit.json` has fewer runs.
        let mut kept = json.clone();
        kept["outcome"] = Value::Null;
        kept["runs"].as_array_mut().unwrap().truncate(4);
        std::fs::create_dir(place.path("cut")).unwrap();
        place.write("cut/limit.json", &kept.to_string());
        for changed in [&["--seed", "77"][..], &["--verify"]] {
            let other = place.assay(&[&command[..], changed, &["--resume", "cut"]].concat());
            assert!(other.code == Some(2) && other.err.contains("cannot be continued"), "{}", other.err);
        }
        let resumed = place.assay(&[&command[..], &["--resume", "cut"]].concat()).json();
        assert_eq!(resumed["outcome"], json["outcome"]);
        assert_eq!(resumed["runs"].as_array().unwrap().len(), json["runs"].as_array().unwrap().len());
    }
}

/// A run that had already failed when it was killed, before its verdict was stored, is not simply repeated.
#[test]
fn a_load_that_had_failed_when_a_search_or_a_curve_was_killed_has_failed() {
    for (verb, file, runs) in [
        (&["limit", "random-read", "sim:flash", "--from", "1x", "--to", "1x"][..], "limit.json", "runs"),
        (&["curve", "random-read", "sim:flash", "--max", "1x", "--points", "100%"], "curve.json", "points"),
    ] {
        let place = Place::new();
        let command = [verb, &["--for", "2s", "--slice", "1s", "--warm-up", "0s", "--json"]].concat();
        let whole = place.assay(&[&command[..], &["--out", "many"]].concat());
        assert_eq!(whole.code, Some(0), "{}{}", whole.out, whole.err);
        for failed in [false, true] {
            // The state during the run: its log is cut, and its verdict is nowhere.
            let mut kept = whole.json();
            (kept[runs], kept["outcome"]) = (serde_json::json!([]), Value::Null);
            place.write(&format!("many/{file}"), &kept.to_string());
            let log = place.path("many/01-1x/run.jsonl");
            let text = std::fs::read_to_string(&log).unwrap();
            let lines: Vec<&str> = text.split_inclusive('\n').take(2).collect();
            let mut writer = Writer::new(lines.concat().into_bytes(), lines.len() as u64);
            if failed {
                let details = [("flow", "0"), ("errno", "5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
                let (what, text) = ("io-error".into(), "an operation failed with EIO".to_owned());
                writer.write_entry(&Entry::Event(Event { at_ns: 1, what, text, details: details.into() })).unwrap();
            }
            std::fs::write(&log, writer.into_inner()).unwrap();
            let said = place.assay(&[&command[..], &["--resume", "many"]].concat());
            assert_eq!(said.code, Some(if failed { 10 } else { 0 }), "{verb:?}: {}{}", said.out, said.err);
            assert_eq!(said.out.contains("1 EIO"), failed, "{}", said.out);
        }
    }
}
