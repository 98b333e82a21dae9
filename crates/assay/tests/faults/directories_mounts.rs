//! Runs on a directory whose mount changes under them: it becomes read-only, something is mounted over it, it is
//! unmounted, or its quota is used up. Each ends as FAIL and says why; what can be removed is removed.

use crate::bed::{Log, Place};
use crate::directories::{MIX, texts};
use assay_record::EventKind;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is mounted at `mount` in a place, until it is dropped.
pub(crate) struct MountPoint {
    pub(crate) place: Place,
    /// How often something was mounted there.
    pub(crate) layers: u32,
}

pub(crate) fn succeeds(command: &[&str]) -> Result<(), String> {
    let output = Command::new(command[0]).args(&command[1..]).output().map_err(|why| why.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

pub(crate) fn text_of(path: &Path) -> &str {
    path.to_str().unwrap()
}

impl MountPoint {
    /// A file system in memory; `None` where none can be mounted, which it says.
    pub(crate) fn in_memory(workload: &str) -> Option<MountPoint> {
        let mut made = MountPoint::unmounted(workload);
        let mounted = made.mount_over();
        made.unless_failed(mounted)
    }

    /// The same of another size.
    pub(crate) fn in_memory_of(size: &str) -> Option<MountPoint> {
        let mut made = MountPoint::unmounted("");
        let mounted = made.mount_memory(size);
        made.unless_failed(mounted)
    }

    fn unless_failed(self, mounted: Result<(), String>) -> Option<MountPoint> {
        match mounted {
            Ok(()) => Some(self),
            Err(why) => {
                eprintln!("skipped: nothing can be mounted: {why}");
                None
            }
        }
    }

    pub(crate) fn unmounted(workload: &str) -> MountPoint {
        let place = Place::new();
        place.write("w.toml", workload);
        fs::create_dir(place.path("mount")).unwrap();
        MountPoint { place, layers: 0 }
    }

    pub(crate) fn point(&self) -> PathBuf {
        self.place.path("mount")
    }

    /// Mounts another file system in memory over what is there.
    pub(crate) fn mount_over(&mut self) -> Result<(), String> {
        self.mount_memory("size=64m")
    }

    fn mount_memory(&mut self, options: &str) -> Result<(), String> {
        succeeds(&["mount", "-t", "tmpfs", "-o", options, "assay-test", text_of(&self.point())])?;
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

/// Ext4 becomes read-only when it finds an error in itself; the kernel can be told that it has found one.
#[test]
fn a_file_system_that_becomes_read_only_fails_the_run_and_keeps_the_tree() {
    let mut mounted = MountPoint::unmounted(MIX);
    let (image, point) = (mounted.place.path("image"), mounted.point());
    fs::File::create(&image).unwrap().set_len(128 << 20).unwrap();
    let (image, at) = (text_of(&image).to_owned(), text_of(&point).to_owned());
    let mount = ["mount", "-o", "loop,errors=remount-ro", &image, &at];
    let ready = succeeds(&["mkfs.ext4", "-q", &image]).and_then(|()| succeeds(&mount)).inspect(|()| mounted.layers = 1);
    if let Err(why) = ready {
        eprintln!("skipped: no ext4 can be mounted: {why}");
        return;
    }
    let running = mounted.place.start(&["run", "w.toml", "mount", "--for", "20s", "--slice", "1s"], 1);
    fs::write(error_trigger(&at), "a test").unwrap();
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    assert!(said.out.contains("EROFS (read-only)"), "{}", said.out);
    let stays = texts(&Log::of(&mounted.place.path("run")), &EventKind::Warning);
    assert!(stays.iter().any(|text| text.contains("stays")), "{stays:?}");
    // It is repaired, and what stayed is removed.
    succeeds(&["umount", &at]).unwrap();
    mounted.layers = 0;
    let _ = succeeds(&["e2fsck", "-fy", &image]);
    succeeds(&mount).unwrap();
    mounted.layers = 1;
    let cleaned = mounted.place.assay(&["clean", "mount"]);
    let mut left: Vec<_> = fs::read_dir(&point).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.retain(|name| name != "lost+found");
    assert!(cleaned.code == Some(0) && left.is_empty(), "{left:?} left: {cleaned:?}");
}

/// The file through which ext4 is told that it has found an error, for the file system that is mounted there.
fn error_trigger(point: &str) -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(point)).unwrap();
    let device = Path::new(line.split(' ').next().unwrap()).file_name().unwrap();
    Path::new("/sys/fs/ext4").join(device).join("trigger_fs_error")
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
name = "grow"
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
    assert!(["grow", "append", "fsync", "close", "open"].iter().any(|name| over(name)), "{said:?}");
    assert!(said.out.contains("EDQUOT"), "{}", said.out);
}

#[test]
fn room_that_somebody_else_takes_ends_the_run_which_then_proves_nothing() {
    let Some(mounted) = MountPoint::in_memory(MIX) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount", "--for", "60s", "--slice", "1s"], 1);
    let theirs = mounted.point().join("theirs");
    // All but 1 MiB, of which a twentieth must stay free.
    let free = Command::new("df").args(["--output=avail", "-B1", text_of(&mounted.point())]).output().unwrap();
    let free: u64 = String::from_utf8(free.stdout).unwrap().split_whitespace().last().unwrap().parse().unwrap();
    succeeds(&["fallocate", "-l", &(free - (1 << 20)).to_string(), text_of(&theirs)]).unwrap();
    let said = running.end();
    assert_eq!(said.code, Some(11), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    let told = texts(&log, &EventKind::Disturbed);
    assert!(told.iter().any(|text| text.contains("must stay free: somebody else uses the file system")), "{told:?}");
    assert!(log.intervals.len() < 100, "it ends before its 120 intervals: {}", log.intervals.len());
    assert_eq!(mounted.entries(), 1, "only the file of somebody else is there");
}
