//! The names of file systems by the number that `statfs` gives, as the log has them and as a person writes them.

/// The numbers (include/uapi/linux/magic.h and the file systems' own headers). Ext2 and ext3 have the number of ext4.
const FILE_SYSTEMS: &[(u64, &str)] = &[
    (0xef53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0xf2f5_2010, "f2fs"),
    (0x2fc1_2fc1, "zfs"),
    (0xca45_1a4e, "bcachefs"),
    (0x794c_7630, "overlay"),
    (0x0102_1994, "tmpfs"),
    (0x8584_58f6, "ramfs"),
    (0x6969, "nfs"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb3"),
    (0x0102_1997, "9p"),
    (0x00c3_6400, "ceph"),
    (0x6573_5546, "fuse"),
    (0x4d44, "vfat"),
    (0x2011_bab0, "exfat"),
    (0x7366_746e, "ntfs3"),
    (0x3434, "nilfs2"),
    (0x7461_636f, "ocfs2"),
    (0x0116_1970, "gfs2"),
];

/// Those that are in memory: whoever mounts one anew has an empty one.
pub const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// The name of a file system by the number from `statfs`, of which only the lower 32 bits count.
pub fn name_by_number(number: u64) -> Option<&'static str> {
    FILE_SYSTEMS.iter().find(|(known, _)| *known == number & 0xffff_ffff).map(|(_, name)| *name)
}

/// The number of a file system by its name. The older names of ext4 are known too.
pub fn number_by_name(name: &str) -> Option<u64> {
    let name = if matches!(name, "ext2" | "ext3") { "ext4" } else { name };
    FILE_SYSTEMS.iter().find(|(_, known)| *known == name).map(|(number, _)| *number)
}

/// Every name that is known.
pub fn known_names() -> impl Iterator<Item = &'static str> {
    FILE_SYSTEMS.iter().map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_name_lead_to_each_other() {
        for name in known_names() {
            let number = number_by_name(name).unwrap();
            assert_eq!(name_by_number(number), Some(name));
            assert_eq!(name_by_number(number | 0xffff_ffff_0000_0000), Some(name), "the number came with a sign");
        }
        assert_eq!(known_names().count(), 21);
        assert_eq!((name_by_number(0xef53), number_by_name("ext3")), (Some("ext4"), Some(0xef53)));
        assert_eq!((name_by_number(0x9fa0), number_by_name("proc")), (None, None));
    }
}
