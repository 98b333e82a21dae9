//! How a name below a directory becomes a descriptor: never over a link, never above the directory, and never into
//! another mount. The kernel does it by `openat2`; where there is no `openat2` (before Linux 5.6) or where it is
//! forbidden (seccomp), each component is opened by itself and compared with where it must lie.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, StatxFlags};
use rustix::io::{Errno, Result};
use std::path::{Component, Path};

/// Which of the two it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The kernel does it in one call.
    Openat2,
    /// One component at a time.
    ByComponent,
}

/// With what the kernel resolves a path below a directory.
const BELOW: ResolveFlags = ResolveFlags::BENEATH
    .union(ResolveFlags::NO_SYMLINKS)
    .union(ResolveFlags::NO_MAGICLINKS)
    .union(ResolveFlags::NO_XDEV);
/// Flags of everything that is opened: nothing is followed, and neither a FIFO nor a terminal can do harm.
const CAREFUL: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NOCTTY).union(OFlags::NONBLOCK);
/// A directory on the way.
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);
/// How often the kernel is asked again when directories were moved while it looked.
const TRIES: u32 = 100;

impl Resolution {
    /// What works here.
    pub fn detect(directory: impl AsFd) -> Resolution {
        match rustix::fs::openat2(directory, ".", ON_THE_WAY | CAREFUL, Mode::empty(), BELOW) {
            Err(Errno::NOSYS | Errno::PERM) => Resolution::ByComponent,
            _ => Resolution::Openat2,
        }
    }
}

/// One mount, and the device numbers that its files may have. Overlay file systems give files another device number than directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnMount {
    /// The number of the mount, where the kernel tells it (since Linux 5.8).
    number: Option<u64>,
    devices: Vec<u64>,
}

impl OwnMount {
    /// The mount of something that is open.
    pub(crate) fn around(descriptor: impl AsFd) -> Result<OwnMount> {
        let device = rustix::fs::fstat(&descriptor)?.st_dev;
        Ok(OwnMount { number: mount_number(&descriptor), devices: vec![device] })
    }

    /// The same, and the device of a file that was made on it.
    pub(super) fn with_device(mut self, device: u64) -> OwnMount {
        if !self.devices.contains(&device) {
            self.devices.push(device);
        }
        self
    }

    /// Whether a device is one of this mount.
    pub(super) fn has_device(&self, device: u64) -> bool {
        self.devices.contains(&device)
    }

    /// Whether something that is open lies on this mount.
    fn holds(&self, descriptor: BorrowedFd<'_>) -> Result<bool> {
        match (self.number, mount_number(descriptor)) {
            (Some(ours), Some(its)) => Ok(ours == its),
            _ => Ok(self.has_device(rustix::fs::fstat(descriptor)?.st_dev)),
        }
    }
}

/// The number of the mount on which something lies; none before Linux 5.8.
pub(super) fn mount_number(descriptor: impl AsFd) -> Option<u64> {
    let facts = rustix::fs::statx(descriptor, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?;
    (facts.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(facts.stx_mnt_id)
}

/// Where and how a path is resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartingPoint<'a> {
    pub(crate) directory: BorrowedFd<'a>,
    pub(crate) mounts: &'a OwnMount,
    pub(crate) resolution: Resolution,
}

impl StartingPoint<'_> {
    /// Opens what a relative path leads to. A link on the way or at the end is `ELOOP`; a way that leads out of the
    /// directory or into another mount is `EXDEV`.
    pub(crate) fn open(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        match self.resolution {
            Resolution::Openat2 => self.open_at_once(path, flags | CAREFUL, mode),
            Resolution::ByComponent => self.open_by_component(path, flags | CAREFUL, mode),
        }
    }

    fn open_at_once(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        // With O_NOFOLLOW a link at the end would be ENOTDIR where a directory is wanted. No link is followed anyway.
        let flags = flags.difference(OFlags::NOFOLLOW);
        let mut tries = 1;
        loop {
            match rustix::fs::openat2(self.directory, path, flags, mode, BELOW) {
                Err(Errno::AGAIN) if tries < TRIES => tries += 1,
                done => return done,
            }
        }
    }

    fn open_by_component(&self, path: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        let mut names = Vec::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => names.push(Path::new(name)),
                Component::CurDir => {}
                _ => return Err(Errno::XDEV),
            }
        }
        let last = names.pop().unwrap_or(Path::new("."));
        let mut at = rustix::io::fcntl_dupfd_cloexec(self.directory, 0)?;
        for name in names {
            at = self.open_component(at.as_fd(), name, ON_THE_WAY | CAREFUL, Mode::empty())?;
        }
        self.open_component(at.as_fd(), last, flags, mode)
    }

    #[expect(clippy::disallowed_methods, reason = "a part of the gate: what it opens is examined before it is used")]
    fn open_component(&self, at: BorrowedFd<'_>, name: &Path, flags: OFlags, mode: Mode) -> Result<OwnedFd> {
        let opened = rustix::fs::openat(at, name, flags, mode).map_err(|why| match why {
            Errno::NOTDIR if is_link(at, name) => Errno::LOOP,
            why => why,
        })?;
        if self.mounts.holds(opened.as_fd())? { Ok(opened) } else { Err(Errno::XDEV) }
    }
}

