//! What is known about a host and its targets: plain data for the log and the certificate. Nothing here decides
//! anything.
//!
//! Every number comes from `/proc` and `/sys` below the given [`Roots`]. What the kernel does not report is absent
//! (`None`), never an empty success: a loop device has no model, so its model is `None`.

mod beneath;
mod counted;
mod flushed;
mod health;
mod host;
mod links;
mod mounted;
mod nfs;
mod pressure;
mod processes;
mod stat;
mod target;

pub use beneath::{Beneath, FanOut, Pieces, ServingDisks, beneath_device, beneath_file, of_another_host, pieces_of};
pub use counted::{disk_name, disk_stat};
pub use flushed::{FlushedDisk, MadeDurable, made_durable_of_file, made_durable_on_device, made_durable_on_mount};
pub use health::disk_health;
pub(crate) use host::available_memory;
pub use host::{CgroupLimits, HostFingerprint, Throttled, current_clocksource, read_host, throttled};
pub use links::{Link, network_links};
pub use mounted::{MountClass, Mounted, mount_with_number};
pub use pressure::processor_pressure_ns;
pub use processes::{ProcessIo, Processes, busiest_processes, process_io, visible_processes};
pub use stat::{DiskStat, disk_under_path};
pub use target::{LARGEST_REQUEST, TargetFingerprint, queue_settings, read_target};

use crate::safety::{Roots, names_if_any};
use std::path::PathBuf;

/// The block devices of the machine as nodes below the dev root: every disk that is not hidden and has a size, each
/// followed by its partitions. None where the kernel has no block devices at all.
///
/// # Errors
/// They cannot be listed; in words.
pub fn candidate_devices(roots: &Roots) -> Result<Vec<PathBuf>, String> {
    let block = roots.sys.join("block");
    let mut found = Vec::new();
    for disk in names_if_any(&block)? {
        let dir = block.join(&disk);
        let hidden = crate::safety::read_number(&dir.join("hidden")) == Some(1);
        if hidden || crate::safety::read_number(&dir.join("size")).unwrap_or(0) == 0 {
            continue;
        }
        let partitions = names_if_any(&dir)?.into_iter().filter(|name| dir.join(name).join("partition").exists());
        // A name that contains a slash (cciss/c0d0) is written with an exclamation mark in sysfs.
        found
            .extend(std::iter::once(disk.clone()).chain(partitions).map(|name| roots.dev.join(name.replace('!', "/"))));
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
