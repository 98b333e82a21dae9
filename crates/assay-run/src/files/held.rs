//! Directories in which this process works, and the files that it writes there, as they were opened: whatever their names
//! lead to later.
//!
//! The results of a run belong to the log that was written, and into the directory that was created. Somebody may move
//! that directory while the run goes on, put another one in its place, or begin a second run there. Every function of
//! [`super`] therefore looks here first: a path below a directory that is held is looked up from its open descriptor, and
//! a file that was begun there is read through the descriptor that writes it.
//!
//! A directory that is held is locked, which keeps another run out. The lock ends with this process, however it ends.
#![allow(clippy::disallowed_methods, reason = "with `files`, the one place that opens files of ours")]

use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A directory of this process.
#[derive(Debug)]
struct Directory {
    /// As its name was given.
    path: PathBuf,
    descriptor: OwnedFd,
    /// The files that were begun in it, each opened once more for reading.
    begun: Vec<Begun>,
}

/// A file that this process writes.
#[derive(Debug)]
struct Begun {
    name: OsString,
    file: File,
}

static DIRECTORIES: Mutex<Vec<Directory>> = Mutex::new(Vec::new());

/// Each entry is whole, also after a panic of another thread.
fn lock_directories() -> MutexGuard<'static, Vec<Directory>> {
    DIRECTORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a directory for this process as long as it exists; nothing where the process holds the directory already.
#[derive(Debug)]
#[must_use = "the directory is held only as long as this exists"]
pub struct HeldDirectory(Option<PathBuf>);

impl HeldDirectory {
    /// Keeps it until the process ends.
    pub fn until_the_end(self) {
        std::mem::forget(self);
    }
}

impl Drop for HeldDirectory {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            lock_directories().retain(|directory| directory.path != *path);
        }
    }
}

/// Holds a directory that is open. One that this process holds already stays as it is.
///
/// # Errors
/// `WouldBlock`: another process holds it.
pub(super) fn hold_open_directory(path: &Path, descriptor: OwnedFd) -> io::Result<HeldDirectory> {
    let mut all = lock_directories();
    if all.iter().any(|directory| directory.path == path) {
        return Ok(HeldDirectory(None));
    }
    // On a file system without locks nobody is kept out.
    if rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    all.push(Directory { path: path.to_owned(), descriptor, begun: Vec::new() });
    Ok(HeldDirectory(Some(path.to_owned())))
}

/// Opens a directory by its path, from the nearest directory above it that is held; `None` if none is.
pub(super) fn open_below_held(path: &Path) -> Option<io::Result<OwnedFd>> {
    let all = lock_directories();
    let above = all.iter().filter(|directory| path.starts_with(&directory.path));
    let nearest = above.max_by_key(|directory| directory.path.components().count())?;
    let rest = path.strip_prefix(&nearest.path).ok()?;
    Some(open_below(&nearest.descriptor, rest))
}

/// Opens a directory below another one, name by name. None of them may be a link.
fn open_below(from: &OwnedFd, rest: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut at = rustix::io::fcntl_dupfd_cloexec(from, 0)?;
    for component in rest.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) => at = rustix::fs::openat(&at, name, flags, Mode::empty())?,
            _ => return Err(io::Error::other("it leads out of the directory of the run")),
        }
    }
    Ok(at)
}

impl Directory {
    fn find_begun(&self, path: &Path) -> Option<&Begun> {
        let name = path.file_name().filter(|_| path.parent() == Some(&self.path))?;
        self.begun.iter().find(|begun| begun.name == name)
    }
}

/// Remembers a file that was begun or is continued, if its directory is held.
pub(super) fn remember_begun(path: &Path, file: &File) -> io::Result<()> {
    let mut all = lock_directories();
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    if let Some(directory) = all.iter_mut().find(|directory| directory.path == parent) {
        let file = reopen_for_reading(file)?;
        directory.begun.retain(|begun| begun.name != name);
        directory.begun.push(Begun { name: name.to_owned(), file });
    }
    Ok(())
}

/// Forgets a file that was begun, because it is removed.
pub(super) fn forget_begun(path: &Path) {
    let mut all = lock_directories();
    for directory in all.iter_mut().filter(|directory| path.parent() == Some(&directory.path)) {
        directory.begun.retain(|begun| path.file_name() != Some(&begun.name));
    }
}

/// A file that this process has begun, opened for reading from its beginning; `None` if it has not.
pub(super) fn open_begun(path: &Path) -> Option<io::Result<File>> {
    let all = lock_directories();
    all.iter().find_map(|directory| directory.find_begun(path)).map(|begun| reopen_for_reading(&begun.file))
}

/// A file that this process has begun.
pub(super) fn stat_begun(path: &Path) -> Option<io::Result<Stat>> {
    let all = lock_directories();
    all.iter().find_map(|directory| directory.find_begun(path)).map(|begun| Ok(rustix::fs::fstat(&begun.file)?))
}

/// The present path of a directory that is held, if its name does not lead to it any more; an empty path if nothing does.
pub(super) fn moved_to(path: &Path) -> Option<PathBuf> {
    let all = lock_directories();
    let directory = all.iter().find(|directory| directory.path == path)?;
    let held = rustix::fs::fstat(&directory.descriptor).ok()?;
    if leads_to(path, &held) {
        return None;
    }
    let now = descriptor_path(&directory.descriptor).read_link().unwrap_or_default();
    // Of one that was deleted, the kernel gives the last name with a note, which leads nowhere.
    Some(if leads_to(&now, &held) { now } else { PathBuf::new() })
}

