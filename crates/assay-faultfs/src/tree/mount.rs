//! A mounted tree as a guard.

use super::file_system::TreeFileSystem;
use super::service::TreeService;
use super::truth::TreeTruth;
use crate::mount::{FUSE_MAGIC, f_type, unmount_lazily};
use fuser::{Config, MountOption, Session};
use std::io;
use std::path::{Path, PathBuf};

/// A mounted tree; dropping it answers all held calls, and unmounts.
///
/// A process with a thread in a call that hangs can neither end nor be killed: drop the tree, or set `hang=0`, before the
/// process of the client has to end; and where a client may hang for good, mount the tree by the program `faultfs`, in a
/// process of its own.
pub struct FaultTree {
    service: TreeService,
    mountpoint: PathBuf,
}

impl FaultTree {
    /// An empty tree at `mountpoint`, an empty directory. Fails where FUSE cannot be mounted.
    pub fn mount(mountpoint: &Path) -> io::Result<FaultTree> {
        // SAFETY: neither call has arguments or can fail.
        let owner = unsafe { (libc::geteuid(), libc::getegid()) };
        let service = TreeService::new(owner);
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName("assay-faulttree".into()), MountOption::Subtype("faulttree".into())];
        let session = Session::new(TreeFileSystem { service: service.clone() }, mountpoint, &config)?;
        service.set_notifier(session.notifier());
        let answers = service.answers.clone();
        std::thread::Builder::new().name("faulttree-answers".into()).spawn(move || answers.serve())?;
        std::thread::Builder::new().name("faulttree-requests".into()).spawn(move || session.run())?;
        let tree = FaultTree { service, mountpoint: mountpoint.to_path_buf() };
        if f_type(mountpoint)? != FUSE_MAGIC {
            return Err(io::Error::other(format!("{} is not a FUSE file system", mountpoint.display())));
        }
        Ok(tree)
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        &self.mountpoint
    }

    /// Sets faults: `key=value`, separated by spaces or lines; see [`TreeFaults`](super::TreeFaults).
    ///
    /// # Panics
    /// One of them is not understood, or names a path that does not exist.
    pub fn set(&self, lines: &str) {
        let inodes = self.service.set(lines).unwrap_or_else(|why| panic!("{why}"));
        self.service.forget_pages(&inodes);
    }

    /// The tree's own account so far.
    pub fn truth(&self) -> TreeTruth {
        self.service.truth()
    }
}

impl Drop for FaultTree {
    fn drop(&mut self) {
        self.service.end();
        unmount_lazily(&self.mountpoint);
    }
}
