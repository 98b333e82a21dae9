//! Which disks serve a device or a file, and what they do for one operation of it, on trees of files: RAID, volumes,
//! partitions, loop devices, file systems in memory and on other hosts.

#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]

use crate::safety_common;

use assay_device::probe::{
    Beneath, FanOut, Pieces, ServingDisks, beneath_device, beneath_file, of_another_host, pieces_of,
};
use assay_device::safety::DevNum;
use safety_common::tree::Tree;
use std::path::{Path, PathBuf};

/// What any request is divided into.
const LONGEST: Pieces = Pieces { bytes: 255 * 4096, aligned: false };

fn number(text: &str) -> DevNum {
    DevNum::parse_numbers(text).unwrap()
}

fn served(disks: &[&str], fan_out: FanOut) -> ServingDisks {
    let disks = disks.iter().map(|text| number(text)).collect();
    ServingDisks { disks, fan_out, pieces: LONGEST, through_file_system: false, through_memory: false }
}

fn fan_out(reads_of_read: u64, reads_of_write: u64, writes_of_write: u64) -> FanOut {
    FanOut { reads_of_read, reads_of_write, writes_of_write }
}

/// Disks of a machine, and an array or volume over them.
fn over_disks(disks: &[(&str, &str)], name: &str, upper: &str) -> (Tree, PathBuf, Vec<PathBuf>) {
    let tree = Tree::new();
    let all = disks.iter().map(|(name, number)| tree.disk(&format!("pci0/{name}"), name, number)).collect::<Vec<_>>();
    let array = tree.disk("virtual", name, upper);
    all.iter().for_each(|disk| tree.stack(&array, disk));
    (tree, array, all)
}

const TWO: [(&str, &str); 2] = [("sda", "8:0"), ("sdb", "8:16")];

#[test]
fn a_disk_is_its_own_and_a_partition_lies_on_its_disk() {
    let tree = Tree::new();
    let disk = tree.disk("pci0/ata1", "sda", "8:0");
    tree.partition(&disk, 1, "8:1");
    assert_eq!(beneath_device(&tree.roots(), number("8:0")), Beneath::Nothing);
    assert_eq!(beneath_device(&tree.roots(), number("8:1")), Beneath::Disks(served(&["8:0"], FanOut::ONE)));
    assert!(matches!(beneath_device(&tree.roots(), number("8:77")), Beneath::Unknown(_)));
}

