//! What a directory is mounted from: source, type and options as the kernel prints them (proc_pid_mountinfo(5)), the disks beneath,
//! and which class of storage that is. The class is read, never told: only mounts of one class do the same work.

use super::beneath::{disk_dir, names_of, of_another_host};
use crate::safety::{DevNum, Mount, Roots, list_mounts, mount_of, read_attribute};
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

/// Deeper stacks than this are not followed.
const DEEPEST: u32 = 8;
/// File systems that several machines use at the same time, by the kernel's names for their types; all of FUSE are added.
const SHARED: [&str; 18] = [
    "nfs", "nfs4", "ceph", "cifs", "smb3", "smbfs", "9p", "virtiofs", "afs", "coda", "orangefs", "lustre", "gpfs",
    "beegfs", "ocfs2", "gfs2", "pvfs2", "panfs",
];
/// A FUSE file system on a block device of this machine, such as ntfs-3g.
const FUSE_ON_BLOCKS: &str = "fuseblk";
/// The option of an overlay that names where what is written goes.
pub(super) const UPPER_DIRECTORY: &str = "upperdir=";

/// Which storage a mount reaches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MountClass {
    /// A file system that a server or a program makes, and that other machines may use at the same time.
    Shared,
    /// A file system of this machine on a block device that is reached over a network.
    NetworkBlock,
    /// A file system of this machine on its own disks, or in its memory.
    Local,
}

impl fmt::Display for MountClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MountClass::Shared => "shared",
            MountClass::NetworkBlock => "network block",
            MountClass::Local => "local",
        })
    }
}

/// A mount, as the kernel has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mounted {
    /// What is mounted: a device, a server with its directory.
    pub source: String,
    /// The type of the file system.
    pub kind: String,
    /// The directory on which it is mounted.
    pub point: String,
    /// The options of the mount and of the file system, each once, by name.
    pub options: Vec<String>,
    /// See [`MountClass`].
    pub class: MountClass,
    /// The names of the disks beneath, such as `sda`; empty where the kernel knows none.
    pub disks: Vec<String>,
}

/// The mount with this number (`stx_mnt_id` of statx(2)); `None` where the table of mounts does not have it.
pub fn mount_with_number(roots: &Roots, number: u64) -> Option<Mounted> {
    let table = list_mounts(&roots.proc.join("self/mountinfo")).ok()?;
    let mount = table.iter().find(|mount| mount.number == number)?;
    let under = Underneath::find(roots, &table, mount, 0);
    let options: BTreeSet<&str> = mount.mount_options.split(',').chain(mount.options.split(',')).collect();
    Some(Mounted {
        source: mount.source.clone(),
        kind: mount.kind.clone(),
        point: mount.point.to_string_lossy().into_owned(),
        options: options.into_iter().filter(|option| !option.is_empty()).map(str::to_owned).collect(),
        class: under.class,
        disks: under.disks.into_iter().collect(),
    })
}

/// What lies beneath a mount or a device.
struct Underneath {
    class: MountClass,
    disks: BTreeSet<String>,
}

impl Underneath {
    fn without_disks(class: MountClass) -> Underneath {
        Underneath { class, disks: BTreeSet::new() }
    }

    /// What lies beneath a mount.
    fn find(roots: &Roots, table: &[Mount], mount: &Mount, depth: u32) -> Underneath {
        let kind = mount.kind.as_str();
        if SHARED.contains(&kind) || kind.starts_with("fuse") && kind != FUSE_ON_BLOCKS {
            return Underneath::without_disks(MountClass::Shared);
        }
        if depth >= DEEPEST {
            return Underneath::without_disks(MountClass::Local);
        }
        // What is written to an overlay goes to its upper directory.
        let upper = mount.options.split(',').find_map(|option| option.strip_prefix(UPPER_DIRECTORY));
        if let Some(upper) = upper.filter(|_| kind == "overlay") {
            let below = mount_of(table, Path::new(upper)).filter(|below| below.number != mount.number);
            return below.map_or(Underneath::without_disks(MountClass::Local), |below| {
                Underneath::find(roots, table, below, depth + 1)
            });
        }
        match device_of(roots, mount) {
            Some(device) => Underneath::find_under_device(roots, table, device, depth),
            None => Underneath::without_disks(MountClass::Local),
        }
    }

