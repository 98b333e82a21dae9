//! The gate in front of a database file: nothing is opened for writing except through a [`Permit`], which only this
//! module makes.
//!
//! A file is used if it does not exist, is empty, or says in its header that it is ours. The header is read here, without
//! SQLite, because SQLite may write to a file as soon as it opens it: a journal beside it would be played back.

use super::schema::APPLICATION_ID;
use super::turns::{Turn, Turns};
use crate::trouble::Trouble;
use assay_base::text::one_line;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The beginning of every database of SQLite.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Where the header has the number of the application, and how long the header is.
const APPLICATION_AT: usize = 68;
const HEADER: usize = 100;

/// The numbers of a file and of its file system. As long as the file is open no other one gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn from_descriptor(descriptor: &OwnedFd) -> rustix::io::Result<FileId> {
        rustix::fs::fstat(descriptor).map(|facts| FileId { device: facts.st_dev, inode: facts.st_ino })
    }

    /// The file at a path, or none. A link is not followed.
    fn at_path(path: &Path) -> rustix::io::Result<Option<FileId>> {
        match rustix::fs::lstat(path) {
            Ok(facts) => Ok(Some(FileId { device: facts.st_dev, inode: facts.st_ino })),
            Err(Errno::NOENT) => Ok(None),
            Err(why) => Err(why),
        }
    }
}

/// The right to write to a file, for as long as it exists. Another Assay gets none meanwhile.
#[derive(Debug)]
pub struct Permit {
    path: PathBuf,
    /// Holds the lock; see the head of `sqlite/mod.rs` for why it stays open.
    descriptor: OwnedFd,
    /// Whether the file has no content yet.
    blank: bool,
    /// The order in which sessions write.
    turns: Turns,
}

/// A path as it may be shown.
pub(super) fn displayed_path(path: &Path) -> String {
    one_line(path.display())
}

impl Permit {
    /// For a load: the file is created if it does not exist.
    pub fn to_load(path: &Path) -> Result<Permit, Trouble> {
        let path = resolve_parent(path)?;
        only_a_file(&path)?;
        match open_file(&path, OFlags::empty()) {
            Err(Errno::NOENT) => {
                no_leftovers(&path)?;
                let created =
                    open_file(&path, OFlags::CREATE | OFlags::EXCL).map_err(|why| unopened_file(&path, why))?;
                Permit::examine_file(path, created)
            }
            opened => Permit::examine_file(path.clone(), opened.map_err(|why| unopened_file(&path, why))?),
        }
    }

    /// For everything else: the file must exist and be ours.
    pub fn to_use(path: &Path) -> Result<Permit, Trouble> {
        let path = resolve_parent(path)?;
        only_a_file(&path)?;
        let opened = open_file(&path, OFlags::empty()).map_err(|why| match why {
            Errno::NOENT => {
                Trouble::not_ready(format!("{} does not exist: load it with assay prep", displayed_path(&path)))
            }
            why => unopened_file(&path, why),
        })?;
        let permit = Permit::examine_file(path, opened)?;
        if permit.blank {
            return Err(Trouble::not_ready(format!("{} is empty: load it with assay prep", permit.display_name())));
        }
        Ok(permit)
    }