fn is_link(at: BorrowedFd<'_>, name: &Path) -> bool {
    rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW)
        .is_ok_and(|facts| FileType::from_raw_mode(facts.st_mode) == FileType::Symlink)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A directory with a tree and links in it, beside something foreign.
    fn place() -> tempfile::TempDir {
        let place = tempfile::tempdir().unwrap();
        let ours = place.path().join("ours");
        std::fs::create_dir_all(ours.join("one/two")).unwrap();
        std::fs::create_dir(place.path().join("foreign")).unwrap();
        for file in ["ours/file", "ours/one/two/file", "foreign/file"] {
            std::fs::write(place.path().join(file), file).unwrap();
        }
        symlink("file", ours.join("link")).unwrap();
        symlink("../foreign", ours.join("out")).unwrap();
        symlink("two", ours.join("one/within")).unwrap();
        symlink("/proc/self/fd/0", ours.join("magic")).unwrap();
        place
    }

    #[test]
    fn both_ways_open_the_same_and_refuse_the_same() {
        let place = place();
        let directory = std::fs::File::open(place.path().join("ours")).unwrap();
        let mounts = OwnMount::around(&directory).unwrap();
        let outside = place.path().join("foreign/file");
        let read = OFlags::RDONLY;
        for (path, flags, expected) in [
            ("file", read, Ok(())),
            ("./one//two/file", read, Ok(())),
            ("one/two", read | OFlags::DIRECTORY, Ok(())),
            (".", read | OFlags::DIRECTORY, Ok(())),
            ("new", OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Ok(())),
            ("file", OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Err(Errno::EXIST)),
            ("link", OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, Err(Errno::EXIST)),
            ("link", read, Err(Errno::LOOP)),
            ("magic", read, Err(Errno::LOOP)),
            ("out", read | OFlags::DIRECTORY, Err(Errno::LOOP)),
            ("out/file", read, Err(Errno::LOOP)),
            ("one/within/file", read, Err(Errno::LOOP)),
            ("..", read | OFlags::DIRECTORY, Err(Errno::XDEV)),
            ("../foreign/file", read, Err(Errno::XDEV)),
            (outside.to_str().unwrap(), read, Err(Errno::XDEV)),
            ("file/file", read, Err(Errno::NOTDIR)),
            ("file", read | OFlags::DIRECTORY, Err(Errno::NOTDIR)),
            ("nothing", read, Err(Errno::NOENT)),
        ] {
            for resolution in [Resolution::Openat2, Resolution::ByComponent] {
                let start = StartingPoint { directory: directory.as_fd(), mounts: &mounts, resolution };
                let mode = if flags.contains(OFlags::CREATE) { Mode::RUSR | Mode::WUSR } else { Mode::empty() };
                let opened = start.open(Path::new(path), flags, mode);
                assert_eq!(opened.map(drop), expected, "{path} {flags:?} {resolution:?}");
                let _ = std::fs::remove_file(place.path().join("ours/new"));
            }
        }
    }

    /// What is in the root directory lies on other mounts: `/proc` and `/sys` are on every machine.
    #[test]
    fn no_way_leads_into_another_mount() {
        let root = std::fs::File::open("/").unwrap();
        let mounts = OwnMount::around(&root).unwrap();
        for resolution in [Resolution::Openat2, Resolution::ByComponent] {
            let start = StartingPoint { directory: root.as_fd(), mounts: &mounts, resolution };
            for path in ["proc", "proc/self", "proc/version", "proc/self/cwd"] {
                let opened = start.open(Path::new(path), OFlags::RDONLY, Mode::empty());
                assert_eq!(opened.map(drop), Err(Errno::XDEV), "{path} {resolution:?}");
            }
        }
        let by_device = OwnMount { number: None, ..mounts };
        let start = StartingPoint { directory: root.as_fd(), mounts: &by_device, resolution: Resolution::ByComponent };
        assert_eq!(start.open(Path::new("proc"), OFlags::RDONLY, Mode::empty()).map(drop), Err(Errno::XDEV));
        assert!(start.open(Path::new("."), OFlags::RDONLY, Mode::empty()).is_ok());
    }

    #[test]
    fn this_kernel_has_openat2_unless_it_is_forbidden() {
        let root = std::fs::File::open("/").unwrap();
        let opened = rustix::fs::openat2(&root, ".", OFlags::RDONLY, Mode::empty(), ResolveFlags::empty());
        let forbidden = matches!(opened, Err(Errno::NOSYS | Errno::PERM));
        let expected = if forbidden { Resolution::ByComponent } else { Resolution::Openat2 };
        assert_eq!(Resolution::detect(&root), expected);
    }
}
