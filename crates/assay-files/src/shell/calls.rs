//! Makes the calls of a script on the kernel, one at a time, for one client.
//!
//! A call has three parts, so that only the middle one is timed: [`Calls::prepare`] makes names and the bytes that are
//! written, [`Calls::execute`] asks the kernel, and [`Calls::settle`] examines what was opened before anything is done
//! with it.

use super::buffer::AlignedBuffer;
use super::kernel::{self, Access, LockChange, Mapping};
use super::open_files::{OpenFile, OpenFiles};
use super::transfer::{self, Way};
use super::tree::{OpenTree, Reached};
use crate::contents::range;
use crate::ledger::Kind;
use crate::own_dir::{Directory, Known, OpenError, Unexamined};
use crate::script::{Call, Payload, Slot, Target};
use assay_base::Code;
use assay_model::files::{CachePolicy, Operation};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FallocateFlags, FileType, Mode, OFlags, RawDir, XattrFlags};
use rustix::io::{Errno, Result as IoResult};
use std::ffi::CString;
use std::ops::Range;
use std::sync::Arc;

/// The extended attribute that files have.
pub(super) const ATTRIBUTE: &str = "user.assay";
/// Room for the entries that one call of a listing returns: as much as the C library asks for.
const LISTING: usize = 32 << 10;
/// Modes that `chmod` gives in turn: both let the owner read and write.
const MODES: [Mode; 2] = [Mode::from_raw_mode(0o600), Mode::from_raw_mode(0o640)];
/// What files and directories are made with.
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

/// What a call did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes that it moved.
    pub bytes: u64,
    /// Entries of a directory that it listed.
    pub entries: u64,
}

impl Outcome {
    const DONE: Outcome = Outcome { bytes: 0, entries: 0 };

    fn of_bytes(bytes: usize) -> Outcome {
        Outcome { bytes: bytes as u64, entries: 0 }
    }
}

/// Why a call failed: the kernel's error, or that something is not there, or not ours.
struct Failed(Code);

impl From<Errno> for Failed {
    fn from(why: Errno) -> Failed {
        Failed(Code(why.raw_os_error()))
    }
}

