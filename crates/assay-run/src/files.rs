//! Creates the program's own files, and opens files that the user names for reading. No other module does either.
//!
//! A directory in which this process works is held, and so are the files that it writes there (`held`): whatever their names
//! lead to later, they are the ones that are read and added to.
//!
//! A path can be dangerous: it may be a symbolic link to a mounted disk, a FIFO that nobody reads, or a hard link to a file of
//! another user. Therefore a directory is opened once, and every operation in it is relative to that descriptor. A file is
//! written under a new temporary name, made durable, and then renamed. The old file stays until the rename, whatever fails,
//! and a rename does not follow links. Only a regular file with one name is ever replaced or appended to. The file type is
//! checked first, so that the error can say what is in the way; what appears there after the check is only unlinked by name.
//!
//! Targets are opened elsewhere, by the safety gate (`assay_device::safety`). `clippy.toml` bans every other
//! way to open a file for writing.

#![allow(clippy::disallowed_methods, reason = "the one place that opens files of ours")]

mod dir;
mod held;
pub mod sum;

use dir::{Dir, OURS, describe_obstacle, file_kind, in_the_way};
pub use held::HeldDirectory;
use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// File system of the pipes that have no name (`PIPEFS_MAGIC`).
const PIPES: u64 = 0x5049_5045;

/// Writes `bytes` to `path` and replaces a file that is there. The old file stays until the new one is complete and durable.
///
/// # Errors
/// Something other than a regular file is at `path`, or the kernel's error. Nothing has changed then.
pub fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    let before = dir.stat_regular_file(name)?;
    dir.write_file(name, bytes, before.map(|stat| Mode::from_raw_mode(stat.st_mode)), before.is_some())
}

/// The same, with these permissions.
///
/// # Errors
/// As [`replace_file`].
pub(crate) fn replace_with(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    let over = dir.stat_regular_file(name)?.is_some();
    dir.write_file(name, bytes, Some(Mode::from_raw_mode(mode)), over)
}

/// Creates a new file that holds `bytes`, complete and durable. An existing file is never overwritten.
///
/// # Errors
/// Something with this name exists, or the kernel's error. No partial file is left.
pub fn create_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    new(path, bytes, None)
}

/// The same, with these permissions.
///
/// # Errors
/// As [`create_file`].
pub fn create_with(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    new(path, bytes, Some(Mode::from_raw_mode(mode)))
}

fn new(path: &Path, bytes: &[u8], mode: Option<Mode>) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    match dir.stat_entry(name)? {
        Some(stat) => Err(dir.name_is_taken(name, &stat)),
        None => dir.write_file(name, bytes, mode, false),
    }
}

/// Creates a new, empty file for appending.
///
/// # Errors
/// Something with this name exists, or the kernel's error.
pub fn begin_file(path: &Path) -> io::Result<File> {
    let (dir, name) = Dir::open_parent(path)?;
    let flags = OURS | OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
    match dir.open_entry(name, flags) {
        Err(Errno::EXIST) => {
            Err(dir.stat_entry(name)?.map_or(Errno::EXIST.into(), |stat| dir.name_is_taken(name, &stat)))
        }
        Err(e) => Err(e.into()),
        Ok(file) => {
            // The directory entry must survive a power cut too. If the file system cannot sync directories, the first sync of
            // the file reports it.
            let _ = dir.sync_entries();
            held::remember_begun(path, &file)?;
            Ok(file)
        }
    }
}

/// Creates a directory that must not exist, and holds it.
///
/// # Errors
/// `AlreadyExists`, or the kernel's error.
pub fn make_directory(path: &Path) -> io::Result<HeldDirectory> {
    let (dir, name) = Dir::open_parent(path)?;
    rustix::fs::mkdirat(&dir.fd, name, Mode::from_bits_retain(0o777))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    held::hold_open_directory(path, rustix::fs::openat(&dir.fd, name, flags, Mode::empty())?)
}

/// Creates a directory and those above it, as far as they do not exist.
///
/// # Errors
/// The kernel's error.
pub fn make_directories(path: &Path) -> io::Result<()> {
    match held::open_below_held(path) {
        // It is below a directory of ours, which exists.
        Some(opened) => opened.map(drop),
        None => std::fs::create_dir_all(path),
    }
}

