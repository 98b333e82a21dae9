//! The rules that read the kernel's information about the machine, on trees of files: what a test cannot build live
//! (RAID, device-mapper, multipath, NVMe, the root disk) is built here.
#![allow(clippy::disallowed_methods, reason = "a test makes files of its own")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

use crate::safety_common;

use assay_device::safety::RuleId::{S4, S5, S6, S9, S11};
use assay_device::safety::{DevNum, Gate, Identity, RuleId, Watermark};
use safety_common::live::without_rights;
use safety_common::tree::{Tree, evidence};
use std::os::unix::fs::symlink;
use std::path::Path;

const TMPFS_ROOT: &str = "1 0 0:5 / / rw - tmpfs none rw\n";
const NONE: [RuleId; 0] = [];

#[test]
fn a_disk_nobody_uses_is_free() {
    let tree = Tree::new();
    let disk = tree.disk("pci0/ata1", "sda", "8:0");
    tree.partition(&disk, 1, "8:1");
    let exam = tree.ask("8:0");
    assert_eq!(tree.refused("8:0"), NONE, "{exam:?}");
    assert!(exam.accepted && exam.watermarks.is_empty());
    assert_eq!(exam.rules.iter().map(|a| a.id).collect::<Vec<_>>(), [S4, S5, S6, S9, S11]);
}

#[test]
fn a_device_sysfs_does_not_know_is_refused_by_every_rule() {
    assert_eq!(Tree::new().refused("8:0"), [S4, S5, S6, S9, S11]);
}

/// Every member of the family is refused when one is mounted; a stranger is not.
#[test]
fn a_mount_anywhere_in_the_family_is_seen_from_everywhere() {
    let tree = Tree::new();
    let sda = tree.disk("pci0/ata1", "sda", "8:0");
    let sda1 = tree.partition(&sda, 1, "8:1");
    tree.partition(&sda, 2, "8:2");
    let dm = tree.disk("virtual", "dm-0", "252:0");
    tree.file("sys/devices/virtual/block/dm-0/dm/name", "vg-home\n");
    tree.stack(&dm, &sda1);
    tree.disk("pci0/ata2", "sdb", "8:16");
    tree.file("dev/mapper/vg-home", "");
    for line in [
        "9 1 252:0 / /home rw - ext4 /dev/mapper/vg-home rw\n",
        // btrfs and overlays show an anonymous number; the source names the device.
        "9 1 0:44 / /home rw - btrfs /dev/mapper/vg-home rw\n",
        "9 1 8:2 / /home rw - ext4 /dev/sda2 rw\n",
        "9 1 0:44 /sub /home rw - btrfs /dev/sda2 rw\n",
    ] {
        tree.mounts(&format!("{TMPFS_ROOT}{line}"));
        for member in ["8:0", "8:1", "8:2", "252:0"] {
            assert!(tree.refused(member).contains(&S4), "{member} with {line}");
            assert!(evidence(&tree.ask(member), S4).contains("mounted on /home"), "{member} with {line}");
        }
        assert_eq!(tree.refused("8:16"), NONE, "{line}");
    }
}

/// The disk of a machine with a system on it, and a partition for the test: sda1 is the root, sda2 swap, sda3 a volume
/// with a file system, sda5 part of a RAID with another disk, sda9 the one for the test.
fn machine_with_a_partition_to_spare() -> Tree {
    let tree = Tree::new();
    let sda = tree.disk("pci0/ata1", "sda", "8:0");
    let parts: Vec<_> = [(1, "8:1"), (2, "8:2"), (3, "8:3"), (5, "8:5"), (9, "8:9")]
        .map(|(index, number)| tree.partition_at(&sda, index, number, (2048 + 10_000 * u64::from(index), 10_000)))
        .into();
    let volume = tree.disk("virtual", "dm-0", "252:0");
    tree.file("sys/devices/virtual/block/dm-0/dm/name", "vg-home\n");
    tree.stack(&volume, &parts[2]);
    let sdb = tree.disk("pci0/ata2", "sdb", "8:16");
    let md = tree.disk("virtual", "md0", "9:0");
    tree.stack(&md, &parts[3]);
    tree.stack(&md, &tree.partition_at(&sdb, 1, "8:17", (2048, 10_000)));
    tree.mounts(
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:1 /var /srv rw - ext4 /dev/sda1 rw\n3 1 252:0 / /home rw - xfs /dev/mapper/vg-home rw\n\
         4 1 9:0 / /data rw - ext4 /dev/md0 rw\n",
    );
    tree.file("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 10 0 -2\n");
    tree
}

