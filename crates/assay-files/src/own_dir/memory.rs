//! A directory in memory, to compare others with: what a file system costs that has no disk and no network below it.
//!
//! As root, a tmpfs is mounted that only this process sees, in a mount namespace of its own: it goes with the process, also where
//! that is killed. Anybody else needs a tmpfs that is there.

use crate::trouble::Trouble;
use assay_base::file_systems;
use rustix::fs::Access;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;
use std::path::PathBuf;

/// Where the tmpfs is mounted, in this process alone.
const POINT: &str = "/tmp";
const TMPFS: &str = "tmpfs";

/// A directory on a tmpfs in which this process may make one.
///
/// # Errors
/// Host: there is none at the usual places.
pub fn directory_in_memory() -> Result<PathBuf, Trouble> {
    usual_directories().into_iter().find(is_in_memory).ok_or_else(|| {
        Trouble::host(
            "there is no tmpfs at the usual places, and none can be mounted: run as root, or name a directory on one",
        )
    })
}

/// Mounts a tmpfs that no other process sees but those that this one starts. It makes system calls and nothing else, so that it can be
/// called between fork and exec: what the kernel shows as the mounts of a process are those of its first thread.
///
/// # Errors
/// This process may not do it.
pub fn mount_for_this_process() -> rustix::io::Result<()> {
    // SAFETY: no table of files is unshared; the mounts of this thread, and of those that it starts, become its own.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    rustix::mount::mount(TMPFS, POINT, TMPFS, MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700")
}

/// Where a tmpfs usually is that users may write to.
fn usual_directories() -> [PathBuf; 4] {
    let user = rustix::process::getuid().as_raw();
    [POINT.into(), format!("/run/user/{user}").into(), "/var/tmp".into(), "/run".into()]
}

fn is_in_memory(path: &PathBuf) -> bool {
    let kind = rustix::fs::statfs(path).ok().and_then(|facts| file_systems::name_by_number(facts.f_type as u64));
    kind == Some(TMPFS) && rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}
