//! A cache on a disk that fails, and a cache before a disk that fails: no data are lost, and the result says what
//! happened.

use super::bed::until;
use super::rig::{Rig, beside};
use std::time::Duration;

/// Reads and writes within 32 MiB, more than a cache keeps in memory; the run verifies all of them.
const LOAD: &str = "name = \"cached\"\nmodel = \"streams\"\nduration = \"10min\"\nslice = \"10min\"\nverify = true\n\
    \n[[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nrange = { size = \"32MiB\" }\nrate = \"3000/s\"\n\
    \n[[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"4KiB\"\nrange = { size = \"32MiB\" }\nrate = \"2000/s\"\n\
    \n[[criterion]]\nstream = \"reads\"\nmean_at_most = \"10s\"\nwindow = \"run\"\n";

/// Runs the load on one file with the cache on another; one of the two files is the fault disk. Once the load runs,
/// gives the disk these faults, and ends the run a second after the first of them. Returns the judgement of the log.
fn judged(rig: &Rig, (target, cache): (&str, &str), faults: &str) -> serde_json::Value {
    rig.place.write("workload.toml", LOAD);
    let args =
        ["run", "workload.toml", target, "--cache", cache, "--cache-metadata", "cache.index", "--create", "632MiB"];
    // Waits until the cache holds more than its memory does.
    let running = rig.place.start(&args, 6);
    rig.fault.set(&format!("reset=1 {faults}"));
    until("faults", || rig.fault.truth().failed() + rig.fault.truth().short >= 1);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(libc::SIGTERM);
    let said = running.end();
    let json = rig.place.assay(&["judge", "run", "--json"]).json();
    assert!(json["verdict"].is_string(), "{}{}", said.out, said.err);
    json
}

fn is_bypassed(faults: &str) {
    let Some(rig) = Rig::empty(beside()) else { return };
    let json = judged(&rig, ("data.img", "mount/disk"), faults);
    assert_ne!(json["verdict"], "PASS", "it was interrupted");
    assert!(json["cache"]["errors_of_all_phases"].as_u64() >= Some(1), "{}", json["cache"]);
    assert_eq!(json["integrity"]["damaged"].as_u64(), Some(0), "{}", json["integrity"]);
    assert!(json["streams"].as_array().unwrap().iter().all(|it| it["errors"].as_object().unwrap().is_empty()));
    assert!(json["warnings"].to_string().contains("not used any more"), "{}", json["warnings"]);
    let kept = std::fs::read(rig.place.path("cache.index")).unwrap();
    assert_eq!(kept, b"in use\n", "what is in the cache is not known any more");
}

#[test]
fn a_cache_whose_disk_fails_is_bypassed_and_nothing_is_lost() {
    is_bypassed("rerr_every=1 werr_every=1 errno=5");
}

#[test]
fn a_cache_whose_disk_is_full_is_bypassed_and_nothing_is_lost() {
    is_bypassed("werr_every=1 errno=28");
}

#[test]
fn a_cache_whose_disk_returns_too_little_is_bypassed_and_nothing_is_lost() {
    is_bypassed("short_every=1");
}

#[test]
fn errors_of_the_storage_behind_a_cache_are_the_storages() {
    let Some(rig) = Rig::empty(beside()) else { return };
    let json = judged(&rig, ("mount/disk", "ssd.img"), "rerr_every=7 werr_every=5 errno=5");
    assert_eq!(json["verdict"], "FAIL", "{}", json["reason"]);
    assert_eq!(json["cache"]["errors_of_all_phases"].as_u64().unwrap_or(0), 0, "{}", json["cache"]);
    assert_eq!(
        json["integrity"]["damaged"].as_u64(),
        Some(0),
        "what failed is not in the cache: {}",
        json["integrity"]
    );
    assert!(json["cache"]["read_hits"].as_u64() > Some(0));
}

/// The cache's disk loses what is written to it: a run that verifies finds the damage, and fails.
#[test]
fn a_cache_that_lies_is_found_by_who_verifies() {
    let Some(rig) = Rig::empty(beside()) else { return };
    rig.place.write("workload.toml", LOAD);
    let args = ["run", "workload.toml", "data.img", "--cache", "mount/disk", "--create", "632MiB"];
    let running = rig.place.start(&args, 2);
    rig.fault.set("reset=1 lost_every=1");
    until("segments that were lost", || rig.fault.truth().lost.len() >= 200);
    let log = rig.place.path("run/run.jsonl");
    until("one that is read again", || std::fs::read_to_string(&log).unwrap().contains("\"what\":\"damage\""));
    running.signal(libc::SIGTERM);
    let said = running.end();
    let json = rig.place.assay(&["judge", "run", "--json"]).json();
    assert_eq!(json["verdict"], "FAIL", "{}{}", said.out, json["integrity"]);
    assert!(json["integrity"]["damaged"].as_u64() > Some(0), "{}", json["integrity"]);
}