/// Holds an existing directory, in which this process goes on.
///
/// # Errors
/// `WouldBlock`: another process works in it. Otherwise the kernel's error.
pub fn hold_directory(path: &Path) -> io::Result<HeldDirectory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = match held::open_below_held(held::parent_directory(path)) {
        Some(parent) => rustix::fs::openat(parent?, held::last_name(path)?, flags | OFlags::NOFOLLOW, Mode::empty()),
        None => rustix::fs::open(path, flags, Mode::empty()),
    };
    held::hold_open_directory(path, opened?)
}

/// Where a directory that this process holds is now, if its name does not lead to it any more; an empty path if
/// nothing does.
pub(crate) fn moved_directory(path: &Path) -> Option<PathBuf> {
    held::moved_to(path)
}

/// The names of the directories in a directory that have a file with this name, in their order.
pub fn directories_with(path: &Path, file: &str) -> Vec<PathBuf> {
    let Ok(dir) = Dir::open_directory(path) else { return Vec::new() };
    let Ok(entries) = dir.entry_names() else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        entries.into_iter().filter(|name| dir.has_file_in(name, file)).map(PathBuf::from).collect();
    found.sort();
    found
}

/// Removes a directory of ours if it is empty.
///
/// # Errors
/// The kernel's error.
pub fn remove_directory(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    Ok(rustix::fs::unlinkat(&dir.fd, name, AtFlags::REMOVEDIR)?)
}

/// Makes sure that a file that this process has begun still has its name. If somebody has moved, replaced or deleted it, a
/// copy gets the name `rescued` beside it.
///
/// # Errors
/// The copy cannot be written.
pub fn rescue_if_moved(path: &Path, rescued: &str) -> io::Result<Rescue> {
    let Some(begun) = held::stat_begun(path) else { return Ok(Rescue::NotNeeded) };
    let (dir, name) = Dir::open_parent(path)?;
    if dir.stat_entry(name)?.is_some_and(|named| begun.as_ref().is_ok_and(|begun| held::is_same(&named, begun))) {
        return Ok(Rescue::NotNeeded);
    }
    let Some(file) = held::open_begun(path) else { return Ok(Rescue::NotNeeded) };
    dir.put_copy(OsStr::new(rescued), &file?)?;
    Ok(Rescue::Copied)
}

/// The length of a file that this process has begun, whatever name it has by now; `None` if it has not.
pub(crate) fn length_of_begun(path: &Path) -> Option<u64> {
    let begun = held::stat_begun(path)?.ok()?;
    u64::try_from(begun.st_size).ok()
}

/// What [`rescue_if_moved`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rescue {
    /// The file has its name.
    NotNeeded,
    /// It has lost its name, and a copy was made.
    Copied,
}

/// Opens one of the program's own files for reading and appending. It must exist.
///
/// # Errors
/// `path` is not a regular file with one name, or the kernel's error.
pub fn open_to_append(path: &Path) -> io::Result<File> {
    let file = open_existing(path)?;
    held::remember_begun(path, &file)?;
    Ok(file)
}

/// Opens one of the program's own files, which must exist, for reading and appending.
///
/// # Errors
/// `path` is not a regular file with one name, or the kernel's error.
pub(crate) fn open_existing(path: &Path) -> io::Result<File> {
    existing_with(path, OFlags::RDWR | OFlags::APPEND)
}

/// Opens one of the program's own files, which must exist. It follows no link and never blocks.
fn existing_with(path: &Path, flags: OFlags) -> io::Result<File> {
    let (dir, name) = Dir::open_parent(path)?;
    dir.stat_regular_file(name)?;
    let file: File = dir.open_entry(name, OURS | flags)?;
    // Only the opened file counts: the path may name another file by now.
    match describe_obstacle(&rustix::fs::fstat(&file)?, None) {
        Some(what) => Err(in_the_way(&what)),
        None => Ok(file),
    }
}

/// Refuses early what could not be replaced later.
///
/// # Errors
/// What is in the way.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    dir.stat_regular_file(name).map(drop)
}

/// Removes one of the program's own files, if it exists.
///
/// # Errors
/// `path` is not a regular file, or the kernel's error.
pub fn remove_file(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    match dir.stat_regular_file(name)? {
        Some(_) => {
            held::forget_begun(path);
            Ok(rustix::fs::unlinkat(&dir.fd, name, AtFlags::empty())?)
        }
        None => Ok(()),
    }
}

/// Removes one of the program's own files; false where it is not there, because somebody else has removed it.
///
/// # Errors
/// `path` is not a regular file, or the kernel's error.
pub(crate) fn take_away(path: &Path) -> io::Result<bool> {
    let (dir, name) = Dir::open_parent(path)?;
    if dir.stat_regular_file(name)?.is_none() {
        return Ok(false);
    }
    match rustix::fs::unlinkat(&dir.fd, name, AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(false),
        other => other.map(|()| true).map_err(io::Error::from),
    }
}

