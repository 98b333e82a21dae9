//! Complete procedures in virtual time: hours of load through engine, log, judge and report, with a known answer.
//!
//! Unoptimised builds take about two seconds of CPU for an hour at 1x, so the day at 1x runs with `cargo test --release`, and
//! the twelve hours of the worn device at a tenth of the load otherwise.

use super::bed::{Log, Place, Said};
use assay_base::Direction::Read;
use serde_json::Value;
use std::fs;

/// 1000 reads per second, with this `arrival`; the only criterion is that they are delivered.
fn reads(arrival: &str) -> String {
    format!(
        "name = \"reads\"\nmodel = \"streams\"\nduration = \"30s\"\nslice = \"10s\"\n\n[[stream]]\nname = \"reads\"\n\
         direction = \"read\"\nsize = \"4KiB\"\n{arrival}\n"
    )
}

const STEADY: &str = "rate = \"1000/s\"\narrival = \"steady\"";
const POISSON: &str = "rate = \"1000/s\"\narrival = \"poisson\"";

/// Runs `reads` with this arrival on simulated targets.
fn on(targets: &[&str], arrival: &str) -> (Said, Log, Value) {
    let place = Place::new();
    place.write("reads.toml", &reads(arrival));
    let (said, log) = place.run(&[&["run", "reads.toml", "--json"], targets].concat());
    said.is_of_verdict(&place.path("run"));
    let json = said.json();
    (said, log, json)
}

#[test]
#[cfg_attr(debug_assertions, ignore = "a minute of CPU unoptimised: cargo test --release")]
fn a_day_of_act_storage_on_flash_passes() {
    day("24h", 24, "1x");
}

#[test]
fn two_hours_of_act_storage_on_flash_pass() {
    day("2h", 2, "1x");
}

fn day(time: &str, hours: u64, load: &str) {
    let place = Place::new();
    let (said, log) = place.run(&["run", "act-storage", "sim:flash", "--for", time, "--load", load, "--json"]);
    assert_eq!(said.is_of_verdict(&place.path("run")), "PASS");
    log.adds_up();
    let json = said.json();
    let slices = json["slices"].as_array().unwrap();
    assert_eq!(slices.len() as u64, hours);
    assert!(slices.iter().all(|slice| slice["complete"] == true && slice["within"] == true));
    for (stream, rate) in [("reads", 2000.0), ("large-block-reads", 23.4375), ("large-block-writes", 23.4375)] {
        let expected = rate * hours as f64 * 3600.0;
        let got = log.stream(stream).ok as f64;
        assert!((got - expected).abs() < 4.0 * expected.sqrt(), "{stream}: {got} of {expected}");
    }
    let short = json["watermarks"].to_string().contains("SHORT");
    assert_eq!(short, hours < 24, "the certificate says when the time was shortened");
}

#[test]
fn the_same_seed_gives_the_same_log_to_the_byte_and_another_seed_another() {
    let run = |seed: &str| {
        let place = Place::new();
        place.run(&["run", "act-storage", "sim:flash", "sim:disk?errors=1/5000", "--for", "2min", "--seed", seed]);
        fs::read(place.path("run/run.jsonl")).unwrap()
    };
    let first = run("5");
    assert!(first == run("5"), "the same seed, another log");
    assert!(first != run("6"), "another seed, the same log");
}

#[test]
fn a_device_that_degrades_after_hour_five_of_twelve_fails_in_slice_six_and_passes_before() {
    let load = if cfg!(debug_assertions) { "0.1x" } else { "1x" };
    let place = Place::new();
    let run = ["run", "act-storage", "sim:flash-worn", "--for", "12h", "--slice", "1h", "--load", load, "--json"];
    let (said, log) = place.run(&run);
    assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL");
    log.adds_up();
    let json = said.json();
    assert_eq!(json["deciding"]["slice"], 6, "{}", json["reason"]);
    assert_eq!((&json["deciding"]["stream"], &json["deciding"]["bound"]), (&"reads".into(), &"< 5%".into()));
    let within: Vec<bool> =
        json["slices"].as_array().unwrap().iter().map(|slice| slice["within"].as_bool().unwrap()).collect();
    let expected: Vec<bool> = (1..=12).map(|slice| slice <= 5).collect();
    assert_eq!(within, expected, "slices 1 to 5 hold, 6 to 12 do not");
    let text = place.assay(&["judge", "run"]).out;
    assert!(text.starts_with("FAIL") && text.contains("slice 6"), "{text}");
}

