//! Runs on a directory whose mount changes under them: it becomes read-only, something is mounted over it, it is
//! unmounted, or its quota is used up. Each ends as FAIL and says why; what can be removed is removed.

use crate::bed::{Log, Place, until};
use crate::directories::{MIX, texts};
use assay_record::EventKind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is mounted at `mount` in a place, until it is dropped.
struct MountPoint {
    place: Place,
    /// How often something was mounted there.
    layers: u32,
}

fn succeeds(command: &[&str]) -> Result<(), String> {
    let output = Command::new(command[0]).args(&command[1..]).output().map_err(|why| why.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl MountPoint {
    /// A file system in memory; `None` where none can be mounted, which it says.
    fn in_memory(workload: &str) -> Option<MountPoint> {
        let mut made = MountPoint::unmounted(workload);
        match made.mount_over() {
            Ok(()) => Some(made),
            Err(why) => {
                eprintln!("skipped: nothing can be mounted: {why}");
                None
            }
        }
    }

    fn unmounted(workload: &str) -> MountPoint {
        let place = Place::new();
        place.write("w.toml", workload);
        fs::create_dir(place.path("mount")).unwrap();
        MountPoint { place, layers: 0 }
    }

    fn point(&self) -> PathBuf {
        self.place.path("mount")
    }

    /// Mounts another file system in memory over what is there.
    fn mount_over(&mut self) -> Result<(), String> {
        succeeds(&["mount", "-t", "tmpfs", "-o", "size=64m", "assay-test", text_of(&self.point())])?;
        self.layers += 1;
        Ok(())
    }

    fn unmount_lazily(&mut self) {
        succeeds(&["umount", "-l", text_of(&self.point())]).unwrap();
        self.layers -= 1;
    }

    fn entries(&self) -> usize {
        fs::read_dir(self.point()).unwrap().count()
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        while self.layers > 0 {
            self.layers -= 1;
            let _ = succeeds(&["umount", "-l", text_of(&self.point())]);
        }
    }
}

#[test]
fn a_mount_that_becomes_read_only_fails_the_run_and_keeps_the_tree() {
    let Some(mounted) = MountPoint::in_memory(MIX) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount", "--for", "20s", "--slice", "1s"], 1);
    // It becomes read-only in a moment in which no file is open for writing.
    let point = mounted.point();
    until("a read-only mount", || succeeds(&["mount", "-o", "remount,ro", text_of(&point)]).is_ok());
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    assert!(log.stream("create").errors.contains_key("EROFS"), "{:?}", log.stream("create").errors);
    let stays = texts(&log, &EventKind::Warning);
    assert!(stays.iter().any(|text| text.contains("stays")), "{stays:?}");
    succeeds(&["mount", "-o", "remount,rw", text_of(&point)]).unwrap();
    let cleaned = mounted.place.assay(&["clean", "mount"]);
    assert!(cleaned.code == Some(0) && mounted.entries() == 0, "{cleaned:?}");
}

#[test]
fn a_path_that_leads_to_something_else_ends_the_run() {
    let Some(mut mounted) = MountPoint::in_memory(MIX) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount", "--for", "5min", "--slice", "1s"], 1);
    mounted.mount_over().unwrap();
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let lost = texts(&Log::of(&mounted.place.path("run")), &EventKind::TargetLost);
    assert!(lost[0].contains("mounted over, unmounted or moved"), "{lost:?}");
    // What it made lies below, and is removed there.
    mounted.unmount_lazily();
    assert_eq!(mounted.entries(), 0);
}

#[test]
fn a_mount_that_is_taken_away_ends_the_run() {
    let Some(mut mounted) = MountPoint::in_memory(MIX) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount", "--for", "5min", "--slice", "1s"], 1);
    mounted.unmount_lazily();
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let lost = texts(&Log::of(&mounted.place.path("run")), &EventKind::TargetLost);
    assert!(lost[0].contains("mounted over, unmounted or moved"), "{lost:?}");
}

/// Files grow beyond what the quota allows, which `statfs` does not show.
const GROWING: &str = r#"
name = "growing"
model = "files"
clients = 2
closed = true
duration = "20s"
slice = "1s"
cache = "warm"
io = "128KiB"
[tree]
files = 8
size = "128KiB"
[[do]]
name = "append"
steps = ["open", "append", "fsync", "close"]
"#;

#[test]
fn a_quota_that_is_used_up_fails_the_run_as_over_quota() {
    let mut mounted = MountPoint::unmounted(GROWING);
    let (image, point) = (mounted.place.path("image"), mounted.point());
    fs::File::create(&image).unwrap().set_len(400 << 20).unwrap();
    let volume = point.join("volume");
    let (image, at, volume) = (text_of(&image), text_of(&point), text_of(&volume));
    let ready = succeeds(&["mkfs.btrfs", "-q", image])
        .and_then(|()| succeeds(&["mount", "-o", "loop", image, at]))
        .inspect(|()| mounted.layers = 1)
        .and_then(|()| succeeds(&["btrfs", "subvolume", "create", volume]))
        .and_then(|()| succeeds(&["btrfs", "quota", "enable", at]))
        .and_then(|()| succeeds(&["btrfs", "qgroup", "limit", "16M", volume]));
    if let Err(why) = ready {
        eprintln!("skipped: no btrfs with a quota: {why}");
        return;
    }
    let (said, log) = mounted.place.run(&["run", "w.toml", "mount/volume"]);
    assert_eq!(said.code, Some(10), "{said:?}");
    let over = |name: &str| log.stream(name).errors.contains_key("EDQUOT");
    assert!(["append", "fsync", "close", "open"].iter().any(|name| over(name)), "{said:?}");
    assert!(said.out.contains("EDQUOT"), "{}", said.out);
}
