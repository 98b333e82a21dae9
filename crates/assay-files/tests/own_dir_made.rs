//! The gate: where a directory of our own is made, where not, and what of it may be opened.

use crate::bed::{
    Mounted, PLANTED, SMALL, as_nobody, file_systems, make, make_with, names_in, open, picture, plant, root, skip,
};
use assay_files::own_dir::{
    Conditions, Foreign, Known, MARKER, OpenError, OwnDir, Place, Request, ReserveWatch, Resolution, Room, State,
    Wants, clean,
};
use assay_files::{Kind, Trouble};
use rustix::fs::OFlags;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

fn made_for(path: &Path, wants: Wants) -> Result<OwnDir, Trouble> {
    OwnDir::make(open(path), Request { run: "run 1", wants, resolution: None })
}

#[test]
fn on_every_file_system_a_directory_is_made_used_and_removed() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    for (kind, disk) in file_systems(bed.path()) {
        let conditions = Conditions { file_system: Some(kind), ..Conditions::default() };
        let other = Conditions { file_system: Some("nfs"), ..Conditions::default() };
        assert_eq!(Place::open(&disk.point, other).unwrap_err().kind, Kind::Refused, "{kind}");
        let before = picture(&disk.point);
        for resolution in [Resolution::Openat2, Resolution::ByComponent] {
            let place = Place::open(&disk.point, conditions).unwrap();
            let request = Request { run: "run 1", wants: SMALL, resolution: Some(resolution) };
            let own = OwnDir::make(place, request).unwrap();
            let path = disk.point.join(own.name());
            let marker = std::fs::read_to_string(path.join(MARKER)).unwrap();
            let inode = path.metadata().unwrap().ino();
            assert!(
                marker.contains(&format!("\"inode\":{inode},\"born\":")) && marker.contains("\"run\":\"run 1\""),
                "{marker}"
            );
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700, "{kind}");
            plant(&path, own.names());
            let file = format!("{}/{}", own.names().directory(0), own.names().file(1));
            let opened = own.directory().open_file(&file, OFlags::RDWR | OFlags::TRUNC, Known::Names(1)).unwrap();
            assert_eq!(rustix::fs::fstat(opened).unwrap().st_size, 0, "{kind}");
            let report = own.clean();
            assert_eq!((&report.state, report.entries), (&State::Removed, PLANTED), "{kind}: {report:?}");
            assert_eq!(picture(&disk.point), before, "{kind}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_made() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let few = Mounted::tmpfs(&bed.path().join("few"), "nr_inodes=300");
    let small = Mounted::tmpfs(&bed.path().join("small"), "size=24m");
    let wants = |bytes, files| Wants { bytes, files, open_files: 0 };
    for (disk, wants, says) in [
        (&few, wants(0, 300), "300 files and directories"),
        (&small, wants(24 << 20, 0), "25165824 bytes"),
        (&small, wants(0, 6144), "25165824 bytes"),
        (&small, Wants { open_files: u64::MAX, ..wants(0, 0) }, "ulimit -n"),
    ] {
        let trouble = made_for(&disk.point, wants).unwrap_err();
        assert!(trouble.kind == Kind::Refused && trouble.to_string().contains(says), "{trouble}");
        assert_eq!(names_in(&disk.point), [""; 0]);
    }
    for (disk, wants) in [(&few, wants(0, 250)), (&small, wants(20 << 20, 200))] {
        assert_eq!(made_for(&disk.point, wants).unwrap().clean().state, State::Removed);
    }
}

#[test]
fn btrfs_makes_room_for_files_as_they_come() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let disks = file_systems(bed.path());
    for (kind, disk) in disks.iter().filter(|(kind, _)| *kind == "btrfs") {
        let own = made_for(&disk.point, Wants { files: 10_000, ..SMALL }).unwrap_or_else(|why| panic!("{kind}: {why}"));
        assert_eq!((own.room().unwrap().files, own.reserve().files), (None, 0));
        assert_eq!(own.clean().state, State::Removed);
    }
}

