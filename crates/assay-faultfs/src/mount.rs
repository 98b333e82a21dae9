//! A mounted disk as a guard, and a loop device over it.

#[path = "../../assay-device/tests/safety_common/losetup.rs"]
mod losetup;

use crate::files::Files;
use crate::service::Service;
use crate::truth::Truth;
use fuser::{Config, MountOption, Session};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// `f_type` of a FUSE file system (linux/magic.h), by which a test verifies that it really runs on one.
pub const FUSE_MAGIC: i64 = 0x6573_5546;

/// A mounted disk; dropping it answers all held requests, and unmounts.
pub struct FaultDisk {
    service: Service,
    mountpoint: PathBuf,
}

impl FaultDisk {
    /// A disk of `size` bytes, all zero, at `mountpoint`, an empty directory. Fails where FUSE cannot be mounted.
    pub fn mount(size: u64, mountpoint: &Path) -> io::Result<FaultDisk> {
        FaultDisk::start(Service::new(size), true, mountpoint)
    }

    /// A file system without a disk, in which a client may create the file `disk`.
    pub fn mount_empty(mountpoint: &Path) -> io::Result<FaultDisk> {
        FaultDisk::start(Service::new(0), false, mountpoint)
    }

    fn start(service: Service, there: bool, mountpoint: &Path) -> io::Result<FaultDisk> {
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("assay-faultfs".into()), MountOption::Subtype("faultfs".into())];
        let files = Files { service: service.clone(), there: AtomicBool::new(there) };
        let session = Session::new(files, mountpoint, &config)?;
        let mountpoint = mountpoint.to_path_buf();
        let answering = service.clone();
        std::thread::Builder::new().name("faultfs-answers".into()).spawn(move || answering.serve())?;
        std::thread::Builder::new().name("faultfs-requests".into()).spawn(move || session.run())?;
        let disk = FaultDisk { service, mountpoint };
        if f_type(&disk.mountpoint)? != FUSE_MAGIC {
            return Err(io::Error::other(format!("{} is not a FUSE file system", disk.mountpoint.display())));
        }
        Ok(disk)
    }

    /// The data file.
    pub fn disk(&self) -> PathBuf {
        self.mountpoint.join("disk")
    }

    /// Sets faults: `key=value`, separated by spaces or lines.
    ///
    /// # Panics
    /// One of them is not understood.
    pub fn set(&self, lines: &str) {
        self.service.set(lines).unwrap_or_else(|why| panic!("{why}"));
    }

    /// The disk's own account so far.
    pub fn truth(&self) -> Truth {
        self.service.truth()
    }

    /// The data stored now.
    pub fn stored(&self, offset: u64, len: usize) -> Vec<u8> {
        self.service.stored(offset, len)
    }
}

impl Drop for FaultDisk {
    fn drop(&mut self) {
        self.service.end();
        unmount_lazily(&self.mountpoint);
    }
}

/// Unmounts lazily, because a client may still have something open.
pub(crate) fn unmount_lazily(mountpoint: &Path) {
    if let Ok(path) = CString::new(mountpoint.as_os_str().as_bytes()) {
        // SAFETY: the path is a string that lives during the call.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
    }
}

/// The type of the file system that contains `path`.
pub fn f_type(path: &Path) -> io::Result<i64> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut found = std::mem::MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: both pointers live during the call, which fills the second when it returns 0.
    let found = unsafe {
        if libc::statfs(path.as_ptr(), found.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        found.assume_init()
    };
    Ok(found.f_type as i64)
}

/// A loop device over a disk, without the page cache; detached when dropped. Drop it before the disk.
pub struct FaultLoop {
    path: String,
}

impl FaultLoop {
    /// Attaches one. Needs root.
    pub fn over(disk: &FaultDisk) -> io::Result<FaultLoop> {
        let path = losetup::attach(&disk.disk(), &["--direct-io=on"]).map_err(io::Error::other)?;
        Ok(FaultLoop { path })
    }

    /// Its device node.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for FaultLoop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.path]).status();
    }
}