#[test]
fn what_is_in_use_beside_a_partition_is_a_limit_of_the_result() {
    let tree = machine_with_a_partition_to_spare();
    let exam = tree.ask("8:9");
    assert_eq!(tree.refused("8:9"), NONE, "{exam:?}");
    let marks: Vec<String> = exam.watermarks.iter().map(|mark| format!("{}: {mark}", mark.leading_word())).collect();
    for mark in [
        "SHARED DISK: sda1 is mounted",
        "SHARED DISK: sda2 is active swap",
        "SHARED DISK: sda3 is part of dm-0",
        "SHARED DISK: dm-0 is mounted",
        "SHARED DISK: sda5 is part of md0",
        "SHARED DISK: md0 is mounted",
    ] {
        assert!(marks.iter().any(|known| known == mark), "{mark} in {marks:?}");
    }
    assert_eq!(marks.len(), 6, "each once: {marks:?}");
    assert!(evidence(&exam, S4).contains("none of sda, sda9 is mounted"), "{exam:?}");
    assert!(evidence(&exam, S4).contains("beside it sda1 is mounted on / "), "{exam:?}");
    // The disk itself and every other part of it stay refused.
    for other in ["8:0", "8:1", "8:2", "8:3", "8:5", "252:0", "9:0"] {
        assert!(tree.refused(other).contains(&S4), "{other}");
    }
    for system in ["8:0", "8:1"] {
        assert!(tree.refused(system).contains(&S5), "{system}");
    }
    // The log on another partition of the disk is a limit too.
    let gate = Gate::new(tree.roots());
    let exam = gate.examine_number(DevNum { major: 8, minor: 9 }, Some(Path::new("/no/such/place")));
    assert!(exam.accepted && exam.watermarks.contains(&Watermark::LogOnTarget), "{exam:?}");
}

/// Each row changes the machine so that something in use may share bytes with the partition.
#[test]
fn what_may_share_bytes_with_a_partition_is_refused() {
    let disk = "sys/devices/pci0/ata1/block/sda";
    type Change = fn(&Tree, &str);
    let changes: [(&str, Change, RuleId); 12] = [
        ("it is mounted itself", |tree, _| mount(tree, "8:9 / /mnt rw - ext4 /dev/sda9 rw"), S4),
        ("the whole disk is mounted", |tree, _| mount(tree, "8:0 / /mnt rw - ext4 /dev/sda rw"), S4),
        ("the root is on the whole disk", |tree, _| tree.mounts("1 0 8:0 / / rw - ext4 /dev/sda rw\n"), S5),
        ("it is swap", |tree, _| tree.file("proc/swaps", "Filename Type\n/dev/sda9 partition 1 0 -2\n"), S4),
        ("the disk is swap", |tree, _| tree.file("proc/swaps", "Filename Type\n/dev/sda partition 1 0 -2\n"), S4),
        ("a file system knows it", |tree, _| tree.file("sys/fs/btrfs/6c2c/devices/sda9/size", "1\n"), S4),
        (
            "a volume spans it",
            |tree, disk| tree.stack(&tree.path("sys/devices/virtual/block/dm-0"), &tree.path(disk).join("sda9")),
            S4,
        ),
        (
            "something is built on the whole disk",
            |tree, disk| {
                let upper = tree.disk("virtual", "dm-7", "252:7");
                tree.stack(&upper, &tree.path(disk));
            },
            S4,
        ),
        ("the mounted one reaches into it", |tree, disk| tree.file(&format!("{disk}/sda1/size"), "80001\n"), S4),
        (
            "the mounted one contains it",
            |tree, disk| {
                tree.file(&format!("{disk}/sda1/start"), "0\n");
                tree.file(&format!("{disk}/sda1/size"), "2097152\n");
            },
            S4,
        ),
        (
            "the place of the mounted one is unknown",
            |tree, disk| std::fs::remove_file(tree.path(disk).join("sda1/start")).unwrap(),
            S4,
        ),
        ("its own place is unknown", |tree, disk| std::fs::remove_file(tree.path(disk).join("sda9/size")).unwrap(), S4),
    ];
    for (what, change, rule) in changes {
        let tree = machine_with_a_partition_to_spare();
        assert_eq!(tree.refused("8:9"), NONE);
        change(&tree, disk);
        assert!(tree.refused("8:9").contains(&rule), "{what}: {:?}", tree.ask("8:9"));
    }
    // The last sector of one and the first of the other are neighbours, and no more.
    let tree = machine_with_a_partition_to_spare();
    tree.file(&format!("{disk}/sda1/size"), "80000\n");
    tree.file(&format!("{disk}/sda2/size"), "1\n");
    tree.file(&format!("{disk}/sda3/size"), "1\n");
    tree.file(&format!("{disk}/sda5/size"), "1\n");
    assert_eq!(tree.refused("8:9"), NONE);
}