#[test]
fn somebody_else_who_uses_up_the_reserve_is_noticed() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let disk = Mounted::tmpfs(&bed.path().join("disk"), "size=24m");
    let own = made_for(&disk.point, SMALL).unwrap();
    let watch = ReserveWatch::new(own.reserve(), SMALL);
    assert_eq!(watch.observe(own.room().unwrap(), SMALL), None);
    std::fs::write(disk.point.join("theirs"), vec![1; 23 << 20]).unwrap();
    let touched = watch.observe(own.room().unwrap(), SMALL).unwrap();
    assert!(touched.by_others && touched.free.bytes < touched.reserve.bytes, "{touched:?}");
    // Not removed: a process that another test starts may hold it a moment longer.
    std::fs::write(disk.point.join("theirs"), "").unwrap();
    assert_eq!(watch.observe(Room::around(own.directory()).unwrap(), SMALL), None);
    assert_eq!(own.clean().state, State::Removed);
}

#[test]
fn where_nothing_can_be_written_nothing_is_made() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let disk = Mounted::tmpfs(&bed.path().join("disk"), "size=24m");
    let closed = disk.point.join("closed");
    std::fs::create_dir(&closed).unwrap();
    let as_it_was = picture(&disk.point);
    std::fs::set_permissions(bed.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let denied = as_nobody(|| made_for(&closed, SMALL)).unwrap_err();
    assert!(denied.kind == Kind::Host && denied.to_string().contains("Permission denied"), "{denied}");
    disk.remount("ro");
    let read_only = made_for(&disk.point, SMALL).unwrap_err();
    assert!(read_only.kind == Kind::Host && read_only.to_string().contains("Read-only"), "{read_only}");
    assert_eq!(picture(&disk.point), as_it_was);
}

#[test]
fn a_part_of_usr_stays_refused_where_it_is_mounted_again() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let again = Mounted::new(&["--bind", "/usr/share"], &bed.path().join("again"));
    let whole = Mounted::new(&["--bind", "/"], &bed.path().join("whole"));
    let kernel = Mounted::new(&["-t", "proc", "proc"], &bed.path().join("kernel"));
    for path in [&again.point, &whole.point, &kernel.point, &whole.point.join("etc"), &again.point.join("doc")] {
        let trouble = Place::open(path, Conditions::default()).unwrap_err();
        assert_eq!(trouble.kind, Kind::Refused, "{}: {trouble}", path.display());
    }
}

#[test]
fn only_the_directory_that_was_opened_counts_whatever_its_path_leads_to_later() {
    let bed = tempfile::tempdir().unwrap();
    let at = |name: &str| bed.path().join(name);
    for directory in ["meant", "other"] {
        std::fs::create_dir(at(directory)).unwrap();
    }
    symlink("meant", at("link")).unwrap();
    let place = open(&at("link"));
    std::fs::remove_file(at("link")).unwrap();
    symlink("other", at("link")).unwrap();
    let own = OwnDir::make(place, Request { run: "run 1", wants: SMALL, resolution: None }).unwrap();
    std::fs::rename(at("meant"), at("moved")).unwrap();
    symlink("other", at("meant")).unwrap();
    plant(&at("moved").join(own.name()), own.names());
    assert_eq!(names_in(&at("moved")), [own.name()]);
    assert_eq!(own.clean().state, State::Removed);
    assert_eq!((names_in(&at("moved")), names_in(&at("other"))), (vec![], vec![]));
}

#[test]
fn runs_in_one_place_have_directories_of_their_own() {
    let place = tempfile::tempdir().unwrap();
    let all: Vec<OwnDir> = (0..3).map(|_| make(place.path(), "run 1")).collect();
    let mut names: Vec<String> = all.iter().map(|own| own.name().to_owned()).collect();
    names.sort();
    assert_eq!(names_in(place.path()), names);
    assert_eq!(names.len(), 3);
    assert!(all.into_iter().all(|own| own.clean().state == State::Removed));
}

/// Makers and cleaners in one place: a maker is told when a cleaning came upon its directory, and nobody takes a directory
/// that is in use.
#[test]
fn whoever_makes_and_whoever_cleans_at_the_same_time_do_not_disturb_each_other() {
    let place = tempfile::tempdir().unwrap();
    let made = AtomicU32::new(0);
    std::thread::scope(|scope| {
        for maker in 0..2 {
            let (place, made) = (place.path(), &made);
            scope.spawn(move || make_and_use(place, &format!("run {maker}"), made));
        }
        while made.load(Ordering::Relaxed) < 2 * MADE {
            for report in clean(&open(place.path())).unwrap() {
                assert!(matches!(report.state, State::Removed | State::InUse), "{report:?}");
                assert!(report.state == State::InUse || report.entries == 0, "a tree in use was taken: {report:?}");
            }
        }
    });
    clean(&open(place.path())).unwrap();
    assert_eq!(names_in(place.path()), [""; 0]);
}

