//! The kernel's own count of what reached a disk: `/sys/dev/block/MAJ:MIN/stat` (Documentation/block/stat.rst). The
//! engine's numbers are checked with it, writes by others to the target are noticed, and it shows what a file system or a
//! database asked of the disk below it.

use crate::safety::{DevNum, Kind, Roots, disk_under, read_attribute};
use rustix::fs::FileType;
use std::path::Path;

/// Totals since the device appeared. Sectors are 512 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct DiskStat {
    /// Reads completed.
    pub reads: u64,
    /// Reads that were merged into others before they reached the device.
    pub read_merges: u64,
    /// Sectors read.
    pub read_sectors: u64,
    /// The time that these reads took together, in milliseconds.
    pub read_ms: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes that were merged into others before they reached the device.
    pub write_merges: u64,
    /// Sectors written.
    pub write_sectors: u64,
    /// The time that these writes took together, in milliseconds.
    pub write_ms: u64,
    /// Operations in flight now.
    pub in_flight: u64,
    /// Discards completed (Linux 4.18).
    pub discards: Option<u64>,
    /// Sectors discarded (Linux 4.18).
    pub discard_sectors: Option<u64>,
    /// The time that these discards took together, in milliseconds (Linux 4.18).
    pub discard_ms: Option<u64>,
    /// Flushes completed (Linux 5.5).
    pub flushes: Option<u64>,
    /// The time that these flushes took together, in milliseconds (Linux 5.5).
    pub flush_ms: Option<u64>,
}

impl DiskStat {
    /// Reads the 11, 15 or 17 columns.
    pub fn parse_columns(text: &str) -> Option<DiskStat> {
        let columns: Vec<u64> = text.split_whitespace().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        let column = |i: usize| columns.get(i).copied();
        Some(DiskStat {
            reads: column(0)?,
            read_merges: column(1)?,
            read_sectors: column(2)?,
            read_ms: column(3)?,
            writes: column(4)?,
            write_merges: column(5)?,
            write_sectors: column(6)?,
            write_ms: column(7)?,
            in_flight: column(8)?,
            discards: column(11),
            discard_sectors: column(13),
            discard_ms: column(14),
            flushes: column(15),
            flush_ms: column(16),
        })
    }

    /// By how much the totals rose since an earlier reading; the operations in flight are those of now. `None` where a
    /// counter fell: another device has the number now, or it began to count anew. The kernel prints times as 32 bits, which
    /// begin anew after 49 days, and after hours where hundreds of operations are in flight.
    pub fn rise_since(&self, before: &DiskStat) -> Option<DiskStat> {
        Some(DiskStat {
            reads: self.reads.checked_sub(before.reads)?,
            read_merges: self.read_merges.checked_sub(before.read_merges)?,
            read_sectors: self.read_sectors.checked_sub(before.read_sectors)?,
            read_ms: ran_for(self.read_ms, before.read_ms)?,
            writes: self.writes.checked_sub(before.writes)?,
            write_merges: self.write_merges.checked_sub(before.write_merges)?,
            write_sectors: self.write_sectors.checked_sub(before.write_sectors)?,
            write_ms: ran_for(self.write_ms, before.write_ms)?,
            in_flight: self.in_flight,
            discards: counter_rise(self.discards, before.discards, u64::checked_sub)?,
            discard_sectors: counter_rise(self.discard_sectors, before.discard_sectors, u64::checked_sub)?,
            discard_ms: counter_rise(self.discard_ms, before.discard_ms, ran_for)?,
            flushes: counter_rise(self.flushes, before.flushes, u64::checked_sub)?,
            flush_ms: counter_rise(self.flush_ms, before.flush_ms, ran_for)?,
        })
    }
}

/// The counters of a block device. `None`: the kernel has none for it.
pub(super) fn of_block_device(roots: &Roots, device: DevNum) -> Option<DiskStat> {
    DiskStat::parse_columns(&read_attribute(&roots.device_dir(device)?.join("stat"))?)
}

/// The block device whose counters apply to a path: the device itself, or for a file or a directory the disk under its file
/// system.
pub fn disk_under_path(roots: &Roots, path: &Path) -> Option<DevNum> {
    let real = path.canonicalize().ok()?;
    let stat = rustix::fs::stat(&real).ok()?;
    if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        return disk_under(roots, &real, DevNum::from_stat(stat.st_dev));
    }
    match crate::safety::kind_of(&stat) {
        Kind::Block(number) => Some(number),
        Kind::File(inode) => disk_under(roots, &real, inode.device),
        Kind::Other(_) | Kind::Missing => None,
    }
}

/// The difference of two counters of milliseconds, which have 32 bits on some kernels and begin again at zero.
fn ran_for(now: u64, before: u64) -> Option<u64> {
    let narrow = now <= u64::from(u32::MAX) && before <= u64::from(u32::MAX);
    if narrow { Some((now as u32).wrapping_sub(before as u32).into()) } else { now.checked_sub(before) }
}

/// The difference of two counters, if both are there; `None` if the later one is smaller.
fn counter_rise(now: Option<u64>, before: Option<u64>, rise: fn(u64, u64) -> Option<u64>) -> Option<Option<u64>> {
    match (now, before) {
        (Some(now), Some(before)) => rise(now, before).map(Some),
        _ => Some(None),
    }
}
