//! Cleaning: everything of ours goes, and whatever somebody else put there stays, is named, and keeps its directories.

use crate::bed::{Mounted, PLANTED, as_nobody, make, names_in, open, picture, plant, root, run, skip};
use assay_files::own_dir::{Conditions, EntryKind, MARKER, Manifest, Place, Report, State, Way, Why, clean, list};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

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

fn left(report: &Report) -> Vec<(&str, Why)> {
    let mut left: Vec<(&str, Why)> = report.left.iter().map(|left| (left.path.as_str(), left.why)).collect();
    left.sort_by_key(|(path, _)| *path);
    assert_eq!(left.len() as u64, report.left_count);
    left
}

#[test]
fn what_a_run_left_is_listed_and_then_removed() {
    let place = tempfile::tempdir().unwrap();
    let path = leftover(place.path(), "run 1");
    let before = picture(place.path());
    let listed = only(list(&open(place.path())).unwrap());
    assert_eq!((&listed.state, listed.entries, listed.left_count), (&State::Removable, PLANTED, 0), "{listed:?}");
    let marker = listed.marker.unwrap();
    assert_eq!((marker.run.as_str(), marker.process), ("run 1", std::process::id()));
    assert_eq!(picture(place.path()), before, "a list changes nothing");
    let cleaned = only(clean(&open(place.path())).unwrap());
    assert_eq!((&cleaned.state, cleaned.entries), (&State::Removed, PLANTED), "{cleaned:?}");
    assert_eq!(path.file_name().unwrap().to_str().unwrap(), cleaned.name);
    assert_eq!(names_in(place.path()), [""; 0]);
    assert_eq!(clean(&open(place.path())).unwrap(), []);
}

/// There a file that is removed while it is open, as the marker is, stands under another name until it is closed, as on NFS.
#[test]
fn on_fuse_nothing_is_left_of_a_directory() {
    let (behind, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mounted =
        std::process::Command::new("bindfs").arg("--no-allow-other").args([behind.path(), point.path()]).output();
    if !mounted.as_ref().is_ok_and(|mounted| mounted.status.success()) {
        return skip(&format!("bindfs mounts nothing here, cleaning on FUSE was NOT tried: {mounted:?}"));
    }
    let own = make(point.path(), "run 1");
    plant(&point.path().join(own.name()), own.names());
    let report = own.clean();
    let left = names_in(behind.path());
    let unmounted = std::process::Command::new("umount").arg(point.path()).status().unwrap();
    assert!(unmounted.success());
    assert_eq!(report.state, State::Removed, "{report:?}");
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_directory_in_use_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let own = make(place.path(), "run 1");
    plant(&place.path().join(own.name()), own.names());
    let before = picture(place.path());
    for answer in [list(&open(place.path())), clean(&open(place.path()))] {
        let report = only(answer.unwrap());
        assert_eq!((report.state, report.marker.unwrap().run.as_str()), (State::InUse, "run 1"));
    }
    assert_eq!(picture(place.path()), before);
    own.keep();
    assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed);
}