    /// What lies beneath a block device.
    fn find_under_device(roots: &Roots, table: &[Mount], device: DevNum, depth: u32) -> Underneath {
        let dir = disk_dir(roots, device);
        let name = dir.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| device.to_string());
        if of_another_host(roots, device).is_some() {
            return Underneath { class: MountClass::NetworkBlock, disks: BTreeSet::from([name]) };
        }
        let itself = || Underneath { class: MountClass::Local, disks: BTreeSet::from([name.clone()]) };
        let Some(dir) = dir.filter(|_| depth < DEEPEST) else { return itself() };
        if let Some(file) = read_attribute(&dir.join("loop/backing_file")) {
            let Some(mount) = mount_of(table, Path::new(&file)) else { return itself() };
            let below = Underneath::find(roots, table, mount, depth + 1);
            let is_local = below.class == MountClass::Local;
            let class = if is_local { MountClass::Local } else { MountClass::NetworkBlock };
            let disks = if below.disks.is_empty() { BTreeSet::from([name]) } else { below.disks };
            return Underneath { class, disks };
        }
        let slaves = dir.join("slaves");
        let mut all = Underneath::without_disks(MountClass::Local);
        for lower in names_of(&slaves).unwrap_or_default() {
            let number = read_attribute(&slaves.join(&lower).join("dev"));
            let Some(lower) = number.and_then(|number| DevNum::parse_numbers(&number)) else { continue };
            let below = Underneath::find_under_device(roots, table, lower, depth + 1);
            all.disks.extend(below.disks);
            if below.class == MountClass::NetworkBlock {
                all.class = MountClass::NetworkBlock;
            }
        }
        if all.disks.is_empty() { itself() } else { all }
    }
}

