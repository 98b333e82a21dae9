//! A directory in memory, to compare others with: what a file system costs that has no disk and no network below it.
//!
//! As root, a tmpfs is mounted that only this process sees, in a mount namespace of its own: it goes with the process, also where
//! that is killed. Anybody else needs a tmpfs that is there.

use crate::trouble::Trouble;
use assay_base::file_systems;
use rustix::fs::Access;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;
use std::ffi::CStr;
use std::path::{Path, PathBuf};

/// Directories of every Linux that a process can do without: what is in them is hidden from it by a tmpfs of its own.
const POINTS: [&CStr; 5] = [c"/mnt", c"/media", c"/srv", c"/var/tmp", c"/tmp"];
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

/// Where a process can mount a tmpfs of its own and still start this program.
pub fn point_for_memory(program: &Path) -> Option<&'static CStr> {
    POINTS.into_iter().find(|point| path_of(point).is_dir() && !program.starts_with(path_of(point)))
}

/// Mounts a tmpfs that no other process sees but those that this one starts. It makes system calls and nothing else, so that it can be
/// called between fork and exec: what the kernel shows as the mounts of a process are those of its first thread.
///
/// # Errors
/// This process may not do it.
pub fn mount_for_this_process(point: &CStr) -> rustix::io::Result<()> {
    // SAFETY: no table of files is unshared; the mounts of this thread, and of those that it starts, become its own.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?;
    rustix::mount::mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    rustix::mount::mount(c"tmpfs", point, c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0700")
}

fn path_of(point: &CStr) -> PathBuf {
    PathBuf::from(point.to_string_lossy().into_owned())
}

/// Where a tmpfs is that this process has mounted, or that others have for users.
fn usual_directories() -> Vec<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let mut all: Vec<PathBuf> = POINTS.into_iter().map(path_of).collect();
    all.extend([PathBuf::from(format!("/run/user/{user}")), PathBuf::from("/run")]);
    all
}

fn is_in_memory(path: &PathBuf) -> bool {
    let kind = rustix::fs::statfs(path).ok().and_then(|facts| file_systems::name_by_number(facts.f_type as u64));
    kind == Some(TMPFS) && rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_does_not_hide_the_program() {
        let point = point_for_memory(Path::new("/usr/bin/assay")).map(path_of).unwrap();
        let below = point.join("bin/assay");
        assert_ne!(point_for_memory(&below).map(path_of), Some(point));
    }
}
