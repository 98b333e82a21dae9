//! The one way in which the program makes files of its own, and opens those that somebody names.
//!
//! A name can lead anywhere: through a symbolic link onto a mounted disk, into a FIFO that nobody reads, to the second name of
//! somebody's file. So a directory is opened once, and all that happens in it is relative to it. A file is written under a name
//! of its own that nothing has yet, made durable, and renamed: what was there before stays until then, whatever fails, and a
//! rename never goes through a link. Only an ordinary file with one name is ever replaced or appended to; the kernel is asked
//! before, so that the user is told what lies in the way, and what is put there later is replaced by its name alone.
//!
//! Targets are not files of ours: those are opened by the safety gate (`assay_device::safety`). `clippy.toml` bans every other
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

/// Puts `bytes` where a file of ours may stand already; that one stays until the new one is whole and durable.
///
/// # Errors
/// What lies in the way if it is no ordinary file, or what the kernel said. Then everything is as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    let before = dir.ordinary(name)?;
    dir.put(name, bytes, before.map(|stat| Mode::from_raw_mode(stat.st_mode)), before.is_some())
}

/// The same, with these permissions.
///
/// # Errors
/// As [`replace`].
pub fn replace_with(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    let over = dir.ordinary(name)?.is_some();
    dir.put(name, bytes, Some(Mode::from_raw_mode(mode)), over)
}

/// Makes a new file of `bytes`, whole and durable. What is there already is never overwritten.
///
/// # Errors
/// Something has the name, or what the kernel said. Then nothing is left.
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

/// Makes a new, empty file that is appended to.
///
/// # Errors
/// Something has the name, or what the kernel said.
pub fn begin(path: &Path) -> io::Result<File> {
    let (dir, name) = Dir::of(path)?;
    let flags = OURS | OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
    match dir.open(name, flags) {
        Err(Errno::EXIST) => Err(dir.stat(name)?.map_or(Errno::EXIST.into(), |stat| dir.taken(name, &stat))),
        Err(e) => Err(e.into()),
        Ok(file) => {
            // The name itself must survive a power cut too; a file system that cannot promise that is told by the first sync.
            let _ = dir.sync();
            Ok(file)
        }
    }
}

/// Opens a file of ours to be read and appended to. It must be there.
///
/// # Errors
/// What lies in the way if it is no ordinary file with one name, or what the kernel said.
pub fn go_on(path: &Path) -> io::Result<File> {
    let (dir, name) = Dir::of(path)?;
    dir.ordinary(name)?;
    let file: File = dir.open(name, OURS | OFlags::RDWR | OFlags::APPEND)?;
    // What was opened is what counts: it may be another one by now.
    match obstacle(&rustix::fs::fstat(&file)?, None) {
        Some(what) => Err(in_the_way(&what)),
        None => Ok(file),
    }
}

/// Refuses what could not be replaced, long before it is to be.
///
/// # Errors
/// What lies in the way.
pub fn check(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    dir.ordinary(name).map(drop)
}

/// Removes a file of ours, if there is one.
///
/// # Errors
/// What lies in the way if it is no ordinary file, or what the kernel said.
pub fn remove(path: &Path) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    match dir.ordinary(name)? {
        Some(_) => Ok(rustix::fs::unlinkat(&dir.fd, name, AtFlags::empty())?),
        None => Ok(()),
    }
}

/// Makes a directory below one of ours, or takes the one that is there. A link to another one is not followed.
///
/// # Errors
/// What lies in the way, or what the kernel said.
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

/// Writes a value into a file that stands for a setting of the kernel. Nothing is made.
///
/// # Errors
/// What the kernel said.
pub fn set(path: &Path, value: &str) -> io::Result<()> {
    let (dir, name) = Dir::of(path)?;
    dir.open(name, OURS | OFlags::WRONLY | OFlags::TRUNC)?.write_all(value.as_bytes())
}

/// Opens a file of ours to be read. A link is not followed, and nothing is waited for.
///
/// # Errors
/// What lies in the way if it is no ordinary file with one name, or what the kernel said.
pub fn look(path: &Path) -> io::Result<File> {
    let (dir, name) = Dir::of(path)?;
    let file: File = dir.open(name, OURS | OFlags::RDONLY)?;
    match obstacle(&rustix::fs::fstat(&file)?, None) {
        Some(what) => Err(in_the_way(&what)),
        None => Ok(file),
    }
}

/// Opens what somebody named to be read: an ordinary file, by whatever link, or a pipe without a name, which a shell has made
/// (`<(…)`). Nothing is waited for: a FIFO may never have a writer, and a device may never end.
///
/// # Errors
/// What it is instead, or what the kernel said.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening alone can do something to a device, or to who waits at the other end of a FIFO.
    let nameless = |fs: rustix::fs::StatFs| fs.f_type as u64 == PIPES;
    readable(&rustix::fs::stat(path)?, rustix::fs::statfs(path).is_ok_and(nameless))?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let pipe = rustix::fs::fstatfs(&file).is_ok_and(nameless);
    readable(&rustix::fs::fstat(&file)?, pipe)?;
    if pipe {
        // Its writer is at work: this is waited for.
        rustix::fs::fcntl_setfl(&file, rustix::fs::fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    }
    Ok(file)
}

/// Reads what somebody named, at most `limit` bytes.
///
/// # Errors
/// It is not a regular file, it is larger, or what the kernel said.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(io::Error::other(format!("it is larger than {}", assay_base::Bytes::new(limit).human()))),
        false => Ok(bytes),
    }
}

/// Reads text that somebody named, at most `limit` bytes.
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
