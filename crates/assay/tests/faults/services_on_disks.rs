//! Servers on an ext4 whose disk fails, is slow or becomes another one, and on a disk without a file system: what a program that is
//! stopped or killed meanwhile then says.

use crate::bed::{Log, Place, Running, until};
use crate::directories::texts;
use crate::directories_mounts::{succeeds, text_of};
use crate::rig::{Rig, beside};
use crate::services::{SERVICE, has_intervals_below, stop_for};
use assay_faultfs::{FaultDisk, FaultLoop};
use assay_record::EventKind;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Bytes of a disk in memory.
const SIZE: u64 = 128 << 20;

/// An ext4 on a loop device over a disk that fails on demand.
struct FaultyExt4 {
    device: FaultLoop,
    disk: FaultDisk,
    /// Removed last, because the disk is mounted in it.
    place: Place,
}

impl FaultyExt4 {
    /// `None` where none can be mounted, which it says.
    fn new(workload: &str) -> Option<FaultyExt4> {
        let place = Place::new();
        place.write("w.toml", workload);
        ["below", "mount"].iter().for_each(|name| fs::create_dir(place.path(name)).unwrap());
        let made = FaultDisk::mount(SIZE, &place.path("below")).and_then(|disk| {
            let device = FaultLoop::over(&disk)?;
            Ok(FaultyExt4 { device, disk, place })
        });
        let made = made.map_err(|why| why.to_string()).and_then(|made| {
            succeeds(&["mkfs.ext4", "-q", "-F", made.device.path()])?;
            made.mount().map(|()| made)
        });
        made.inspect_err(|why| eprintln!("skipped: no ext4 over a disk that fails: {why}")).ok()
    }

    fn mount(&self) -> Result<(), String> {
        succeeds(&["mount", "-o", "errors=remount-ro", self.device.path(), text_of(&self.point())])
    }

    fn point(&self) -> PathBuf {
        self.place.path("mount")
    }

    /// What a run has left, besides the directory of the file system itself.
    fn left(&self) -> usize {
        let names = fs::read_dir(self.point()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name != "lost+found").count()
    }
}

impl Drop for FaultyExt4 {
    fn drop(&mut self) {
        self.disk.set("werr_every=off flush_delay=0s hang=0");
        let _ = succeeds(&["umount", text_of(&self.point())]);
    }
}

/// It becomes read-only because somebody says so, and because its journal meets a disk that fails.
#[test]
fn an_ext4_that_becomes_read_only_fails_a_server_and_can_be_cleaned_later() {
    for by_disk in [false, true] {
        let Some(ext4) = FaultyExt4::new(SERVICE) else { return };
        let running = ext4.place.start(&["run", "w.toml", "mount", "--for", "20s", "--slice", "1s"], 1);
        if by_disk {
            ext4.disk.set("werr_every=1");
        } else {
            // Without "abort" the kernel refuses it as long as files are open for writing.
            succeeds(&["mount", "-o", "remount,abort", text_of(&ext4.point())]).unwrap();
        }
        let said = running.end();
        assert_eq!(said.code, Some(10), "by the disk: {by_disk}: {said:?}");
        assert!(["EROFS", "EIO"].iter().any(|error| said.out.contains(error)), "{}", said.out);
        let stays = texts(&Log::of(&ext4.place.path("run")), &EventKind::Warning);
        assert!(stays.iter().any(|text| text.contains("stays")), "{stays:?}");
        // It is repaired and mounted for writing, and what stayed is removed.
        ext4.disk.set("werr_every=off");
        succeeds(&["umount", text_of(&ext4.point())]).unwrap();
        let _ = succeeds(&["e2fsck", "-fy", ext4.device.path()]);
        ext4.mount().unwrap();
        let cleaned = ext4.place.assay(&["clean", "mount"]);
        assert!(cleaned.code == Some(0) && ext4.left() == 0, "by the disk: {by_disk}: {cleaned:?}");
    }
}

/// A bound that no sync of the slow disk keeps.
fn bounded(workload: &str) -> String {
    workload.replacen("max_at_most = \"1s\"", "p99_at_most = \"10ms\"", 1)
}

/// The server as streams on blocks: its log is a ring.
fn on_blocks(workload: &str) -> String {
    let ring = "made_by = \"zeros\"\nblock = \"4KiB\"\nwhen_full = \"start\"";
    let streams = workload.replacen("rate = \"100/s\"", "rate = \"100/s\"\nstreams = true", 1);
    let log = streams.replacen("made_by = \"fallocate\"", ring, 1);
    log.replacen("pages = 2", "pages_per_commit = 0.2", 1)
}

/// When the program is stopped, and for how long, in milliseconds.
const STOPS: [(u64, u64); 4] = [(0, 700), (400, 300), (900, 1500), (2400, 900)];

