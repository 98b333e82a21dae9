//! Which requests a durable write sends to a device. They are the same with every engine: those that `pwrite` on a file
//! opened with `O_DSYNC` causes on this kernel, because that is what applications do.
//!
//! On a block device that call makes two requests, of which `RWF_DSYNC` through io_uring makes only the first: the
//! write with FUA (a write and a flush where the device has no FUA), and then, when it has completed, a flush of the
//! device's whole cache. The kernel leaves the second one out for every write that completes after its hand-over
//! (`blkdev_write_iter` in block/fops.c syncs only what has been written when it returns). So io_uring requests it by a
//! linked `fdatasync`. On a file both ways cause the same requests to the file system, which then syncs in either case;
//! and a device without a volatile cache gets no flush at all. Verified with the kernel's block trace on Linux 6.18.

use crate::safety::{DevNum, Identity, Kind, Roots, kind_of, read_attribute, read_number};
use std::fmt;
use std::os::fd::BorrowedFd;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Durable {
    /// A file: its file system decides, in the same way for all engines.
    #[default]
    ByFileSystem,
    /// A block device that reports no volatile cache: only the write.
    WriteAlone,
    /// A block device with a volatile cache, or one that reports nothing about it.
    WriteAndFlush {
        /// Whether the device itself can put one write on stable media; otherwise the kernel flushes instead.
        fua: bool,
    },
}

impl Durable {
    /// The kind of an open file, according to what sysfs currently says about its device's queue.
    pub fn from_file(roots: &Roots, fd: BorrowedFd<'_>) -> Durable {
        match rustix::fs::fstat(fd).map(|stat| kind_of(&stat)) {
            Ok(Kind::Block(device)) => Durable::of_device(roots, device),
            _ => Durable::ByFileSystem,
        }
    }

    fn of_device(roots: &Roots, device: DevNum) -> Durable {
        let queue = Identity::read_identity(roots, device).map(|identity| identity.disk_dir.join("queue"));
        let cache = queue.as_ref().and_then(|queue| read_attribute(&queue.join("write_cache")));
        match cache.as_deref() {
            Some("write through") => Durable::WriteAlone,
            // A device that reports nothing gets too many requests rather than too few.
            _ => Durable::WriteAndFlush { fua: queue.and_then(|queue| read_number(&queue.join("fua"))) == Some(1) },
        }
    }

    /// Whether a write that completes after its hand-over must be followed by a separate flush.
    pub(crate) fn flushes_after(self) -> bool {
        matches!(self, Durable::WriteAndFlush { .. })
    }
}

impl fmt::Display for Durable {
    /// The text in the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Durable::ByFileSystem => "what the file system makes of O_DSYNC",
            Durable::WriteAlone => "a write; the device has no volatile cache to flush",
            Durable::WriteAndFlush { fua: true } => "a write with FUA, then a flush of the device's cache",
            Durable::WriteAndFlush { fua: false } => {
                "a write, a flush because the device knows no FUA, then a flush of the device's cache"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::path::Path;

    /// A tree of /sys in which 7:0 is a disk with these attributes of its queue, and 259:1 its partition.
    fn tree(attributes: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let tree = tempfile::tempdir().unwrap();
        let [proc, sys, dev] = ["proc", "sys", "dev"].map(|name| tree.path().join(name));
        let disk = sys.join("devices/virtual/block/disk0");
        let part = disk.join("disk0p1");
        std::fs::create_dir_all(disk.join("queue")).unwrap();
        std::fs::create_dir_all(&part).unwrap();
        std::fs::create_dir_all(sys.join("dev/block")).unwrap();
        let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
        write(&disk.join("dev"), "7:0\n");
        write(&part.join("dev"), "259:1\n");
        write(&part.join("partition"), "1\n");
        attributes.iter().for_each(|(name, text)| write(&disk.join("queue").join(name), text));
        std::os::unix::fs::symlink(&disk, sys.join("dev/block/7:0")).unwrap();
        std::os::unix::fs::symlink(&part, sys.join("dev/block/259:1")).unwrap();
        (tree, Roots { proc, sys, dev })
    }

    #[test]
    fn the_devices_cache_decides_and_silence_asks_for_more() {
        let (disk, partition) = (DevNum { major: 7, minor: 0 }, DevNum { major: 259, minor: 1 });
        for (attributes, expected) in [
            (&[("write_cache", "write through\n"), ("fua", "0\n")][..], Durable::WriteAlone),
            (&[("write_cache", "write back\n"), ("fua", "1\n")], Durable::WriteAndFlush { fua: true }),
            (&[("write_cache", "write back\n"), ("fua", "0\n")], Durable::WriteAndFlush { fua: false }),
            (&[("write_cache", "write back\n")], Durable::WriteAndFlush { fua: false }),
            (&[("write_cache", "\n")], Durable::WriteAndFlush { fua: false }),
            (&[], Durable::WriteAndFlush { fua: false }),
        ] {
            let (_tree, roots) = tree(attributes);
            for device in [disk, partition] {
                assert_eq!(Durable::of_device(&roots, device), expected, "{attributes:?} {device}");
            }
            let gone = DevNum { major: 8, minor: 99 };
            assert!(Durable::of_device(&roots, gone).flushes_after(), "no such device");
        }
    }

    #[test]
    fn files_leave_it_to_their_file_system() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Durable::from_file(&Roots::of_machine(), file.as_fd()), Durable::ByFileSystem);
        assert!(!Durable::ByFileSystem.flushes_after() && !Durable::WriteAlone.flushes_after());
    }
}
