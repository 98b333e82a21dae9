//! Operations relative to a directory that was opened once. None of them follows a link or overwrites a file of another program.
#![allow(clippy::disallowed_methods, reason = "with `files`, the one place that opens files of ours")]

use super::held;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Permissions of a new file, before the user's mask.
const NEW: Mode = Mode::from_bits_retain(0o666);
/// Flags with which every one of the program's own files is opened.
pub(super) const OURS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

/// A directory that was opened once.
pub(super) struct Dir {
    pub(super) fd: OwnedFd,
}

impl Dir {
    /// The directory of a path, and the name in it.
    pub(super) fn open_parent(path: &Path) -> io::Result<(Dir, &OsStr)> {
        Ok((Dir::open_directory(held::parent_directory(path))?, held::last_name(path)?))
    }

    /// The directory with this path: the one that this process holds, or is below it, or the one that is there now.
    pub(super) fn open_directory(path: &Path) -> io::Result<Dir> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = match held::open_below_held(path) {
            Some(opened) => opened?,
            None => rustix::fs::open(path, flags, Mode::empty())?,
        };
        Ok(Dir { fd })
    }

    pub(super) fn open_entry(&self, name: &OsStr, flags: OFlags) -> Result<File, Errno> {
        rustix::fs::openat(&self.fd, name, flags, NEW).map(File::from)
    }

    /// The entry with this name itself; a link is not followed.
    pub(super) fn stat_entry(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The path that a symbolic link leads to.
    pub(super) fn link_target(&self, name: &OsStr) -> Option<PathBuf> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new()).ok()?;
        Some(PathBuf::from(OsString::from(String::from_utf8_lossy(target.as_bytes()).into_owned())))
    }

    /// The regular file with one name that is there; `None` if there is nothing.
    pub(super) fn stat_regular_file(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let Some(stat) = self.stat_entry(name)? else { return Ok(None) };
        match describe_obstacle(&stat, self.link_target(name)) {
            Some(what) => Err(in_the_way(&what)),
            None => Ok(Some(stat)),
        }
    }

    /// The names in it, without `.` and `..`.
    pub(super) fn entry_names(&self) -> io::Result<Vec<OsString>> {
        let readable = self.open_entry(OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC)?;
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::new(readable)? {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        Ok(names)
    }

    /// Whether a directory in it has a regular file with this name.
    pub(super) fn has_file_in(&self, directory: &OsStr, file: &str) -> bool {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let Ok(fd) = rustix::fs::openat(&self.fd, directory, flags, Mode::empty()) else { return false };
        Dir { fd }
            .stat_entry(OsStr::new(file))
            .is_ok_and(|stat| stat.is_some_and(|stat| file_kind(&stat) == FileType::RegularFile))
    }

    pub(super) fn name_is_taken(&self, name: &OsStr, stat: &Stat) -> io::Error {
        let what = describe_obstacle(stat, self.link_target(name)).map_or(String::new(), |what| format!(", as {what}"));
        let text = format!("it is there already{what}, and existing files are never overwritten");
        io::Error::new(io::ErrorKind::AlreadyExists, text)
    }

    /// Writes a copy of a file to a temporary name and renames it when all data are durable. Nothing is overwritten.
    pub(super) fn put_copy(&self, name: &OsStr, mut from: &File) -> io::Result<()> {
        let mut half = UnfinishedFile::new(self)?;
        io::copy(&mut from, &mut half.file)?;
        half.file.sync_all()?;
        half.rename_to(name, false)?;
        self.sync_entries()
    }

    /// Writes to a temporary name and renames when all data are durable; `over` says whether an existing file may be replaced.
    pub(super) fn write_file(&self, name: &OsStr, bytes: &[u8], mode: Option<Mode>, over: bool) -> io::Result<()> {
        let mut half = UnfinishedFile::new(self)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&half.file, mode)?;
        }
        half.file.write_all(bytes)?;
        // If the new name reached the disk before the data, a crash would leave an empty file.
        half.file.sync_all()?;
        half.rename_to(name, over)?;
        self.sync_entries()
    }

    /// Makes the directory's entries durable.
    pub(super) fn sync_entries(&self) -> io::Result<()> {
        match self.open_entry(OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC) {
            // A directory that is writable but not readable cannot be synced.
            Err(Errno::ACCESS) => Ok(()),
            Err(e) => Err(e.into()),
            Ok(dir) => match rustix::fs::fsync(&dir) {
                // Some FUSE file systems do not support syncing a directory.
                Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
                other => Ok(other?),
            },
        }
    }
}

