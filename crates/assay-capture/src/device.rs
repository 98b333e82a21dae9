//! Which device is captured, by which events, and which part of it.

use crate::trouble::Trouble;
use assay_device::probe::{DiskStat, disk_stat};
use assay_device::safety::{DevNum, Roots};
use rustix::fs::{FileType, stat};
use std::fs;
use std::path::{Path, PathBuf};

/// A block device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CapturedDevice {
    /// Its own number, under which the kernel counts.
    number: DevNum,
    /// The number that events have: that of the disk for a partition.
    traced: DevNum,
    /// Its first sector on that disk, and its length in sectors of 512 bytes.
    first: u64,
    sectors: u64,
    is_partition: bool,
    /// Whether requests are queued in the kernel's way; otherwise the driver takes them as they are submitted.
    has_queue: bool,
}

/// The events of a device, in the kernel's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventNames {
    /// A request is given to the device.
    pub issued: &'static str,
    /// It is complete.
    pub completed: &'static str,
}

impl CapturedDevice {
    /// The device with this name.
    pub fn find(path: &Path) -> Result<CapturedDevice, Trouble> {
        let shown = path.to_string_lossy().escape_debug().to_string();
        let found = stat(path).map_err(|e| {
            Trouble::of_usage(format!("{shown} is not there: {e}"), "name a block device, such as /dev/nvme0n1")
        })?;
        if FileType::from_raw_mode(found.st_mode) != FileType::BlockDevice {
            let what = format!("{shown} is not a block device");
            return Err(Trouble::of_usage(what, "name the device that it is on; `findmnt -T FILE` shows it"));
        }
        CapturedDevice::from_sysfs(Path::new("/sys"), DevNum::from_stat(found.st_rdev)).ok_or_else(|| {
            Trouble::of_host(format!("the kernel says nothing of {shown}"), "mount sysfs: mount -t sysfs sysfs /sys")
        })
    }

    fn from_sysfs(sys: &Path, number: DevNum) -> Option<CapturedDevice> {
        let own = fs::canonicalize(sys.join("dev/block").join(number.to_string())).ok()?;
        let is_partition = own.join("partition").exists();
        let disk: PathBuf = if is_partition { own.parent()?.to_owned() } else { own.clone() };
        let attribute = |dir: &Path, name: &str| fs::read_to_string(dir.join(name)).ok();
        let number_in = |name: &str| attribute(&own, name)?.trim().parse::<u64>().ok();
        Some(CapturedDevice {
            number,
            traced: DevNum::parse_numbers(&attribute(&disk, "dev")?)?,
            first: if is_partition { number_in("start")? } else { 0 },
            sectors: number_in("size")?,
            is_partition,
            has_queue: disk.join("mq").exists(),
        })
    }

    /// Its events. A driver without a queue has no moment at which requests are given to the device but that at which they
    /// are submitted.
    pub fn event_names(&self) -> EventNames {
        if self.has_queue {
            EventNames { issued: "block_rq_issue", completed: "block_rq_complete" }
        } else {
            EventNames { issued: "block_bio_queue", completed: "block_bio_complete" }
        }
    }

    /// The filter of its events.
    pub fn event_filter(&self) -> String {
        // The kernel's dev_t: the minor number has 20 bits.
        let traced = if self.has_queue { self.traced } else { self.number };
        let number = u64::from(traced.major) << 20 | u64::from(traced.minor);
        let end = self.first.saturating_add(self.sectors);
        if self.is_partition {
            format!("dev == {number} && sector >= {} && sector < {end}", self.first)
        } else {
            format!("dev == {number}")
        }
    }

    /// The place of a sector, in bytes from the begin of the device; `None` outside of it.
    pub fn place_of(&self, sector: u64) -> Option<u64> {
        let own = sector.checked_sub(self.first).filter(|own| *own < self.sectors)?;
        own.checked_mul(512)
    }

    /// Whether flushes are seen: those of a partition are not told from those of others.
    pub fn sees_flushes(&self) -> bool {
        !self.is_partition
    }

    /// Whether another device has taken its place, or none.
    pub fn is_gone(&self) -> bool {
        CapturedDevice::from_sysfs(Path::new("/sys"), self.number).as_ref() != Some(self)
    }

    /// The kernel's counters of it.
    pub fn read_counters(&self) -> Option<DiskStat> {
        disk_stat(&Roots::of_machine(), self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_partitions_and_drivers_without_a_queue() {
        let place = std::env::temp_dir().join(format!("assay-capture-device-{}", std::process::id()));
        let disk = place.join("devices/sda");
        fs::create_dir_all(disk.join("sda1")).unwrap();
        fs::create_dir_all(disk.join("mq")).unwrap();
        fs::create_dir_all(place.join("devices/zram0")).unwrap();
        fs::create_dir_all(place.join("dev/block")).unwrap();
        for (file, text) in [
            ("devices/sda/dev", "8:0\n"),
            ("devices/sda/size", "1000\n"),
            ("devices/sda/sda1/dev", "8:1\n"),
            ("devices/sda/sda1/partition", "1\n"),
            ("devices/sda/sda1/start", "100\n"),
            ("devices/sda/sda1/size", "50\n"),
            ("devices/zram0/dev", "252:0\n"),
            ("devices/zram0/size", "80\n"),
        ] {
            fs::write(place.join(file), text).unwrap();
        }
        for (number, to) in [("8:0", "sda"), ("8:1", "sda/sda1"), ("252:0", "zram0")] {
            std::os::unix::fs::symlink(place.join("devices").join(to), place.join("dev/block").join(number)).unwrap();
        }
        let find = |text: &str| CapturedDevice::from_sysfs(&place, DevNum::parse_numbers(text).unwrap());
        let (disk, part, zram) = (find("8:0").unwrap(), find("8:1").unwrap(), find("252:0").unwrap());
        assert_eq!(disk.event_filter(), "dev == 8388608");
        assert_eq!(part.event_filter(), "dev == 8388608 && sector >= 100 && sector < 150");
        assert_eq!(zram.event_filter(), format!("dev == {}", 252u64 << 20));
        assert_eq!((disk.event_names().issued, zram.event_names().issued), ("block_rq_issue", "block_bio_queue"));
        assert_eq!((part.place_of(99), part.place_of(102), part.place_of(150)), (None, Some(1024), None));
        assert_eq!(find("8:7"), None);
        fs::remove_dir_all(place).unwrap();
    }
}
