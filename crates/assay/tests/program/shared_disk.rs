//! A partition for the test on a disk whose other partitions are in use: mounted, and swap. Every byte outside the
//! partition is compared after each verb that writes; the whole disk and the partitions in use stay refused.

use super::bed::{Place, Said};
use super::live::{Loop, Mount, have, root, run, skip};
use std::fs;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

const MIB: usize = 1 << 20;
/// The partition for the test, in bytes of the disk.
const OURS: std::ops::Range<usize> = 12 * MIB..44 * MIB;
const TABLE: &str = "label: gpt\\nstart=2048, size=20480\\nstart=24576, size=65536\\nstart=90112, size=16384\\nstart=106496, size=8192\\n";

/// A disk with four partitions: a mounted one, one for the test, swap where the kernel takes it, and one with data of
/// somebody.
struct Disk {
    image: PathBuf,
    device: Loop,
    mount: Option<Mount>,
    swap: bool,
}

impl Disk {
    /// `None` where loop devices have no partitions.
    fn new(place: &Place) -> Option<Disk> {
        if !(root() && have("sfdisk") && have("partx") && have("mkfs.ext4") && have("blkid") && have("mkswap")) {
            return None;
        }
        let image = place.path("disk");
        fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
        run(&["sh", "-c", &format!("printf '{TABLE}' | sfdisk -q {}", image.display())]).unwrap();
        let device = Loop::over(&image, &["--direct-io=on", "-P"]);
        let mut disk = Disk { image, device, mount: None, swap: false };
        if !PathBuf::from(disk.part(1)).exists()
            && let Err(why) = run(&["partx", "-a", &disk.device.dev])
        {
            skip(&why);
            return None;
        }
        run(&["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", &disk.part(1)]).unwrap();
        disk.mount = Some(Mount::new(&disk.part(1), &place.path("."), "point").unwrap());
        fs::write(place.path("point/precious"), "precious\n".repeat(1000)).unwrap();
        run(&["mkswap", &disk.part(3)]).unwrap();
        disk.swap = run(&["swapon", &disk.part(3)]).is_ok();
        fs::write(disk.part(4), vec![0x5a; 4 * MIB]).unwrap();
        run(&["sync"]).unwrap();
        Some(disk)
    }

    fn part(&self, n: u32) -> String {
        format!("{}p{n}", self.device.dev)
    }

    /// Everything on the disk but the partition for the test, and swap, into which the kernel may write at any time.
    fn others(&self) -> Vec<u8> {
        run(&["sync"]).unwrap();
        let mut bytes = fs::read(&self.image).unwrap();
        bytes[OURS].fill(0);
        bytes[44 * MIB..52 * MIB].fill(0);
        bytes
    }

    fn ours(&self) -> Vec<u8> {
        fs::read(&self.image).unwrap()[OURS].to_vec()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if self.swap {
            let _ = run(&["swapoff", &self.part(3)]);
        }
        self.mount = None;
        let _ = run(&["partx", "-d", &self.device.dev]);
    }
}

fn token(place: &Place, path: &str) -> String {
    place.assay(&["devices", "--json", path]).json()[0]["token"].as_str().unwrap().to_owned()
}

#[test]
fn not_a_byte_outside_the_partition_changes() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let part = disk.part(2);
    let token = token(&place, &part);
    let conf = place.write(
        "act.conf",
        &format!("device-names: {part}\ntest-duration-sec: 2\nread-reqs-per-sec: 500\nwrite-reqs-per-sec: 4000\nmax-lag-sec: 0\n"),
    );
    let words = "name = \"w\"\nmodel = \"streams\"\n[[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"64KiB\"\nrate = \"400/s\"\n";
    let writes = place.write("writes.toml", words);
    let before = disk.others();
    let mut written = disk.ours();
    let run = ["run", writes.to_str().unwrap(), &part, "--for", "2s", "--destroy-data", &token];
    for words in [
        &["prep", &part, "--destroy-data", &token][..],
        &["prep", &part, "--skip-zero", "--discard", "--destroy-data", &token],
        &[&run[..], &["--engine", "threads", "--out", "threads"]].concat(),
        &[&run[..], &["--engine", "inline", "--out", "inline"]].concat(),
        &[&run[..], &["--verify", "--out", "verified"]].concat(),
        &["as", "act_storage", conf.to_str().unwrap()],
        &["as", "act_prep", &part],
    ] {
        let mut command = place.command(words);
        let said = Said::of(command.env("ASSAY_DESTROY_DATA", &token).output().unwrap(), words);
        assert!(matches!(said.code, Some(0 | 10 | 11)), "{words:?}: {:?} {}{}", said.code, said.out, said.err);
        let shared = format!("SHARED DISK: {}p1 is mounted", disk.device.dev.trim_start_matches("/dev/"));
        assert!(said.err.contains(shared.trim_start_matches("SHARED DISK: ")), "{words:?}: {}", said.err);
        if words[0] == "run" {
            assert!([said.out.as_str(), &said.err].concat().contains("SHARED DISK"), "{words:?}: {}", said.out);
            let verdict = fs::read_to_string(place.path(words[words.len() - 1]).join("verdict.json")).unwrap();
            assert!(verdict.contains(&shared), "{verdict}");
        }
        let (others, ours) = (disk.others(), disk.ours());
        let differs = others.iter().zip(&before).position(|(a, b)| a != b);
        assert_eq!(differs, None, "{words:?}: byte of the disk outside the partition");
        assert!(ours != written, "{words:?}: nothing was written into it, so that nothing is shown");
        written = ours;
    }
    assert_eq!(fs::read_to_string(place.path("point/precious")).unwrap(), "precious\n".repeat(1000));
}