/// One more line in both mount tables.
fn mount(tree: &Tree, line: &str) {
    let table = std::fs::read_to_string(tree.path("proc/1/mountinfo")).unwrap();
    tree.mounts(&format!("{table}9 1 {line}\n"));
}

/// A partition of a disk that is built on others: what lies beneath is not looked at in enough detail, so that what is in use
/// beside it is refused.
#[test]
fn beside_a_partition_of_a_volume_nothing_may_be_in_use() {
    let tree = Tree::new();
    let sda = tree.disk("pci0/ata1", "sda", "8:0");
    let lower = tree.partition_at(&sda, 2, "8:2", (20_000, 10_000));
    tree.partition_at(&sda, 1, "8:1", (2048, 10_000));
    let md = tree.disk("virtual", "md0", "9:0");
    tree.stack(&md, &lower);
    tree.partition_at(&md, 1, "259:1", (2048, 1000));
    tree.partition_at(&md, 2, "259:2", (4096, 1000));
    assert_eq!((tree.refused("259:2"), tree.refused("9:0")), (vec![], vec![]));
    for line in ["8:1 / /mnt rw - ext4 /dev/sda1 rw", "259:1 / /mnt rw - ext4 /dev/md0p1 rw"] {
        tree.mounts(&format!("{TMPFS_ROOT}9 1 {line}\n"));
        assert_eq!((tree.refused("259:2"), tree.refused("9:0")), (vec![S4], vec![S4]), "{line}");
    }
}

