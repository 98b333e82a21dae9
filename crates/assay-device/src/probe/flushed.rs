//! Which disks must be flushed before data on a mount or on a device are durable. A sync that ends without such a flush has made
//! nothing durable, however fast it was. `docs/decisions/0104` says what follows from it.
//!
//! The kernel counts flushes only where requests have a queue (Documentation/block/stat.rst: "not tracked for partitions"),
//! so that a partition leads to its disk, and a volume to the disks beneath it. A loop device has a queue, and is not followed
//! further, because a flush of it is a sync of its file; only where that file is in memory, a sync of it does nothing.

use super::beneath::{disk_dir, names_of};
use super::counted::{disk_name, disk_stat};
use super::mounted::{UPPER_DIRECTORY, device_of};
use crate::safety::{DevNum, Mount, Roots, list_mounts, mount_of, read_attribute, read_number};
use std::path::Path;

/// Deeper stacks than this are not followed.
const DEEPEST: u32 = 8;
/// File systems that keep everything in memory.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];
/// File systems on block devices of this machine, which flush them.
const ON_BLOCKS: [&str; 10] = ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "vfat", "exfat", "bcachefs"];
/// What an overlay is mounted with that leaves out every sync of its upper directory
/// (Documentation/filesystems/overlayfs.rst, "Volatile mount").
const VOLATILE: &str = "volatile";
/// What a queue says that keeps data in memory that a loss of power takes (Documentation/ABI/stable/sysfs-block).
const WRITE_BACK: &str = "write back";

/// A disk that a sync has to flush.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlushedDisk {
    /// Its number.
    pub number: DevNum,
    /// The kernel's name, such as `sda`.
    pub name: String,
    /// What its queue says of its cache: `write back`, `write through`; `None` where it says nothing.
    pub write_cache: Option<String>,
    /// Whether it can make a single write durable (FUA), for which no flush is counted.
    pub writes_through: bool,
}

impl FlushedDisk {
    /// Whether it says that data may be lost which were not flushed.
    pub fn is_write_back(&self) -> bool {
        self.write_cache.as_deref() == Some(WRITE_BACK)
    }
}

/// What makes data durable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MadeDurable {
    /// Flushes of these disks.
    ByFlushesOf(Vec<FlushedDisk>),
    /// Nothing does; the text says why.
    ByNothing(String),
    /// It cannot be seen from here; the text says why.
    Unknown(String),
}

/// What makes data durable on the mount with this number (`stx_mnt_id` of statx(2)).
pub fn made_durable_on_mount(roots: &Roots, number: u64) -> MadeDurable {
    let table = list_mounts(&roots.proc.join("self/mountinfo")).unwrap_or_default();
    match table.iter().find(|mount| mount.number == number) {
        Some(mount) => on_mount(roots, &table, mount, 0),
        None => MadeDurable::Unknown("its file system is not in the table of mounts".to_owned()),
    }
}

/// What makes the data of a file or a directory with this resolved path durable.
pub fn made_durable_of_file(roots: &Roots, real: &Path) -> MadeDurable {
    let table = list_mounts(&roots.proc.join("self/mountinfo")).unwrap_or_default();
    match mount_of(&table, real) {
        Some(mount) => on_mount(roots, &table, mount, 0),
        None => MadeDurable::Unknown("its file system is not in the table of mounts".to_owned()),
    }
}

/// What makes data durable on a block device.
pub fn made_durable_on_device(roots: &Roots, device: DevNum) -> MadeDurable {
    let table = list_mounts(&roots.proc.join("self/mountinfo")).unwrap_or_default();
    by_flushes_beneath(roots, &table, device, &[device])
}

/// The disks that serve a device, or the `members` of the file system that is mounted from it.
fn by_flushes_beneath(roots: &Roots, table: &[Mount], device: DevNum, members: &[DevNum]) -> MadeDurable {
    let mut disks = Vec::new();
    members.iter().for_each(|member| add_disks(roots, *member, 0, &mut disks));
    if disks.is_empty() {
        return MadeDurable::Unknown(format!("the kernel counts no flushes of {device} (Linux 5.5 and newer does)"));
    }
    match disks.iter().find_map(|disk| memory_beneath(roots, table, &disk.name)) {
        Some(why) => MadeDurable::ByNothing(why),
        None => MadeDurable::ByFlushesOf(disks),
    }
}

/// Why syncs of a loop device do nothing, where its file is in memory.
fn memory_beneath(roots: &Roots, table: &[Mount], name: &str) -> Option<String> {
    let file = read_attribute(&roots.sys.join("block").join(name).join("loop/backing_file"))?;
    let kind = mount_of(table, Path::new(&file))?.kind.as_str();
    IN_MEMORY.contains(&kind).then(|| format!("the file of {name} is on {kind}, which is memory"))
}

