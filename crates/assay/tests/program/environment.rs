//! What a certificate says about the surroundings of the run, and the result of a run whose surroundings change.

use super::bed::Place;
use super::devices::{Disk, Loop, passed_over};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;

fn verdict(place: &Place, dir: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(place.path(dir).join("verdict.json")).unwrap()).unwrap()
}

#[test]
fn a_queue_that_is_changed_in_the_middle_proves_nothing() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let file = format!("/sys/block/{}/queue/nr_requests", disk.name());
    let before = disk.queue("nr_requests");
    let other = if before == "64" { "32" } else { "64" };
    // The criterion cannot fail on a busy machine: a FAIL would outweigh the INVALID that this test looks for.
    let calm = "model = \"streams\"\nduration = \"4s\"\nslice = \"1s\"\nmax_lag = \"0s\"\n[[stream]]\nname = \"reads\"\n\
        direction = \"read\"\nsize = \"4KiB\"\nin_flight = 1\npause = \"20ms\"\n[[criterion]]\nstream = \"reads\"\n\
        share_over = \"10s\"\nat_most = \"99%\"\n";
    place.write("calm.toml", calm);
    let running = place.start(&["run", "calm.toml", disk.path()], 1);
    if fs::write(&file, other).is_err() {
        return passed_over("this kernel does not change a loop device's queue");
    }
    let said = running.end();
    assert_eq!(said.is_of_verdict(&place.path("run")), "INVALID", "{}", said.out);
    let told = format!("queue length of {} was {before} and is {other} now", disk.path());
    assert!(said.out.contains(&told), "{}", said.out);
    let json = verdict(&place, "run");
    assert_eq!(json["environment_changes"], 1);
    assert!(json["intervals"]["valid"].as_u64() < json["intervals"]["present"].as_u64());
    assert!(json["events"].as_array().unwrap().iter().any(|event| event["what"] == "environment-changed"));
}

#[test]
fn everything_a_certificate_must_say_is_said_or_said_to_be_absent() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let token = disk.token(&place);
    let said = place.assay(&["prep", disk.path(), "--destroy-data", &token]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    disk.until_free();
    let run = |dir: &str| {
        let consent = ["--destroy-data", &token, "--for", "2s", "--load", "0.1x", "--out", dir];
        let said = place.assay(&[&["run", "act-storage", disk.path()], &consent[..]].concat());
        said.is_of_verdict(&place.path(dir));
        disk.until_free();
        verdict(&place, dir)
    };
    let json = run("first");
    for fact in [
        "kernel",
        "kernel command line",
        "governor",
        "transparent huge pages",
        "numa nodes",
        "virtualised",
        "clocksource",
    ] {
        assert!(json["host"][fact].as_str().is_some_and(|told| !told.is_empty()), "{fact}: {}", json["host"]);
    }
    let target = &json["targets"][0];
    for fact in [
        "model",
        "serial",
        "wwid",
        "partition",
        "firmware",
        "scheduler",
        "nr_requests",
        "write cache",
        "fua",
        "rotational",
        "diskseq",
        "pci link",
    ] {
        assert!(target["facts"][fact].as_str().is_some_and(|told| !told.is_empty()), "{fact}: {}", target["facts"]);
    }
    assert_eq!(target["facts"]["serial"], "absent", "a loop device has none");
    for when in ["before", "after"] {
        assert!(target["health"][when]["smart"].as_str().unwrap().starts_with("absent"), "{target}");
    }
    let clocks = &json["clocks"];
    for clock in ["at_ns", "real_ns", "boot_ns", "mono_ns"] {
        let went = clocks["end"][clock].as_u64().unwrap() - clocks["start"][clock].as_u64().unwrap();
        assert!(went >= 2_000_000_000, "{clock}: {clocks}");
    }
    assert_eq!(clocks["events"], serde_json::json!([]));
    // Operations that are in flight at the end may have had an interval of their own.
    let intervals = ["planned", "present", "valid"].map(|which| json["intervals"][which].as_u64().unwrap());
    assert!(intervals[0] == 2 && intervals[1] >= 2 && intervals[2] <= intervals[1], "{intervals:?}");
    let reads = &json["streams"][0];
    assert!(reads["blocked_submit"]["max_ns"].as_u64().unwrap() > 0, "{reads}");
    let lag: u64 = reads["own_lag_counts"].as_array().unwrap().iter().map(|pair| pair[1].as_u64().unwrap()).sum();
    assert_eq!(Some(lag), reads["operations"].as_u64(), "each operation is in the histogram of own lag");
    for member in ["cpu_ns", "run_queue_ns", "steal_ns"] {
        assert!(json["generator"][member].is_u64(), "{}", json["generator"]);
    }
    assert!(json["engine"]["program"].as_str().unwrap().starts_with("BLAKE3"));
    let prepared = &target["prepared"];
    for member in ["begun", "finished", "tool", "record_blake3"] {
        assert!(prepared[member].is_string(), "{prepared}");
    }
    assert_eq!(prepared["foreign_bytes"], 0);

    // What the program writes itself does not count as written by others. What another program writes counts, to the
    // byte.
    assert_eq!(run("second")["targets"][0]["prepared"]["foreign_bytes"], 0);
    let foreign = fs::OpenOptions::new().write(true).open(disk.path()).unwrap();
    foreign.write_all_at(&[0; 8192], 1 << 20).unwrap();
    foreign.sync_all().unwrap();
    drop(foreign);
    disk.until_free();
    let third = run("third");
    assert_eq!(third["targets"][0]["prepared"]["foreign_bytes"], 8192);
    let warned =
        third["warnings"].as_array().unwrap().iter().any(|told| told.to_string().contains("others wrote 8 KiB"));
    assert!(warned, "{}", third["warnings"]);
}

/// In a dense load, sleeps would make operations come in bunches, and the kernel stops a real-time thread that never
/// sleeps.
#[test]
fn a_load_that_leaves_no_time_to_sleep_is_spun_through_at_normal_priority() {
    let place = Place::new();
    let waiting = |dir: &str, rate: &str| {
        let load = format!(
            "model = \"streams\"\n[[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"{rate}\"\narrival = \"steady\"\n"
        );
        place.write("load.toml", &load);
        place.assay(&["run", "load.toml", "null:1GiB", "--for", "1s", "--out", dir]).is_of_verdict(&place.path(dir));
        let log = fs::read_to_string(place.path(dir).join("run.jsonl")).unwrap();
        let head: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
        ["scheduling", "spin"].map(|key| head["engine"][key].as_str().unwrap().to_owned())
    };
    let ([dense, spun], [calm, spins]) = (waiting("dense", "40000/s"), waiting("calm", "30000/s"));
    assert!(dense.starts_with("normal: ") && dense.contains("no time to sleep"), "{dense}");
    assert_eq!(spun, "50us, because operations are so close together");
    assert!(!calm.contains("no time to sleep"), "{calm}");
    assert!(spins.starts_with("as long as sleeps end late"), "{spins}");
}