#[test]
fn a_mount_only_process_one_or_another_namespace_has_is_seen() {
    let line = format!("{TMPFS_ROOT}9 1 8:1 / /secret rw - ext4 /dev/sda1 rw\n");
    for table in ["proc/1/mountinfo", "proc/4194400/mountinfo"] {
        let tree = Tree::new();
        let disk = tree.disk("pci0/ata1", "sda", "8:0");
        tree.partition(&disk, 1, "8:1");
        std::fs::create_dir_all(tree.path("proc/4194400/ns")).unwrap();
        std::fs::create_dir_all(tree.path("proc/4194400/fd")).unwrap();
        symlink("mnt:[4026532000]", tree.path("proc/4194400/ns/mnt")).unwrap();
        assert_eq!(tree.refused("8:0"), NONE);
        tree.file(table, &line);
        assert_eq!(tree.refused("8:0"), [S4], "{table}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    for missing in ["proc/1/mountinfo", "proc/self/mountinfo", "proc/swaps", "proc/self/ns/pid"] {
        let tree = Tree::new();
        tree.disk("pci0/ata1", "sda", "8:0");
        std::fs::remove_file(tree.path(missing)).unwrap();
        assert!(!tree.ask("8:0").accepted, "{missing}");
    }
}

/// Every directory and file in which a user of the device could stand, closed to whoever looks: then nothing is known, and
/// the device is refused. The control is the same tree, open.
#[test]
fn a_place_that_may_not_be_looked_at_may_hide_a_user() {
    let sda = "sys/devices/pci0/ata1/block/sda";
    let places = [
        ("proc".to_owned(), S6),
        ("proc/4194400/fd".to_owned(), S6),
        ("proc/4194400/task".to_owned(), S6),
        ("proc/4194400/mountinfo".to_owned(), S4),
        ("proc/self/mountinfo".to_owned(), S4),
        ("proc/1/mountinfo".to_owned(), S4),
        ("proc/swaps".to_owned(), S4),
        ("sys/block".to_owned(), S4),
        ("sys/dev/block".to_owned(), S4),
        ("sys/fs/ext4".to_owned(), S4),
        ("sys/fs/btrfs".to_owned(), S4),
        ("sys/fs/btrfs/6c2c".to_owned(), S4),
        (sda.to_owned(), S4),
        (format!("{sda}/dev"), S4),
        (format!("{sda}/holders"), S4),
        (format!("{sda}/slaves"), S4),
        (format!("{sda}/sda1"), S4),
        (format!("{sda}/sda1/dev"), S4),
        (format!("{sda}/sda1/holders"), S4),
        ("sys/devices/virtual/block/loop8/dev".to_owned(), S4),
        ("sys/devices/virtual/block/loop8/loop/backing_file".to_owned(), S4),
    ];
    let tree = Tree::new();
    let disk = tree.disk("pci0/ata1", "sda", "8:0");
    tree.partition(&disk, 1, "8:1");
    tree.disk("virtual", "loop8", "7:8");
    tree.file("image", "");
    tree.file("sys/devices/virtual/block/loop8/loop/backing_file", &tree.path("image").display().to_string());
    tree.file("sys/fs/ext4/sdz/session_write_kbytes", "1\n");
    tree.file("sys/fs/btrfs/6c2c/devices/sdz/size", "1\n");
    tree.file("proc/4194400/mountinfo", TMPFS_ROOT);
    std::fs::create_dir_all(tree.path("proc/4194400/fd")).unwrap();
    std::fs::create_dir_all(tree.path("proc/4194400/task/4194401/fd")).unwrap();
    std::fs::create_dir_all(tree.path("proc/4194400/ns")).unwrap();
    symlink("mnt:[4026532000]", tree.path("proc/4194400/ns/mnt")).unwrap();
    let refused = || without_rights(|| tree.refused("8:0"));
    assert_eq!(refused(), NONE, "all open: {:?}", tree.ask("8:0"));
    for (place, rule) in places {
        let path = tree.path(&place);
        let before = std::fs::metadata(&path).unwrap().permissions();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
        let found = refused();
        std::fs::set_permissions(&path, before).unwrap();
        assert!(found.contains(&rule), "{place}: {found:?}");
    }
    assert_eq!(refused(), NONE, "open again");
}

/// Root without capabilities sees the links of a process, and not where they lead.
#[test]
fn a_link_that_leads_where_nobody_may_look_hides_what_is_open() {
    let tree = Tree::new();
    tree.disk("pci0/ata1", "sda", "8:0");
    std::fs::create_dir_all(tree.path("proc/4194400/fd")).unwrap();
    std::fs::create_dir_all(tree.path("closed")).unwrap();
    symlink(tree.path("closed/file"), tree.path("proc/4194400/fd/3")).unwrap();
    assert_eq!(without_rights(|| tree.refused("8:0")), NONE, "it leads nowhere");
    let closed = tree.path("closed");
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let exam = without_rights(|| tree.ask("8:0"));
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    assert!(!exam.accepted && evidence(&exam, S6).contains("the open files of 1 process cannot be seen"), "{exam:?}");
}

#[test]
fn a_list_of_processes_that_hides_some_is_no_proof() {
    for (options, capabilities, accepted) in [
        ("rw", "000001fffff7ffff", true),
        ("rw,hidepid=invisible", "000001fffff7ffff", false),
        ("rw,hidepid=2", "0000000000000000", false),
        ("rw,hidepid=invisible", "000001ffffffffff", true),
    ] {
        let tree = Tree::new();
        tree.disk("pci0/ata1", "sda", "8:0");
        tree.mounts(&format!("{TMPFS_ROOT}2 1 0:6 / /proc rw - proc proc {options}\n"));
        tree.file("proc/self/status", &format!("CapEff:\t{capabilities}\n"));
        symlink("user:[4026531837]", tree.path("proc/self/ns/user")).unwrap();
        let exam = tree.ask("8:0");
        assert_eq!(exam.accepted, accepted, "{options} {capabilities}: {exam:?}");
        assert!(accepted || evidence(&exam, S6).contains("hides processes"), "{exam:?}");
    }
    // Nobody is listed, or not the process that looks.
    for gone in [vec!["proc/self"], vec!["proc/self", "proc/1", "proc/4194999"], vec!["proc/4194999"]] {
        let tree = Tree::new();
        tree.disk("pci0/ata1", "sda", "8:0");
        for place in &gone {
            let path = tree.path(place);
            let removed = if path.is_symlink() { std::fs::remove_file(&path) } else { std::fs::remove_dir_all(&path) };
            removed.unwrap();
        }
        assert!(tree.refused("8:0").contains(&S6), "without {gone:?}");
    }
}

#[test]
fn raid_swap_volumes_and_multi_device_file_systems_claim_their_members() {
    let build = || {
        let tree = Tree::new();
        let disks = [("ata1", "sda", "8:0"), ("ata2", "sdb", "8:16")]
            .map(|(bus, name, number)| tree.disk(&format!("pci0/{bus}"), name, number));
        (tree, disks)
    };
    let (tree, disks) = build();
    let md = tree.disk("virtual", "md0", "9:0");
    disks.iter().for_each(|disk| tree.stack(&md, disk));
    for member in ["8:0", "8:16"] {
        assert_eq!(tree.refused(member), [S4], "an md member, not even mounted");
    }
    assert_eq!(tree.refused("9:0"), NONE, "the array itself is free");
    tree.mounts(&format!("{TMPFS_ROOT}9 1 9:0 / /srv rw - xfs /dev/md0 rw\n"));
    assert_eq!(tree.refused("9:0"), [S4]);
    assert!(tree.ask("9:0").watermarks.is_empty(), "RAID of real disks is real");

    let (tree, disks) = build();
    tree.partition(&disks[0], 3, "8:3");
    tree.file("proc/swaps", "Filename Type Size Used Priority\n/dev/sda3 partition 10 0 -2\n");
    assert_eq!(tree.refused("8:0"), [S4]);
    assert_eq!(tree.refused("8:16"), NONE);

    let (tree, _) = build();
    tree.file("sys/fs/btrfs/6c2c/devices/sdb/size", "1\n");
    assert_eq!((tree.refused("8:0"), tree.refused("8:16")), (vec![], vec![S4]), "btrfs second member");
    let (tree, _) = build();
    tree.file("sys/fs/ext4/sdb/session_write_kbytes", "1\n");
    assert_eq!((tree.refused("8:0"), tree.refused("8:16")), (vec![], vec![S4]), "mounted where nobody sees it");
}

#[test]
fn one_medium_by_two_paths_is_refused_unless_multipath_owns_both() {
    let tree = Tree::new();
    let paths = [("host1", "sda", "8:0"), ("host2", "sdb", "8:16")];
    for (bus, name, number) in paths {
        tree.disk(&format!("pci0/{bus}"), name, number);
        tree.file(&format!("sys/devices/pci0/{bus}/block/{name}/device/wwid"), "naa.5000c500a1b2c3d4\n");
    }
    let third = tree.disk("pci0/host3", "sdc", "8:32");
    tree.file("sys/devices/pci0/host3/block/sdc/device/wwid", "naa.5000c500ffffffff\n");
    assert_eq!((tree.refused("8:0"), tree.refused("8:16"), tree.refused("8:32")), (vec![S9], vec![S9], vec![]));
    assert!(evidence(&tree.ask("8:0"), S9).contains("sdb is the same medium: WWID naa.5000c500a1b2c3d4"));

    let mpath = tree.disk("virtual", "dm-0", "252:0");
    for (bus, name, _) in paths {
        tree.stack(&mpath, &tree.path(&format!("sys/devices/pci0/{bus}/block/{name}")));
    }
    assert_eq!(tree.refused("252:0"), NONE, "the multipath device is the one to name");
    assert_eq!(tree.refused("8:0"), [S4], "a path that multipath claims");
    assert!(third.exists());
}

#[test]
fn serial_numbers_tell_two_paths_where_there_is_no_wwid() {
    let tree = Tree::new();
    for (bus, name, number, serial) in
        [("host1", "sda", "8:0", "S1"), ("host2", "sdb", "8:16", "S1"), ("host3", "sdc", "8:32", "S2")]
    {
        tree.disk(&format!("pci0/{bus}"), name, number);
        tree.file(&format!("sys/devices/pci0/{bus}/block/{name}/device/model"), "Disk\n");
        tree.file(&format!("sys/devices/pci0/{bus}/block/{name}/serial"), &format!("{serial}\n"));
    }
    assert_eq!((tree.refused("8:0"), tree.refused("8:32")), (vec![S9], vec![]));
}

/// Two namespaces of one controller share its serial number, but not their WWID; the root on one does not forbid the
/// other. The hidden per-path nodes of native multipath do not count as another medium.
#[test]
fn nvme_namespaces_are_told_apart() {
    let tree = Tree::new();
    for (name, number, wwid) in
        [("nvme0n1", "259:0", "eui.01"), ("nvme0n2", "259:1", "eui.02"), ("nvme0c0n1", "259:2", "eui.01")]
    {
        let dir = tree.disk("pci0/nvme/nvme0", name, number);
        let dir = dir.strip_prefix(tree.path("")).unwrap().to_str().unwrap().to_owned();
        tree.file(&format!("{dir}/wwid"), &format!("{wwid}\n"));
        tree.file(&format!("{dir}/device/serial"), "SERIAL\n");
        tree.file(&format!("{dir}/device/model"), "Fast NVMe\n");
        tree.file(&format!("{dir}/hidden"), if name == "nvme0c0n1" { "1\n" } else { "0\n" });
    }
    let disk = tree.path("sys/devices/pci0/nvme/nvme0/block/nvme0n1");
    tree.partition(&disk, 2, "259:5");
    tree.mounts("1 0 259:5 / / rw - ext4 /dev/nvme0n1p2 rw\n");
    assert_eq!(tree.refused("259:0"), [S4, S5]);
    assert_eq!(tree.refused("259:5"), [S4, S5]);
    assert_eq!(tree.refused("259:1"), NONE);
}

#[test]
fn the_systems_own_disk_is_refused_however_deep_it_lies() {
    for (what, mounts) in [
        ("root on a volume", "1 0 252:0 / / rw - ext4 /dev/mapper/vg-root rw\n"),
        ("usr apart", "1 0 0:5 / / rw - tmpfs none rw\n2 1 252:0 / /usr ro - ext4 /dev/mapper/vg-root ro\n"),
        ("boot apart", "1 0 0:5 / / rw - tmpfs none rw\n2 1 8:1 / /boot rw - ext4 /dev/sda1 rw\n"),
        ("root on btrfs", "1 0 0:31 /@ / rw - btrfs /dev/sda1 rw\n"),
    ] {
        let tree = Tree::new();
        let sda = tree.disk("pci0/ata1", "sda", "8:0");
        let sda1 = tree.partition(&sda, 1, "8:1");
        let md = tree.disk("virtual", "md0", "9:0");
        let dm = tree.disk("virtual", "dm-0", "252:0");
        tree.file("sys/devices/virtual/block/dm-0/dm/name", "vg-root\n");
        tree.stack(&md, &sda1);
        tree.stack(&dm, &md);
        tree.mounts(mounts);
        for member in ["8:0", "8:1", "9:0", "252:0"] {
            assert!(tree.refused(member).contains(&S5), "{what}: {member}");
        }
    }
}

#[test]
fn the_log_directory_and_the_program_are_of_the_system() {
    let tree = Tree::new();
    tree.disk("pci0/ata1", "sda", "8:0");
    let gate = Gate::new(tree.roots());
    let number = DevNum { major: 8, minor: 0 };
    let refused = |log: Option<&Path>| {
        let exam = gate.examine_number(number, log);
        exam.rules.iter().filter(|a| !a.may_continue()).map(|a| a.id).collect::<Vec<_>>()
    };
    // Mounted by a source that the table names, in a place that S4 would also find; this test checks that S5 gives the
    // reason.
    let logs = tree.path("logs");
    std::fs::create_dir_all(&logs).unwrap();
    let real = logs.canonicalize().unwrap();
    tree.mounts(&format!("{TMPFS_ROOT}2 1 8:0 / {} rw - ext4 /dev/sda rw\n", real.display()));
    assert_eq!(refused(None), [S4]);
    assert_eq!(refused(Some(&logs.join("run/not/made/yet"))), [S4, S5]);
    symlink(real.join("assay"), tree.path("proc/self/exe")).unwrap();
    assert_eq!(refused(None), [S4, S5]);
}

#[test]
fn a_root_that_names_no_device_needs_the_exclusive_claim() {
    for kind in ["overlay", "zfs"] {
        let tree = Tree::new();
        tree.disk("pci0/ata1", "sda", "8:0");
        tree.mounts(&format!("1 0 0:30 / / rw - {kind} {kind} rw\n"));
        assert_eq!(tree.refused("8:0"), [S5], "{kind}: numbers alone are no claim");
    }
    // Its number or its source names another disk.
    for root in ["0:30 / / rw - btrfs /dev/sdb rw", "8:16 / / rw - ext4 rootfs rw", "8:16 / / rw - ext4 /dev/root rw"] {
        let tree = Tree::new();
        tree.disk("pci0/ata1", "sda", "8:0");
        tree.disk("pci0/ata2", "sdb", "8:16");
        tree.mounts(&format!("1 0 {root}\n"));
        assert_eq!(tree.refused("8:0"), NONE, "{root}");
    }
}

#[test]
fn open_elsewhere_in_a_family_is_seen_and_names_the_process() {
    let tree = Tree::new();
    let disk = tree.disk("pci0/ata1", "sda", "8:0");
    tree.partition(&disk, 1, "8:1");
    tree.disk("pci0/ata2", "sdb", "8:16");
    tree.file("proc/4194401/comm", "asd\n");
    std::fs::create_dir_all(tree.path("proc/4194401/fd")).unwrap();
    symlink("/dev/sda1", tree.path("proc/4194401/fd/7")).unwrap();
    let exam = tree.ask("8:0");
    // On a machine with a /dev/sda1, the number of that node would decide instead of its name.
    if !Path::new("/dev/sda1").exists() {
        assert_eq!(tree.refused("8:0"), [S6]);
        assert!(evidence(&exam, S6).contains("process 4194401 (asd) has /dev/sda1 open"), "{exam:?}");
    }
    assert_eq!(tree.refused("8:16"), NONE);
}

#[test]
fn a_container_must_be_called_one() {
    let tree = Tree::new();
    tree.disk("pci0/ata1", "sda", "8:0");
    std::fs::remove_file(tree.path("proc/self/ns/pid")).unwrap();
    symlink("pid:[4026532222]", tree.path("proc/self/ns/pid")).unwrap();
    let exam = tree.ask("8:0");
    assert_eq!(tree.refused("8:0"), [S6]);
    assert!(evidence(&exam, S6).contains("--in-container"));
    assert_eq!(exam.watermarks, [Watermark::Container]);
}

#[test]
fn a_loop_on_a_loop_is_a_holder_although_sysfs_lists_none() {
    let tree = Tree::new();
    tree.file("image", "");
    let image = tree.path("image").display().to_string();
    for (name, number, backing) in [("loop8", "7:8", image.as_str()), ("loop9", "7:9", "/dev/loop8")] {
        tree.disk("virtual", name, number);
        tree.file(&format!("sys/devices/virtual/block/{name}/loop/backing_file"), &format!("{backing}\n"));
    }
    assert_eq!(tree.refused("7:8"), [S4]);
    assert!(evidence(&tree.ask("7:8"), S4).contains("loop8 is the backing device of loop9"));
    assert_eq!(tree.refused("7:9"), NONE, "the upper one may be written");
    tree.mounts(&format!("{TMPFS_ROOT}9 1 7:9 / /mnt rw - ext4 /dev/loop9 rw\n"));
    assert_eq!((tree.refused("7:8"), tree.refused("7:9")), (vec![S4], vec![S4]));
}

#[test]
fn a_loop_whose_backing_cannot_be_found_out_may_stand_on_anything() {
    let tree = Tree::new();
    tree.disk("pci0/ata1", "sda", "8:0");
    tree.disk("virtual", "loop8", "7:8");
    tree.file("sys/devices/virtual/block/loop8/loop/backing_file", "/dev/gone\n");
    assert_eq!(tree.refused("8:0"), [S4]);
    assert!(evidence(&tree.ask("8:0"), S4).contains("the devices beneath loop8 cannot be found"));
}

#[test]
fn two_loops_on_one_file_are_one_medium() {
    let tree = Tree::new();
    tree.file("image", "");
    for (name, number) in [("loop8", "7:8"), ("loop9", "7:9")] {
        tree.disk("virtual", name, number);
        let backing = format!("{}\n", tree.path("image").display());
        tree.file(&format!("sys/devices/virtual/block/{name}/loop/backing_file"), &backing);
    }
    assert_eq!((tree.refused("7:8"), tree.refused("7:9")), (vec![S9], vec![S9]));
}

#[test]
fn virtual_disks_are_allowed_with_a_watermark() {
    for (bus, name, expected) in [
        ("virtual", "loop0", Watermark::Loop("loop0".into())),
        ("virtual", "zram0", Watermark::Zram("zram0".into())),
        ("virtual", "nbd0", Watermark::Virtual("nbd0".into())),
        ("pci0/virtio1", "vda", Watermark::Virtual("vda".into())),
    ] {
        let tree = Tree::new();
        let lower = tree.disk(bus, name, "240:0");
        let exam = tree.ask("240:0");
        assert!(exam.accepted, "{name}: {exam:?}");
        assert_eq!(exam.watermarks.as_slice(), std::slice::from_ref(&expected), "{name}");
        let dm = tree.disk("virtual", "dm-0", "252:0");
        tree.stack(&dm, &lower);
        assert_eq!(tree.ask("252:0").watermarks, [expected], "a volume on {name}");
    }
}

#[test]
fn a_medium_is_compared_by_its_name_where_it_has_one() {
    for (serial, words) in [("", "8:0 has no WWID or serial to compare"), ("S1", "no other device with model")] {
        let tree = Tree::new();
        tree.disk("pci0/ata1", "sda", "8:0");
        tree.file("sys/devices/pci0/ata1/block/sda/serial", serial);
        let exam = tree.ask("8:0");
        assert!(evidence(&exam, S9).contains(words), "{}", evidence(&exam, S9));
    }
}

/// What is built on more devices than anybody stacks may be a circle.
#[test]
fn what_is_stacked_too_deep_is_unknown() {
    for (stacked, unknown) in [(7, false), (8, true), (9, true)] {
        let tree = Tree::new();
        let mut lower = tree.disk("pci0/ata1", "sda", "8:0");
        for n in 0..stacked {
            let upper = tree.disk("virtual", &format!("dm-{n}"), &format!("252:{n}"));
            tree.stack(&upper, &lower);
            lower = upper;
        }
        let marks = tree.ask(&format!("252:{}", stacked - 1)).watermarks;
        assert_eq!(marks.contains(&Watermark::UnknownBacking), unknown, "{stacked}: {marks:?}");
    }
}

/// A token stands for one device: everything that distinguishes it from others changes the token, its name and path do
/// not.
#[test]
fn tokens_tell_devices_apart() {
    let token = |bus: &str, name: &str, serial: &str, sectors: &str, boot: &str| {
        let tree = Tree::new();
        let dir = format!("sys/devices/{bus}/block/{name}");
        tree.disk(bus, name, "8:0");
        tree.file(&format!("{dir}/serial"), serial);
        tree.file(&format!("{dir}/size"), sectors);
        tree.file("proc/sys/kernel/random/boot_id", boot);
        Identity::read_identity(&tree.roots(), DevNum { major: 8, minor: 0 }).unwrap().consent_token(&tree.roots())
    };
    let first = token("pci0/ata1", "sda", "S1", "1000", "boot 1");
    assert!(first.len() == 8 && first.chars().all(|c| c.is_ascii_hexdigit()), "{first}");
    for (what, same, other) in [
        ("the same", true, token("pci0/ata1", "sda", "S1", "1000", "boot 1")),
        ("another name and place", true, token("pci0/ata7", "sdq", "S1", "1000", "boot 1")),
        ("after a restart", true, token("pci0/ata1", "sda", "S1", "1000", "boot 2")),
        ("another serial", false, token("pci0/ata1", "sda", "S2", "1000", "boot 1")),
        ("another size", false, token("pci0/ata1", "sda", "S1", "1001", "boot 1")),
        ("a virtual one", false, token("pci0/virtio1", "sda", "S1", "1000", "boot 1")),
    ] {
        assert_eq!(first == other, same, "{what}");
    }
    let there = token("pci0/virtio1", "vda", "S1", "1000", "boot 1");
    assert_ne!(there, token("pci0/virtio1", "vda", "S1", "1000", "boot 2"), "a virtual one on another host");
    assert_ne!(token("pci0/ata1", "sda", "", "9", "boot 1"), token("pci0/ata1", "sda", "", "9", "boot 2"), "nameless");
}

#[test]
fn partitions_have_tokens_of_their_own() {
    let tree = Tree::new();
    let disk = tree.disk("pci0/ata1", "sda", "8:0");
    tree.partition(&disk, 1, "8:1");
    tree.partition(&disk, 2, "8:2");
    tree.file("sys/devices/pci0/ata1/block/sda/serial", "S1");
    let token = |number: &str| {
        let number = DevNum::parse_numbers(number).unwrap();
        Identity::read_identity(&tree.roots(), number).unwrap().consent_token(&tree.roots())
    };
    assert!(token("8:0") != token("8:1") && token("8:1") != token("8:2") && token("8:0") != token("8:2"));
}