fn on_mount(roots: &Roots, table: &[Mount], mount: &Mount, depth: u32) -> MadeDurable {
    let kind = mount.kind.as_str();
    if IN_MEMORY.contains(&kind) {
        return MadeDurable::ByNothing(format!("{kind} is memory"));
    }
    if kind == "overlay" && depth < DEEPEST {
        return on_overlay(roots, table, mount, depth);
    }
    if !ON_BLOCKS.contains(&kind) {
        return MadeDurable::Unknown(format!("what a sync does on {kind} cannot be counted from here"));
    }
    let Some(device) = device_of(roots, mount) else {
        return MadeDurable::Unknown(format!("the disk beneath its {kind} is not known"));
    };
    let all = if kind == "btrfs" { devices_of_btrfs(roots, device) } else { vec![device] };
    by_flushes_beneath(roots, table, device, &all)
}

/// What is written to an overlay goes to its upper directory.
fn on_overlay(roots: &Roots, table: &[Mount], mount: &Mount, depth: u32) -> MadeDurable {
    let mut options = mount.options.split(',').chain(mount.mount_options.split(','));
    if options.any(|option| option == VOLATILE || option == "fsync=volatile") {
        return MadeDurable::ByNothing(format!("the overlay is mounted with {VOLATILE}, which leaves out every sync"));
    }
    let upper = mount.options.split(',').find_map(|option| option.strip_prefix(UPPER_DIRECTORY));
    let below = upper.and_then(|upper| mount_of(table, Path::new(upper))).filter(|below| below.number != mount.number);
    match below {
        Some(below) => on_mount(roots, table, below, depth + 1),
        None => MadeDurable::Unknown("the file system beneath its overlay is not known".to_owned()),
    }
}

/// All devices of the btrfs on this one: the kernel lists them by the identity of the file system.
fn devices_of_btrfs(roots: &Roots, device: DevNum) -> Vec<DevNum> {
    let systems = roots.sys.join("fs/btrfs");
    for system in names_of(&systems).unwrap_or_default() {
        let members = systems.join(system).join("devices");
        let mut numbers = Vec::new();
        for member in names_of(&members).unwrap_or_default() {
            let number = read_attribute(&members.join(member).join("dev"));
            numbers.extend(number.and_then(|number| DevNum::parse_numbers(&number)));
        }
        if numbers.contains(&device) {
            return numbers;
        }
    }
    vec![device]
}

