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

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Permissions of a new file, before the user's mask.
const NEW: Mode = Mode::from_bits_retain(0o666);
/// What opens a file of ours, whatever else.
const OURS: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
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
/// It is no file, it is larger, or what the kernel said.
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
        _ => Err(io::Error::other(format!("it is no file but {}", obstacle(stat, None).unwrap_or_default()))),
    }
}

/// A directory that was opened once.
struct Dir {
    fd: OwnedFd,
}

impl Dir {
    /// The directory of a path, and the name in it.
    fn of(path: &Path) -> io::Result<(Dir, &OsStr)> {
        let name = path.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let fd = rustix::fs::open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok((Dir { fd }, name))
    }

    fn open(&self, name: &OsStr, flags: OFlags) -> Result<File, Errno> {
        rustix::fs::openat(&self.fd, name, flags, NEW).map(File::from)
    }

    /// What has the name, itself and not what it leads to.
    fn stat(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Where a symbolic link leads.
    fn target(&self, name: &OsStr) -> Option<PathBuf> {
        let target = rustix::fs::readlinkat(&self.fd, name, Vec::new()).ok()?;
        Some(PathBuf::from(OsString::from(String::from_utf8_lossy(target.as_bytes()).into_owned())))
    }

    /// The ordinary file with one name that is there, if anything is.
    fn ordinary(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        let Some(stat) = self.stat(name)? else { return Ok(None) };
        match obstacle(&stat, self.target(name)) {
            Some(what) => Err(in_the_way(&what)),
            None => Ok(Some(stat)),
        }
    }

    fn taken(&self, name: &OsStr, stat: &Stat) -> io::Error {
        let what = obstacle(stat, self.target(name)).map_or(String::new(), |what| format!(", as {what}"));
        let text = format!("it is there already{what}, and existing files are never overwritten");
        io::Error::new(io::ErrorKind::AlreadyExists, text)
    }

    /// Writes under a name of its own and takes the name when all is durable; `over` is the file that may be replaced.
    fn put(&self, name: &OsStr, bytes: &[u8], mode: Option<Mode>, over: bool) -> io::Result<()> {
        let mut half = Half::new(self)?;
        if let Some(mode) = mode {
            rustix::fs::fchmod(&half.file, mode)?;
        }
        half.file.write_all(bytes)?;
        // A name that reaches the disk before the data is that of an empty file.
        half.file.sync_all()?;
        half.take(name, over)?;
        self.sync()
    }

    /// Makes durable which names it holds.
    fn sync(&self) -> io::Result<()> {
        match self.open(OsStr::new("."), OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC) {
            // A directory that may be written and not read cannot be synced.
            Err(Errno::ACCESS) => Ok(()),
            Err(e) => Err(e.into()),
            Ok(dir) => match rustix::fs::fsync(&dir) {
                // Some file systems in user space know no sync of a directory.
                Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
                other => Ok(other?),
            },
        }
    }
}

/// A file that is not yet whole; it goes again unless it takes a name.
struct Half<'a> {
    dir: &'a Dir,
    name: OsString,
    file: File,
    taken: bool,
}

impl<'a> Half<'a> {
    fn new(dir: &'a Dir) -> io::Result<Half<'a>> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        for _ in 0..1000 {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".assay-{}-{number}.new", std::process::id()));
            match dir.open(&name, OURS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL) {
                Ok(file) => return Ok(Half { dir, name, file, taken: false }),
                // Left by a process that was killed, or laid there by somebody: it is not ours to touch.
                Err(Errno::EXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Errno::EXIST.into())
    }

    /// Takes its name: over the file that is there, or only where nothing is.
    fn take(&mut self, name: &OsStr, over: bool) -> io::Result<()> {
        let Dir { fd } = self.dir;
        if over {
            rustix::fs::renameat(fd, &self.name, fd, name)?;
        } else {
            match rustix::fs::renameat_with(fd, &self.name, fd, name, RenameFlags::NOREPLACE) {
                // A file system that cannot promise that: the name is claimed first, and what we claimed is replaced.
                Err(Errno::INVAL | Errno::NOSYS) => self.claim(name)?,
                other => other?,
            }
        }
        self.taken = true;
        Ok(())
    }

    fn claim(&self, name: &OsStr) -> io::Result<()> {
        let Dir { fd } = self.dir;
        drop(self.dir.open(name, OURS | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?);
        rustix::fs::renameat(fd, &self.name, fd, name).map_err(|e| {
            // It is empty, and ours.
            let _ = rustix::fs::unlinkat(fd, name, AtFlags::empty());
            e.into()
        })
    }
}

impl Drop for Half<'_> {
    fn drop(&mut self) {
        if !self.taken {
            let _ = rustix::fs::unlinkat(&self.dir.fd, &self.name, AtFlags::empty());
        }
    }
}

fn kind(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}

/// What lies there, in words; `None` for an ordinary file with one name.
fn obstacle(stat: &Stat, target: Option<PathBuf>) -> Option<String> {
    let device = || format!("{}:{}", rustix::fs::major(stat.st_rdev), rustix::fs::minor(stat.st_rdev));
    Some(match kind(stat) {
        FileType::RegularFile if stat.st_nlink <= 1 => return None,
        FileType::RegularFile => format!("one of {} names (hard links) of a file", stat.st_nlink),
        FileType::Symlink => match target {
            Some(target) => format!("a symbolic link to {:?}", target),
            None => "a symbolic link".to_owned(),
        },
        FileType::Directory => "a directory".to_owned(),
        FileType::Fifo => "a FIFO".to_owned(),
        FileType::Socket => "a socket".to_owned(),
        FileType::BlockDevice => format!("a block device ({})", device()),
        FileType::CharacterDevice => format!("a character device ({})", device()),
        FileType::Unknown => "something unknown".to_owned(),
    })
}

fn in_the_way(what: &str) -> io::Error {
    let text = format!("{what} has its name, and only an ordinary file of our own is written; remove it");
    io::Error::new(io::ErrorKind::AlreadyExists, text)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
