//! By what a directory of ours is known again, and what only looks like one: copies on other file systems, subvolumes, and
//! mounts of which nobody knows what they show.

use crate::bed::{Mounted, PLANTED, make, names_in, open, picture, plant, root, run, skip};
use assay_files::Kind;
use assay_files::own_dir::{Conditions, MARKER, Place, Report, State, clean, list};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// A place with a directory of a run that was killed, and its path.
fn leftover(place: &Path, run: &str) -> PathBuf {
    let own = make(place, run);
    let path = place.join(own.name());
    plant(&path, own.names());
    own.keep();
    path
}

fn only(reports: Vec<Report>) -> Report {
    assert_eq!(reports.len(), 1, "{reports:?}");
    reports.into_iter().next().unwrap()
}

fn why_not_ours(report: &Report) -> &str {
    let State::NotOurs(why) = &report.state else { panic!("{report:?}") };
    why
}

#[test]
fn a_place_on_a_mount_that_is_not_listed_is_refused() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let disk = Mounted::tmpfs(&bed.path().join("disk"), "size=24m");
    let within = disk.point.join("within");
    std::fs::create_dir(&within).unwrap();
    let held = std::fs::File::open(&within).unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    assert!(Place::open(&path, Conditions::default()).is_ok());
    run(&["umount", "-l", disk.point.to_str().unwrap()]).unwrap();
    let trouble = Place::open(&path, Conditions::default()).unwrap_err();
    assert!(trouble.kind == Kind::Refused && trouble.to_string().contains("/proc/self/mountinfo"), "{trouble}");
}

#[test]
fn a_mount_point_need_not_be_utf_8() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let point = bed.path().join(std::ffi::OsStr::from_bytes(b"a\xff b"));
    std::fs::create_dir(&point).unwrap();
    let mount = || std::process::Command::new("mount");
    let done = mount().args(["--bind", "/usr/share"]).arg(&point).status().unwrap();
    assert!(done.success());
    let answer = Place::open(&point, Conditions::default());
    let elsewhere = Place::open(bed.path(), Conditions::default());
    std::process::Command::new("umount").arg("-l").arg(&point).status().unwrap();
    let trouble = answer.unwrap_err();
    assert!(trouble.kind == Kind::Refused && trouble.to_string().contains("in /usr"), "{trouble}");
    assert!(elsewhere.is_ok(), "{elsewhere:?}");
}

/// A file system is mounted again on another device, as after a restart.
#[test]
fn ours_is_known_again_on_another_device_number() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    for kind in ["ext4", "xfs", "btrfs"] {
        let point = bed.path().join(kind);
        let disk = match Mounted::on_loop(kind, &point) {
            Ok(disk) => disk,
            Err(why) => return skip(&format!("{kind}: {why}")),
        };
        leftover(&point, "run 1");
        let device = point.metadata().unwrap().dev();
        run(&["umount", point.to_str().unwrap()]).unwrap();
        drop(disk);
        // Takes the number of the device.
        let other = Mounted::on_loop("ext4", &bed.path().join(format!("{kind}-other"))).unwrap();
        let disk = Mounted::image(&point.with_extension("image"), kind, &point).unwrap();
        if kind != "btrfs" && device == point.metadata().unwrap().dev() {
            skip("the loop device got the same number again");
        }
        let report = only(clean(&open(&point)).unwrap());
        assert_eq!((&report.state, report.entries), (&State::Removed, PLANTED), "{kind}: {report:?}");
        drop((disk, other));
    }
}

/// The first directory of a new ext4 always has the same inode, and a loop device can have the number that another had.
#[test]
fn a_copy_with_the_same_inode_and_device_number_on_another_file_system_stays() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let (point, kept) = (bed.path().join("disk"), bed.path().join("kept"));
    let disk = match Mounted::on_loop("ext4", &point) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("ext4: {why}")),
    };
    let ours = leftover(&point, "run 1");
    let facts = ours.metadata().unwrap();
    run(&["cp", "-a", ours.to_str().unwrap(), kept.to_str().unwrap()]).unwrap();
    run(&["umount", point.to_str().unwrap()]).unwrap();
    drop(disk);
    let disk = Mounted::on_loop("ext4", &point).unwrap();
    run(&["cp", "-a", kept.to_str().unwrap(), ours.to_str().unwrap()]).unwrap();
    let copy = ours.metadata().unwrap();
    if (copy.dev(), copy.ino()) != (facts.dev(), facts.ino()) {
        skip("the copy has another inode or device than the original");
    }
    let before = picture(&point);
    for answer in [list(&open(&point)), clean(&open(&point))] {
        let report = only(answer.unwrap());
        assert!(why_not_ours(&report).contains("is a copy"), "{report:?}");
    }
    assert_eq!(picture(&point), before);
    drop(disk);
}

#[test]
fn a_subvolume_with_the_name_of_ours_stays() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let disk = match Mounted::on_loop("btrfs", &bed.path().join("disk")) {
        Ok(disk) => disk,
        Err(why) => return skip(&format!("btrfs: {why}")),
    };
    let subvolume = disk.point.join("assay-00000001");
    if let Err(why) = run(&["btrfs", "subvolume", "create", subvolume.to_str().unwrap()]) {
        return skip(&why);
    }
    for answer in [list(&open(&disk.point)), clean(&open(&disk.point))] {
        let report = only(answer.unwrap());
        assert!(why_not_ours(&report).contains("subvolume"), "{report:?}");
    }
    assert_eq!(names_in(&disk.point), ["assay-00000001"]);
}

#[test]
fn who_lists_does_not_keep_anybody_from_cleaning() {
    let place = tempfile::tempdir().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    list(&open(place.path())).unwrap();
                }
            });
        }
        let mut states = Vec::new();
        for turn in 0..20 {
            leftover(place.path(), &format!("run {turn}"));
            states.extend(clean(&open(place.path())).unwrap().into_iter().map(|report| report.state));
        }
        done.store(true, Ordering::Relaxed);
        assert_eq!(states, vec![State::Removed; 20]);
    });
}

#[test]
fn a_marker_in_the_lower_layer_of_an_overlay_is_not_copied_up_by_looking_at_it() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let at = |name: &str| bed.path().join(name).display().to_string();
    let layers = Mounted::tmpfs(&bed.path().join("layers"), "size=24m");
    for directory in ["lower", "upper", "work"] {
        std::fs::create_dir(layers.point.join(directory)).unwrap();
    }
    let ours = leftover(&layers.point.join("lower"), "run 1");
    let options =
        format!("lowerdir={},upperdir={},workdir={}", at("layers/lower"), at("layers/upper"), at("layers/work"));
    let overlay = Mounted::new(&["-t", "overlay", "-o", &options, "overlay"], &bed.path().join("overlay"));
    let report = only(clean(&open(&overlay.point)).unwrap());
    assert!(why_not_ours(&report).contains("is a copy"), "{report:?}");
    assert_eq!(names_in(&layers.point.join("upper")), [""; 0], "nothing was copied up");
    assert!(ours.join(MARKER).exists());
    drop((overlay, layers));
}
