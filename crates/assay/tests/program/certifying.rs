//! The main command: a quick look on a scratch file, preparation, and the procedure on a prepared device.

use super::bed::{Log, Place};
use super::devices::{Disk, Loop, written_blocks};
use assay_base::Stamp;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

/// The one run directory under `assay-runs`.
fn only_run(place: &Place) -> PathBuf {
    let all: Vec<_> = fs::read_dir(place.path("assay-runs")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn steps(json: &Value) -> Vec<(bool, String)> {
    let step = |step: &Value| (step["stress"].as_bool().unwrap(), step["load"].as_str().unwrap().to_owned());
    json["steps"].as_array().unwrap().iter().map(step).collect()
}

#[test]
fn quick_makes_prepares_tests_and_removes_a_scratch_file() {
    let place = Place::new();
    let said = place.assay(&["certify", "--quick", "--for", "2s", "--warm-up", "0s", "--slice", "1s"]);
    assert_eq!(place.left(&["assay-runs"]), [""; 0], "the scratch file is gone");
    let dir = only_run(&place);
    let verdict = said.is_of_verdict(&dir);
    assert!(said.out.starts_with(&verdict), "{}", said.out);
    let mut left: Vec<_> = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["report.html", "run.jsonl", "verdict.json"]);
    let report = fs::read_to_string(dir.join("report.html")).unwrap();
    for (what, text) in [("summary", &said.out), ("report", &report)] {
        assert!(text.contains("quick look, not a certification"), "{what}: {text}");
    }
    let json: Value = serde_json::from_str(&fs::read_to_string(dir.join("verdict.json")).unwrap()).unwrap();
    assert_eq!(steps(&json), [(false, "1x".into()), (true, "2x".into())]);
    let log = Log::of(&dir);
    let target = &log.header.targets[0];
    assert_eq!(target.kind, "scratch file");
    assert_eq!(target.prepared.as_ref().unwrap().salted_bytes, target.size_bytes, "prepared to its last byte");
    assert!(log.damage.is_empty());
    let totals = &json["targets"][0];
    assert_eq!(totals["blank_reads"].as_u64().unwrap_or(0), 0, "no read met a block that was never written");
    assert!(said.err.contains("preparing") && said.err.contains("step 1 of 2"), "progress is told: {}", said.err);
}

#[test]
fn a_quick_look_can_verify_its_data() {
    let place = Place::new();
    let said =
        place.assay(&["certify", "--quick", "--verify", "--for", "1s", "--warm-up", "0s", "--slice", "1s", "--json"]);
    let steps = said.json()["steps"].as_array().unwrap().clone();
    assert_eq!(steps.len(), 2, "{}", said.err);
    for step in &steps {
        let integrity = &step["integrity"];
        assert_eq!(integrity["damaged"], 0, "{integrity}");
        // At least the large blocks that were written are read back.
        assert!(integrity["verified_reads"].as_u64().unwrap() >= 10, "{integrity}");
        assert_eq!(step["closed"], "completed");
    }
    assert_eq!(place.left(&["assay-runs"]), [""; 0]);
}

#[test]
fn a_quick_look_that_is_interrupted_removes_its_scratch_file_too() {
    let place = Place::new();
    let running = place.start(&["certify", "--quick", "--for", "10min", "--warm-up", "0s"], 1);
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_ne!(said.is_of_verdict(&place.path("run")), "PASS");
    assert_eq!(place.left(&["run"]), [""; 0]);
}

#[test]
fn certify_wants_a_prepared_device_and_prep_makes_one() {
    let place = Place::new();
    // The size is not a multiple of a large block, because the tail is easily forgotten.
    let size = (40 << 20) + 13 * 512;
    let Some(disk) = Loop::over(&place, "disk.img", size) else { return };
    let token = disk.token(&place);
    let consent = ["--destroy-data", &token];
    let certify = ["certify", disk.path(), "--for", "3s", "--slice", "1s", "--at", "1x", "--keep-going", "--json"];
    let certify = [&certify, &consent[..]].concat();
    let before = disk.counted();
    let said = place.assay(&certify);
    assert_eq!((said.code, said.out.as_str()), (Some(4), ""), "{}", said.err);
    assert!(said.err.contains("not been prepared") && said.err.contains("assay prep"), "{}", said.err);
    assert_eq!((disk.counted() - before).writes, 0);
    assert_eq!(place.left(&["disk.img"]), [""; 0]);

    let prep = place.assay(&[&["prep", disk.path(), "--json"], &consent[..]].concat());
    assert_eq!(prep.code, Some(0), "{}", prep.err);
    let record = &prep.json()[0];
    assert_eq!((&record["zeroed_bytes"], &record["salted_bytes"]), (&size.into(), &size.into()));
    assert!(record["finished"].is_string() && record["verified_blocks"].as_u64().unwrap() > 200, "{record}");
    salted(&disk.backing, size);
    let records: Vec<_> = fs::read_dir(place.path("state/assay/prepared")).unwrap().collect();
    assert_eq!(records.len(), 1, "its record is kept");
    disk.until_free();

    let (said, log) = place.run(&certify);
    said.is_of_verdict(&place.path("run"));
    let json = said.json();
    assert_eq!(steps(&json), [(false, "1x".into()), (true, "2x".into())]);
    let marks = json["watermarks"].to_string();
    assert!(marks.contains("SHORT") && marks.contains("NON-CERTIFIABLE"), "{marks}");
    assert_eq!(log.header.targets[0].prepared.as_ref().unwrap().salted_bytes, size);
    for step in json["steps"].as_array().unwrap() {
        for stream in step["streams"].as_array().unwrap() {
            assert_eq!(stream["errors"], serde_json::json!({}), "{stream}");
        }
        assert_eq!(step["targets"][0]["blank_reads"].as_u64().unwrap_or(0), 0, "the whole device is salted");
    }
}

/// Asserts that every block of the backing file, up to its last byte, contains data that no other block has.
fn salted(backing: &std::path::Path, size: u64) {
    let blocks = written_blocks(backing);
    assert_eq!(blocks.len() as u64, size.div_ceil(4096), "no block is left out");
    let (last, tail) = blocks.last().unwrap();
    assert_eq!(last + tail.len() as u64, size);
    assert!(blocks.iter().all(|(_, block)| Stamp::read_from_block(block).is_some()), "each block opens with a stamp");
    assert_eq!(bodies(&blocks).len(), blocks.len(), "no two blocks are alike, their stamps left out");
    let zeros = |block: &[u8]| block.chunks(64).filter(|part| part.iter().all(|byte| *byte == 0)).count();
    assert!(blocks.iter().all(|(_, block)| zeros(block) == 0), "incompressible");
}

/// The data of the blocks, without their stamps and without duplicates.
fn bodies(blocks: &[(u64, Vec<u8>)]) -> HashSet<&[u8]> {
    blocks.iter().map(|(_, block)| &block[16..]).collect()
}

#[test]
fn a_file_in_the_working_directory_is_prepared_too() {
    let place = Place::new();
    let said = place.assay(&["prep", "made.dat", "--create", "8MiB", "--json"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let usable = 8 << 20;
    assert_eq!(said.json()[0]["salted_bytes"], usable);
    // The label of the file follows its usable blocks.
    let blocks = written_blocks(&place.path("made.dat"));
    assert!(blocks[..2048].iter().all(|(_, block)| Stamp::read_from_block(block).is_some()) && blocks.len() == 2049);
    let drop_in = place.command(&["as", "act_prep", "made.dat"]).output().unwrap();
    assert!(drop_in.status.success(), "{}", String::from_utf8_lossy(&drop_in.stderr));
    let (said, log) = place.run(&["run", "random-read", "made.dat", "--for", "1s"]);
    said.is_of_verdict(&place.path("run"));
    assert_eq!(log.header.targets[0].prepared.as_ref().unwrap().salted_bytes, usable, "its preparation is known");
    let discarded = place.assay(&["prep", "made.dat", "--discard"]);
    assert_eq!(discarded.code, Some(5), "{}", discarded.err);
    assert!(discarded.err.contains("only block devices") && discarded.err.contains("without --discard"));
}

#[test]
fn discarding_comes_first_and_what_was_written_before_does_not_count() {
    let place = Place::new();
    let size = 16 << 20;
    let Some(disk) = Loop::over(&place, "disk.img", size) else { return };
    let token = disk.token(&place);
    let prep = ["prep", disk.path(), "--destroy-data", &token, "--skip-zero", "--json"];
    assert_eq!(place.assay(&prep).code, Some(0));
    // The record as after an interruption in the middle of the preparation.
    let record = fs::read_dir(place.path("state/assay/prepared")).unwrap().next().unwrap().unwrap().path();
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    (kept["finished"], kept["salted_bytes"]) = (Value::Null, (size / 2).into());
    fs::write(&record, kept.to_string()).unwrap();
    let discards = || {
        let text = fs::read_to_string(format!("/sys/block/{}/stat", disk.name())).unwrap();
        text.split_whitespace().nth(11).map_or(0, |n| n.parse::<u64>().unwrap())
    };
    let before = discards();
    disk.until_free();
    let said = place.assay(&[&prep[..], &["--discard"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(discards() > before, "the device was discarded");
    assert_eq!(said.json()[0]["salted_bytes"], size);
    salted(&disk.backing, size);
}

#[test]
fn two_devices_prepared_at_once_are_not_alike() {
    let place = Place::new();
    let disks = ["one.img", "two.img"].map(|name| Loop::over(&place, name, 16 << 20));
    let [Some(one), Some(two)] = disks else { return };
    let tokens = format!("{},{}", one.token(&place), two.token(&place));
    let said = place.assay(&["prep", one.path(), two.path(), "--destroy-data", &tokens, "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out.matches("16 MiB salted").count(), 2, "{}", said.out);
    let both = [written_blocks(&one.backing), written_blocks(&two.backing)].concat();
    assert_eq!((both.len(), bodies(&both).len()), (8192, 8192));
}

#[test]
fn an_interrupted_preparation_goes_on_where_it_stopped() {
    let place = Place::new();
    let size = 1 << 30;
    let Some(disk) = Loop::over(&place, "disk.img", size) else { return };
    let token = disk.token(&place);
    let prep = ["prep", disk.path(), "--destroy-data", &token, "--json", "--skip-zero"];
    let before = disk.counted();
    let running = place.begin(&prep);
    super::bed::until("the first writes", || (disk.counted() - before).writes > 20);
    running.signal(libc::SIGINT);
    let said = running.end();
    if said.code == Some(0) {
        super::devices::passed_over("this machine prepared 1 GiB before it could be interrupted");
        return;
    }
    assert_eq!((said.code, said.out.as_str()), (Some(12), ""), "{}", said.err);
    assert!(said.err.contains("interrupted") && said.err.contains("to continue"), "{}", said.err);
    let first = (disk.counted() - before).written_bytes;
    disk.until_free();
    let said = place.assay(&prep);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let record = &said.json()[0];
    assert_eq!(record["salted_bytes"], size);
    let both = (disk.counted() - before).written_bytes;
    // At most the data in flight (16 writes of 1 MiB) are written a second time.
    assert!(both >= size && both - size <= 16 << 20, "{first} bytes, then {} more", both - first);
    salted(&disk.backing, size);
}

#[test]
fn a_device_is_free_as_soon_as_the_program_has_ended() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 16 << 20) else { return };
    let token = disk.token(&place);
    for turn in 0..10 {
        let said = place.assay(&["prep", disk.path(), "--destroy-data", &token, "--skip-zero"]);
        assert_eq!(said.code, Some(0), "turn {turn}: {}", said.err);
    }
}

/// A quick look removes its scratch file, so that it cannot be continued, wherever it was interrupted.
#[test]
fn an_interrupted_quick_look_is_started_again() {
    let place = Place::new();
    let measuring = place.start(&["certify", "--quick", "--for", "1min", "--slice", "10s"], 2);
    measuring.signal(libc::SIGINT);
    let said = measuring.end();
    assert_eq!(said.code, Some(12), "{said:?}");
    assert!(said.out.contains("next: the same command again"), "{}", said.out);
    let preparing = place.begin(&["certify", "--quick", "--out", "other"]);
    let scratch = |name: &String| name.starts_with("assay-scratch");
    super::bed::until("its scratch file", || place.left(&[]).iter().any(scratch));
    preparing.signal(libc::SIGINT);
    let other = preparing.end();
    assert_eq!(other.code, Some(12), "{other:?}");
    for said in [&said, &other] {
        let told = format!("{}{}", said.out, said.err);
        assert!(!told.contains("--resume") && !told.contains("to continue"), "{told}");
    }
    assert!(!place.left(&[]).iter().any(scratch), "{:?}", place.left(&[]));
}
