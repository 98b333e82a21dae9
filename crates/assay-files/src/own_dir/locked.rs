//! A directory of our own whose marker this process has locked, and what else an entry with such a name can be.

use super::directory::{Directory, Rules};
use super::maker::Maker;
use super::marker::{Content, Identity, LONGEST, MARKER, Marker};
use super::place::Place;
use super::resolve::{OwnMount, Resolution, StartingPoint};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat};
use rustix::io::Errno;
use std::ffi::CString;
use std::path::Path;

/// What the directory is wanted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To remove it.
    Remove,
    /// To say what it is.
    Look,
}

/// A directory of ours. The lock ends with the marker's descriptor.
#[derive(Debug)]
pub(super) struct LockedDirectory {
    pub(super) name: String,
    pub(super) directory: Directory,
    pub(super) marker: Marker,
    pub(super) marker_file: OwnedFd,
}

/// What an entry with the name of such a directory is.
#[derive(Debug)]
pub(super) enum Examined {
    /// One of ours that nobody uses.
    Ours(Box<LockedDirectory>),
    /// What a crash left before there was a whole marker: nothing else is in it. With the lock of what there is of one.
    Crash(Directory, Option<OwnedFd>),
    /// Another process has the lock.
    InUse(Option<Box<Marker>>),
    /// Not ours, and why.
    NotOurs(String),
    /// It is not there any more.
    Gone,
}

/// Examines an entry of a place by its name.
///
/// # Errors
/// The kernel's error.
pub(super) fn examine(place: &Place, name: &str, maker: &Maker, purpose: Purpose) -> Result<Examined, Errno> {
    for _ in 0..TRIES {
        if let Some(examined) = examine_once(place, name, maker, purpose)? {
            return Ok(examined);
        }
    }
    Ok(not_ours("has no marker ASSAYDIR"))
}

/// How often a directory is looked at that holds something, but no marker yet: it may just be made.
const TRIES: u32 = 5;

/// None for a directory that holds something and had no marker when it was looked for.
fn examine_once(place: &Place, name: &str, maker: &Maker, purpose: Purpose) -> Result<Option<Examined>, Errno> {
    let resolution = Resolution::detect(place);
    let start = StartingPoint { directory: place.as_fd(), mounts: place.mounts(), resolution };
    let opened = match start.open(Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()) {
        Ok(opened) => opened,
        Err(Errno::NOENT) => return Ok(Some(Examined::Gone)),
        Err(Errno::LOOP) => return Ok(Some(not_ours("is a symbolic link"))),
        Err(Errno::NOTDIR) => return Ok(Some(not_ours("is not a directory"))),
        Err(Errno::XDEV) => return Ok(Some(not_ours("is a mount point"))),
        Err(why) => return Err(why),
    };
    let facts = rustix::fs::fstat(&opened)?;
    let rules = Rules { resolution, mounts: OwnMount::around(&opened)?, owner: facts.st_uid };
    let directory = Directory::new(opened, rules);
    let examined = match open_marker(&directory, facts.st_uid, purpose)? {
        MarkerFile::Missing if facts.st_uid != maker.user => not_ours("belongs to another user"),
        MarkerFile::Missing if is_empty_but_for(&directory, None)? => Examined::Crash(directory, None),
        MarkerFile::Missing => return Ok(None),
        MarkerFile::Foreign(why) => not_ours(why),
        MarkerFile::Locked(file) => Examined::InUse(match Marker::read(&content_of(&file)?) {
            Content::Whole(marker) => Some(marker),
            _ => None,
        }),
        MarkerFile::Free(file) => examine_marker(Candidate { name, directory, file, facts }, maker)?,
    };
    Ok(Some(examined))
}

fn not_ours(why: &str) -> Examined {
    Examined::NotOurs(why.to_owned())
}

/// A directory and its marker, which this process has locked.
struct Candidate<'a> {
    name: &'a str,
    directory: Directory,
    file: OwnedFd,
    facts: Stat,
}