impl From<OpenError> for Failed {
    fn from(why: OpenError) -> Failed {
        match why {
            OpenError::Kernel(why) => Failed::from(why),
            OpenError::Foreign(_) => Failed(Code::FOREIGN),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Calls {
    tree: Arc<OpenTree>,
    policy: CachePolicy,
    files: OpenFiles,
    /// What is written, and room for what is read.
    payload: AlignedBuffer,
    room: AlignedBuffer,
    /// Room for the entries of a directory.
    listing: Vec<u8>,
    name: String,
    other_name: String,
    /// What was opened, and is not examined yet.
    unexamined: Option<Unexamined>,
    modes_given: usize,
}

impl Calls {
    /// Calls on a tree, whose reads and writes follow a policy.
    pub fn new(tree: Arc<OpenTree>, policy: CachePolicy) -> Calls {
        Calls {
            tree,
            policy,
            files: OpenFiles::default(),
            payload: AlignedBuffer::default(),
            room: AlignedBuffer::default(),
            listing: Vec::with_capacity(LISTING),
            name: String::new(),
            other_name: String::new(),
            unexamined: None,
            modes_given: 0,
        }
    }

    /// Makes the names and the bytes that a call needs.
    pub fn prepare(&mut self, call: &Call) {
        if !call.operation.needs_descriptor() && !call.operation.is_of_directory() {
            self.tree.write_name(call.target, call.kind, &mut self.name);
        }
        if let Some(other) = call.other.filter(|_| call.operation != Operation::CopyRange) {
            self.tree.write_name(Target::Numbered(other), Kind::File, &mut self.other_name);
        }
        if call.operation == Operation::Symlink && call.other.is_none() {
            self.other_name = self.tree.text_of_link(call.target, 0);
        }
        let length = call.length as usize;
        match call.payload {
            Payload::Nothing => {}
            Payload::Version(version) => self.tree.contents().fill(version, call.offset, self.payload.first(length)),
            Payload::Record(record) => record.fill(self.tree.run(), self.payload.first(length)),
        }
    }

    /// Makes a call that was prepared.
    ///
    /// # Errors
    /// The kernel's error, as a code; what is missing where something must be is [`Code::LOST`].
    pub fn execute(&mut self, call: &Call) -> Result<Outcome, Code> {
        let done = match call.operation {
            Operation::Create | Operation::Open | Operation::Close => self.open_or_close(call),
            Operation::Read | Operation::Write | Operation::Append | Operation::Overwrite | Operation::Rmw => {
                self.move_bytes(call)
            }
            Operation::MmapRead | Operation::MmapWrite | Operation::Msync => self.use_mapping(call),
            Operation::CopyRange => self.copy_range(call),
            operation if operation.is_of_directory() => self.ask_directory(call),
            operation if operation.needs_descriptor() => self.use_descriptor(call),
            _ => self.use_name(call),
        };
        done.map_err(|failed| failed.0)
    }

    /// Examines what a call has opened. Only then it is open for the calls that follow.
    ///
    /// # Errors
    /// [`Code::FOREIGN`] where it is not ours; otherwise the error of the call, or the kernel's.
    pub fn settle(&mut self, call: &Call, done: Result<Outcome, Code>) -> Result<Outcome, Code> {
        let Some(unexamined) = self.unexamined.take() else { return done };
        let known = Known::Names(call.names.map_or(u64::MAX, u64::from));
        match self.tree.own_dir().directory().examine(unexamined, known) {
            Ok(descriptor) => {
                self.insert_file(call, descriptor);
                done
            }
            Err(why) => Err(Failed::from(why).0),
        }
    }

    /// Closes what is still open, and returns the first error.
    pub fn close_all(&mut self) -> Result<(), Code> {
        self.files.close_all().map_err(|why| Failed::from(why).0)
    }

    fn insert_file(&mut self, call: &Call, descriptor: OwnedFd) {
        let way = way_of(self.policy, call);
        let file = OpenFile { descriptor, way, appends: call.appends, mapping: None };
        self.files.insert(call.slot, file);
    }

    fn open_or_close(&mut self, call: &Call) -> Result<Outcome, Failed> {
        if call.operation == Operation::Close {
            self.files.close(call.slot)?;
            return Ok(Outcome::DONE);
        }
        let way = way_of(self.policy, call);
        if call.operation == Operation::Create {
            let descriptor = self.reach(call)?.create_file(&self.name, OFlags::RDWR | way.open_flags())?;
            self.insert_file(call, descriptor);
            return Ok(Outcome::DONE);
        }
        let access = if call.writes { OFlags::RDWR } else { OFlags::RDONLY };
        let appends = if call.appends { OFlags::APPEND } else { OFlags::empty() };
        let opened = self.reach(call)?.open_unexamined(&self.name, access | appends | way.open_flags())?;
        self.unexamined = Some(opened);
        Ok(Outcome::DONE)
    }

    /// The directory that the target of a call is in. The tree is shared by all clients: it is not counted how many use it.
    fn reach(&self, call: &Call) -> Result<Reached<'_>, OpenError> {
        self.tree.reach(self.tree.directory_of(call.target))
    }

    fn move_bytes(&mut self, call: &Call) -> Result<Outcome, Failed> {
        let file = self.files.file(call.slot)?;
        let length = call.length as usize;
        let moved = match call.operation {
            Operation::Read => transfer::read_at(&file.descriptor, file.way, call.offset, self.room.first(length))?,
            Operation::Append if file.appends => {
                transfer::append(&file.descriptor, file.way, self.payload.first(length))?
            }
            Operation::Rmw => {
                let read = transfer::read_at(&file.descriptor, file.way, call.offset, self.room.first(length))?;
                if read < length {
                    // What is changed in place was there before: the file ends where it must not.
                    return Err(Failed(Code::LOST));
                }
                transfer::write_at(&file.descriptor, file.way, call.offset, self.payload.first(length))?
            }
            _ => transfer::write_at(&file.descriptor, file.way, call.offset, self.payload.first(length))?,
        };
        Ok(Outcome::of_bytes(moved))
    }

    fn use_mapping(&mut self, call: &Call) -> Result<Outcome, Failed> {
        let length = call.length as usize;
        let file = self.files.file_mut(call.slot)?;
        let bytes = range(call.offset, call.length);
        if call.operation == Operation::Msync {
            match file.mapping.as_ref().filter(|mapping| mapping.covers(&bytes)) {
                Some(mapping) => mapping.synchronise()?,
                None => Mapping::new(file.descriptor.as_fd(), bytes, Access::Read)?.synchronise()?,
            }
            return Ok(Outcome::DONE);
        }
        // The mapping before goes first: it would be a second one of the same bytes.
        file.mapping = None;
        let is_read = call.operation == Operation::MmapRead;
        let access = if is_read { Access::Read } else { Access::Write };
        let mapping = Mapping::new(file.descriptor.as_fd(), bytes, access)?;
        let moved = if is_read {
            mapping.read_into(self.room.first(length))?
        } else {
            mapping.write_from(self.payload.first(length))?
        };
        file.mapping = Some(mapping);
        Ok(Outcome::of_bytes(moved))
    }

    /// Copies as long as the kernel goes on: one call may copy less than it was asked for.
    fn copy_range(&mut self, call: &Call) -> Result<Outcome, Failed> {
        let (from, to) = (self.files.file(Slot::Source)?, self.files.file(call.slot)?);
        let bytes = range(call.offset, call.length);
        let copied = transfer::through_cache(&to.descriptor, to.way, || copy_bytes(from, to, &bytes))?;
        Ok(Outcome { bytes: copied, entries: 0 })
    }

    fn ask_directory(&mut self, call: &Call) -> Result<Outcome, Failed> {
        let directory = self.reach(call)?;
        match call.operation {
            Operation::FsyncDir => rustix::fs::fsync(&*directory)?,
            Operation::Statfs => {
                rustix::fs::fstatfs(&*directory)?;
            }
            _ => {
                // A listing has a place in its directory, so that each one needs a descriptor of its own.
                let entries = match &directory {
                    Reached::Kept(kept) => count_entries(kept.open_directory(".")?, &mut self.listing)?,
                    Reached::Opened(opened) => count_entries(opened, &mut self.listing)?,
                };
                return Ok(Outcome { bytes: 0, entries });
            }
        }
        Ok(Outcome::DONE)
    }

    /// Calls on a file that is open.
    fn use_descriptor(&mut self, call: &Call) -> Result<Outcome, Failed> {
        let descriptor = self.files.file(call.slot)?.descriptor.as_fd();
        match call.operation {
            Operation::Fstat => {
                rustix::fs::fstat(descriptor)?;
            }
            Operation::Truncate => rustix::fs::ftruncate(descriptor, call.offset)?,
            Operation::Fsync => rustix::fs::fsync(descriptor)?,
            Operation::Fdatasync => rustix::fs::fdatasync(descriptor)?,
            Operation::Fallocate => {
                rustix::fs::fallocate(descriptor, FallocateFlags::empty(), call.offset, call.length)?;
            }
            Operation::Punch => {
                let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
                rustix::fs::fallocate(descriptor, punch, call.offset, call.length)?;
            }
            Operation::Lock => kernel::change_lock(descriptor, range(call.offset, call.length), LockChange::Lock)?,
            Operation::Unlock => kernel::change_lock(descriptor, range(call.offset, call.length), LockChange::Unlock)?,
            Operation::Getxattr => {
                rustix::fs::fgetxattr(descriptor, ATTRIBUTE, &mut [0u8; 64])?;
            }
            Operation::Setxattr => set_attribute(descriptor, self.tree.run())?,
            operation => unreachable!("{operation} has a function of its own"),
        }
        Ok(Outcome::DONE)
    }

    /// Calls on a name.
    fn use_name(&mut self, call: &Call) -> Result<Outcome, Failed> {
        let directory = self.tree.reach(self.tree.directory_of(call.target))?;
        let name = self.name.as_str();
        match call.operation {
            Operation::Stat => {
                rustix::fs::statat(&*directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            }
            Operation::Access => {
                rustix::fs::accessat(&*directory, name, rustix::fs::Access::READ_OK, AtFlags::empty())?
            }
            Operation::Readlink => {
                rustix::fs::readlinkat_raw(&*directory, name, &mut [0u8; 256])?;
            }
            Operation::Unlink => rustix::fs::unlinkat(&*directory, name, AtFlags::empty())?,
            Operation::Rmdir => rustix::fs::unlinkat(&*directory, name, AtFlags::REMOVEDIR)?,
            Operation::Mkdir => rustix::fs::mkdirat(&*directory, name, DIRECTORY_MODE)?,
            Operation::Mknod => rustix::fs::mknodat(&*directory, name, FileType::RegularFile, FILE_MODE, 0)?,
            Operation::Symlink => rustix::fs::symlinkat(self.other_name.as_str(), &*directory, name)?,
            Operation::Chmod => {
                self.modes_given += 1;
                change_mode(&directory, name, call.kind, MODES[self.modes_given % MODES.len()])?;
            }
            Operation::Link | Operation::Rename => {
                let other = call.other.map_or(call.target, Target::Numbered);
                let to = self.tree.reach(self.tree.directory_of(other))?;
                let other_name = self.other_name.as_str();
                if call.operation == Operation::Link {
                    rustix::fs::linkat(&*directory, name, &*to, other_name, AtFlags::empty())?;
                } else {
                    rustix::fs::renameat(&*directory, name, &*to, other_name)?;
                }
            }
            operation => unreachable!("{operation} has a function of its own"),
        }
        Ok(Outcome::DONE)
    }
}

/// How a file is read and written that a call opens. The source of a copy is read by the kernel alone, and all clients
/// that append to one file cannot agree about aligned offsets: neither is open for direct I/O.
fn way_of(policy: CachePolicy, call: &Call) -> Way {
    match policy {
        CachePolicy::Direct if call.appends || call.slot == Slot::Source => Way::Buffered,
        policy => Way::from_policy(policy),
    }
}

/// Copies bytes of a file to the same place in another one; returns how many.
fn copy_bytes(from: &OpenFile, to: &OpenFile, bytes: &Range<u64>) -> IoResult<u64> {
    let (mut at, mut to_at) = (bytes.start, bytes.start);
    while at < bytes.end {
        let length = usize::try_from(bytes.end - at).unwrap_or(usize::MAX);
        let (source, target) = (&from.descriptor, &to.descriptor);
        if rustix::fs::copy_file_range(source, Some(&mut at), target, Some(&mut to_at), length)? == 0 {
            break;
        }
    }
    Ok(at - bytes.start)
}

/// Lists a whole directory, and counts its entries but for itself and the one above.
fn count_entries(directory: impl AsFd, room: &mut Vec<u8>) -> IoResult<u64> {
    let mut entries = 0;
    let mut listing = RawDir::new(directory.as_fd(), room.spare_capacity_mut());
    while let Some(entry) = listing.next() {
        entries += u64::from(!matches!(entry?.file_name().to_bytes(), b"." | b".."));
    }
    Ok(entries)
}

/// Changes permissions by name, without following a link that somebody put there.
fn change_mode(directory: &Directory, name: &str, kind: Kind, mode: Mode) -> Result<(), Failed> {
    let is_directory = kind == Kind::Directory;
    // A directory that its owner could not enter could not be removed.
    let mode = if is_directory { DIRECTORY_MODE } else { mode };
    let text = CString::new(name).map_err(|_| Errno::INVAL)?;
    match kernel::change_mode(directory.as_fd(), &text, mode) {
        // Before Linux 6.6: by a descriptor, which costs a call more.
        Err(Errno::NOSYS) if is_directory => Ok(rustix::fs::fchmod(directory.open_directory(name)?, mode)?),
        Err(Errno::NOSYS) => {
            let file = directory.open_file(name, OFlags::RDONLY, Known::Names(u64::MAX))?;
            Ok(rustix::fs::fchmod(file, mode)?)
        }
        changed => Ok(changed?),
    }
}

/// Gives a file the attribute, whose value follows from the run.
pub(super) fn set_attribute(descriptor: impl AsFd, run: u32) -> IoResult<()> {
    rustix::fs::fsetxattr(descriptor, ATTRIBUTE, &attribute_value(run), XattrFlags::empty())
}

/// The value of the attribute.
pub(super) fn attribute_value(run: u32) -> [u8; 8] {
    let mut value = *b"run \0\0\0\0";
    value[4..].copy_from_slice(&run.to_le_bytes());
    value
}