/// The block device of a mount. A file system on several devices, such as btrfs, has a number of the driver 0, and names one of them
/// as its source.
pub(super) fn device_of(roots: &Roots, mount: &Mount) -> Option<DevNum> {
    if mount.device.major > 0 {
        return Some(mount.device);
    }
    let name = mount.source.strip_prefix("/dev/")?;
    let number = match name.strip_prefix("mapper/") {
        None => read_attribute(&roots.sys.join("class/block").join(name).join("dev")),
        Some(mapped) => {
            let block = roots.sys.join("block");
            let found = names_of(&block)
                .ok()?
                .into_iter()
                .find(|disk| read_attribute(&block.join(disk).join("dm/name")).as_deref() == Some(mapped))?;
            read_attribute(&block.join(found).join("dev"))
        }
    };
    DevNum::parse_numbers(&number?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// As Linux prints the mounts of a client of everything: NFS 4.2, CephFS by the kernel and by FUSE, an XFS on an rbd, an
    /// ext4 on a volume of LVM on a disk of iSCSI, one on a local disk, a file behind a loop device on NFS, overlays.
    const MOUNTINFO: &str = "\
22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw,errors=remount-ro
30 22 0:51 / /mnt/nfs rw,noatime shared:9 - nfs4 filer:/vol/data rw,vers=4.2,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600,retrans=2,sec=sys,clientaddr=10.0.0.7,local_lock=none,addr=10.0.0.2
31 22 0:52 / /mnt/ceph rw,relatime shared:10 - ceph 10.0.0.3:6789,10.0.0.4:6789:/ rw,name=admin,secret=<hidden>,acl,mon_addr=10.0.0.3:6789
32 22 251:0 / /mnt/rbd rw,relatime shared:11 - xfs /dev/rbd0 rw,attr2,inode64,noquota
33 22 253:0 / /mnt/iscsi rw,relatime shared:12 - ext4 /dev/mapper/vg-data rw,stripe=256
34 22 0:60 / /mnt/fuse rw,nosuid,nodev shared:13 - fuse.ceph-fuse ceph-fuse rw,user_id=0,group_id=0,allow_other
35 22 43:0 / /mnt/nbd rw - ext4 /dev/nbd0 rw
36 22 7:0 / /mnt/loop rw,sync - ext4 /dev/loop0 rw
37 22 0:61 / /mnt/over rw - overlay overlay rw,lowerdir=/usr,upperdir=/mnt/nfs/upper,workdir=/mnt/nfs/work
38 22 0:62 / /mnt/mem rw - tmpfs tmpfs rw,size=1024k
39 22 0:63 /@ /mnt/btrfs rw - btrfs /dev/mapper/vg-data rw,subvol=/@
40 22 0:64 / /mnt/share rw - cifs //win/share rw,vers=3.1.1
41 22 0:65 / /mnt/guest rw - 9p host0 rw,trans=virtio
42 22 8:3 / /mnt/ntfs rw - fuseblk /dev/sda3 rw
";

    /// The devices of that machine, as their directories in sysfs.
    const DEVICES: [(&str, &str); 7] = [
        ("8:2", "devices/pci0000:00/ata1/block/sda/sda2"),
        ("8:3", "devices/pci0000:00/ata1/block/sda/sda3"),
        ("8:16", "devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb"),
        ("251:0", "devices/rbd/0/block/rbd0"),
        ("253:0", "devices/virtual/block/dm-0"),
        ("43:0", "devices/virtual/block/nbd0"),
        ("7:0", "devices/virtual/block/loop0"),
    ];

    fn machine() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        for path in ["proc/self", "sys/dev/block", "sys/block", "sys/class/block"] {
            std::fs::create_dir_all(at(path)).unwrap();
        }
        std::fs::write(at("proc/self/mountinfo"), MOUNTINFO).unwrap();
        for (number, path) in DEVICES {
            let device = at("sys").join(path);
            let name = device.file_name().unwrap().to_owned();
            std::fs::create_dir_all(&device).unwrap();
            std::fs::write(device.join("dev"), number).unwrap();
            symlink(&device, at("sys/dev/block").join(number)).unwrap();
            symlink(&device, at("sys/class/block").join(&name)).unwrap();
            symlink(&device, at("sys/block").join(&name)).unwrap();
            if name.to_string_lossy().starts_with("sda") {
                std::fs::write(device.join("partition"), "2").unwrap();
            }
        }
        let mapper = at("sys/devices/virtual/block/dm-0");
        std::fs::create_dir_all(mapper.join("slaves")).unwrap();
        std::fs::create_dir_all(mapper.join("dm")).unwrap();
        std::fs::write(mapper.join("dm/name"), "vg-data\n").unwrap();
        symlink(at("sys/devices/platform/host3/session1/target3:0:0/3:0:0:1/block/sdb"), mapper.join("slaves/sdb"))
            .unwrap();
        let looped = at("sys/devices/virtual/block/loop0/loop");
        std::fs::create_dir_all(&looped).unwrap();
        std::fs::write(looped.join("backing_file"), "/mnt/nfs/disk.img\n").unwrap();
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        (dir, roots)
    }

    #[test]
    fn the_class_of_a_mount_is_read_from_the_kernel() {
        use MountClass::{Local, NetworkBlock, Shared};
        let (_dir, roots) = machine();
        for (number, kind, class, disks) in [
            (22, "ext4", Local, &["sda"][..]),
            (30, "nfs4", Shared, &[]),
            (31, "ceph", Shared, &[]),
            (32, "xfs", NetworkBlock, &["rbd0"]),
            (33, "ext4", NetworkBlock, &["sdb"]),
            (34, "fuse.ceph-fuse", Shared, &[]),
            (35, "ext4", NetworkBlock, &["nbd0"]),
            (36, "ext4", NetworkBlock, &["loop0"]),
            (37, "overlay", Shared, &[]),
            (38, "tmpfs", Local, &[]),
            (39, "btrfs", NetworkBlock, &["sdb"]),
            (40, "cifs", Shared, &[]),
            (41, "9p", Shared, &[]),
            (42, "fuseblk", Local, &["sda"]),
        ] {
            let found = mount_with_number(&roots, number).unwrap();
            assert_eq!((found.kind.as_str(), found.class), (kind, class), "{number}");
            assert_eq!(found.disks, disks, "{number}");
        }
        assert_eq!(mount_with_number(&roots, 99), None);
    }

    #[test]
    fn the_options_of_the_mount_and_of_the_file_system_are_together() {
        let (_dir, roots) = machine();
        let nfs = mount_with_number(&roots, 30).unwrap();
        assert_eq!((nfs.source.as_str(), nfs.point.as_str()), ("filer:/vol/data", "/mnt/nfs"));
        for option in ["noatime", "vers=4.2", "hard", "rw"] {
            assert_eq!(nfs.options.iter().filter(|own| *own == option).count(), 1, "{option}");
        }
        assert!(mount_with_number(&roots, 36).unwrap().options.contains(&"sync".to_owned()));
    }
}
