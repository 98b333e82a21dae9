//! Whether the partition table on a disk says of a partition what the kernel says.
//!
//! The kernel reads a table once, and keeps its own list while partitions of the disk are in use. Who edits the table of
//! the system's disk may leave one that gives the sectors of a partition to another one from the next start on. Then what
//! lies beside a partition is not known, and a partition beside which something is in use is not written.

use super::identity::Identity;
use super::roots::{DevNum, Roots, read_number};
use super::signature;
use std::fs::File;

/// Sectors of 512 bytes at the beginning of a disk that a table may occupy: GPT has 34, and the same at the end.
const SECTORS_OF_A_TABLE: u64 = 34;

/// Asks `blkid` for the entry of an open partition, and compares it with the kernel's.
///
/// # Errors
/// They differ, or this cannot be found out; in words.
pub(super) fn check_partition_entry(roots: &Roots, device: DevNum, file: &File) -> Result<(), String> {
    let identity = Identity::read_identity(roots, device).ok_or("sysfs does not show it")?;
    let Some((index, start)) = identity.partition else { return Err("it is not a partition".to_owned()) };
    let dir = roots.device_dir(device).ok_or("sysfs does not show it")?;
    let size = read_number(&dir.join("size")).ok_or("its size is unknown")?;
    let entry = signature::partition_entry(file)?;
    let entry = entry.ok_or("the partition table on the disk does not list it (blkid)")?;
    if (entry.number, entry.start, entry.size) != (index, start, size) {
        return Err(format!(
            "the partition table on the disk says that partition {} has {} sectors from {}, the kernel that {index} has {size} from {start}: \
             somebody has edited the table (partprobe tells the kernel, or a restart)",
            entry.number, entry.size, entry.start
        ));
    }
    let disk = read_number(&identity.disk_dir.join("size")).ok_or("the size of its disk is unknown")?;
    let before_the_end = start.checked_add(size).and_then(|end| disk.checked_sub(end));
    let is_at_the_end = entry.scheme == "gpt" && before_the_end.is_none_or(|rest| rest < SECTORS_OF_A_TABLE - 1);
    if start < SECTORS_OF_A_TABLE || is_at_the_end {
        Err("it lies where the partition table of the disk may be".to_owned())
    } else {
        Ok(())
    }
}