/// Adds the disks that serve a device and count flushes, each once.
fn add_disks(roots: &Roots, device: DevNum, depth: u32, disks: &mut Vec<FlushedDisk>) {
    let Some(dir) = disk_dir(roots, device).filter(|_| depth < DEEPEST) else { return };
    let slaves = dir.join("slaves");
    let lower = names_of(&slaves).unwrap_or_default();
    if !lower.is_empty() {
        for name in lower {
            let number = read_attribute(&slaves.join(name).join("dev"));
            if let Some(number) = number.and_then(|number| DevNum::parse_numbers(&number)) {
                add_disks(roots, number, depth + 1, disks);
            }
        }
        return;
    }
    let number = read_attribute(&dir.join("dev")).and_then(|number| DevNum::parse_numbers(&number));
    let Some((number, name)) = number.and_then(|number| Some((number, disk_name(roots, number)?))) else { return };
    let counts_flushes = disk_stat(roots, number).is_some_and(|stat| stat.flushes.is_some());
    if counts_flushes && disks.iter().all(|disk| disk.number != number) {
        let queue = dir.join("queue");
        let write_cache = read_attribute(&queue.join("write_cache"));
        let writes_through = read_number(&queue.join("fua")).is_some_and(|fua| fua > 0);
        disks.push(FlushedDisk { number, name, write_cache, writes_through });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    const MOUNTINFO: &str = "\
22 1 8:2 / / rw,relatime - ext4 /dev/sda2 rw
30 22 0:51 / /mnt/nfs rw - nfs4 filer:/vol/data rw,hard
33 22 253:0 / /mnt/volume rw - xfs /dev/mapper/vg-data rw
36 22 7:0 / /mnt/loop rw - ext4 /dev/loop0 rw
37 22 0:61 / /mnt/over rw - overlay overlay rw,lowerdir=/usr,upperdir=/mnt/loop/upper,workdir=/mnt/loop/work
38 22 0:62 / /mnt/volatile rw - overlay overlay rw,lowerdir=/usr,upperdir=/mnt/loop/u2,workdir=/mnt/loop/w2,volatile
39 22 0:63 / /mnt/memory rw - tmpfs tmpfs rw
40 22 0:64 / /mnt/pool rw - btrfs /dev/sdb rw
41 22 0:65 / /mnt/over2 rw - overlay overlay rw,upperdir=/mnt/memory/upper
42 22 8:48 / /mnt/old rw - ext4 /dev/sdd rw
43 22 7:1 / /mnt/loop-of-memory rw - ext4 /dev/loop1 rw
";
    const COUNTERS: &str = "1 0 8 0 2 0 16 0 0 0 0 0 0 0 0 7 1\n";

    /// A machine with two disks, one of which has a partition, a volume on both, and a loop device.
    fn machine() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let sys = dir.path().join("sys");
        for path in ["dev/block", "class/block", "block", "fs/btrfs/4711/devices"] {
            fs::create_dir_all(sys.join(path)).unwrap();
        }
        fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        fs::write(dir.path().join("proc/self/mountinfo"), MOUNTINFO).unwrap();
        for (number, path, cache, counters) in [
            ("8:0", "devices/sda", "write back", COUNTERS),
            ("8:2", "devices/sda/sda2", "", COUNTERS),
            ("8:16", "devices/sdb", "write through", COUNTERS),
            ("8:32", "devices/sdc", "write back", COUNTERS),
            ("8:48", "devices/sdd", "write back", "1 0 8 0 2 0 16 0 0 0 0\n"),
            ("253:0", "devices/dm-0", "write back", COUNTERS),
            ("7:0", "devices/loop0", "write back", COUNTERS),
            ("7:1", "devices/loop1", "write back", COUNTERS),
        ] {
            let device = sys.join(path);
            let name = device.file_name().unwrap().to_owned();
            fs::create_dir_all(device.join("queue")).unwrap();
            fs::write(device.join("dev"), number).unwrap();
            fs::write(device.join("stat"), counters).unwrap();
            fs::write(device.join("queue/write_cache"), cache).unwrap();
            fs::write(device.join("queue/fua"), if name == "sdb" { "1" } else { "0" }).unwrap();
            for place in ["dev/block".to_owned() + "/" + number, format!("class/block/{}", name.to_string_lossy())] {
                symlink(&device, sys.join(place)).unwrap();
            }
            symlink(&device, sys.join("block").join(&name)).unwrap();
        }
        for (name, file) in [("loop0", "/mnt/volume/image"), ("loop1", "/mnt/memory/image")] {
            fs::create_dir(sys.join("devices").join(name).join("loop")).unwrap();
            fs::write(sys.join("devices").join(name).join("loop/backing_file"), file).unwrap();
        }
        fs::write(sys.join("devices/sda/sda2/partition"), "2").unwrap();
        fs::create_dir_all(sys.join("devices/dm-0/slaves")).unwrap();
        fs::create_dir_all(sys.join("devices/dm-0/dm")).unwrap();
        fs::write(sys.join("devices/dm-0/dm/name"), "vg-data\n").unwrap();
        symlink(sys.join("devices/sda/sda2"), sys.join("devices/dm-0/slaves/sda2")).unwrap();
        symlink(sys.join("devices/sdb"), sys.join("devices/dm-0/slaves/sdb")).unwrap();
        symlink(sys.join("devices/sdb"), sys.join("fs/btrfs/4711/devices/sdb")).unwrap();
        symlink(sys.join("devices/sdc"), sys.join("fs/btrfs/4711/devices/sdc")).unwrap();
        let roots = Roots { proc: dir.path().join("proc"), sys, dev: dir.path().join("dev") };
        (dir, roots)
    }

    #[test]
    fn the_disks_that_a_sync_flushes_are_those_that_count_flushes() {
        let (_dir, roots) = machine();
        for (mount, expected) in [
            (22, Ok(&["sda"][..])),
            (33, Ok(&["sda", "sdb"])),
            (36, Ok(&["loop0"])),
            (37, Ok(&["loop0"])),
            (40, Ok(&["sdb", "sdc"])),
            (30, Err("nfs4 cannot be counted")),
            (38, Err("volatile")),
            (39, Err("tmpfs is memory")),
            (41, Err("tmpfs is memory")),
            (42, Err("counts no flushes")),
            (43, Err("the file of loop1 is on tmpfs, which is memory")),
            (99, Err("not in the table")),
        ] {
            match (made_durable_on_mount(&roots, mount), expected) {
                (MadeDurable::ByFlushesOf(disks), Ok(names)) => {
                    let found: Vec<&str> = disks.iter().map(|disk| disk.name.as_str()).collect();
                    assert_eq!(found, names, "{mount}");
                }
                (MadeDurable::ByNothing(why), Err(part)) => {
                    assert!(mount != 30 && why.contains(part), "{mount}: {why}")
                }
                (MadeDurable::Unknown(why), Err(part)) => {
                    assert!(![38, 39, 41].contains(&mount) && why.contains(part), "{mount}: {why}");
                }
                (found, expected) => panic!("{mount}: {found:?} is not {expected:?}"),
            }
        }
    }

    #[test]
    fn what_a_disk_says_of_its_cache_is_known() {
        let (_dir, roots) = machine();
        let disks = match made_durable_on_device(&roots, DevNum { major: 253, minor: 0 }) {
            MadeDurable::ByFlushesOf(disks) => disks,
            other => panic!("{other:?}"),
        };
        let said: Vec<(bool, bool)> = disks.iter().map(|disk| (disk.is_write_back(), disk.writes_through)).collect();
        assert_eq!(said, [(true, false), (false, true)]);
        assert!(matches!(made_durable_on_device(&roots, DevNum { major: 4, minor: 4 }), MadeDurable::Unknown(_)));
    }
}
