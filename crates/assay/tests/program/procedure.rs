//! Whole procedures in virtual time: a certification with a bad device, one that is interrupted and goes on, and the search
//! for the limit of a device whose limit is known.

use crate::bed::Place;
use assay_base::{Direction, Rate};
use assay_device::sim::Spec;
use serde_json::Value;

/// The whole procedure: four steps of a day each on four devices, one of which degrades after five hours. A fiftieth of 1x
/// keeps the operations few; the hours are all there.
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
    let command =
        ["certify", "sim:flash", "sim:flash?seed=2", bad, "sim:flash?seed=3", "--at", "0.02x", "--for", time, "--json"];
    let (said, _) = place.run(&command);
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

/// What a simulated flash can carry follows from its parameters.
fn capacity(target: &str) -> f64 {
    let spec: Spec = target.parse().unwrap();
    let large = Rate::ratio(1000 * 1536 * 2, 131_072).unwrap();
    spec.capacity(&[
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
        // What an interruption leaves is a shorter path.
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