/// How often each maker succeeds.
const MADE: u32 = 50;

fn make_and_use(place: &Path, run: &str, made: &AtomicU32) {
    let mut own_made = 0;
    while own_made < MADE {
        match OwnDir::make(open(place), Request { run, wants: SMALL, resolution: None }) {
            Ok(own) => {
                own_made += 1;
                plant(&place.join(own.name()), own.names());
                let report = own.clean();
                assert_eq!((&report.state, report.entries), (&State::Removed, PLANTED), "{report:?}");
                made.fetch_add(1, Ordering::Relaxed);
            }
            Err(why) => assert_eq!(why.kind, Kind::Busy, "{why}"),
        }
    }
}

/// As under an old kernel or a seccomp filter, which `strace` imitates.
#[test]
fn where_openat2_is_missing_or_forbidden_everything_works_without_it() {
    for error in ["ENOSYS", "EPERM"] {
        let trace = tempfile::NamedTempFile::new().unwrap();
        let injected = format!("inject=openat2:error={error}");
        let mut strace = Command::new("strace");
        strace.args(["-f", "-e", "trace=openat2", "-e", &injected, "-o"]).arg(trace.path());
        strace.arg(std::env::current_exe().unwrap()).args(["--exact", USED_AND_CLEANED]);
        let output = match strace.output() {
            Ok(output) => output,
            Err(why) => return skip(&format!("strace cannot be run: {why}")),
        };
        let traced = std::fs::read_to_string(trace.path()).unwrap();
        if !traced.contains("openat2(") {
            return skip(&format!("strace cannot trace here: {}", String::from_utf8_lossy(&output.stderr)));
        }
        assert!(traced.contains("(INJECTED)") && output.status.success(), "{error}: {output:?} {traced}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
    }
}

const USED_AND_CLEANED: &str =
    "own_dir_made::only_the_directory_that_was_opened_counts_whatever_its_path_leads_to_later";

#[test]
fn what_was_put_in_the_place_of_a_file_is_not_opened() {
    let bed = tempfile::tempdir().unwrap();
    let (place, outside) = (bed.path().join("place"), bed.path().join("outside"));
    std::fs::create_dir(&place).unwrap();
    std::fs::write(&outside, "theirs").unwrap();
    for resolution in [Resolution::Openat2, Resolution::ByComponent] {
        let own = make_with(&place, "run 1", Some(resolution));
        let (directory, path) = (own.directory(), place.join(own.name()));
        let name = own.names().file(0);
        let write = OFlags::WRONLY | OFlags::TRUNC;
        drop(directory.create_file(&name, OFlags::WRONLY).unwrap());
        assert_eq!(
            directory.create_file(&name, OFlags::WRONLY).unwrap_err(),
            OpenError::Kernel(rustix::io::Errno::EXIST)
        );
        assert!(directory.open_file(&name, write, Known::Names(1)).is_ok());
        let inode = path.join(&name).metadata().unwrap().ino();
        assert!(directory.open_file(&name, write, Known::Inode(inode)).is_ok());
        let other = directory.open_file(&name, write, Known::Inode(inode + 1)).unwrap_err();
        assert_eq!(other, OpenError::Foreign(Foreign::OtherInode));
        let replace = |how: &dyn Fn(&Path)| {
            let _ = std::fs::remove_file(path.join(&name));
            how(&path.join(&name));
            directory.open_file(&name, write, Known::Names(1)).unwrap_err()
        };
        let fifo = |at: &Path| rustix::fs::mkfifoat(rustix::fs::CWD, at, rustix::fs::Mode::RWXU).unwrap();
        for (error, expected) in [
            (replace(&|at| symlink(&outside, at).unwrap()), OpenError::Kernel(rustix::io::Errno::LOOP)),
            (replace(&|at| std::fs::hard_link(&outside, at).unwrap()), OpenError::Foreign(Foreign::OtherNames(2))),
            (replace(&fifo), OpenError::Kernel(rustix::io::Errno::NXIO)),
            (replace(&|at| std::fs::create_dir(at).unwrap()), OpenError::Kernel(rustix::io::Errno::ISDIR)),
        ] {
            assert_eq!(error, expected, "{resolution:?}");
        }
        std::fs::remove_dir(path.join(&name)).unwrap();
        assert_eq!(directory.open_directory("..").unwrap_err(), OpenError::Kernel(rustix::io::Errno::XDEV));
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "theirs");
        assert_eq!(own.clean().state, State::Removed);
    }
}
