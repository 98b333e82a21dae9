//! Workloads that verify: the run finds every write that the disk loses, tears, misdirects or changes, at its address,
//! and reports nothing else.

use super::bed::{Log, Said};
use super::rig::{DISK, Rig, alone, beside, tried, workload};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::fs::FileExt;

const BLOCK: u64 = 4096;

/// Writes that go to each place once, and reads anywhere at the same time.
fn once() -> String {
    let stream = |direction: &str, address: &str| {
        format!(
            "name = \"{direction}s\"\ndirection = \"{direction}\"\nrate = \"300/s\"\narrival = \"steady\"\naddress = {address}"
        )
    };
    let streams = [stream("write", "\"sequential\""), stream("read", "{ uniform = \"4KiB\" }")];
    verified(&workload("3s", ("1s", "50%"), &[&streams[0], &streams[1]]))
}

fn verified(workload: &str) -> String {
    format!("verify = true\n{workload}")
}

/// The damages in the log: kind, offset, and where the data found belong.
fn damages(log: &Log) -> Vec<(String, u64, Option<u64>)> {
    let events = log.events.iter().filter(|event| event.what == "damage");
    let number = |text: &String| text.parse().unwrap();
    let damage = |event: &assay_record::Event| {
        let details = &event.details;
        (details["damage"].clone(), number(&details["offset"]), details.get("found_offset").map(number))
    };
    events.map(damage).collect()
}

fn offsets(damages: &[(String, u64, Option<u64>)], kind: &str) -> BTreeSet<u64> {
    damages.iter().filter(|(of, ..)| of == kind).map(|(_, offset, _)| *offset).collect()
}

/// Asserts that every form of the result names the first damaged places.
fn is_told_everywhere(rig: &Rig, said: &Said, damages: &[(String, u64, Option<u64>)]) {
    let verdict: Value = serde_json::from_slice(&std::fs::read(rig.place.path("run/verdict.json")).unwrap()).unwrap();
    let integrity = &verdict["integrity"];
    assert_eq!(integrity["damaged"], damages.len(), "{integrity}");
    let places = integrity["places"].as_array().unwrap();
    assert_eq!(places.len(), damages.len().min(16));
    let page = std::fs::read_to_string(rig.place.path("run/report.html")).unwrap();
    for (place, (kind, offset, _)) in places.iter().zip(damages) {
        assert_eq!((&place["damage"], &place["offset"]), (&kind.as_str().into(), &(*offset).into()), "{integrity}");
        let text = format!("{kind}: 4096 B at {offset} of {DISK}");
        assert!(page.contains(&text), "the report lacks {text}");
    }
    let (kind, offset, _) = &damages[0];
    assert!(said.out.contains(&format!("{kind}: 4096 B at {offset} of {DISK}")), "{}", said.out);
    assert!(verdict["reason"].as_str().unwrap().contains("what was written must be read"), "{}", verdict["reason"]);
}

#[test]
fn every_lost_torn_or_changed_write_is_found_at_its_address() {
    for engine in ["io_uring", "threads"] {
        for (setting, kind) in [("lost_every=9", "lost"), ("torn_every=9", "torn"), ("corrupt_every=9", "corrupt")] {
            let Some(rig) = Rig::empty(beside()) else { return };
            let running = rig.start(&once(), &["--create", "64MiB", "--engine", engine]);
            rig.fault.set(&format!("reset=1 {setting}"));
            let said = running.end();
            let log = rig.judged(&said, "FAIL");
            let truth = rig.fault.truth();
            let injected = match kind {
                "lost" => &truth.lost,
                "torn" => &truth.torn,
                _ => &truth.corrupted,
            };
            let injected: BTreeSet<u64> = injected.iter().copied().collect();
            assert!(injected.len() > 20, "{engine}, {kind}: {truth}");
            let found = damages(&log);
            assert_eq!(offsets(&found, kind), injected, "{engine}, {kind}: {found:?}");
            assert_eq!(found.len(), injected.len(), "{engine}, {kind}: each is told once, and nothing else");
            is_told_everywhere(&rig, &said, &found);
        }
    }
}

