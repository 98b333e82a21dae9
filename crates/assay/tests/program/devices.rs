//! Block devices for the tests: loop and zram, their counters and tokens, and a trace of what reaches them.

use super::bed::Place;
use super::losetup;
use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Says on stderr why a test is skipped.
pub fn passed_over(why: &str) {
    eprintln!("passed over: {why}");
}

fn tool(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// Tests that count what reaches a device hold it for reading, tests that examine all devices of the host for writing.
pub static LOOKED_AT: RwLock<()> = RwLock::new(());

/// Repeats the removal of something that another process may still use for a moment.
fn patiently(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..250 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    passed_over(what);
}

/// A block device that a test may destroy.
pub trait Disk {
    fn path(&self) -> &str;

    fn name(&self) -> &str {
        self.path().rsplit('/').next().unwrap()
    }

    fn queue(&self, file: &str) -> String {
        fs::read_to_string(format!("/sys/block/{}/queue/{file}", self.name())).unwrap().trim().to_owned()
    }

    /// Whether the kernel divides and merges what it gets into requests; otherwise the driver takes it unchanged.
    fn is_of_requests(&self) -> bool {
        Path::new(&format!("/sys/block/{}/mq", self.name())).exists()
    }

    /// What the device has counted so far, once udev has finished examining it.
    fn counted(&self) -> Counted {
        let _ = tool("udevadm", &["settle"]);
        let text = fs::read_to_string(format!("/sys/block/{}/stat", self.name())).unwrap();
        let at = |n: usize| text.split_whitespace().nth(n).map_or(0, |n| n.parse().unwrap());
        // Documentation/block/stat.rst: a bio that was merged into a request is counted separately.
        Counted {
            reads: at(0) + at(1),
            read_bytes: at(2) * 512,
            writes: at(4) + at(5),
            written_bytes: at(6) * 512,
            flushes: at(15),
        }
    }

    /// Waits until nobody uses the device exclusively: io_uring releases a device only after the program's end.
    fn until_free(&self) {
        let exclusively = || fs::OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(self.path());
        super::bed::until("the device to be given up", || exclusively().is_ok());
    }

    /// The consent token, obtained as a person obtains it.
    fn token(&self, place: &Place) -> String {
        let said = place.assay(&["devices", "--json", self.path()]);
        said.json()[0]["token"].as_str().unwrap_or_else(|| panic!("no token: {}", said.out)).to_owned()
    }
}

/// A device's own counters.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    pub reads: u64,
    pub read_bytes: u64,
    pub writes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
}

impl std::ops::Sub for Counted {
    type Output = Counted;
    fn sub(self, before: Counted) -> Counted {
        Counted {
            reads: self.reads - before.reads,
            read_bytes: self.read_bytes - before.read_bytes,
            writes: self.writes - before.writes,
            written_bytes: self.written_bytes - before.written_bytes,
            flushes: self.flushes - before.flushes,
        }
    }
}

/// A loop device over a file of the test's place; detached when dropped.
pub struct Loop {
    path: String,
    pub backing: PathBuf,
}

impl Loop {
    pub fn over(place: &Place, name: &str, size: u64) -> Option<Loop> {
        Loop::with(place, name, size, &[])
    }

    /// A loop device with further options of losetup. `None` without root or without loop devices.
    pub fn with(place: &Place, name: &str, size: u64, options: &[&str]) -> Option<Loop> {
        let backing = place.path(name);
        if !backing.exists() {
            fs::File::create(&backing).unwrap().set_len(size).unwrap();
        }
        let attached = losetup::attach(&backing, &[&["--direct-io=on"], options].concat());
        let path = attached.map_err(|why| passed_over(&why)).ok()?;
        Some(Loop { path, backing })
    }
}

impl Disk for Loop {
    fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        // While the end of the program is still being processed, the kernel detaches the device only later. Another test
        // may get a device of this name as soon as it is free: that one is not ours.
        let attached = format!("/sys/block/{}/loop/backing_file", self.name());
        let ours = fs::canonicalize(&self.backing).unwrap_or_else(|_| self.backing.clone());
        let is_ours =
            || fs::read_to_string(&attached).is_ok_and(|file| file.trim_end().starts_with(ours.to_str().unwrap()));
        patiently("detaching a loop device", || {
            if is_ours() {
                let _ = tool("losetup", &["-d", &self.path]);
            }
            !is_ours()
        });
    }
}

/// A compressed disk in memory; removed when dropped.
pub struct Zram {
    path: String,
}

impl Zram {
    pub fn of(size: u64) -> Option<Zram> {
        let Ok(number) = fs::read_to_string("/sys/class/zram-control/hot_add") else {
            passed_over("no zram device to be had");
            return None;
        };
        let zram = Zram { path: format!("/dev/zram{}", number.trim()) };
        fs::write(format!("/sys/block/{}/disksize", zram.name()), size.to_string()).ok()?;
        Some(zram)
    }
}

