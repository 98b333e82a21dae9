//! Creates the program's own files, and opens files that the user names for reading. No other module does either.
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

use dir::{Dir, OURS, in_the_way, kind, obstacle};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// File system of the pipes that have no name (`PIPEFS_MAGIC`).
const PIPES: u64 = 0x5049_5045;

/// Writes `bytes` to `path` and replaces a file that is there. The old file stays until the new one is complete and durable.
///
/// # Errors
/// Something other than a regular file is at `path`, or the kernel's error. Nothing has changed then.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    let before = dir.ordinary(name)?;
    dir.put(name, bytes, before.map(|stat| Mode::from_raw_mode(stat.st_mode)), before.is_some())
}

/// The same, with these permissions.
///
/// # Errors
/// As [`replace`].
pub(crate) fn replace_with(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    let over = dir.ordinary(name)?.is_some();
    dir.put(name, bytes, Some(Mode::from_raw_mode(mode)), over)
}

/// Creates a new file that holds `bytes`, complete and durable. An existing file is never overwritten.
///
/// # Errors
/// Something with this name exists, or the kernel's error. No partial file is left.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    new(path, bytes, None)
}

/// The same, with these permissions.
///
/// # Errors
/// As [`create`].
pub fn create_with(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    new(path, bytes, Some(Mode::from_raw_mode(mode)))
}

fn new(path: &Path, bytes: &[u8], mode: Option<Mode>) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    match dir.stat(name)? {
        Some(stat) => Err(dir.taken(name, &stat)),
        None => dir.put(name, bytes, mode, false),
    }
}

/// Creates a new, empty file for appending.
///
/// # Errors
/// Something with this name exists, or the kernel's error.
pub fn begin(path: &Path) -> io::Result<File> {
    let (dir, name) = Dir::of(path)?;
    let flags = OURS | OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
    match dir.open(name, flags) {
        Err(Errno::EXIST) => Err(dir.stat(name)?.map_or(Errno::EXIST.into(), |stat| dir.taken(name, &stat))),
        Err(e) => Err(e.into()),
        Ok(file) => {
            // The directory entry must survive a power cut too. If the file system cannot sync directories, the first sync of
            // the file reports it.
            let _ = dir.sync();
            Ok(file)
        }
    }
}

/// Opens one of the program's own files for reading and appending. It must exist.
///
/// # Errors
/// `path` is not a regular file with one name, or the kernel's error.
pub fn go_on(path: &Path) -> io::Result<File> {
    existing(path, OFlags::RDWR | OFlags::APPEND)
}

/// Opens one of the program's own files, which must exist. It follows no link and never blocks.
fn existing(path: &Path, flags: OFlags) -> io::Result<File> {
    let (dir, name) = Dir::of(path)?;
    dir.ordinary(name)?;
    let file: File = dir.open(name, OURS | flags)?;
    // Only the opened file counts: the path may name another file by now.
    match obstacle(&rustix::fs::fstat(&file)?, None) {
        Some(what) => Err(in_the_way(&what)),
        None => Ok(file),
    }
}

/// Refuses early what could not be replaced later.
///
/// # Errors
/// What is in the way.
pub fn check(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    dir.ordinary(name).map(drop)
}

/// Removes one of the program's own files, if it exists.
///
/// # Errors
/// `path` is not a regular file, or the kernel's error.
pub fn remove(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    match dir.ordinary(name)? {
        Some(_) => Ok(rustix::fs::unlinkat(&dir.fd, name, AtFlags::empty())?),
        None => Ok(()),
    }
}

/// Creates a directory, or accepts the existing one. A symbolic link to a directory is refused.
///
/// # Errors
/// Something else is at `path`, or the kernel's error.
pub fn directory(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    match rustix::fs::mkdirat(&dir.fd, name, Mode::from_bits_retain(0o777)) {
        Err(Errno::EXIST) => match dir.stat(name)? {
            Some(stat) if kind(&stat) == FileType::Directory => Ok(()),
            Some(stat) => Err(in_the_way(&obstacle(&stat, dir.target(name)).unwrap_or_else(|| "a file".into()))),
            None => Err(Errno::EXIST.into()),
        },
        other => Ok(other?),
    }
}

/// Writes a value to an existing file of /sys or /proc that is a kernel setting. No file is created.
///
/// # Errors
/// The kernel's error.
pub fn set(path: &Path, value: &str) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    dir.open(name, OURS | OFlags::WRONLY | OFlags::TRUNC)?.write_all(value.as_bytes())
}

/// Opens one of the program's own files for reading. It follows no link and never blocks.
///
/// # Errors
/// `path` is not a regular file with one name, or the kernel's error.
pub fn look(path: &Path) -> io::Result<File> {
    existing(path, OFlags::RDONLY)
}

/// Opens a file that the user named for reading: a regular file, through links too, or an anonymous pipe that a shell has made
/// (`<(…)`). It never blocks, because a FIFO may never have a writer, and refuses devices, which may never end.
///
/// # Errors
/// `path` is something else, which the error names, or the kernel's error.
pub fn open(path: &Path) -> io::Result<File> {
    // The type is checked before opening, because opening alone can affect a device or the process at the other end of a FIFO.
    let nameless = |fs: rustix::fs::StatFs| fs.f_type as u64 == PIPES;
    readable(&rustix::fs::stat(path)?, rustix::fs::statfs(path).is_ok_and(nameless))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let pipe = rustix::fs::fstatfs(&file).is_ok_and(nameless);
    readable(&rustix::fs::fstat(&file)?, pipe)?;
    if pipe {
        // The writer of an anonymous pipe is running, so blocking reads are safe.
        rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// Reads a file that the user named, at most `limit` bytes.
///
/// # Errors
/// It is not a regular file, it is larger than `limit`, or the kernel's error.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(io::Error::other(format!("it is larger than {}", assay_base::Bytes::new(limit).human()))),
        false => Ok(bytes),
    }
}

/// Reads a text file that the user named, at most `limit` bytes.
///
/// # Errors
/// As [`read`], or it is not text.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    String::from_utf8(read(path, limit)?).map_err(|_| io::Error::other("it is not text"))
}

fn readable(stat: &Stat, nameless: bool) -> io::Result<()> {
    match kind(stat) {
        FileType::RegularFile => Ok(()),
        FileType::Fifo if nameless => Ok(()),
        _ => {
            Err(io::Error::other(format!("it is not a regular file but {}", obstacle(stat, None).unwrap_or_default())))
        }
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