#[test]
fn what_somebody_put_in_stays_is_named_and_keeps_its_directories() {
    let place = tempfile::tempdir().unwrap();
    let path = leftover(place.path(), "run 1");
    let names = assay_files::own_dir::Names::for_run("run 1");
    let others = assay_files::own_dir::Names::for_run("run 2");
    let deep = format!("{}/{}", names.directory(1), names.directory(2));
    std::fs::write(path.join("notes"), "theirs").unwrap();
    std::fs::write(path.join(&deep).join("new\nline"), "theirs").unwrap();
    std::fs::write(path.join(&deep).join(others.file(3)), "of another run").unwrap();
    std::fs::create_dir(path.join(names.file(500))).unwrap();
    std::fs::write(path.join(names.file(500)).join(names.file(0)), "below").unwrap();
    symlink("/etc", path.join(names.directory(500))).unwrap();
    std::fs::write(path.join(names.symlink(500)), "no link").unwrap();
    let listed = only(list(&open(place.path())).unwrap());
    let cleaned = only(clean(&open(place.path())).unwrap());
    let name = Why::Foreign("has a name that is not of this run");
    let kind = Why::Foreign("has the name of another type of entry");
    let (other, line) = (format!("{deep}/{}", others.file(3)), format!("{deep}/new\u{fffd}line"));
    let (file, directory, link) = (names.file(500), names.directory(500), names.symlink(500));
    let mut expected =
        [(&*other, name), (&*line, name), ("notes", name), (&*file, kind), (&*directory, kind), (&*link, kind)];
    expected.sort_by_key(|(path, _)| *path);
    // Two of the directories stay.
    assert_eq!((&cleaned.state, cleaned.entries), (&State::Stays, PLANTED - 2), "{cleaned:?}");
    assert_eq!((left(&cleaned), left(&listed), listed.entries), (expected.to_vec(), expected.to_vec(), PLANTED - 2));
    assert_eq!(picture(&path).len(), 1 + 2 + 7, "what is foreign, its directories, the marker: {:?}", picture(&path));
    assert!(path.join(MARKER).exists() && !cleaned.is_clean() && !cleaned.has_only_failed());
    for theirs in ["notes".to_owned(), format!("{deep}/new\nline"), other.clone(), link.clone()] {
        std::fs::remove_file(path.join(theirs)).unwrap();
    }
    std::fs::remove_file(path.join(&directory)).unwrap();
    std::fs::remove_dir_all(path.join(&file)).unwrap();
    assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed, "it goes on");
}

#[test]
fn only_directories_of_our_own_are_looked_at_and_only_real_ones_removed() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    let ours = leftover(place.path(), "run 1");
    let copy = at("assay-00000001");
    run(&["cp", "-a", ours.to_str().unwrap(), copy.to_str().unwrap()]).unwrap();
    symlink(&ours, at("assay-00000002")).unwrap();
    std::fs::write(at("assay-00000003"), "a file").unwrap();
    for directory in ["assay-00000004", "assay-00000005", "assay-00000006", "assay-00000007", "assay-runs", "assay-1"] {
        std::fs::create_dir(at(directory)).unwrap();
    }
    std::fs::write(at("assay-00000004/data"), "without a marker").unwrap();
    std::fs::write(at("assay-00000005/ASSAYDIR"), "notes of somebody\n").unwrap();
    std::fs::write(at("assay-00000006/ASSAYDIR"), "{\"assay").unwrap();
    std::fs::write(at("assay-00000006/data"), "beside the beginning of a marker").unwrap();
    symlink(ours.join(MARKER), at("assay-00000007/ASSAYDIR")).unwrap();
    let foreign = |path: &PathBuf| !path.starts_with(&ours);
    let before: Vec<_> = picture(place.path()).into_iter().filter(|(path, _)| foreign(path)).collect();
    for answer in [list(&open(place.path())), clean(&open(place.path()))] {
        let reports = answer.unwrap();
        assert_eq!(reports.len(), 8, "{reports:?}");
        for (report, says) in reports.iter().zip([
            "is a copy",
            "is a symbolic link",
            "is not a directory",
            "has no marker",
            "no whole marker",
            "no whole marker",
            "not a file of its owner",
        ]) {
            let State::NotOurs(why) = &report.state else { panic!("{report:?}") };
            assert!(why.contains(says), "{}: {why}", report.name);
        }
    }
    assert_eq!(picture(place.path()).into_iter().collect::<Vec<_>>(), before);
}

#[test]
fn what_a_crash_left_before_there_was_a_marker_goes() {
    let place = tempfile::tempdir().unwrap();
    let whole = std::fs::read(leftover(place.path(), "run 1").join(MARKER)).unwrap();
    assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed);
    for content in [None, Some(&b""[..]), Some(&whole[..30]), Some(&whole[..whole.len() - 1]), Some(&[0; 300])] {
        let path = place.path().join("assay-00000001");
        std::fs::create_dir(&path).unwrap();
        content.into_iter().for_each(|content| std::fs::write(path.join(MARKER), content).unwrap());
        assert_eq!(only(list(&open(place.path())).unwrap()).state, State::Removable);
        assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed, "{content:?}");
        assert_eq!(names_in(place.path()), [""; 0]);
    }
}