fn stop_at(running: &Running, moment: (u64, u64), everything: bool) {
    std::thread::sleep(Duration::from_millis(moment.0));
    stop_for(running, Duration::from_millis(moment.1), everything);
}

/// A stop excuses what it delayed, and never what a slow disk did besides.
#[test]
fn a_stop_turns_no_broken_bound_into_a_pass() {
    for (number, moment) in STOPS.into_iter().enumerate() {
        let Some(ext4) = FaultyExt4::new(&bounded(SERVICE)) else { break };
        let running = ext4.place.start(&["run", "w.toml", "mount"], 1);
        ext4.disk.set("flush_delay=40ms");
        stop_at(&running, moment, number % 2 == 0);
        let said = running.end();
        assert!(matches!(said.code, Some(10 | 11)), "in files, {moment:?}: {said:?}");
        Log::of(&ext4.place.path("run")).adds_up();
    }
    for moment in STOPS {
        let Some(rig) = Rig::empty(beside()) else { return };
        rig.fault.set("write_delay=40ms");
        let running = rig.start(&bounded(&on_blocks(SERVICE)), &["--create", "64MiB"]);
        stop_at(&running, moment, true);
        let said = running.end();
        assert!(matches!(said.code, Some(10 | 11)), "on blocks, {moment:?}: {said:?}");
        rig.log().adds_up();
    }
}

/// A disk that hangs for as long as the program is stopped: the stop hides what the disk did, so that nothing is known.
#[test]
fn a_disk_that_hangs_while_the_program_is_stopped_is_not_said_to_be_fit() {
    for wait in [0, 600] {
        let Some(ext4) = FaultyExt4::new(SERVICE) else { return };
        let running = ext4.place.start(&["run", "w.toml", "mount"], 1);
        std::thread::sleep(Duration::from_millis(wait));
        ext4.disk.set("stall=1500ms");
        stop_for(&running, Duration::from_millis(1600), true);
        let said = running.end();
        assert!(matches!(said.code, Some(10 | 11)), "{wait}: {said:?}");
    }
}

/// What was begun on one file system does not go on on another one at the same path, whose log would then be of two disks.
#[test]
fn a_certificate_goes_on_only_on_the_file_system_on_which_it_began() {
    let unverified = SERVICE.replacen("duration", "verify = false\nduration", 1);
    for verb in [&["certify"][..], &["limit", "--for", "2s", "--to", "2x"], &["curve", "--for", "2s", "--max", "2x"]] {
        let Some(first) = FaultyExt4::new(&unverified) else { return };
        let Some(other) = FaultyExt4::new(&unverified) else { return };
        let args = [&[verb[0], "w.toml", "mount"], &verb[1..]].concat();
        let running = first.place.begin(&[&args[..], &["--out", "run"]].concat());
        until("the load begins", || has_intervals_below(first.place.path("run")));
        running.signal(libc::SIGKILL);
        let _ = running.end_with_signal();
        until("the process of the calls has ended", || first.place.assay(&["clean", "mount"]).code == Some(0));
        let point = first.point();
        let point = text_of(&point);
        succeeds(&["umount", text_of(&other.point())]).unwrap();
        succeeds(&["umount", point]).unwrap();
        succeeds(&["mount", other.device.path(), point]).unwrap();
        let resumed = [&args[..], &["--resume", "run"]].concat();
        let refused = first.place.assay(&resumed);
        assert!(
            refused.code == Some(2) && refused.err.contains("the file system uuid of its target"),
            "{verb:?}: {refused:?}"
        );
        assert_eq!(first.left(), 0, "{verb:?}");
        // The right one is mounted again, and known.
        succeeds(&["umount", point]).unwrap();
        first.mount().unwrap();
        let said = first.place.assay(&resumed);
        assert!(matches!(said.code, Some(0 | 10 | 11)), "{verb:?}: {said:?}");
    }
}

/// On a device the commits that a disk does not carry wait, and the load is not delivered, however short each write is.
#[test]
fn commits_that_a_disk_does_not_carry_fail_a_server_on_blocks() {
    // 1,000 commits of 16 KiB a second are fifteen full writes of a mebibyte, of which the disk makes five.
    let heavy = on_blocks(SERVICE).replacen("rate = \"100/s\"", "rate = \"1000/s\"", 1);
    let heavy = heavy.replacen("entry = \"1KiB\"", "entry = \"16KiB\"", 1).replacen(
        "pages_per_commit = 0.2",
        "pages_per_commit = 0.001",
        1,
    );
    let Some(rig) = Rig::empty(beside()) else { return };
    let running = rig.start(&heavy, &["--create", "64MiB"]);
    rig.fault.set("write_delay=200ms");
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let told = crate::bed::in_one_line(&said.out);
    assert!(told.contains("of the scheduled wal-sync") || told.contains("behind their schedule"), "{told}");
}
