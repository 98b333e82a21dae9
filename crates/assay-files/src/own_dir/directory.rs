//! A directory below our own one, or itself, by its descriptor. Files are opened in it by their names, and examined
//! before they are written: somebody may have put something else in the place of a file of ours.

use super::resolve::{OwnMount, Resolution, StartingPoint};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fmt;
use std::path::Path;

/// Why nothing was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The error of the kernel. A link is `ELOOP`, another mount `EXDEV`.
    Kernel(Errno),
    /// Something is there that is not ours.
    Foreign(Foreign),
}

/// What something is that is not ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Not a regular file.
    OtherType,
    /// The file of another user.
    OtherOwner,
    /// A file on another device.
    OtherDevice,
    /// Another file or directory than the one that was made under this name.
    OtherInode,
    /// A file with so many names (hard links), which are more than we made.
    OtherNames(u64),
}

impl fmt::Display for OpenError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Kernel(why) => write!(out, "{why}"),
            OpenError::Foreign(Foreign::OtherType) => out.write_str("is not a regular file"),
            OpenError::Foreign(Foreign::OtherOwner) => out.write_str("belongs to another user"),
            OpenError::Foreign(Foreign::OtherDevice) => out.write_str("lies on another device"),
            OpenError::Foreign(Foreign::OtherInode) => out.write_str("was replaced by something else"),
            OpenError::Foreign(Foreign::OtherNames(names)) => {
                write!(out, "has {names} names (hard links), of which not all are ours")
            }
        }
    }
}

impl std::error::Error for OpenError {}

impl From<Errno> for OpenError {
    fn from(why: Errno) -> OpenError {
        OpenError::Kernel(why)
    }
}

/// By what a file is known to be the one that we made under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// By its inode, which nothing else gets as long as the file exists.
    Inode(u64),
    /// By the most names (hard links) that it may have, where files do not keep their inodes (some FUSE file systems). A
    /// name that is taken away again while the file is opened is not noticed.
    Names(u64),
}

/// Something that was opened, and of which it is not known yet whether it is ours.
#[derive(Debug)]
pub struct Unexamined {
    descriptor: OwnedFd,
    cut_off: bool,
}

/// What everything below our own directory has in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) resolution: Resolution,
    pub(super) mounts: OwnMount,
    /// The user to whom the file system says that our files belong.
    pub(super) owner: u32,
}

/// A directory of ours.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    rules: Rules,
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// Makes the entries of a directory durable. Some FUSE file systems cannot.
pub(super) fn synchronise(directory: impl AsFd) -> rustix::io::Result<()> {
    match rustix::fs::fsync(directory) {
        Err(Errno::INVAL | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

impl Directory {
    pub(super) fn new(descriptor: OwnedFd, rules: Rules) -> Directory {
        Directory { descriptor, rules }
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The same, where files may also lie on this device.
    pub(super) fn with_device(self, device: u64) -> Directory {
        let Directory { descriptor, rules } = self;
        let mounts = rules.mounts.with_device(device);
        Directory { descriptor, rules: Rules { mounts, ..rules } }
    }

    /// Opens what has a name, and examines nothing.
    pub(super) fn open_careful(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.open(Path::new(name), flags, Mode::empty())
    }

    /// Creates a file that must not exist.
    pub(super) fn create_careful(&self, path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.open(path.as_ref(), flags | OFlags::CREATE | OFlags::EXCL, Mode::RUSR | Mode::WUSR)
    }

    fn open(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let Rules { resolution, mounts, .. } = &self.rules;
        StartingPoint { directory: self.as_fd(), mounts, resolution: *resolution }.open(path, flags, mode)
    }

    /// Opens a directory below this one by a path of names.
    ///
    /// # Errors
    /// The kernel's error: `ELOOP` for a link, `EXDEV` for another mount or a way out of this directory.
    pub fn open_directory(&self, path: impl AsRef<Path>) -> Result<Directory, OpenError> {
        let descriptor = self.open(path.as_ref(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        Ok(Directory { descriptor, rules: self.rules.clone() })
    }

    /// Creates a file that must not exist.
    ///
    /// # Errors
    /// The kernel's error: `EEXIST` if anything has the name.
    pub fn create_file(&self, path: impl AsRef<Path>, flags: OFlags) -> Result<OwnedFd, OpenError> {
        Ok(self.create_careful(path, flags)?)
    }

    /// Opens what has the name of a file that was made before. Nothing can be done with it before it was examined; the two
    /// are apart so that the time of the one is not that of the other.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open_unexamined(&self, path: impl AsRef<Path>, flags: OFlags) -> Result<Unexamined, OpenError> {
        let without_effect = flags.difference(OFlags::TRUNC | OFlags::CREATE | OFlags::EXCL);
        let descriptor = self.open(path.as_ref(), without_effect, Mode::empty())?;
        Ok(Unexamined { descriptor, cut_off: flags.contains(OFlags::TRUNC) })
    }

    /// Examines what was opened. With `O_TRUNC` it is cut off only now, when it was found to be ours. (`O_NONBLOCK`, with
    /// which it was opened, has no effect on a regular file.)
    ///
    /// # Errors
    /// Foreign, if it is not ours; otherwise the kernel's error.
    pub fn examine(&self, opened: Unexamined, known: Known) -> Result<OwnedFd, OpenError> {
        let Unexamined { descriptor, cut_off } = opened;
        if let Some(foreign) = self.what_is_foreign(&rustix::fs::fstat(&descriptor)?, known) {
            return Err(OpenError::Foreign(foreign));
        }
        if cut_off {
            rustix::fs::ftruncate(&descriptor, 0)?;
        }
        Ok(descriptor)
    }

    /// Opens a file that was made before, and examines it. With `O_TRUNC` it is cut off only after it was found to be ours.
    ///
    /// # Errors
    /// Foreign, if it is not ours; otherwise the kernel's error.
    pub fn open_file(&self, path: impl AsRef<Path>, flags: OFlags, known: Known) -> Result<OwnedFd, OpenError> {
        self.examine(self.open_unexamined(path, flags)?, known)
    }

    fn what_is_foreign(&self, facts: &Stat, known: Known) -> Option<Foreign> {
        if FileType::from_raw_mode(facts.st_mode) != FileType::RegularFile {
            return Some(Foreign::OtherType);
        }
        if facts.st_uid != self.rules.owner {
            return Some(Foreign::OtherOwner);
        }
        if !self.rules.mounts.has_device(facts.st_dev) {
            return Some(Foreign::OtherDevice);
        }
        match known {
            Known::Inode(inode) => (facts.st_ino != inode).then_some(Foreign::OtherInode),
            Known::Names(names) => (facts.st_nlink > names).then_some(Foreign::OtherNames(facts.st_nlink)),
        }
    }
}