impl Disk for Zram {
    fn path(&self) -> &str {
        &self.path
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = fs::write(format!("/sys/block/{}/reset", self.name()), "1");
        // A program that examines all block devices may have it open for a moment.
        let number = self.path.trim_start_matches("/dev/zram");
        patiently("removing a zram device", || fs::write("/sys/class/zram-control/hot_remove", number).is_ok());
    }
}

/// A file system made on a device and mounted; unmounted when dropped.
pub struct Mounted<'a> {
    at: PathBuf,
    _disk: &'a dyn Disk,
}

impl<'a> Mounted<'a> {
    pub fn ext4(disk: &'a dyn Disk, at: PathBuf) -> Option<Mounted<'a>> {
        fs::create_dir(&at).unwrap();
        let made = tool("mkfs.ext4", &["-q", "-F", disk.path()]);
        let mounted = made.and_then(|_| tool("mount", &[disk.path(), at.to_str().unwrap()]));
        if mounted.is_none() {
            passed_over("no ext4 to be had here");
        }
        mounted.map(|_| Mounted { at, _disk: disk })
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        patiently("unmounting", || tool("umount", &[self.at.to_str().unwrap()]).is_some());
    }
}

/// A mounted file system that completes no write until this is dropped; a loop device on it completes none either.
pub struct Frozen {
    at: PathBuf,
}

impl Frozen {
    pub fn at(at: PathBuf) -> Option<Frozen> {
        let frozen = tool("fsfreeze", &["-f", at.to_str().unwrap()]);
        if frozen.is_none() {
            passed_over("no file system can be frozen here");
        }
        frozen.map(|_| Frozen { at })
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = tool("fsfreeze", &["-u", self.at.to_str().unwrap()]);
    }
}

/// The requests of a run's workers to one device, seen by the kernel's own trace.
pub struct Trace {
    instance: PathBuf,
    mount: PathBuf,
}

/// One request of a worker: whether it writes, and its place and length in sectors of 512 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub write: bool,
    pub sector: u64,
    pub sectors: u64,
}

impl Trace {
    /// Begins to trace. `None` where tracefs cannot be mounted.
    pub fn of(disk: &dyn Disk, place: &Place) -> Option<Trace> {
        let mount = place.path("tracefs");
        fs::create_dir(&mount).unwrap();
        if tool("mount", &["-t", "tracefs", "none", mount.to_str().unwrap()]).is_none() {
            passed_over("no tracefs here");
            return None;
        }
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let nth = COUNT.fetch_add(1, Ordering::Relaxed);
        let instance = mount.join(format!("instances/assay-test-{}-{nth}", std::process::id()));
        fs::create_dir(&instance).unwrap();
        let trace = Trace { instance, mount };
        let number = fs::read_to_string(format!("/sys/block/{}/dev", disk.name())).unwrap();
        let (major, minor) = number.trim().split_once(':').unwrap();
        let device = (major.parse::<u32>().unwrap() << 20) | minor.parse::<u32>().unwrap();
        // The gate examines the device from the main thread; only the requests of the workers are the load. If an
        // operation finds the device's queue full, a kernel thread (`iou-wrk`) repeats it: it counts once.
        let filter = format!("dev == {device} && comm ~ \"worker-*\"");
        let event = trace.instance.join("events/block/block_bio_queue");
        fs::write(trace.instance.join("buffer_size_kb"), "8192").unwrap();
        fs::write(event.join("filter"), filter).unwrap();
        fs::write(event.join("enable"), "1").unwrap();
        Some(trace)
    }

    /// Everything seen so far, except flushes, which have no place.
    pub fn seen(&self) -> Vec<Seen> {
        let text = fs::read_to_string(self.instance.join("trace")).unwrap();
        text.lines().filter_map(|line| line.split_once("block_bio_queue: ")).filter_map(|(_, it)| seen(it)).collect()
    }
}

/// Reads a line such as `7,0 WS 2048 + 256 [worker-0]`.
fn seen(text: &str) -> Option<Seen> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let sectors = words[4].parse().unwrap();
    let seen = Seen { write: words[1].contains('W'), sector: words[2].parse().unwrap(), sectors };
    (sectors > 0).then_some(seen)
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = fs::write(self.instance.join("events/enable"), "0");
        let _ = fs::remove_dir(&self.instance);
        let _ = tool("umount", &[self.mount.to_str().unwrap()]);
    }
}

/// Every aligned block of 4 KiB of a file that is not all zero, with its offset.
pub fn written_blocks(path: &Path) -> Vec<(u64, Vec<u8>)> {
    let data = fs::read(path).unwrap();
    let blocks = data.chunks(4096).enumerate().filter(|(_, block)| block.iter().any(|byte| *byte != 0));
    blocks.map(|(at, block)| (at as u64 * 4096, block.to_vec())).collect()
}
