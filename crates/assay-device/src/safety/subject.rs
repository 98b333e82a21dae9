//! The object that a name leads to, held by a descriptor that does not open it (O_PATH), so that what is judged and
//! what is opened later are the same.

use super::openers::Inode;
use super::roots::DevNum;
use super::rule::Unopened;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The kind of the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A block device.
    Block(DevNum),
    /// A regular file.
    File(Inode),
    /// Neither; it is never written to.
    Other(&'static str),
    /// There is nothing with this name, or it may not be examined.
    Missing,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Block(number) => write!(f, "block device {number}"),
            Kind::File(_) => f.write_str("regular file"),
            Kind::Other(what) => f.write_str(what),
            Kind::Missing => f.write_str("missing"),
        }
    }
}

/// A resolved name.
pub(super) struct Subject {
    /// The name with all links resolved.
    pub real: PathBuf,
    /// Its kind.
    pub kind: Kind,
    node: OwnedFd,
}

impl Subject {
    /// Resolves a name without opening the object.
    ///
    /// # Errors
    /// What the kernel said, in words.
    #[allow(clippy::disallowed_methods, reason = "the gate opens targets, and only it")]
    pub(super) fn resolve_name(given: &Path) -> Result<Subject, Unopened> {
        let missing_or_refused = |e: std::io::Error| match e.kind() {
            std::io::ErrorKind::PermissionDenied => Unopened::from_errno(rustix::io::Errno::ACCESS),
            _ => Unopened { text: format!("{}: {e}", given.display()), lacks_rights: false },
        };
        let real = given.canonicalize().map_err(missing_or_refused)?;
        let node = rustix::fs::open(&real, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
            .map_err(|e| missing_or_refused(e.into()))?;
        let stat = rustix::fs::fstat(&node).map_err(|e| missing_or_refused(e.into()))?;
        Ok(Subject { real, kind: kind_from_stat(&stat), node })
    }

    /// Opens exactly the resolved object.
    ///
    /// # Errors
    /// The kernel's error; `ENOENT` also where `/proc` is not mounted.
    #[allow(clippy::disallowed_methods, reason = "the gate opens targets, and only it")]
    pub(super) fn open_resolved(&self, flags: OFlags) -> Result<File, rustix::io::Errno> {
        let path = format!("/proc/self/fd/{}", self.node.as_fd().as_raw_fd());
        rustix::fs::open(path, flags | OFlags::CLOEXEC, Mode::empty()).map(File::from)
    }
}

/// The kind according to a result of `stat`.
pub(crate) fn kind_from_stat(stat: &Stat) -> Kind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => Kind::Block(DevNum::from_stat(stat.st_rdev)),
        FileType::RegularFile => Kind::File(Inode { device: DevNum::from_stat(stat.st_dev), inode: stat.st_ino }),
        FileType::CharacterDevice => Kind::Other("character device"),
        FileType::Directory => Kind::Other("directory"),
        FileType::Fifo => Kind::Other("FIFO"),
        FileType::Socket => Kind::Other("socket"),
        _ => Kind::Other("neither a device nor a file"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_missing_right_is_told_from_a_missing_file() {
        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().join("closed");
        let mode = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(dir.path(), 0o755);
        std::fs::create_dir(&closed).unwrap();
        mode(&closed, 0o000);
        for (path, lacks_rights) in [(closed.join("file"), true), (dir.path().join("file"), false)] {
            let refused =
                crate::testbed::without_rights(|| Subject::resolve_name(&path).err().map(|why| why.lacks_rights));
            assert_eq!(refused, Some(lacks_rights), "{}", path.display());
        }
        mode(&closed, 0o700);
    }
}