#[test]
fn a_large_directory_is_removed_whole() {
    let place = tempfile::tempdir().unwrap();
    let own = make(place.path(), "run 1");
    let path = place.path().join(own.name());
    for number in 0..10_000 {
        std::fs::write(path.join(own.names().file(number)), "").unwrap();
    }
    let report = own.clean();
    assert_eq!((&report.state, report.entries), (&State::Removed, 10_000), "{report:?}");
    assert_eq!(names_in(place.path()), [""; 0]);
}

#[test]
fn what_belongs_to_somebody_else_stays() {
    if !root() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = leftover(place.path(), "run 1");
    let names = assay_files::own_dir::Names::for_run("run 1");
    let theirs = format!("{}/{}", names.directory(0), names.file(1));
    chown(path.join(&theirs), Some(1234), None).unwrap();
    let report = only(clean(&open(place.path())).unwrap());
    assert_eq!(
        (&report.state, left(&report)),
        (&State::Stays, vec![(&*theirs, Why::Foreign("belongs to another user"))])
    );
    assert_eq!(std::fs::read_to_string(path.join(&theirs)).unwrap(), "ours");
    // The whole directory: given away, and made by somebody else.
    chown(&path, Some(1234), None).unwrap();
    let report = only(clean(&open(place.path())).unwrap());
    assert!(matches!(&report.state, State::NotOurs(_)), "{report:?}");
    let shared = tempfile::tempdir().unwrap();
    std::fs::set_permissions(shared.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    as_nobody(|| leftover(shared.path(), "run 2"));
    let empty = shared.path().join("assay-00000001");
    std::fs::create_dir(&empty).unwrap();
    chown(&empty, Some(1234), None).unwrap();
    let before = picture(shared.path());
    for report in clean(&open(shared.path())).unwrap() {
        let State::NotOurs(why) = &report.state else { panic!("{report:?}") };
        assert!(
            why.contains("belongs to the user 1234: clean it as that user") || why.contains("made by the user 65534"),
            "{why}"
        );
    }
    assert_eq!(picture(shared.path()), before);
    assert_eq!(as_nobody(|| clean(&open(shared.path())).unwrap()).iter().filter(|report| report.is_clean()).count(), 1);
}

/// A place with what is left of a copy of one directory with one file, and the path of its names.
fn leftover_copy(place: &Path) -> PathBuf {
    let own = make(place, "run 1");
    let (path, names) = (place.join(own.name()), own.names().clone());
    let top = Way::TOP.to_entry(&names, EntryKind::Directory, b"etc");
    own.write_manifest(&Manifest::from_ways([top, top.to_entry(&names, EntryKind::File, b"passwd")])).unwrap();
    std::fs::create_dir(path.join("etc")).unwrap();
    std::fs::write(path.join("etc/passwd"), "copied").unwrap();
    own.keep();
    path.join(names.name(Manifest::ENTRY))
}

/// A name of a source says nothing of who made what has it: type, owner, device and place are all that tells.
#[test]
fn what_somebody_puts_under_a_name_of_a_copy_stays_unless_place_type_and_owner_fit() {
    let place = tempfile::tempdir().unwrap();
    let etc = leftover_copy(place.path()).with_file_name("etc");
    let name = Why::Foreign("has a name that is not of this run");
    // The name at another place, and as another type.
    std::fs::write(etc.with_file_name("passwd"), "theirs").unwrap();
    std::fs::remove_file(etc.join("passwd")).unwrap();
    std::fs::create_dir(etc.join("passwd")).unwrap();
    let report = only(clean(&open(place.path())).unwrap());
    assert_eq!(left(&report), [("etc/passwd", name), ("passwd", name)]);
    std::fs::remove_file(etc.with_file_name("passwd")).unwrap();
    std::fs::remove_dir(etc.join("passwd")).unwrap();
    symlink("/etc/passwd", etc.join("passwd")).unwrap();
    assert_eq!(left(&only(clean(&open(place.path())).unwrap())), [("etc/passwd", name)]);
    std::fs::remove_file(etc.join("passwd")).unwrap();
    std::fs::write(etc.join("passwd"), "another file of the same user, longer than the copy was").unwrap();
    if root() {
        chown(etc.join("passwd"), Some(1234), None).unwrap();
        let report = only(clean(&open(place.path())).unwrap());
        assert_eq!(left(&report), [("etc/passwd", Why::Foreign("belongs to another user"))]);
        chown(etc.join("passwd"), Some(0), None).unwrap();
    }
    assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed, "nothing tells it from the copy");
}