#[test]
fn both_places_of_a_misdirected_write_are_explained() {
    for engine in ["io_uring", "threads"] {
        let Some(rig) = Rig::empty(beside()) else { return };
        let running = rig.start(&once(), &["--create", "64MiB", "--engine", engine]);
        // Each write goes to the place after its own, so that its own place lacks the data.
        rig.fault.set("reset=1 misdirect_every=1");
        let said = running.end();
        let log = rig.judged(&said, "FAIL");
        let injected: BTreeSet<u64> = rig.fault.truth().misdirected.iter().copied().collect();
        assert!(injected.len() > 200, "{}", rig.fault.truth());
        let found = damages(&log);
        // A place counts as lost if no other write went to it. This is so for the first place and, where writes were
        // carried out in another order, for a later place whose left neighbour was still written correctly.
        let before = |offset: &u64| injected.contains(&offset.wrapping_sub(BLOCK));
        let unreached: BTreeSet<u64> = injected.iter().copied().filter(|offset| !before(offset)).collect();
        assert_eq!(offsets(&found, "lost"), unreached, "{engine}: {found:?}");
        let victims = offsets(&found, "misdirected");
        assert!(
            injected.iter().filter(|offset| before(offset)).all(|offset| victims.contains(offset)),
            "{engine}: {found:?}"
        );
        // The data found there show where they belong: to the place before.
        for (_, offset, belongs) in found.iter().filter(|(of, ..)| of == "misdirected") {
            assert_eq!(*belongs, Some(offset - BLOCK), "{engine}");
            assert!(before(offset), "{engine}: nothing else is told to be elsewhere's: {offset}");
        }
        let verdict = rig.place.assay(&["judge", "run", "--json"]).json();
        let lost = verdict["integrity"]["places"].as_array().unwrap().iter().find(|place| place["damage"] == "lost");
        if let Some(lost) = lost {
            assert_eq!(lost["went_to"], lost["offset"].as_u64().unwrap() + BLOCK, "{engine}: {lost}");
        }
    }
}

#[test]
fn a_sound_disk_has_no_findings_however_much_overlaps() {
    for engine in ["io_uring", "threads"] {
        tried(|| {
            let Some(rig) = Rig::empty(alone()) else { return };
            let range = |direction: &str, name: &str, in_flight: u32| {
                format!("name = \"{name}\"\ndirection = \"{direction}\"\nin_flight = {in_flight}")
            };
            let text = workload("3s", ("10s", "50%"), &[&range("read", "r", 16), &range("write", "w", 16)]);
            let text = verified(&text.replace("size = \"4KiB\"", "size = { from = \"4KiB\", to = \"64KiB\" }"));
            rig.place.write("workload.toml", &text);
            let args = ["--create", "1MiB", "--engine", engine, "--workers", "2"];
            let running = rig.place.start(&[&["run", "workload.toml", DISK][..], &args].concat(), 1);
            // Operations have different lengths and delays, so that one that is issued later may complete earlier.
            rig.fault.set("reset=1 read_delay=200us write_delay=200us tail=20%:3ms");
            let said = running.end();
            let log = rig.judged(&said, "PASS");
            assert_eq!(damages(&log), [], "{engine}");
            let back: Vec<_> = log.intervals.iter().filter(|interval| interval.phase == 1).collect();
            assert!(
                back.iter().map(|interval| interval.flows[2].verified).sum::<u64>() > 0,
                "{engine}: it was read back"
            );
            let verdict = rig.place.assay(&["judge", "run", "--json"]).json();
            assert!(
                verdict["integrity"]["verified_reads"].as_u64().unwrap() > 100,
                "{engine}: {}",
                verdict["integrity"]
            );
        });
    }
}

#[test]
fn failed_writes_leave_nothing_to_be_blamed_for() {
    let Some(rig) = Rig::empty(beside()) else { return };
    let running = rig.start(&once(), &["--create", "64MiB"]);
    rig.fault.set("reset=1 werr_every=5 rerr_every=7");
    let said = running.end();
    let log = rig.judged(&said, "FAIL");
    assert_eq!(damages(&log), [], "{}", said.out);
    assert!(rig.fault.truth().failed() > 100);
}

#[test]
fn a_later_run_checks_what_an_earlier_one_has_written() {
    tried(|| {
        let Some(rig) = Rig::empty(alone()) else { return };
        rig.prepare();
        let (said, _) = rig.run(&once(), &[]);
        rig.judged(&said, "PASS");
        std::fs::rename(rig.place.path("run"), rig.place.path("first")).unwrap();
        let disk = std::fs::OpenOptions::new().read(true).write(true).open(rig.place.path(DISK)).unwrap();
        let mut byte = [0];
        disk.read_exact_at(&mut byte, 5 * BLOCK + 99).unwrap();
        disk.write_all_at(&[byte[0] ^ 1], 5 * BLOCK + 99).unwrap();
        drop(disk);
        let reads = "name = \"reads\"\ndirection = \"read\"\nin_flight = 1\naddress = \"sequential\"";
        let (said, _) = rig.run(&verified(&workload("2s", ("1s", "50%"), &[reads])), &[]);
        let log = rig.judged(&said, "FAIL");
        let found = damages(&log);
        assert_eq!(found, [("corrupt".to_owned(), 5 * BLOCK, Some(5 * BLOCK))]);
        let read = log.stream("reads");
        assert!(read.ok > 900, "the walk came by all that was written: {}", read.ok);
    });
}

#[test]
fn what_was_never_sealed_proves_nothing() {
    let Some(rig) = Rig::full(beside()) else { return };
    let reads = "name = \"reads\"\ndirection = \"read\"\nrate = \"500/s\"";
    let (said, _) = rig.run(&verified(&workload("1s", ("1s", "50%"), &[reads])), &[]);
    rig.judged(&said, "INVALID");
    assert!(said.out.contains("nothing that was read could be verified"), "{}", said.out);
}
