//! `cache = "drop"` beside a process that reads the same files again and again: what it reads comes from memory, and proves nothing.

use crate::bed::{Log, Said};
use crate::mounts::OnLoop;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const READING: &str = r#"
name = "reading"
model = "files"
clients = 2
closed = true
duration = "1s"
slice = "1s"
interval = "250ms"
cache = "drop"
io = "64KiB"
[tree]
files = 600
size = "64KiB"
[[do]]
name = "look"
steps = ["open", "read", "close"]
"#;

/// The bytes of a file in the memory of this process, which touches them again and again.
struct Mapped {
    address: *mut libc::c_void,
    length: usize,
}

impl Mapped {
    fn map(path: &Path) -> Option<Mapped> {
        let file = File::open(path).ok()?;
        let length = file.metadata().ok()?.len() as usize;
        // SAFETY: the kernel chooses an address where nothing is.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        (address != libc::MAP_FAILED).then_some(Mapped { address, length })
    }

    /// Asks the kernel for every page, which is not an access that can fail where the file was cut or removed.
    fn read_again(&self) {
        // SAFETY: the range is that of the mapping.
        unsafe { libc::madvise(self.address, self.length, libc::MADV_POPULATE_READ) };
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mapping.
        unsafe { libc::munmap(self.address, self.length) };
    }
}

/// Reads every whole file that comes into a directory of ours, until it is told to end.
fn read_all_files(place: &Path, is_over: &AtomicBool) {
    let mut mapped: Vec<(std::ffi::OsString, Mapped)> = Vec::new();
    while !is_over.load(Relaxed) {
        let own = fs::read_dir(place).unwrap().flatten().map(|entry| entry.path());
        let own = own.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("assay-")));
        for entry in own.filter_map(|path| fs::read_dir(path).ok()).flatten().flatten() {
            let is_whole = entry.metadata().is_ok_and(|facts| facts.len() == 64 << 10);
            if is_whole && !mapped.iter().any(|(name, _)| *name == entry.file_name()) {
                mapped.extend(Mapped::map(&entry.path()).map(|mapped| (entry.file_name(), mapped)));
            }
        }
        mapped.iter().for_each(|(_, mapped)| mapped.read_again());
    }
}

fn run_beside(disk: &OnLoop, reads: bool) -> (Said, Log) {
    let place = &disk.mounted.place;
    place.write("reading.toml", READING);
    let out = format!("run-{reads}");
    let is_over = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        if reads {
            scope.spawn(|| read_all_files(&place.path("mount"), &is_over));
        }
        let said = place.assay(&["run", "reading.toml", "mount", "--out", &out]);
        is_over.store(true, Relaxed);
        said
    });
    let log = Log::of(&place.path(&out));
    (said, log)
}

#[test]
fn reads_of_dropped_files_that_somebody_else_reads_again_prove_nothing() {
    let Some(mut disk) = OnLoop::with_size(128 << 20) else { return };
    if !disk.make(&["mkfs.ext4", "-q", "-F"], &[]) {
        return;
    }
    let told = |log: &Log| {
        let text = log.events.iter().map(|event| event.text.clone()).find(|text| text.starts_with("cache = \"drop\""));
        text.expect("the share that is in the page cache is said")
    };
    let (alone, log) = run_beside(&disk, false);
    assert!(told(&log).contains("0.0% of the pages of 10 files"), "{}", told(&log));
    assert!(!alone.out.contains("somebody else reads"), "{alone:?}");
    let (beside, log) = run_beside(&disk, true);
    assert_eq!(beside.code, Some(11), "{beside:?}");
    let text = told(&log);
    assert!(text.contains("somebody else reads these files"), "{text}");
    assert!(fs::read_dir(disk.mounted.point()).unwrap().all(|entry| entry.unwrap().file_name() == "lost+found"));
}

/// Mebibytes that are read in each way; `ASSAY_CACHE_MIB=1024` reads a GiB.
const MEBIBYTES: &str = "ASSAY_CACHE_MIB";

/// Direct reads leave nothing in the page cache, dropped files are read from the disk, and warm ones from memory; the log says which it was,
/// and the disk beneath has counted it.
#[test]
fn files_that_are_read_in_three_ways_are_labelled_as_the_disk_has_counted_them() {
    let mebibytes: u64 = std::env::var(MEBIBYTES).ok().and_then(|text| text.parse().ok()).unwrap_or(64);
    let Some(mut disk) = OnLoop::with_size((mebibytes * 2 + 64) << 20) else { return };
    if !disk.make(&["mkfs.ext4", "-q", "-F"], &[]) {
        return;
    }
    let once = format!(
        "name = \"once\"\nmodel = \"files\"\nclients = 2\nclosed = true\nduration = \"1min\"\nslice = \"1min\"\ninterval = \"250ms\"\n\
         cache = \"CACHE\"\nio = \"64KiB\"\n[tree]\nfiles = {}\nsize = \"64KiB\"\n[[phase]]\nname = \"read\"\nuntil = \"done\"\n\
         [[phase.do]]\nname = \"look\"\nsteps = [\"open\", \"read\", \"close\"]\n",
        mebibytes * 16
    );
    for (cache, share) in [("direct", "0.0%"), ("drop", "0.0%"), ("warm", "100.0%")] {
        let place = &disk.mounted.place;
        place.write("once.toml", &once.replace("CACHE", cache));
        let before = sectors_read(&disk.device.0);
        let said = place.assay(&["run", "once.toml", "mount", "--out", cache]);
        let read = (sectors_read(&disk.device.0) - before) * 512;
        assert!(matches!(said.code, Some(0 | 11)), "{said:?}");
        let log = Log::of(&place.path(cache));
        assert_eq!(log.stream("read").bytes, mebibytes << 20, "{said:?}");
        let told = log.events.iter().find(|event| event.text.starts_with("cache = "));
        let told = told.unwrap_or_else(|| panic!("{cache}: {said:?}")).text.clone();
        assert!(told.starts_with(&format!("cache = \"{cache}\": before the phase, ")), "{told}");
        assert!(cache == "direct" || told.contains(share), "{told}");
        // The comparison behind the load reads every byte from the disk once more.
        let times = if cache == "warm" { 1 } else { 2 };
        let expected = times * (mebibytes << 20);
        assert!(read >= expected && read < expected + (expected >> 2) + (8 << 20), "{cache}: {read} of {expected}");
    }
}

/// How much a block device has read so far, in sectors of 512 bytes.
fn sectors_read(device: &str) -> u64 {
    let name = Path::new(device).file_name().unwrap().to_str().unwrap();
    let text = fs::read_to_string(format!("/sys/class/block/{name}/stat")).unwrap();
    text.split_whitespace().nth(2).unwrap().parse().unwrap()
}
