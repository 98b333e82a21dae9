//! What counts operations: block devices, and mounts of NFS, which have numbers like theirs.

use super::nfs;
use super::stat::{self, DiskStat};
use crate::safety::{DevNum, Roots};

/// The kernel's name of a block device, such as `sda`; of a mount of NFS, the server with its directory. `None`: it is
/// not there.
pub fn disk_name(roots: &Roots, device: DevNum) -> Option<String> {
    if let Some(server) = nfs::mount_source(roots, device) {
        return Some(server);
    }
    let real = roots.device_dir(device)?.canonicalize().ok()?;
    Some(real.file_name()?.to_string_lossy().into_owned())
}

/// The counters of a block device, or of a mount of NFS. `None`: the kernel has none for it.
pub fn disk_stat(roots: &Roots, device: DevNum) -> Option<DiskStat> {
    // File systems without a disk have a number of the driver 0.
    if device.major == 0 { nfs::mount_counters(roots, device) } else { stat::of_block_device(roots, device) }
}