fn leads_to(path: &Path, held: &Stat) -> bool {
    rustix::fs::stat(path).is_ok_and(|there| is_same(&there, held))
}

/// Whether two results of `stat` are of one file.
pub(super) fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

fn descriptor_path(descriptor: &impl AsRawFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", descriptor.as_raw_fd()))
}

/// The same file with a position of its own, and without the lock of the one that writes it.
fn reopen_for_reading(file: &File) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(rustix::fs::open(descriptor_path(file), flags, Mode::empty())?.into())
}

/// The parent of a path, as [`open_below_held`] takes it.
pub(super) fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The last name of a path.
pub(super) fn last_name(path: &Path) -> io::Result<&OsStr> {
    path.file_name().ok_or_else(|| io::Error::other("it names no file"))
}

#[cfg(test)]
mod tests {
    use super::super::{Rescue, directories_with, moved_directory};
    use super::super::{
        begin_file, create_file, hold_directory, make_directory, open_named_file, remove_file, replace_file,
        rescue_if_moved,
    };
    use super::*;
    use std::fs;
    use std::io::{Read, Write};

    fn text(path: &Path) -> String {
        let mut text = String::new();
        open_named_file(path).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn what_is_below_a_held_directory_stays_with_it_when_another_one_gets_its_name() {
        let place = tempfile::tempdir().unwrap();
        let (run, elsewhere) = (place.path().join("run"), place.path().join("elsewhere"));
        let held = make_directory(&run).unwrap();
        let below = make_directory(&run.join("01")).unwrap();
        drop(below);
        let mut log = begin_file(&run.join("run.jsonl")).unwrap();
        assert_eq!(moved_directory(&run), None);
        fs::rename(&run, &elsewhere).unwrap();
        fs::create_dir(&run).unwrap();
        fs::write(run.join("run.jsonl"), "theirs").unwrap();
        log.write_all(b"ours").unwrap();
        assert_eq!(text(&run.join("run.jsonl")), "ours");
        create_file(&run.join("verdict.json"), b"one").unwrap();
        replace_file(&run.join("verdict.json"), b"two").unwrap();
        create_file(&run.join("01/run.jsonl"), b"below").unwrap();
        assert_eq!(directories_with(&run, "run.jsonl"), [PathBuf::from("01")]);
        assert_eq!(moved_directory(&run), Some(elsewhere.clone()));
        assert_eq!(fs::read_to_string(elsewhere.join("verdict.json")).unwrap(), "two");
        assert_eq!(fs::read_to_string(elsewhere.join("01/run.jsonl")).unwrap(), "below");
        assert_eq!(fs::read_dir(&run).unwrap().count(), 1);
        drop(held);
        assert_eq!(text(&run.join("run.jsonl")), "theirs", "as everybody sees it");
    }

    #[test]
    fn a_file_that_was_begun_is_read_and_rescued_whatever_has_its_name() {
        let place = tempfile::tempdir().unwrap();
        let run = place.path().join("run");
        let _held = make_directory(&run).unwrap();
        let path = run.join("run.jsonl");
        let mut log = begin_file(&path).unwrap();
        log.write_all(b"ours").unwrap();
        assert_eq!(rescue_if_moved(&path, "rescued").unwrap(), Rescue::NotNeeded);
        fs::remove_file(&path).unwrap();
        assert_eq!((text(&path).as_str(), rescue_if_moved(&path, "rescued").unwrap()), ("ours", Rescue::Copied));
        assert_eq!(text(&run.join("rescued")), "ours");
        fs::write(&path, "theirs").unwrap();
        fs::remove_file(run.join("rescued")).unwrap();
        assert_eq!((text(&path).as_str(), rescue_if_moved(&path, "rescued").unwrap()), ("ours", Rescue::Copied));
        remove_file(&path).unwrap();
        assert!(open_named_file(&path).is_err(), "a file that was removed by us is forgotten");
        fs::remove_dir_all(&run).unwrap();
        assert!(create_file(&run.join("verdict.json"), b"").is_err(), "the directory is not there any more");
        assert_eq!(moved_directory(&run), Some(PathBuf::new()));
    }

    #[test]
    fn a_directory_is_held_once_and_no_name_leads_out_of_it() {
        let place = tempfile::tempdir().unwrap();
        let (run, other) = (place.path().join("run"), place.path().join("other"));
        let held = make_directory(&run).unwrap();
        std::os::unix::fs::symlink(&run, &other).unwrap();
        assert_eq!(hold_directory(&other).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(hold_directory(&run).unwrap());
        assert_eq!(hold_directory(&other).unwrap_err().kind(), io::ErrorKind::WouldBlock, "it is held still");
        std::os::unix::fs::symlink(place.path(), run.join("out")).unwrap();
        for path in [run.join("out/file"), run.join("../file"), run.join("out/../file")] {
            assert!(create_file(&path, b"").is_err(), "{}", path.display());
        }
        drop(held);
        drop(hold_directory(&other).unwrap());
        assert_eq!(fs::read_dir(&run).unwrap().count(), 1);
    }
}
