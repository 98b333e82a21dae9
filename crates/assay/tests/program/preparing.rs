//! Preparation records: a record never claims anything about a target that is no longer true of it.

use super::bed::{Log, Place, Said, refuse, until};
use super::devices::{Disk, Frozen, Loop, Mounted};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

const MIB: u64 = 1 << 20;

/// The only record; a file of another kind beside it may be the next one, which is not yet complete.
fn record(place: &Place) -> PathBuf {
    let all = fs::read_dir(place.path("state/assay/prepared")).unwrap().map(|entry| entry.unwrap().path());
    let all: Vec<_> = all.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn read(place: &Place) -> Value {
    serde_json::from_str(&fs::read_to_string(record(place)).unwrap()).unwrap()
}

fn done(said: &Said) {
    assert_eq!(said.code, Some(0), "{}", said.err);
}

/// Asserts that `certify` refuses because the target is not prepared; returns the message.
fn unprepared(place: &Place, target: &str, more: &[&str]) -> String {
    let said = place.assay(&[&["certify", target, "--at", "1x", "--for", "1s", "--warm-up", "0s"], more].concat());
    assert_eq!(said.code, Some(4), "{}", said.err);
    assert!(said.err.contains("has not been prepared") && said.err.contains("assay prep"), "{}", said.err);
    said.err
}

/// Whether the log of a run that only reads has a preparation of the target; also what the run wrote to stderr.
fn known(place: &Place, target: &str, out: &str) -> (bool, String) {
    let said = place.assay(&["run", "random-read", target, "--for", "1s", "--out", out]);
    said.is_of_verdict(&place.path(out));
    (Log::of(&place.path(out)).header.targets[0].prepared.is_some(), said.err)
}

/// Writes zeros everywhere except in the label.
fn zero(place: &Place, name: &str, usable: u64) {
    let file = fs::File::options().write(true).open(place.path(name)).unwrap();
    file.write_all_at(&vec![0; usable as usize], 0).unwrap();
}

#[test]
fn a_new_file_of_an_old_name_is_not_prepared() {
    let place = Place::new();
    done(&place.assay(&["prep", "f.dat", "--create", "16MiB", "--skip-zero"]));
    fs::rename(place.path("f.dat"), place.path("away")).unwrap();
    fs::rename(place.path("away"), place.path("f.dat")).unwrap();
    assert!(known(&place, "f.dat", "back").0, "it is the same file again");
    fs::remove_file(place.path("f.dat")).unwrap();
    let said = unprepared(&place, "f.dat", &["--create", "16MiB"]);
    assert!(!said.contains("warning"), "its record is no other file's: {said}");
    done(&place.assay(&["prep", "f.dat", "--skip-zero"]));
    assert!(known(&place, "f.dat", "new").0);
    record(&place);
}

/// The device is on a file system that can be frozen, so that neither a write nor a discard completes.
#[test]
fn a_record_is_open_again_before_the_device_changes() {
    let place = Place::new();
    let Some(low) = Loop::over(&place, "low.img", 256 * MIB) else { return };
    let Some(_mounted) = Mounted::ext4(&low, place.path("mounted")) else { return };
    let Some(disk) = Loop::over(&place, "mounted/disk.img", 64 * MIB) else { return };
    let token = disk.token(&place);
    let prep = |more: &[&'static str]| [&["prep", disk.path(), "--destroy-data", &token], more].concat();
    for more in [&[][..], &["--discard"]] {
        done(&place.assay(&prep(&["--skip-zero"])));
        assert!(read(&place)["finished"].is_string());
        disk.until_free();
        let Some(frozen) = Frozen::at(place.path("mounted")) else { return };
        let mut running = place.begin(&prep(more));
        until("the record to be open again", || !running.is_alive() || read(&place)["finished"].is_null());
        if !running.is_alive() {
            panic!("{:?}", running.end());
        }
        running.signal(libc::SIGKILL);
        drop(frozen);
        assert_eq!(running.end().code, None);
        disk.until_free();
        unprepared(&place, disk.path(), &["--destroy-data", &token]);
    }
}

#[test]
fn a_file_that_is_not_discarded_stays_prepared() {
    let place = Place::new();
    done(&place.assay(&["prep", "f.dat", "--create", "4MiB", "--skip-zero"]));
    let said = place.assay(&["prep", "f.dat", "--discard"]);
    assert_eq!(said.code, Some(5), "{}", said.err);
    assert!(read(&place)["finished"].is_string());
}

#[test]
fn a_record_does_not_count_where_the_target_holds_nothing() {
    let place = Place::new();
    done(&place.assay(&["prep", "f.dat", "--create", "16MiB", "--skip-zero"]));
    // What a run of this program writes there does not count as written by others.
    let (said, _) = place.run(&["run", "act-storage", "f.dat", "--for", "1s"]);
    said.is_of_verdict(&place.path("run"));
    let (prepared, told) = known(&place, "f.dat", "full");
    assert!(prepared && !told.contains("are empty"), "{told}");
    zero(&place, "f.dat", 4 * MIB);
    let (prepared, told) = known(&place, "f.dat", "gap");
    assert!(!prepared && told.contains("are empty, the first at byte 0;"), "{told}");
    assert!(unprepared(&place, "f.dat", &[]).contains("are empty"));
}

#[test]
fn a_preparation_that_is_not_borne_out_begins_anew() {
    let place = Place::new();
    let (prep, usable) = (["prep", "f.dat", "--create", "8MiB", "--skip-zero"], 8 * MIB);
    done(&place.assay(&prep));
    // The record as after an interruption at the end of the preparation; then somebody else zeroes the file.
    let mut kept = read(&place);
    let run = kept["run"].clone();
    kept["finished"] = Value::Null;
    fs::write(record(&place), kept.to_string()).unwrap();
    zero(&place, "f.dat", usable);
    let said = place.assay(&prep);
    assert_eq!(said.code, Some(10), "{}", said.err);
    assert!(said.err.contains("something else was read") && said.err.contains("to start again"), "{}", said.err);
    assert_eq!(read(&place)["salted_bytes"], 0);
    done(&place.assay(&prep));
    assert_eq!(read(&place)["salted_bytes"], usable);
    assert_ne!(read(&place)["run"], run, "with data of its own");
}

#[test]
fn what_was_written_has_left_the_cache() {
    let place = Place::new();
    let Some(disk) = Loop::over(&place, "disk.img", 8 * MIB) else { return };
    let token = disk.token(&place);
    let before = disk.counted();
    done(&place.assay(&["prep", disk.path(), "--destroy-data", &token]));
    let flushes = (disk.counted() - before).flushes;
    // One flush after the zeros, and one after the data.
    assert!(disk.queue("write_cache") != "write back" || flushes >= 2, "{flushes}");
}

/// Where space cannot be reserved quickly, zeros are written. This takes long enough to be killed meanwhile.
#[test]
fn a_file_whose_making_was_cut_short_is_known_for_ours() {
    let place = Place::new();
    let mut command = place.command(&["prep", "f.dat", "--create", "2GiB"]);
    refuse(&mut command, libc::SYS_fallocate, libc::EOPNOTSUPP);
    let mut child = command.spawn().unwrap();
    let whole = 2048 * MIB + 4096;
    let path = place.path("f.dat");
    until("a file in the making", || fs::metadata(&path).is_ok_and(|found| found.len() == whole));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(fs::metadata(&path).unwrap().blocks() * 512 < whole, "it was still being made");
    let said = place.assay(&["prep", "f.dat", "--create", "2GiB"]);
    assert_eq!(said.code, Some(4), "{}", said.err);
    assert!(said.err.contains("reserved") && said.err.contains("delete it"), "{}", said.err);
}
