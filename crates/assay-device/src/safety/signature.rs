//! What is written on a medium (rule S7): a table of the signatures that file systems, volume managers, RAID,
//! encryption and partition tables leave, and in addition the answer of `blkid -p` where that program is installed.
//!
//! Our own table decides even without `blkid`; data without a signature is the subject of S8. Short signatures (two
//! bytes) count only when the fields around them make sense, because a device full of our random payload must not look
//! like anything. Positions and values come from the documentation of the on-disk formats.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The position of a signature.
#[derive(Clone, Copy)]
enum SignaturePosition {
    /// Bytes from the start.
    Start(u64),
    /// Bytes before the end.
    End(u64),
    /// Bytes before the end after the size was rounded down to a multiple: `(multiple, back)`.
    Rounded(u64, u64),
}

impl SignaturePosition {
    fn offset_within(self, size: u64) -> Option<u64> {
        match self {
            SignaturePosition::Start(offset) => Some(offset),
            SignaturePosition::End(back) => size.checked_sub(back),
            SignaturePosition::Rounded(multiple, back) => (size / multiple * multiple).checked_sub(back),
        }
    }
}

const MARKS: &[(&str, SignaturePosition, &[u8])] = &[
    ("xfs", SignaturePosition::Start(0), b"XFSB"),
    ("btrfs", SignaturePosition::Start(0x1_0040), b"_BHRfS_M"),
    ("swap", SignaturePosition::Start(4096 - 10), b"SWAPSPACE2"),
    ("swap", SignaturePosition::Start(4096 - 10), b"SWAP-SPACE"),
    ("swap", SignaturePosition::Start(8192 - 10), b"SWAPSPACE2"),
    ("swap", SignaturePosition::Start(16384 - 10), b"SWAPSPACE2"),
    ("swap", SignaturePosition::Start(65536 - 10), b"SWAPSPACE2"),
    ("LVM physical volume", SignaturePosition::Start(0), b"LABELONE"),
    ("LVM physical volume", SignaturePosition::Start(512), b"LABELONE"),
    ("LVM physical volume", SignaturePosition::Start(1024), b"LABELONE"),
    ("LVM physical volume", SignaturePosition::Start(1536), b"LABELONE"),
    ("LVM snapshot", SignaturePosition::Start(0), b"SnAp"),
    ("md RAID 1.1", SignaturePosition::Start(0), &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("md RAID 1.2", SignaturePosition::Start(4096), &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("md RAID 1.0", SignaturePosition::Rounded(4096, 8192), &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("md RAID 0.90", SignaturePosition::Rounded(65536, 65536), &[0xfc, 0x4e, 0x2b, 0xa9]),
    ("Intel RAID", SignaturePosition::End(1024), b"Intel Raid ISM Cfg Sig. "),
    ("DDF RAID", SignaturePosition::End(512), &[0xde, 0x11, 0xde, 0x11]),
    ("LUKS", SignaturePosition::Start(0), b"LUKS\xba\xbe"),
    ("LUKS 2 second header", SignaturePosition::Start(0x4000), b"SKUL\xba\xbe"),
    ("BitLocker", SignaturePosition::Start(3), b"-FVE-FS-"),
    ("dm-verity", SignaturePosition::Start(0), b"verity\0\0"),
    ("dm-integrity", SignaturePosition::Start(0), b"integrt\0"),
    ("VDO", SignaturePosition::Start(0), b"dmvdo001"),
    ("Stratis", SignaturePosition::Start(516), b"!Stra0tis\x86\xff\x02^\x41rh"),
    ("GPT", SignaturePosition::Start(512), b"EFI PART"),
    ("GPT", SignaturePosition::Start(4096), b"EFI PART"),
    ("GPT second header", SignaturePosition::End(512), b"EFI PART"),
    ("GPT second header", SignaturePosition::End(4096), b"EFI PART"),
    ("bcache", SignaturePosition::Start(4120), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    ("bcachefs", SignaturePosition::Start(4120), b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    ("f2fs", SignaturePosition::Start(1024), &[0x10, 0x20, 0xf5, 0xf2]),
    ("erofs", SignaturePosition::Start(1024), &[0xe2, 0xe1, 0xf5, 0xe0]),
    ("reiserfs", SignaturePosition::Start(65536 + 52), b"ReIsEr"),
    ("jfs", SignaturePosition::Start(32768), b"JFS1"),
    ("gfs2", SignaturePosition::Start(65536), &[0x01, 0x16, 0x19, 0x70, 0, 0, 0, 1]),
    ("ocfs2", SignaturePosition::Start(8192), b"OCFSV2"),
    ("squashfs", SignaturePosition::Start(0), b"hsqs"),
    ("ntfs", SignaturePosition::Start(3), b"NTFS    "),
    ("exfat", SignaturePosition::Start(3), b"EXFAT   "),
    ("fat", SignaturePosition::Start(54), b"FAT1"),
    ("fat", SignaturePosition::Start(82), b"FAT32   "),
    ("apfs", SignaturePosition::Start(32), b"NXSB"),
    ("hfs+", SignaturePosition::Start(1024), &[b'H', b'+', 0, 4]),
    ("hfs+", SignaturePosition::Start(1024), &[b'H', b'X', 0, 5]),
    ("iso9660", SignaturePosition::Start(32769), b"CD001"),
    ("udf", SignaturePosition::Start(32769), b"BEA01"),
    ("VMFS", SignaturePosition::Start(0x10_0000), &[0x0d, 0xd0, 0x01, 0xc0]),
    ("VMFS", SignaturePosition::Start(0x20_0000), &[0x5e, 0xf1, 0xab, 0x2f]),
    ("Oracle ASM", SignaturePosition::Start(32), b"ORCLDISK"),
    ("Ceph BlueStore", SignaturePosition::Start(0), b"bluestore block device"),
    ("QCOW image", SignaturePosition::Start(0), b"QFI\xfb"),
];

/// The first signature found, with its position; `Ok(None)` when there is none.
///
/// # Errors
/// A part of the medium could not be read.
pub(super) fn find_signature(file: &File, size: u64) -> io::Result<Option<String>> {
    for (name, at, mark) in MARKS {
        let Some(offset) = at.offset_within(size).filter(|o| o + mark.len() as u64 <= size) else { continue };
        if read_aligned(file, offset, mark.len())? == *mark {
            return Ok(Some(format!("{name} at byte {offset}")));
        }
    }
    for (name, check) in
        [("ext2/3/4", find_ext as Check), ("DOS partition table", find_dos), ("ZFS", find_zfs), ("nilfs2", find_nilfs)]
    {
        if let Some(offset) = check(file, size)? {
            return Ok(Some(format!("{name} at byte {offset}")));
        }
    }
    Ok(None)
}

type Check = fn(&File, u64) -> io::Result<Option<u64>>;

/// Reads through an aligned window, since the file may be open for direct I/O.
fn read_aligned(file: &File, offset: u64, len: usize) -> io::Result<Vec<u8>> {
    let start = offset / 4096 * 4096;
    let window = (offset + len as u64 - start).next_multiple_of(4096) as usize;
    let mut buffer = super::content::Aligned::new(window);
    let got = super::content::read_at_most(file, buffer.as_bytes(), start)?;
    let skip = (offset - start) as usize;
    Ok(buffer.as_bytes()[..got].get(skip..skip + len).map(<[u8]>::to_vec).unwrap_or_default())
}

fn u16_at(block: &[u8], at: usize) -> u16 {
    block.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    block.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// The superblock at 1024: magic, and block size, state, revision and creator within their ranges. An external journal
/// has the same superblock.
fn find_ext(file: &File, size: u64) -> io::Result<Option<u64>> {
    if size < 2048 {
        return Ok(None);
    }
    let sb = read_aligned(file, 1024, 1024)?;
    let sane = u32_at(&sb, 0x18) <= 6 && u16_at(&sb, 0x3a) <= 7 && u32_at(&sb, 0x4c) <= 1 && u32_at(&sb, 0x48) <= 4;
    Ok((u16_at(&sb, 0x38) == 0xef53 && sane).then_some(1024 + 0x38))
}

/// Signature 55 AA with four entries whose flags are 00 or 80.
fn find_dos(file: &File, size: u64) -> io::Result<Option<u64>> {
    if size < 512 {
        return Ok(None);
    }
    let sector = read_aligned(file, 0, 512)?;
    let sane = (0..4).all(|i| matches!(sector.get(446 + 16 * i), Some(0x00 | 0x80)));
    Ok((u16_at(&sector, 510) == 0xaa55 && sane).then_some(510))
}

fn find_nilfs(file: &File, size: u64) -> io::Result<Option<u64>> {
    if size < 2048 {
        return Ok(None);
    }
    let sb = read_aligned(file, 1024, 32)?;
    Ok((u16_at(&sb, 6) == 0x3434 && u32_at(&sb, 0) == 2 && u16_at(&sb, 4) == 0).then_some(1030))
}

/// Any uberblock in any of the four labels, in either byte order.
fn find_zfs(file: &File, size: u64) -> io::Result<Option<u64>> {
    const LABEL: u64 = 256 << 10;
    const UBERBLOCK: u64 = 0x00ba_b10c;
    let end = size / LABEL * LABEL;
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    for label in labels.into_iter().flatten().filter(|l| l + LABEL <= size) {
        let ring = read_aligned(file, label + LABEL / 2, (LABEL / 2) as usize)?;
        let hit = ring
            .chunks(1024)
            .position(|slot| slot.starts_with(&UBERBLOCK.to_le_bytes()) || slot.starts_with(&UBERBLOCK.to_be_bytes()));
        if let Some(slot) = hit {
            return Ok(Some(label + LABEL / 2 + 1024 * slot as u64));
        }
    }
    Ok(None)
}

/// The places where `blkid` is looked for; never through `PATH`, because this runs as root.
const BLKID: [&str; 4] = ["/usr/sbin/blkid", "/sbin/blkid", "/usr/bin/blkid", "/bin/blkid"];

/// What `blkid -p` reports about an open file. `Ok(())`: nothing found. `Err`: found, ambivalent, or it failed. The
/// outer `None`: the program is not installed.
pub(super) fn probe_with_blkid(file: &File) -> Option<Result<(), String>> {
    let program = BLKID.iter().find(|p| Path::new(p).exists())?;
    Some(match run_blkid(program, file) {
        Ok(out) => judge_blkid(out.status.code(), &String::from_utf8_lossy(&out.stdout))
            .map_err(|what| format!("{program} -p {what}")),
        Err(e) => Err(format!("{program} could not be run: {e}")),
    })
}

/// Runs it on its own standard input, which is the open file: for a path that it cannot open, such as that of a process
/// in another namespace, it says the same as for a blank medium.
fn run_blkid(program: &str, file: &File) -> io::Result<Output> {
    let input = Stdio::from(file.try_clone()?);
    Command::new(program).args(["-p", "-o", "export", "/proc/self/fd/0"]).env_clear().stdin(input).output()
}

/// The entry of a partition in the table of its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Kind of the table: `dos`, `gpt`.
    pub scheme: String,
    /// Number of the partition.
    pub number: u64,
    /// First sector, of 512 bytes.
    pub start: u64,
    /// Number of sectors.
    pub size: u64,
}

/// The entry of an open partition as `blkid -p` reads it from the disk; `None` where the table has none of this number and
/// size.
///
/// # Errors
/// The program is not installed, or could not be run.
pub(super) fn partition_entry(file: &File) -> Result<Option<Entry>, String> {
    let program = BLKID.iter().find(|p| Path::new(p).exists());
    let program = program.ok_or("blkid, which reads the partition table on the disk, is not installed")?;
    let out = run_blkid(program, file).map_err(|e| format!("{program} could not be run: {e}"))?;
    Ok(entry_in(&String::from_utf8_lossy(&out.stdout)))
}

fn entry_in(text: &str) -> Option<Entry> {
    Some(Entry {
        scheme: value_of_key(text, "PART_ENTRY_SCHEME")?.to_owned(),
        number: value_of_key(text, "PART_ENTRY_NUMBER")?.parse().ok()?,
        start: value_of_key(text, "PART_ENTRY_OFFSET")?.parse().ok()?,
        size: value_of_key(text, "PART_ENTRY_SIZE")?.parse().ok()?,
    })
}

/// What the exit code of `blkid -p` and its output say together: `Err` unless nothing was found.
fn judge_blkid(code: Option<i32>, text: &str) -> Result<(), String> {
    match (code, content_line(text)) {
        (Some(2), _) => Ok(()),
        (Some(0), None) if told_of_the_entry(text) => Ok(()),
        (Some(0), Some(kind)) => Err(format!("found {kind}")),
        (Some(8), _) => Err("found more than one signature".to_owned()),
        (code, _) => Err(format!("ended with {code:?}")),
    }
}

/// The line of `blkid -p -o export` that names the content of the medium. For a partition it also reports its entry in
/// the partition table (`PART_ENTRY_…`): that table is elsewhere on the disk, and not part of the partition's content.
fn content_line(text: &str) -> Option<&str> {
    let known = ["TYPE=", "PTTYPE=", "USAGE="].iter().find_map(|key| text.lines().find(|line| line.starts_with(key)));
    known.or_else(|| text.lines().find(|line| !line.is_empty() && !is_about_the_device(line)))
}

fn is_about_the_device(line: &str) -> bool {
    line.starts_with("DEVNAME=") || line.starts_with("PART_ENTRY_")
}

/// Whether this explains that `blkid` ended as if it had found something.
fn told_of_the_entry(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("PART_ENTRY_"))
}

/// The value of `KEY=value`.
fn value_of_key<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A medium of this many bytes, with these bytes at these places.
    fn medium(size: u64, places: &[(u64, &[u8])]) -> File {
        use std::os::unix::fs::FileExt;
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        places.iter().for_each(|(at, bytes)| file.write_all_at(bytes, *at).unwrap());
        file
    }

    /// Where each file system keeps its signature, in bytes from the beginning, as its own documents have it.
    #[test]
    fn signatures_are_looked_for_where_their_owners_write_them() {
        let md = [0xfc, 0x4e, 0x2b, 0xa9];
        let odd = (1 << 20) + 5 * 4096 + 512;
        for (size, at, mark, name) in [
            (1 << 20, 4086, &b"SWAPSPACE2"[..], "swap"),
            (1 << 20, 4086, b"SWAP-SPACE", "swap"),
            (1 << 20, 8182, b"SWAPSPACE2", "swap"),
            (1 << 20, 16374, b"SWAPSPACE2", "swap"),
            (1 << 20, 65526, b"SWAPSPACE2", "swap"),
            (1 << 20, 65588, b"ReIsEr", "reiserfs"),
            (1 << 20, 0, b"XFSB", "xfs"),
            (1 << 20, 65600, b"_BHRfS_M", "btrfs"),
            // The superblock of RAID 1.0 is 8 KiB before the last full 4 KiB, that of 0.90 in the last full 64 KiB.
            (odd, (1 << 20) + 3 * 4096, &md, "md RAID 1.0"),
            (odd, (1 << 20) - 65536, &md, "md RAID 0.90"),
            (odd, odd - 1024, b"Intel Raid ISM Cfg Sig. ", "Intel RAID"),
            (odd, odd - 512, b"EFI PART", "GPT second header"),
            // The smallest medium that can hold it.
            (4, 0, b"XFSB", "xfs"),
            (4096, 4086, b"SWAPSPACE2", "swap"),
        ] {
            let file = medium(size, &[(at, mark)]);
            let found = find_signature(&file, size).unwrap();
            assert_eq!(found.as_deref(), Some(format!("{name} at byte {at}").as_str()), "{size}");
            assert_eq!(
                find_signature(&medium(size, &[(at, &mark[..mark.len() - 1])]), size).unwrap(),
                None,
                "{name}, cut"
            );
        }
        assert_eq!(find_signature(&medium(3, &[(0, b"XFS")]), 3).unwrap(), None);
        assert_eq!(find_signature(&medium(0, &[]), 0).unwrap(), None);
    }

    /// Short signatures count only with the fields around them.
    #[test]
    fn fields_around_a_short_signature_must_make_sense() {
        let ext: &[(u64, &[u8])] = &[(1024 + 0x38, &[0x53, 0xef])];
        let nilfs: &[(u64, &[u8])] = &[(1030, &[0x34, 0x34]), (1024, &[2, 0, 0, 0])];
        let dos: &[(u64, &[u8])] = &[(510, &[0x55, 0xaa])];
        for (what, size, places, more, found) in [
            ("ext4", 2048, ext, (1024 + 0x18, &[6][..]), Some("ext2/3/4 at byte 1080")),
            ("blocks too large", 2048, ext, (1024 + 0x18, &[7]), None),
            ("state", 2048, ext, (1024 + 0x3a, &[7]), Some("ext2/3/4 at byte 1080")),
            ("unknown state", 2048, ext, (1024 + 0x3a, &[8]), None),
            ("revision", 2048, ext, (1024 + 0x4c, &[1]), Some("ext2/3/4 at byte 1080")),
            ("unknown revision", 2048, ext, (1024 + 0x4c, &[2]), None),
            ("creator", 2048, ext, (1024 + 0x48, &[4]), Some("ext2/3/4 at byte 1080")),
            ("unknown creator", 2048, ext, (1024 + 0x48, &[5]), None),
            ("too short for ext4", 2047, ext, (0, &[]), None),
            ("nilfs2", 2048, nilfs, (0, &[]), Some("nilfs2 at byte 1030")),
            ("another major revision", 2048, nilfs, (1024, &[3]), None),
            ("another minor revision", 2048, nilfs, (1028, &[1]), None),
            ("another magic number", 2048, nilfs, (1030, &[0x35]), None),
            ("too short for nilfs2", 2047, nilfs, (0, &[]), None),
            ("partition table", 512, dos, (446, &[0x80]), Some("DOS partition table at byte 510")),
            ("with a flag that nobody uses", 512, dos, (446, &[0x81]), None),
            ("in the last entry", 512, dos, (494, &[1]), None),
            ("the third entry", 512, dos, (478, &[0x80]), Some("DOS partition table at byte 510")),
            ("in the third entry", 512, dos, (478, &[0x7f]), None),
            ("too short for a table", 511, &[(510, &[0x55])], (0, &[]), None),
        ] {
            let places: Vec<(u64, &[u8])> = places.iter().copied().chain([more]).collect();
            let file = medium(size, &places);
            file.set_len(size).unwrap();
            assert_eq!(find_signature(&file, size).unwrap().as_deref(), found, "{what}");
        }
    }

    /// Four labels of 256 KiB, two at each end of what is a multiple of that; the ring is in the second half of each.
    #[test]
    fn an_uberblock_of_zfs_is_found_in_each_label() {
        let (little, big) = (0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes());
        let size = ((8 * 256) << 10) + 4096;
        for (at, mark, found) in [
            (128 << 10, little, true),
            (128 << 10, big, true),
            ((128 << 10) + 1024 * 127, little, true),
            ((256 + 128) << 10, little, true),
            ((6 * 256 + 128) << 10, little, true),
            ((7 * 256 + 255) << 10, big, true),
            // Not in a ring, not at its beginning, not in a label.
            (127 << 10, little, false),
            ((128 << 10) + 512, little, false),
            ((3 * 256 + 128) << 10, little, false),
        ] {
            let expected = found.then(|| format!("ZFS at byte {at}"));
            assert_eq!(find_signature(&medium(size, &[(at, &mark)]), size).unwrap(), expected);
        }
        let small = 256 << 10;
        assert!(find_signature(&medium(small, &[(128 << 10, &little)]), small).unwrap().is_some(), "one label fits");
        assert_eq!(find_signature(&medium(small - 1, &[(128 << 10, &little)]), small - 1).unwrap(), None, "none fits");
    }

    #[test]
    fn the_entry_of_a_partition_is_read_with_its_place() {
        let entry = "DEVNAME=/proc/self/fd/0\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_NAME=a\nPART_ENTRY_NUMBER=2\nPART_ENTRY_OFFSET=2048\nPART_ENTRY_SIZE=16384\nPART_ENTRY_DISK=7:1\n";
        let found = entry_in(entry).unwrap();
        assert_eq!((found.scheme.as_str(), found.number, found.start, found.size), ("gpt", 2, 2048, 16384));
        for gone in ["SCHEME", "NUMBER", "OFFSET", "SIZE"] {
            let less: String =
                entry.lines().filter(|line| !line.contains(gone)).map(|line| format!("{line}\n")).collect();
            assert_eq!(entry_in(&less), None, "without {gone}");
        }
        assert_eq!(entry_in("TYPE=ext4\n"), None);
    }

    #[test]
    fn the_entry_of_a_partition_is_not_what_it_holds() {
        let entry =
            "DEVNAME=/proc/12/fd/3\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_NAME=data\\ TYPE=x\nPART_ENTRY_NUMBER=1\n";
        for (more, holds, told) in [
            ("", None, true),
            ("TYPE=ext4\n", Some("TYPE=ext4"), true),
            ("UUID=1\nPTTYPE=dos\n", Some("PTTYPE=dos"), true),
            ("AMBIVALENT=yes\n", Some("AMBIVALENT=yes"), true),
        ] {
            let text = format!("{entry}{more}");
            assert_eq!((content_line(&text), told_of_the_entry(&text)), (holds, told), "{more}");
        }
        assert_eq!(
            (content_line("DEVNAME=/dev/x\n"), told_of_the_entry("DEVNAME=/dev/x\n")),
            (None, false),
            "nothing is no answer"
        );
    }
    #[test]
    fn only_nothing_found_is_a_blank_medium() {
        let entry = "DEVNAME=/dev/x\nPART_ENTRY_NUMBER=1\n";
        for (code, text, expected) in [
            (Some(2), "", Ok(())),
            (Some(0), entry, Ok(())),
            (Some(0), "DEVNAME=/dev/x\n", Err("ended with Some(0)")),
            (Some(0), "", Err("ended with Some(0)")),
            (Some(0), "TYPE=ext4\n", Err("found TYPE=ext4")),
            (Some(8), "TYPE=ext4\n", Err("found more than one signature")),
            (Some(8), "", Err("found more than one signature")),
            (Some(4), entry, Err("ended with Some(4)")),
            (None, "", Err("ended with None")),
        ] {
            assert_eq!(judge_blkid(code, text), expected.map_err(str::to_owned), "{code:?} {text}");
        }
    }

    /// Where `blkid` is installed, which the tests of this project need.
    #[test]
    fn blkid_is_asked() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("medium");
        let asked = || probe_with_blkid(&File::open(&path).unwrap());
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        assert_eq!(asked(), Some(Ok(())));
        let mut swap = vec![0; 1 << 20];
        swap[4086..4096].copy_from_slice(b"SWAPSPACE2");
        swap[1024..1028].copy_from_slice(&1u32.to_le_bytes());
        swap[1028..1032].copy_from_slice(&255u32.to_le_bytes());
        std::fs::write(&path, swap).unwrap();
        let found = asked().unwrap().unwrap_err();
        assert!(found.contains("blkid -p found TYPE=swap"), "{found}");
    }

    /// A read of a few bytes reads the blocks around them and no more, wherever they are: buffers and places fit direct
    /// I/O, and a large medium costs no memory.
    #[test]
    fn only_the_blocks_around_a_signature_are_read() {
        use std::os::unix::fs::{FileExt, OpenOptionsExt};
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("medium");
        let (size, direct) = (1u64 << 43, rustix::fs::OFlags::DIRECT.bits() as i32);
        let file = File::options().read(true).write(true).create_new(true).open(&path).unwrap();
        file.set_len(size).unwrap();
        let at = size - (1 << 20);
        file.write_all_at(b"0123456789", at + 4090).unwrap();
        // On a file system without direct I/O it is read through the cache.
        let direct = File::options().read(true).custom_flags(direct).open(&path).unwrap_or(file);
        assert_eq!(read_aligned(&direct, at + 4090, 10).unwrap(), b"0123456789");
        assert_eq!(read_aligned(&direct, at + 4096, 4).unwrap(), b"6789");
        assert_eq!(read_aligned(&direct, size - 2, 4).unwrap(), b"", "not all of it is on the medium");
    }
}