    fn examine_file(path: PathBuf, descriptor: OwnedFd) -> Result<Permit, Trouble> {
        let at = displayed_path(&path);
        let facts = rustix::fs::fstat(&descriptor).map_err(|why| unopened_file(&path, why))?;
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
            return Err(Trouble::refused_for_safety(format!(
                "{at} is not a regular file: name a file for the database"
            )));
        }
        if facts.st_nlink != 1 {
            return Err(Trouble::refused_for_safety(format!(
                "{at} has {} names (hard links): name a file of its own",
                facts.st_nlink
            )));
        }
        rustix::fs::flock(&descriptor, FlockOperation::NonBlockingLockExclusive).map_err(|why| match why {
            Errno::WOULDBLOCK => {
                Trouble::refused_for_safety(format!("{at} is in use by another Assay: wait until it has ended"))
            }
            why => unopened_file(&path, why),
        })?;
        // Only after the lock: until then another Assay may be writing the first page.
        let blank = is_blank(&path, &descriptor)?;
        Ok(Permit { path, descriptor, blank, turns: Turns::default() })
    }

    /// Waits until the sessions that came before have written.
    pub(super) fn wait_for_turn(&self) -> Turn<'_> {
        self.turns.wait_for_turn()
    }

    /// The file, as an absolute path.
    pub(super) fn absolute_path(&self) -> &Path {
        &self.path
    }
    /// The file as a URI by which SQLite reads it. Without a log beside the file nothing can change it, because nobody
    /// else has it open; SQLite is told so, or it would make a log, which it then leaves there.
    pub(super) fn looked_at(&self) -> String {
        let is_whole = rustix::fs::lstat(path_beside(&self.path, LOG)).is_ok_and(|log| log.st_size > 0);
        let bytes = self.path.as_os_str().as_bytes().iter();
        let escaped = bytes.map(|byte| {
            let is_plain = byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
            if is_plain { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
        });
        format!("file:{}{}", escaped.collect::<String>(), if is_whole { "" } else { "?immutable=1" })
    }

    /// The file, as it may be shown.
    pub(super) fn display_name(&self) -> String {
        displayed_path(&self.path)
    }
    /// Whether there is nothing in the file.
    pub(super) fn is_blank_file(&self) -> bool {
        self.blank
    }
    /// The open file, for questions about it.
    pub(super) fn file_descriptor(&self) -> &OwnedFd {
        &self.descriptor
    }

    /// Whether the path still leads to the file that was examined.
    pub(super) fn is_still_there(&self) -> bool {
        matches!((FileId::from_descriptor(&self.descriptor), FileId::at_path(&self.path)), (Ok(ours), Ok(Some(there))) if ours == there)
    }

    /// Makes sure that the name leads to the file that this permit was given for, which the sessions of a run have written,
    /// and to the log that they have written beside it.
    ///
    /// # Errors
    /// Damaged: somebody has deleted, moved or replaced one of them, so that what was committed is not there.
    pub fn leads_to_what_was_written(&self, log: Option<FileId>) -> Result<(), Trouble> {
        self.is_the_file(&self.path, FileId::from_descriptor(&self.descriptor))?;
        match log {
            Some(log) => self.is_the_file(&path_beside(&self.path, LOG), Ok(log)),
            None => Ok(()),
        }
    }

    /// The log beside the file, where there is one: it stays the same as long as a connection is open.
    pub fn log_identity(&self) -> Option<FileId> {
        FileId::at_path(&path_beside(&self.path, LOG)).ok().flatten()
    }

    fn is_the_file(&self, path: &Path, written: rustix::io::Result<FileId>) -> Result<(), Trouble> {
        let unknown = |why: Errno| Trouble::host_unable(format!("{} cannot be examined: {why}", displayed_path(path)));
        let what = match FileId::at_path(path).map_err(unknown)? {
            Some(there) if there == written.map_err(unknown)? => return Ok(()),
            Some(_) => "was replaced by another file",
            None => "was deleted or moved",
        };
        Err(Trouble::damaged_database(format!(
            "{} {what} during the run: what was committed since is not in {}",
            displayed_path(path),
            self.display_name()
        )))
    }

    /// What tells the file from another one that gets its name: its number, and when it was made, because numbers are used
    /// again.
    pub fn file_identity(&self) -> Option<String> {
        let facts = rustix::fs::statx(
            &self.descriptor,
            "",
            rustix::fs::AtFlags::EMPTY_PATH,
            rustix::fs::StatxFlags::INO | rustix::fs::StatxFlags::BTIME,
        )
        .ok()?;
        let made = (facts.stx_mask & rustix::fs::StatxFlags::BTIME.bits() != 0)
            .then(|| format!(" of {}.{:09}", facts.stx_btime.tv_sec, facts.stx_btime.tv_nsec));
        Some(format!("{}{}", facts.stx_ino, made.unwrap_or_default()))
    }

    /// Writes the first content of a blank file at once, so that it is ours from its first byte. If that fails, the file
    /// is blank again.
    pub(super) fn fill_blank(&mut self, image: &[u8]) -> Result<(), Trouble> {
        assert!(self.blank, "only a blank file is filled");
        let written = write_all(&self.descriptor, image).and_then(|()| rustix::fs::fsync(&self.descriptor));
        let written = written.and_then(|()| sync_directory(&self.path));
        if let Err(why) = written {
            let _ = rustix::fs::ftruncate(&self.descriptor, 0);
            return Err(Trouble::host_unable(format!("{} cannot be written: {why}", self.display_name())));
        }
        self.blank = false;
        Ok(())
    }
}

fn write_all(descriptor: &OwnedFd, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        let written = rustix::io::write(descriptor, bytes)?;
        bytes = &bytes[written..];
    }
    Ok(())
}

/// Makes the name of a new file durable.
#[expect(clippy::disallowed_methods, reason = "a directory is opened to be synchronised, and nothing is written to it")]
fn sync_directory(path: &Path) -> rustix::io::Result<()> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    let directory = rustix::fs::open(parent, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::fs::fsync(directory)
}