#[test]
fn a_list_of_names_that_somebody_made_huge_ends_no_cleaning() {
    let place = tempfile::tempdir().unwrap();
    let listed = leftover_copy(place.path());
    let other = leftover(place.path(), "run 2");
    let size = std::fs::metadata(&listed).unwrap().len();
    let file = std::fs::File::options().write(true).open(&listed).unwrap();
    file.set_len(1 << 43).unwrap();
    let reports = clean(&open(place.path())).unwrap();
    let stays: Vec<&Report> = reports.iter().filter(|report| report.state == State::Stays).collect();
    assert_eq!(left(stays[0]), [("etc", Why::Foreign("has a name that is not of this run"))]);
    assert!(listed.exists() && !other.exists(), "the other directory goes: {reports:?}");
    file.set_len(size).unwrap();
    assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed, "it goes on");
}

#[test]
fn something_else_in_the_place_of_the_list_of_names_stays() {
    let place = tempfile::tempdir().unwrap();
    let listed = leftover_copy(place.path());
    let name = listed.file_name().unwrap().to_str().unwrap();
    std::fs::remove_dir_all(listed.with_file_name("etc")).unwrap();
    std::fs::remove_file(&listed).unwrap();
    symlink("/etc", &listed).unwrap();
    let report = only(clean(&open(place.path())).unwrap());
    assert_eq!(left(&report), [(name, Why::Foreign("has the name of another type of entry"))]);
    assert!(listed.is_symlink());
    std::fs::remove_file(&listed).unwrap();
    if root() {
        std::fs::write(&listed, "theirs").unwrap();
        chown(&listed, Some(1234), None).unwrap();
        let report = only(clean(&open(place.path())).unwrap());
        assert_eq!(left(&report), [(name, Why::Foreign("belongs to another user"))]);
        std::fs::remove_file(&listed).unwrap();
    }
    assert_eq!(only(clean(&open(place.path())).unwrap()).state, State::Removed);
}

#[test]
fn a_mount_in_the_tree_stays_and_so_does_what_cannot_be_written() {
    if !root() {
        return;
    }
    let bed = tempfile::tempdir().unwrap();
    let disk = Mounted::tmpfs(&bed.path().join("disk"), "size=24m");
    let outside = disk.point.join("outside");
    std::fs::create_dir(&outside).unwrap();
    let path = leftover(&disk.point, "run 1");
    let names = assay_files::own_dir::Names::for_run("run 1");
    plant(&outside, &names);
    let before = picture(&outside);
    // The same file system, so that only the mount tells it; and another one.
    let same = Mounted::new(&["--bind", outside.to_str().unwrap()], &path.join(names.directory(0)));
    let other = Mounted::tmpfs(&path.join(names.directory(1)), "size=1m");
    std::fs::write(other.point.join(names.file(0)), "theirs").unwrap();
    let file = path.join(names.file(0));
    run(&["mount", "--bind", outside.join(names.file(0)).to_str().unwrap(), file.to_str().unwrap()]).unwrap();
    let report = only(clean(&open(&disk.point)).unwrap());
    run(&["umount", file.to_str().unwrap()]).unwrap();
    let mount = Why::Foreign("is a mount point, or a subvolume");
    let expected = [(names.directory(0), mount), (names.directory(1), mount), (names.file(0), mount)];
    assert_eq!(left(&report), expected.each_ref().map(|(path, why)| (path.as_str(), *why)), "{report:?}");
    assert_eq!((picture(&outside), names_in(&other.point).len()), (before, 1));
    drop((same, other));
    disk.remount("ro");
    let report = only(clean(&open(&disk.point)).unwrap());
    assert!(report.has_only_failed() && !report.is_clean(), "{report:?}");
    assert_eq!(only(list(&open(&disk.point)).unwrap()).state, State::Removable);
    disk.remount("rw");
    assert_eq!(only(clean(&open(&disk.point)).unwrap()).state, State::Removed);
}

#[test]
fn a_place_is_not_cleaned_where_nothing_may_be_made() {
    for path in ["/", "/usr", "/dev/shm", "/proc"] {
        assert!(Place::open(Path::new(path), Conditions::default()).is_err(), "{path}");
    }
}