/// Creates a directory, or accepts the existing one. A symbolic link to a directory is refused.
///
/// # Errors
/// Something else is at `path`, or the kernel's error.
pub fn ensure_directory(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    match rustix::fs::mkdirat(&dir.fd, name, Mode::from_bits_retain(0o777)) {
        Err(Errno::EXIST) => match dir.stat_entry(name)? {
            Some(stat) if file_kind(&stat) == FileType::Directory => Ok(()),
            Some(stat) => {
                Err(in_the_way(&describe_obstacle(&stat, dir.link_target(name)).unwrap_or_else(|| "a file".into())))
            }
            None => Err(Errno::EXIST.into()),
        },
        other => Ok(other?),
    }
}

/// Writes a value to an existing file of /sys or /proc that is a kernel setting. No file is created.
///
/// # Errors
/// The kernel's error.
pub fn set_kernel_value(path: &Path, value: &str) -> io::Result<()> {
    let (dir, name) = Dir::open_parent(path)?;
    dir.open_entry(name, OURS | OFlags::WRONLY | OFlags::TRUNC)?.write_all(value.as_bytes())
}

/// Opens one of the program's own files for reading. It follows no link and never blocks.
///
/// # Errors
/// `path` is not a regular file with one name, or the kernel's error.
pub fn open_own_file(path: &Path) -> io::Result<File> {
    if let Some(begun) = held::open_begun(path) {
        return begun;
    }
    existing_with(path, OFlags::RDONLY)
}

/// Reads one of the program's own files, at most `limit` bytes. It follows no link and never blocks.
///
/// # Errors
/// `path` is not a regular file with one name, it is larger than `limit`, or the kernel's error.
pub(crate) fn read_own_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_at_most(open_own_file(path)?, limit)
}

/// Opens a file that the user named for reading: a regular file, through links too, or an anonymous pipe that a shell has made
/// (`<(…)`). It never blocks, because a FIFO may never have a writer, and refuses devices, which may never end.
///
/// # Errors
/// `path` is something else, which the error names, or the kernel's error.
pub fn open_named_file(path: &Path) -> io::Result<File> {
    if let Some(begun) = held::open_begun(path) {
        return begun;
    }
    if let Some(directory) = held::open_below_held(held::parent_directory(path)) {
        return open_held(&directory?, held::last_name(path)?);
    }
    // The type is checked before opening, because opening alone can affect a device or the process at the other end of a FIFO.
    check_readable(&rustix::fs::stat(path)?, rustix::fs::statfs(path).is_ok_and(|fs| fs.f_type as u64 == PIPES))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let pipe = rustix::fs::fstatfs(&file).is_ok_and(|fs| fs.f_type as u64 == PIPES);
    check_readable(&rustix::fs::fstat(&file)?, pipe)?;
    if pipe {
        // The writer of an anonymous pipe is running, so blocking reads are safe.
        rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// Opens a file of ours in a directory that this process holds, for reading.
fn open_held(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    check_readable(&rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?, false)?;
    let file = File::from(rustix::fs::openat(directory, name, OURS | OFlags::RDONLY, Mode::empty())?);
    check_readable(&rustix::fs::fstat(&file)?, false)?;
    Ok(file)
}

/// Reads a file that the user named, at most `limit` bytes.
///
/// # Errors
/// It is not a regular file, it is larger than `limit`, or the kernel's error.
pub fn read_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    read_at_most(open_named_file(path)?, limit)
}

/// All bytes of a file, if these are at most `limit`.
fn read_at_most(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        Err(io::Error::other(format!("it is larger than {}", assay_base::Bytes::new(limit).human_text())))
    } else {
        Ok(bytes)
    }
}

/// Reads a text file that the user named, at most `limit` bytes.
///
/// # Errors
/// As [`read_file`], or it is not text.
pub fn read_text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read_file(path, limit)?).map_err(|_| io::Error::other("it is not text"))
}

fn check_readable(stat: &Stat, nameless: bool) -> io::Result<()> {
    match file_kind(stat) {
        FileType::RegularFile => Ok(()),
        FileType::Fifo if nameless => Ok(()),
        _ => Err(io::Error::other(format!(
            "it is not a regular file but {}",
            describe_obstacle(stat, None).unwrap_or_default()
        ))),
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