/// The path without links in its directories. SQLite is told to follow none.
fn resolve_parent(path: &Path) -> Result<PathBuf, Trouble> {
    let Some(name) = path.file_name() else {
        return Err(Trouble::bad_usage(format!("{} names no file", displayed_path(path))));
    };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = parent.canonicalize().map_err(|why| {
        Trouble::host_unable(format!("the directory {} cannot be used: {why}: create it first", displayed_path(parent)))
    })?;
    Ok(directory.join(name))
}

#[expect(clippy::disallowed_methods, reason = "this is the gate: what it opens is examined before anything is written")]
fn open_file(path: &Path, how: OFlags) -> Result<OwnedFd, Errno> {
    // Without O_NONBLOCK the opening of a named pipe would wait.
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY | how;
    rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)
}

/// Refuses what is not a regular file before it is opened: to open a device may do something.
fn only_a_file(path: &Path) -> Result<(), Trouble> {
    let Ok(facts) = path.symlink_metadata() else { return Ok(()) };
    match facts.file_type() {
        kind if kind.is_symlink() => Err(unopened_file(path, Errno::LOOP)),
        kind if kind.is_dir() => Err(unopened_file(path, Errno::ISDIR)),
        kind if !kind.is_file() => Err(unopened_file(path, Errno::NXIO)),
        _ => Ok(()),
    }
}

fn unopened_file(path: &Path, why: Errno) -> Trouble {
    let at = displayed_path(path);
    match why {
        Errno::LOOP => Trouble::refused_for_safety(format!("{at} is a symbolic link: name the file itself")),
        Errno::ISDIR => Trouble::refused_for_safety(format!("{at} is a directory: name a file in it")),
        Errno::EXIST => {
            Trouble::refused_for_safety(format!("{at} was created by somebody else at this moment: try again"))
        }
        Errno::NXIO => Trouble::refused_for_safety(format!("{at} is not a regular file: name a file for the database")),
        why => Trouble::host_unable(format!("{at} cannot be opened: {why}")),
    }
}

/// The end of the name of the log beside a database.
const LOG: &str = "-wal";
/// The ends of the names of SQLite's own files beside a database.
const BESIDE: [&str; 3] = ["-journal", LOG, "-shm"];

/// The path of a file beside a database.
fn path_beside(path: &Path, end: &str) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(end);
    PathBuf::from(beside)
}

/// SQLite writes to the files beside a database without asking what they are: through a link it would destroy the file
/// of somebody.
fn only_own_files_beside(path: &Path) -> Result<(), Trouble> {
    for end in BESIDE {
        let beside = path_beside(path, end);
        let facts = match rustix::fs::lstat(&beside) {
            Ok(facts) => facts,
            Err(Errno::NOENT) => continue,
            Err(why) => {
                return Err(Trouble::host_unable(format!("{} cannot be examined: {why}", displayed_path(&beside))));
            }
        };
        let what = match FileType::from_raw_mode(facts.st_mode) {
            FileType::RegularFile if facts.st_nlink == 1 => continue,
            FileType::RegularFile => format!("has {} names (hard links)", facts.st_nlink),
            FileType::Symlink => "is a symbolic link".to_owned(),
            _ => "is not a regular file".to_owned(),
        };
        return Err(Trouble::refused_for_safety(format!(
            "{} {what}, and SQLite would write to it: look what it is, and move it away if it does not belong to {}",
            displayed_path(&beside),
            displayed_path(path)
        )));
    }
    Ok(())
}

/// Journals beside a file without content belong to another database, which SQLite would play back into ours.
fn no_leftovers(path: &Path) -> Result<(), Trouble> {
    for end in BESIDE {
        let beside = path_beside(path, end);
        if beside.symlink_metadata().is_ok() {
            let at = displayed_path(&beside);
            return Err(Trouble::refused_for_safety(format!(
                "{at} exists, which belongs to another database: move it away"
            )));
        }
    }
    Ok(())
}

/// Whether a file is blank; one that is neither blank nor ours is refused.
fn is_blank(path: &Path, descriptor: &OwnedFd) -> Result<bool, Trouble> {
    let mut header = [0; HEADER];
    let read = rustix::io::pread(descriptor, &mut header[..], 0).map_err(|why| unopened_file(path, why))?;
    if read == 0 {
        no_leftovers(path)?;
        return Ok(true);
    }
    let is_sqlite = read == HEADER && header.starts_with(MAGIC);
    let application = u32::from_be_bytes(std::array::from_fn(|at| header[APPLICATION_AT + at]));
    match (is_sqlite, application) {
        (true, APPLICATION_ID) => only_own_files_beside(path).map(|()| false),
        (true, _) => Err(foreign_file(path, "is a database of something else")),
        (false, _) => Err(foreign_file(path, "is not a database")),
    }
}

fn foreign_file(path: &Path, what: &str) -> Trouble {
    Trouble::refused_for_safety(format!("{} {what}, and is left as it is: name another file", displayed_path(path)))
}