/// A temporary file that is not complete yet. It is removed on drop unless it was renamed.
pub(super) struct UnfinishedFile<'a> {
    dir: &'a Dir,
    pub(super) name: OsString,
    pub(super) file: File,
    pub(super) taken: bool,
}

impl<'a> UnfinishedFile<'a> {
    pub(super) fn new(dir: &'a Dir) -> io::Result<UnfinishedFile<'a>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".assay-{}-{number}.new", std::process::id()));
            match dir.open_entry(&name, OURS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL) {
                Ok(file) => return Ok(UnfinishedFile { dir, name, file, taken: false }),
                // It was left by a killed process or made by somebody else, so it must not be touched.
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Renames to the final name: over the existing file, or only if there is none.
    pub(super) fn rename_to(&mut self, name: &OsStr, over: bool) -> io::Result<()> {
        let Dir { fd } = self.dir;
        if over {
            rustix::fs::renameat(fd, &self.name, fd, name)?;
        } else {
            match rustix::fs::renameat_with(fd, &self.name, fd, name, RenameFlags::NOREPLACE) {
                // A file system that cannot promise that: the name is claimed first, and what we claimed is replaced.
                Err(Errno::INVAL | Errno::NOSYS) => self.claim_name(name)?,
                other => other?,
            }
        }
        self.taken = true;
        Ok(())
    }

    pub(super) fn claim_name(&self, name: &OsStr) -> io::Result<()> {
        let Dir { fd } = self.dir;
        drop(self.dir.open_entry(name, OURS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?);
        rustix::fs::renameat(fd, &self.name, fd, name).map_err(|e| {
            // It is empty, and ours.
            let _ = rustix::fs::unlinkat(fd, name, AtFlags::empty());
            e.into()
        })
    }
}

impl Drop for UnfinishedFile<'_> {
    fn drop(&mut self) {
        if !self.taken {
            let _ = rustix::fs::unlinkat(&self.dir.fd, &self.name, AtFlags::empty());
        }
    }
}

pub(super) fn file_kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// Says in words what is in the way; `None` for a regular file with one name.
pub(super) fn describe_obstacle(stat: &Stat, target: Option<PathBuf>) -> Option<String> {
    Some(match file_kind(stat) {
        FileType::RegularFile if stat.st_nlink <= 1 => return None,
        FileType::RegularFile => format!("one of {} names (hard links) of a file", stat.st_nlink),
        FileType::Symlink => match target {
            Some(target) => format!("a symbolic link to {:?}", target),
            None => "a symbolic link".to_owned(),
        },
        FileType::Directory => "a directory".to_owned(),
        FileType::Fifo => "a FIFO".to_owned(),
        FileType::Socket => "a socket".to_owned(),
        FileType::BlockDevice => format!("a block device ({})", number_of(stat)),
        FileType::CharacterDevice => format!("a character device ({})", number_of(stat)),
        FileType::Unknown => "something unknown".to_owned(),
    })
}

/// The number of a device, such as 8:16.
fn number_of(stat: &Stat) -> String {
    format!("{}:{}", rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev))
}

pub(super) fn in_the_way(what: &str) -> io::Error {
    let text = format!("{what} has its name, and only an ordinary file of our own is written; remove it");
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}
