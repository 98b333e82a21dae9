//! Cases that the table of the program's own tests (`tests/files`) cannot reach.

use super::dir::UnfinishedFile;
use super::*;
use std::os::unix::fs::PermissionsExt;

fn names(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_permissions() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    replace_file(&path, b"one").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let before = std::fs::File::open(&path).unwrap();
    replace_file(&path, b"two").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"two");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    let mut text = String::new();
    (&before).read_to_string(&mut text).unwrap();
    assert_eq!(text, "one", "who reads the old one reads it to its end");
    assert_eq!(names(dir.path()), ["a"]);
}

#[test]
fn a_new_file_is_made_over_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    create_file(&path, b"one").unwrap();
    for refused in [create_file(&path, b"two"), begin_file(&path).map(drop)] {
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
    assert_eq!(std::fs::read(&path).unwrap(), b"one");
    remove_file(&path).unwrap();
    remove_file(&path).unwrap();
    assert!(open_to_append(&path).is_err() && !path.exists());
    begin_file(&path).unwrap().write_all(b"one").unwrap();
    open_to_append(&path).unwrap().write_all(b" two").unwrap();
    assert_eq!((std::fs::read(&path).unwrap(), names(dir.path())), (b"one two".to_vec(), vec!["a".to_owned()]));
}

/// The behaviour on a file system that does not support renaming without replacing.
#[test]
fn a_name_is_claimed_before_it_is_taken() {
    let temporary = tempfile::tempdir().unwrap();
    let path = temporary.path().join("a");
    let (dir, name) = Dir::open_parent(&path).unwrap();
    let mut half = UnfinishedFile::new(&dir).unwrap();
    half.file.write_all(b"whole").unwrap();
    half.claim_name(name).unwrap();
    half.taken = true;
    drop(half);
    assert_eq!((std::fs::read(&path).unwrap(), names(temporary.path())), (b"whole".to_vec(), vec!["a".to_owned()]));
    let half = UnfinishedFile::new(&dir).unwrap();
    assert!(half.claim_name(name).is_err(), "what has the name keeps it");
    drop(half);
    assert_eq!((std::fs::read(&path).unwrap(), names(temporary.path())), (b"whole".to_vec(), vec!["a".to_owned()]));
}

/// Exchanging a directory for another one after it was opened has no effect.
#[test]
fn a_directory_is_opened_once() {
    let temporary = tempfile::tempdir().unwrap();
    let at = |name: &str| temporary.path().join(name);
    std::fs::create_dir(at("ours")).unwrap();
    std::fs::create_dir(at("theirs")).unwrap();
    std::fs::write(at("theirs/a"), "theirs").unwrap();
    let path = at("ours/a");
    let (dir, name) = Dir::open_parent(&path).unwrap();
    std::fs::rename(at("ours"), at("moved")).unwrap();
    std::os::unix::fs::symlink(at("theirs"), at("ours")).unwrap();
    dir.write_file(name, b"ours", None, false).unwrap();
    assert_eq!(std::fs::read(at("theirs/a")).unwrap(), b"theirs");
    assert_eq!(std::fs::read(at("moved/a")).unwrap(), b"ours");
}

/// A link created between the check and the rename is replaced, and its target is not touched.
#[test]
fn a_link_that_comes_late_is_not_followed() {
    let temporary = tempfile::tempdir().unwrap();
    let (path, precious) = (temporary.path().join("a"), temporary.path().join("precious"));
    std::fs::write(&path, "before").unwrap();
    std::fs::write(&precious, "precious").unwrap();
    let (dir, name) = Dir::open_parent(&path).unwrap();
    let before = dir.stat_regular_file(name).unwrap();
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    dir.write_file(name, b"ours", None, before.is_some()).unwrap();
    assert_eq!(std::fs::read(&precious).unwrap(), b"precious");
    assert!(path.symlink_metadata().unwrap().is_file());
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    assert!(dir.write_file(name, b"ours", None, false).is_err(), "and where nothing was, nothing is replaced");
    assert_eq!((std::fs::read(&precious).unwrap(), names(temporary.path()).len()), (b"precious".to_vec(), 2));
}

#[test]
fn what_is_read_has_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    std::fs::write(&path, [b'x'; 100]).unwrap();
    assert_eq!(read_text(&path, 100).unwrap().len(), 100);
    assert!(read_file(&path, 99).unwrap_err().to_string().contains("larger than"));
    std::fs::write(&path, [0xff]).unwrap();
    assert!(read_text(&path, 100).unwrap_err().to_string().contains("not text"));
    assert!(ensure_directory(&path).unwrap_err().to_string().contains("a file"));
    ensure_directory(&dir.path().join("made")).unwrap();
    ensure_directory(&dir.path().join("made")).unwrap();
}

#[test]
fn a_new_file_has_the_permissions_it_is_made_with() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    create_with(&path, b"one", 0o751).unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o751);
    assert_eq!(create_with(&path, b"two", 0o600).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!((std::fs::read(&path).unwrap(), names(dir.path())), (b"one".to_vec(), vec!["a".to_owned()]));
}

/// What is in the way is said early, with where a link leads.
#[test]
fn what_could_not_be_replaced_is_refused_early() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("file"), b"one").unwrap();
    std::os::unix::fs::symlink("somewhere else", at("link")).unwrap();
    std::fs::write(at("first"), b"").unwrap();
    std::fs::hard_link(at("first"), at("second")).unwrap();
    for (name, refusal) in [
        ("file", None),
        ("nothing", None),
        ("link", Some("a symbolic link to \"somewhere else\"")),
        ("second", Some("one of 2 names (hard links)")),
        (".", Some("")),
        ("no/where", Some("")),
    ] {
        let found = check_replaceable(&at(name));
        assert_eq!(found.is_err(), refusal.is_some(), "{name}");
        assert!(found.err().is_none_or(|e| e.to_string().contains(refusal.unwrap_or_default())), "{name}");
    }
}

/// A program that is started meanwhile must not inherit them, and opening must not wait.
#[test]
fn descriptors_are_not_for_the_programs_we_start() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    std::fs::write(&path, b"one").unwrap();
    let file = open_named_file(&path).unwrap();
    assert!(rustix::io::fcntl_getfd(&file).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    assert!(rustix::fs::fcntl_getfl(&file).unwrap().contains(OFlags::NONBLOCK));
    let (dir, _) = Dir::open_parent(&path).unwrap();
    assert!(rustix::io::fcntl_getfd(&dir.fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    assert!(rustix::fs::fcntl_getfl(&dir.fd).unwrap().contains(OFlags::PATH), "no right to read it is needed");
    assert!(Dir::open_parent(&path.join("b")).is_err(), "a file is no directory");
}