/// Every level of software RAID that is known, each over partitions of two disks.
#[test]
fn raid_multiplies_writes_and_reads_what_it_changes() {
    for (level, layout, expected) in [
        ("linear", "", Some(FanOut::ONE)),
        ("raid0", "", Some(FanOut::ONE)),
        ("raid1", "", Some(fan_out(1, 0, 3))),
        ("raid10", "258\n", Some(fan_out(1, 0, 2))),
        ("raid10", "514\n", Some(fan_out(1, 0, 4))),
        ("raid10", "", None),
        ("raid4", "", Some(fan_out(1, 2, 2))),
        ("raid5", "", Some(fan_out(1, 2, 2))),
        ("raid6", "", Some(fan_out(1, 3, 3))),
        ("multipath", "", None),
        ("", "", None),
    ] {
        let tree = Tree::new();
        let array = tree.disk("virtual", "md0", "9:0");
        for (name, disk, part) in [("sda", "8:0", "8:1"), ("sdb", "8:16", "8:17")] {
            let disk = tree.disk(&format!("pci0/{name}"), name, disk);
            tree.stack(&array, &tree.partition(&disk, 1, part));
        }
        let md = "sys/devices/virtual/block/md0/md";
        tree.file(&format!("{md}/level"), &format!("{level}\n"));
        tree.file(&format!("{md}/raid_disks"), "3\n");
        tree.file(&format!("{md}/layout"), layout);
        match (beneath_device(&tree.roots(), number("9:0")), expected) {
            (Beneath::Disks(found), Some(fan_out)) => assert_eq!(found, served(&["8:0", "8:16"], fan_out), "{level}"),
            (Beneath::Unknown(why), None) => assert!(why.contains("md0"), "{why}"),
            (found, expected) => panic!("{level} {layout}: {found:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn a_mirror_of_mirrors_multiplies() {
    let (tree, _, _) = over_disks(&TWO, "md0", "9:0");
    let upper = tree.disk("virtual", "md1", "9:1");
    tree.stack(&upper, &tree.path("sys/devices/virtual/block/md0"));
    for (array, level) in [("md0", "raid1"), ("md1", "raid5")] {
        tree.file(&format!("sys/devices/virtual/block/{array}/md/level"), level);
        tree.file(&format!("sys/devices/virtual/block/{array}/md/raid_disks"), "2");
    }
    let found = beneath_device(&tree.roots(), number("9:1"));
    assert_eq!(found, Beneath::Disks(served(&["8:0", "8:16"], fan_out(1, 2, 4))));
}

#[test]
fn only_volumes_that_are_a_place_on_disks_are_known() {
    let lvm = format!("LVM-{}", "a".repeat(64));
    for (uuid, known) in [
        (lvm.as_str(), true),
        (&format!("{lvm}-tpool"), false),
        (&format!("{lvm}-cow"), false),
        ("CRYPT-LUKS2-0123-root", true),
        ("mpath-3600", true),
        ("part1-mpath-3600", true),
        ("VDO-1", false),
        ("", false),
    ] {
        let (tree, _, _) = over_disks(&TWO, "dm-0", "252:0");
        tree.file("sys/devices/virtual/block/dm-0/dm/uuid", uuid);
        let found = beneath_device(&tree.roots(), number("252:0"));
        assert_eq!(matches!(found, Beneath::Disks(_)), known, "{uuid}: {found:?}");
    }
    for (name, known) in
        [("vg-data", true), ("vg-data_rimage_0", false), ("vg-pool-tpool", false), ("vg-a_cdata", false)]
    {
        let (tree, lower, _) = over_disks(&TWO, "dm-0", "252:0");
        tree.file("sys/devices/virtual/block/dm-0/dm/uuid", &lvm);
        tree.file("sys/devices/virtual/block/dm-0/dm/name", name);
        let upper = tree.disk("virtual", "dm-1", "252:1");
        tree.stack(&upper, &lower);
        tree.file("sys/devices/virtual/block/dm-1/dm/uuid", &lvm);
        let found = beneath_device(&tree.roots(), number("252:1"));
        assert_eq!(matches!(found, Beneath::Disks(_)), known, "over {name}: {found:?}");
    }
}

#[test]
fn what_cannot_be_read_or_has_no_end_is_unknown() {
    let (tree, array, _) = over_disks(&TWO, "md0", "9:0");
    tree.file("sys/devices/virtual/block/md0/md/level", "raid0");
    std::fs::remove_file(tree.path("sys/devices/pci0/sdb/block/sdb/dev")).unwrap();
    assert!(matches!(beneath_device(&tree.roots(), number("9:0")), Beneath::Unknown(_)));
    tree.file("sys/devices/pci0/sdb/block/sdb/dev", "8:16");
    assert!(matches!(beneath_device(&tree.roots(), number("9:0")), Beneath::Disks(_)));
    // A device that lies on itself.
    tree.stack(&array, &array);
    assert!(matches!(beneath_device(&tree.roots(), number("9:0")), Beneath::Unknown(_)));
}

/// A file on a file system of each kind, and a loop device over that file, with and without direct I/O.
#[test]
fn files_and_loop_devices_lie_on_the_disk_of_their_file_system() {
    for (kind, expected) in [
        ("ext4", Some(true)),
        ("xfs", Some(true)),
        ("tmpfs", Some(false)),
        ("btrfs", None),
        ("zfs", None),
        ("overlay", None),
        ("nfs4", None),
        ("fuse.sshfs", None),
    ] {
        for direct in [true, false] {
            let tree = Tree::new();
            let disk = tree.disk("pci0/ata1", "sda", "8:0");
            tree.partition(&disk, 2, "8:2");
            let image = tree.path("image");
            std::fs::write(&image, "").unwrap();
            let real = image.canonicalize().unwrap();
            let root = real.parent().unwrap().display().to_string();
            // The file's own number is that of the machine which runs the test, and stands for none of this tree.
            tree.mounts(&format!("1 0 0:5 / / rw - tmpfs none rw\n2 1 8:2 / {root} rw - {kind} /dev/sda2 rw\n"));
            tree.file("sys/class/block/sda2/dev", "8:2\n");
            tree.disk("virtual", "loop0", "7:0");
            tree.file("sys/devices/virtual/block/loop0/loop/backing_file", &real.display().to_string());
            tree.file("sys/devices/virtual/block/loop0/loop/dio", if direct { "1\n" } else { "0\n" });
            let looped = beneath_device(&tree.roots(), number("7:0"));
            let file = beneath_file(&tree.roots(), &real);
            let (on_disk, in_memory) = (expected == Some(true), expected == Some(false));
            for (found, through_memory) in [(looped, !direct), (file, false)] {
                match found {
                    Beneath::Disks(found) if on_disk => {
                        let through =
                            ServingDisks { through_file_system: true, through_memory, ..served(&["8:0"], FanOut::ONE) };
                        assert_eq!(found, through, "{kind} {direct}");
                    }
                    Beneath::Nothing if in_memory => {}
                    Beneath::Unknown(why) if expected.is_none() => assert!(why.contains(kind), "{kind}: {why}"),
                    found => panic!("{kind} {direct}: {found:?}"),
                }
            }
        }
    }
}

#[test]
fn an_operation_is_divided_into_no_more_pieces_than_the_queue_takes() {
    let tree = Tree::new();
    let disk = tree.disk("pci0/ata1", "sda", "8:0");
    tree.partition(&disk, 1, "8:1");
    assert_eq!(pieces_of(&tree.roots(), number("8:0")), LONGEST);
    tree.file("sys/devices/pci0/ata1/block/sda/queue/max_sectors_kb", "1280\n");
    assert_eq!(pieces_of(&tree.roots(), number("8:1")), LONGEST);
    tree.file("sys/devices/pci0/ata1/block/sda/queue/max_sectors_kb", "640\n");
    assert_eq!(pieces_of(&tree.roots(), number("8:1")).bytes, 640 << 10);
    tree.file("sys/devices/pci0/ata1/block/sda/queue/max_segments", "128\n");
    let pieces = pieces_of(&tree.roots(), number("8:0"));
    assert_eq!(pieces, Pieces { bytes: 512 << 10, aligned: false });
    for (operations, bytes, largest, most) in
        [(100, 100 << 12, 1 << 12, 100), (10, 10 << 20, 1 << 20, 30), (0, 0, 1 << 20, 0), (1, 512 << 10, 512 << 10, 1)]
    {
        assert_eq!(pieces.most_pieces(operations, bytes, largest), most, "{operations} {bytes} {largest}");
    }
    let (tree, _, _) = over_disks(&TWO, "md0", "9:0");
    tree.file("sys/devices/virtual/block/md0/md/level", "raid0");
    tree.file("sys/devices/virtual/block/md0/md/chunk_size", "65536");
    let Beneath::Disks(found) = beneath_device(&tree.roots(), number("9:0")) else { panic!("unknown") };
    assert_eq!(found.pieces, Pieces { bytes: 64 << 10, aligned: true });
    assert_eq!(found.pieces.most_pieces(100, 100 << 12, 1 << 12), 200, "each may cross a boundary");
}

#[test]
fn a_disk_that_is_reached_over_a_network_may_have_other_users() {
    for (bus, name, transport, remote) in [
        ("pci0/ata1", "sda", "", false),
        ("platform/host6/session1/target6:0:0", "sdb", "", true),
        ("pci0/host7/rport-7:0-1", "sdc", "", true),
        ("virtual", "nbd0", "", true),
        ("virtual", "rbd1", "", true),
        ("pci0/nvme/nvme0", "nvme0n1", "pcie", false),
        ("virtual/nvme-fabrics/ctl/nvme1", "nvme1n1", "tcp", true),
        ("virtual/nvme-subsystem/nvme-subsys2", "nvme2n1", "tcp", true),
    ] {
        let tree = Tree::new();
        let dir = tree.disk(bus, name, "8:0");
        let dir: &Path = dir.strip_prefix(tree.path("")).unwrap();
        if !transport.is_empty() {
            tree.file(dir.join("device/transport").to_str().unwrap(), transport);
        }
        let found = of_another_host(&tree.roots(), number("8:0"));
        assert_eq!(found.as_ref().map(|said| said.contains(name)), remote.then_some(true), "{name}: {found:?}");
    }
}