fn examine_marker(at: Candidate<'_>, maker: &Maker) -> Result<Examined, Errno> {
    let Candidate { name, directory, file, facts } = at;
    let marker = match Marker::read(&content_of(&file)?) {
        Content::Whole(marker) => *marker,
        Content::Torn if facts.st_uid == maker.user && is_empty_but_for(&directory, Some(MARKER))? => {
            return Ok(Examined::Crash(directory, Some(file)));
        }
        Content::Torn | Content::Other => return Ok(not_ours("has an ASSAYDIR that is no whole marker")),
    };
    if let Some(why) = marker.mismatch(identity_of(&directory)?, maker) {
        return Ok(Examined::NotOurs(why));
    }
    let device = rustix::fs::fstat(&file)?.st_dev;
    let directory = directory.with_device(device);
    let name = name.to_owned();
    Ok(Examined::Ours(Box::new(LockedDirectory { name, directory, marker, marker_file: file })))
}

/// What makes a directory known again.
pub(super) fn identity_of(directory: impl AsFd) -> Result<Identity, Errno> {
    let facts = rustix::fs::fstat(&directory)?;
    let file_system = rustix::fs::fstatvfs(&directory)?.f_fsid;
    Ok(Identity { device: facts.st_dev, file_system, inode: facts.st_ino, owner: facts.st_uid })
}

/// What there is in the place of a marker.
enum MarkerFile {
    Missing,
    Foreign(&'static str),
    /// Locked by another process.
    Locked(OwnedFd),
    /// Locked by this one.
    Free(OwnedFd),
}

fn open_marker(directory: &Directory, owner: u32, purpose: Purpose) -> Result<MarkerFile, Errno> {
    let (mode, lock) = match purpose {
        Purpose::Remove => (OFlags::RDWR, FlockOperation::NonBlockingLockExclusive),
        Purpose::Look => (OFlags::RDONLY, FlockOperation::NonBlockingLockShared),
    };
    match rustix::fs::statat(directory, MARKER, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(MarkerFile::Missing),
        Err(why) => return Err(why),
        // It was removed while it was looked up.
        Ok(facts) if facts.st_nlink == 0 => return Ok(MarkerFile::Missing),
        // Only a regular file is opened: to open a device may do something.
        Ok(facts) if !is_own_file(&facts, owner) => return Ok(MarkerFile::Foreign(NO_MARKER)),
        Ok(_) => {}
    }
    let file = match directory.open_careful(MARKER, mode) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(MarkerFile::Missing),
        Err(Errno::LOOP | Errno::XDEV) => return Ok(MarkerFile::Foreign(NO_MARKER)),
        Err(why) => return Err(why),
    };
    let is_free = match rustix::fs::flock(&file, lock) {
        Ok(()) => true,
        Err(Errno::WOULDBLOCK) => false,
        Err(why) => return Err(why),
    };
    // Only after the lock: until then whoever had it may have removed the marker.
    let facts = rustix::fs::fstat(&file)?;
    if facts.st_nlink == 0 {
        return Ok(MarkerFile::Missing);
    }
    if !is_own_file(&facts, owner) {
        return Ok(MarkerFile::Foreign(NO_MARKER));
    }
    Ok(if is_free { MarkerFile::Free(file) } else { MarkerFile::Locked(file) })
}

const NO_MARKER: &str = "has an ASSAYDIR that is not a file of its owner with one name";

fn is_own_file(facts: &Stat, owner: u32) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1 && facts.st_uid == owner
}

/// The content of a marker, as far as one can be long, and a byte more.
fn content_of(file: &OwnedFd) -> Result<Vec<u8>, Errno> {
    let mut bytes = vec![0; LONGEST + 1];
    let mut length = 0;
    while length < bytes.len() {
        match rustix::io::pread(file, &mut bytes[length..], length as u64)? {
            0 => break,
            read => length += read,
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Whether a directory holds nothing, or nothing but one name.
pub(super) fn is_empty_but_for(directory: &Directory, name: Option<&str>) -> Result<bool, Errno> {
    let mut others = 0;
    for_each_name(directory, |found| {
        others += usize::from(name.is_none_or(|name| found.as_bytes() != name.as_bytes()));
    })?;
    Ok(others == 0)
}

/// Calls a function with the name of each entry of a directory, from the first one on.
pub(super) fn for_each_name(directory: impl AsFd, mut act: impl FnMut(CString)) -> Result<(), Errno> {
    rustix::fs::seek(&directory, rustix::fs::SeekFrom::Start(0))?;
    let mut buffer = Vec::with_capacity(1 << 15);
    let mut entries = RawDir::new(directory.as_fd(), buffer.spare_capacity_mut());
    while let Some(entry) = entries.next() {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            act(name.to_owned());
        }
    }
    Ok(())
}