/// The device stalls for 2 s of 30 s at 1000 reads/s: 2000 of 30,000 reads wait for the end of the stall, 6.67 % in
/// response. In service, only those reads are long that are in the device when it stalls, or are handed to it
/// meanwhile: one for each slot of the in-flight bound. The backlog after the stall adds the time that the device takes
/// for 2000 reads with that many slots.
#[test]
fn a_stall_of_two_seconds_in_thirty_shows_in_response_and_once_a_slot_in_service() {
    for (arrival, slots) in [(STEADY, 1), (STEADY, 8), (STEADY, 32), (POISSON, 8), (POISSON, 32)] {
        let place = Place::new();
        let text = reads(arrival).replacen("\n\n[[stream]]", &format!("\nin_flight_bound = {slots}\n\n[[stream]]"), 1);
        place.write("reads.toml", &text);
        // The drive has no spread and no pauses of its own, so that the stall causes every long operation.
        let (said, log) = place.run(&["run", "reads.toml", "sim:flash?stall=2s@10s&spread=0%", "--json"]);
        log.adds_up();
        let json = said.json();
        let stream = &json["streams"][0];
        let over = |measure: &str| stream[measure]["over"]["1ms"].as_u64().unwrap();
        let operations = log.stream("reads").scheduled as f64;
        let (share, expected) = (over("response") as f64 / operations, 2.0 / 30.0);
        // The number of arrivals in the stall is exact when steady, and within four standard deviations for Poisson.
        let chance = if arrival == STEADY { 0.0 } else { 4.0 / 2000f64.sqrt() };
        let backlog = 1.0 / slots as f64 * 0.1;
        let slack = 0.03 + chance;
        assert!(share >= expected * (1.0 - slack), "{arrival}, {slots}: {share} of {expected}");
        assert!(share <= expected * (1.0 + slack + backlog), "{arrival}, {slots}: {share} of {expected}");
        assert_eq!(over("service"), slots, "{arrival}: one operation a slot");
        assert!(stream["response"]["max_ns"].as_u64().unwrap() >= 1_980_000_000);
    }
}

#[test]
fn a_disk_gives_about_74_random_reads_a_second() {
    let (_, log, json) = on(&["sim:disk"], "in_flight = 1");
    let rate = log.stream("reads").ok as f64 / log.seconds();
    assert!((rate - 74.0).abs() <= 2.0, "{rate}/s");
    assert_eq!(json["streams"][0]["arrival"], "closed", "a closed loop is named as such");
}

#[test]
fn faults_of_a_device_fail_the_run_and_end_it() {
    // The target, a part of the verdict's reason, and how the log ends.
    let table = [
        ("sim:flash?errors=1/1000", "error", "Completed"),
        ("sim:flash?hang=1@5s", "", "Completed"),
        ("sim:flash?gone@10s", "", "TargetLost"),
    ];
    for (target, reason, end) in table {
        let (said, log, json) = on(&[target], POISSON);
        assert_eq!(said.code, Some(10), "{target}: {}", json["reason"]);
        assert!(json["reason"].as_str().unwrap().contains(reason), "{target}: {}", json["reason"]);
        assert_eq!(format!("{:?}", log.close.as_ref().unwrap().reason), end, "{target}: {}", json["reason"]);
        log.adds_up();
    }
}

#[test]
fn every_error_is_counted() {
    let (said, log, json) = on(&["sim:flash?errors=1/1000"], STEADY);
    let sum = log.stream("reads");
    assert_eq!((said.code, sum.scheduled), (Some(10), 30_000));
    let errors = sum.errors["EIO"];
    assert!((1..100).contains(&errors), "{errors} of an expected 30");
    assert_eq!(json["streams"][0]["errors"]["EIO"], errors);
    assert_eq!(sum.ok, 30_000 - errors);
    assert_eq!(json["streams"][0]["response"]["operations"], 30_000 - errors, "none of them is in a distribution");
    let told = log.events.iter().filter(|event| event.what == "io-error").count() as u64;
    assert_eq!(told, errors, "each has its event");
}

#[test]
fn steady_rates_are_exact_on_any_number_of_devices() {
    for devices in 1..=4 {
        let (said, log, json) = on(&vec!["sim:flash"; devices], "rate = \"1001/s\"\narrival = \"steady\"");
        assert_eq!(said.code, Some(0), "{}", json["reason"]);
        for device in 0..devices {
            assert_eq!(log.flow(device).scheduled, 30 * 1001, "device {device} of {devices}");
        }
        assert_eq!(log.direction(Read).ok, devices as u64 * 30 * 1001);
    }
}

#[test]
fn certify_in_virtual_time_has_a_load_and_a_stress_step_for_one_device_and_for_all() {
    for (targets, steps) in [(vec!["sim:flash"], 2), (vec!["sim:flash", "sim:flash"], 4)] {
        let place = Place::new();
        let times = ["--at", "1x", "--for", "60s", "--slice", "30s", "--json"];
        let (said, _) = place.run(&[&["certify"], &targets[..], &times].concat());
        assert_eq!(said.is_of_verdict(&place.path("run")), "PASS");
        let json = said.json();
        let stress: Vec<bool> =
            json["steps"].as_array().unwrap().iter().map(|step| step["stress"].as_bool().unwrap()).collect();
        assert_eq!(stress, (0..steps).map(|n| n % 2 == 1).collect::<Vec<_>>());
        let marks = json["watermarks"].to_string();
        assert!(marks.contains("SIMULATED") && marks.contains("SHORT"), "{marks}");
        assert_eq!(json["steps"][1]["load"], "2x");
    }
}
