//! A directory of our own whose marker this process has locked, and what else an entry with such a name can be.

use super::directory::{Directory, Rules};
use super::maker::Maker;
use super::marker::{Content, Identity, Lasting, MARKER, Marker};
use super::place::Place;
use super::resolve::{OwnMount, Resolution, StartingPoint};
use super::torn::LONGEST;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags, RawDir, Stat, StatxFlags};
use rustix::io::Errno;
use rustix::thread::{Timespec, nanosleep};
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
        let examined = examine_once(place, name, maker, purpose)?;
        if let (Some(Examined::Ours(ours)), Purpose::Look) = (&examined, purpose) {
            // It was known by its lock; from now on a cleaning need not wait for who lists.
            rustix::fs::flock(&ours.marker_file, FlockOperation::Unlock)?;
        }
        if let Some(examined) = examined {
            return Ok(examined);
        }
    }
    Ok(not_ours("has no marker ASSAYDIR, and something is in it: remove it by hand if nobody needs it"))
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
        Err(Errno::LOOP) => return Ok(Some(not_ours("is a symbolic link: remove it by hand if nobody needs it"))),
        Err(Errno::NOTDIR) => return Ok(Some(not_ours("is not a directory: remove it by hand if nobody needs it"))),
        Err(Errno::XDEV) => {
            return Ok(Some(not_ours("is a mount point: unmount what is mounted there, and repeat the command")));
        }
        Err(why) => return Err(why),
    };
    let facts = rustix::fs::fstat(&opened)?;
    if !place.mounts().has_device(facts.st_dev) {
        // A subvolume of btrfs is no mount, and `rmdir` removes an empty one (since Linux 4.18).
        return Ok(Some(not_ours("is a file system or a subvolume of its own: remove it by hand if nobody needs it")));
    }
    let rules = Rules { resolution, mounts: OwnMount::around(&opened)?, owner: facts.st_uid };
    let directory = Directory::new(opened, rules);
    let examined = match open_marker(&directory, facts.st_uid, purpose)? {
        MarkerFile::Missing if facts.st_uid != maker.user => {
            Examined::NotOurs(format!("belongs to the user {}: clean it as that user", facts.st_uid))
        }
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
        Content::Torn | Content::Other => {
            return Ok(not_ours("has an ASSAYDIR that is no whole marker: remove it by hand if nobody needs it"));
        }
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
    Ok(Identity {
        device: facts.st_dev,
        file_system: rustix::fs::fstatvfs(&directory)?.f_fsid,
        inode: facts.st_ino,
        owner: facts.st_uid,
        born: birth_of(&directory),
        lasting: Lasting::of_file_system(rustix::fs::fstatfs(&directory)?.f_type as u64),
    })
}

/// When something was made, in nanoseconds since 1970; none where the file system does not keep that.
fn birth_of(descriptor: impl AsFd) -> Option<u64> {
    let facts = rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    if facts.stx_mask & StatxFlags::BTIME.bits() == 0 {
        return None;
    }
    let seconds = u64::try_from(facts.stx_btime.tv_sec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(facts.stx_btime.tv_nsec.into())
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
    match rustix::fs::statat(directory, MARKER, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(MarkerFile::Missing),
        Err(why) => return Err(why),
        // It was removed while it was looked up.
        Ok(facts) if facts.st_nlink == 0 => return Ok(MarkerFile::Missing),
        // Only a regular file is opened: to open a device may do something.
        Ok(facts) if !is_own_file(&facts, owner) => return Ok(MarkerFile::Foreign(NO_MARKER)),
        Ok(_) => {}
    }
    let file = match directory.open_careful(MARKER, OFlags::RDONLY) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(MarkerFile::Missing),
        Err(Errno::LOOP | Errno::XDEV) => return Ok(MarkerFile::Foreign(NO_MARKER)),
        Err(why) => return Err(why),
    };
    let (file, is_free) = match purpose {
        Purpose::Remove => lock_to_remove(directory, file)?,
        Purpose::Look => {
            let is_free = try_lock(&file, FlockOperation::NonBlockingLockShared)?;
            (file, is_free)
        }
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

/// Locks a marker that is open for reading, which copies nothing on overlay file systems. Where a lock is one of bytes (NFS,
/// flock(2)), it has to be open for writing.
fn lock_to_remove(directory: &Directory, file: OwnedFd) -> Result<(OwnedFd, bool), Errno> {
    match lock_alone(&file) {
        Err(Errno::BADF) => {
            let file = directory.open_careful(MARKER, OFlags::RDWR)?;
            let is_free = lock_alone(&file)?;
            Ok((file, is_free))
        }
        answer => answer.map(|is_free| (file, is_free)),
    }
}

/// How often a lock is tried again that only somebody has who lists: he has it for as long as he reads the marker, and
/// then as long as his thread has to wait for a processor.
const LOCK_TRIES: u32 = 2000;
/// The pause between two tries.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// Locks a marker for this process alone; false where a run or a cleaning has it.
pub(super) fn lock_alone(file: &OwnedFd) -> Result<bool, Errno> {
    for _ in 0..LOCK_TRIES {
        if try_lock(file, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(true);
        }
        // A run and a cleaning have it for themselves; who lists shares it.
        if !try_lock(file, FlockOperation::NonBlockingLockShared)? {
            return Ok(false);
        }
        rustix::fs::flock(file, FlockOperation::Unlock)?;
        let _ = nanosleep(&PAUSE);
    }
    Ok(false)
}

fn try_lock(file: &OwnedFd, lock: FlockOperation) -> Result<bool, Errno> {
    match rustix::fs::flock(file, lock) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(why) => Err(why),
    }
}

const NO_MARKER: &str =
    "has an ASSAYDIR that is not a file of its owner with one name: remove it by hand if nobody needs it";

fn is_own_file(facts: &Stat, owner: u32) -> bool {
    FileType::from_raw_mode(facts.st_mode) == FileType::RegularFile && facts.st_nlink == 1 && facts.st_uid == owner
}

/// The content of a marker, as far as one can be long, and a byte more.
pub(super) fn content_of(file: &OwnedFd) -> Result<Vec<u8>, Errno> {
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

/// Whether what has this name in a place is the directory of which these are the facts.
pub(super) fn is_at_name(place: &Place, name: &str, ours: &Stat) -> Result<bool, Errno> {
    let there = match rustix::fs::statat(place, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT) {
        Ok(there) => there,
        Err(Errno::NOENT) => return Ok(false),
        Err(why) => return Err(why),
    };
    Ok((there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino))
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