#[test]
fn the_whole_disk_and_what_is_in_use_stay_refused() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let before = fs::read(&disk.image).unwrap();
    for (path, rule) in [(disk.device.dev.clone(), "rule S2"), (disk.part(1), "rule S2"), (disk.part(4), "rule S8")] {
        let token = token(&place, &path);
        let said = place.assay(&["prep", &path, "--skip-zero", "--destroy-data", &token, "--override", "S6,S7"]);
        assert!(said.code == Some(4) && said.err.contains(rule), "{path}: {:?} {}", said.code, said.err);
    }
    let listed = place.assay(&["devices", "--json", &disk.part(2)]).json();
    assert!(listed[0]["accepted"] == true, "{listed}");
    assert!(listed[0]["watermarks"].to_string().contains("is mounted"), "{listed}");
    assert_eq!(fs::read(&disk.image).unwrap()[..12 * MIB], before[..12 * MIB]);
}

/// The kernel keeps its list of partitions while some are in use; the table on the disk may say something else by then.
#[test]
fn a_table_that_was_edited_meanwhile_is_refused() {
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let part = disk.part(2);
    let token = token(&place, &part);
    let prep = |words: &str| {
        let before = disk.ours();
        let said = place.assay(&["prep", &part, "--skip-zero", "--destroy-data", &token]);
        assert!(
            said.code == Some(4) && said.err.contains("rule S4") && said.err.contains(words),
            "{words}: {}",
            said.err
        );
        assert!(said.err.contains("is mounted on"), "{}", said.err);
        assert!(disk.ours() == before, "{words}: bytes changed");
    };
    let edit = |table: &str| {
        let script = format!("printf '{table}' | sfdisk -q --force --no-reread --no-tell-kernel {}", disk.device.dev);
        run(&["sh", "-c", &script]).unwrap();
    };
    // Its end now belongs to another one; it begins elsewhere; its sectors are those of another one; there is none.
    edit("label: gpt\\nstart=2048, size=20480\\nstart=24576, size=32768\\nstart=57344, size=32768\\n");
    prep("does not list it");
    edit("label: gpt\\nstart=2048, size=20480\\nstart=24578, size=65536\\n");
    prep("does not list it");
    edit("label: gpt\\nstart=24576, size=65536\\n");
    prep("somebody has edited the table");
    edit("label: gpt\\nstart=2048, size=20480\\n");
    prep("does not list it");
    edit(TABLE);
    let said = place.assay(&["prep", &part, "--skip-zero", "--destroy-data", &token]);
    assert_eq!(said.code, Some(0), "as the kernel has it again: {}", said.err);
    // Where nothing beside it is in use, its table says nothing about others' data.
    edit("label: gpt\\nstart=2048, size=20480\\n");
    let mut disk = disk;
    if disk.swap {
        run(&["swapoff", &disk.part(3)]).unwrap();
        disk.swap = false;
    }
    disk.mount = None;
    let said = place.assay(&["prep", &part, "--skip-zero", "--destroy-data", &token]);
    assert_eq!(said.code, Some(0), "alone: {}", said.err);
}

/// Requests for a range of bytes (include/uapi/linux/fs.h).
const BLKDISCARD: libc::c_ulong = 0x1277;
const BLKZEROOUT: libc::c_ulong = 0x127f;

/// Discards or zeroes a range, given by its first byte and length.
fn bytes(device: &fs::File, request: libc::c_ulong, range: [u64; 2]) -> std::io::Result<()> {
    // SAFETY: the requests read two numbers and keep no pointer.
    match unsafe { libc::ioctl(device.as_raw_fd(), request, range.as_ptr()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// What is beyond its end is refused by the kernel too, whatever the program asks for.
#[test]
fn the_kernel_confines_a_partition_to_its_sectors() {
    use std::os::unix::fs::FileExt;
    let place = Place::new();
    let Some(disk) = Disk::new(&place) else { return };
    let before = disk.others();
    let file = fs::OpenOptions::new().read(true).write(true).open(disk.part(2)).unwrap();
    let size = OURS.len() as u64;
    assert_eq!(file.write_at(&[0xee; 8192], size - 4096).unwrap(), 4096, "cut at its end");
    for offset in [size, size + 4096, 1 << 40] {
        assert!(file.write_at(&[0xee; 4096], offset).is_err(), "{offset}");
    }
    file.sync_all().unwrap();
    // The programs of util-linux would cut the range themselves.
    for (name, request) in [("BLKDISCARD", BLKDISCARD), ("BLKZEROOUT", BLKZEROOUT)] {
        let within = bytes(&file, request, [size - 4096, 4096]);
        assert!(within.is_ok(), "{name} at its end: {within:?}");
        for range in [[0, size + 4096], [size - 4096, 8192], [size, 4096], [1 << 40, 4096]] {
            let beyond = bytes(&file, request, range);
            assert_eq!(beyond.unwrap_err().raw_os_error(), Some(libc::EINVAL), "{name} {range:?}");
        }
    }
    assert!(disk.others() == before);
    // And while it is open, nobody takes it away or moves it: only its size can change, which is noticed before each phase.
    assert!(run(&["partx", "-d", "-n", "2", &disk.device.dev]).is_err(), "an open partition was deleted");
    drop(file);
}
