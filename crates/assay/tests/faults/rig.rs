//! A fault disk with a place to run the program in, workloads for it, and requirements on every log of these tests.

use super::bed::{Log, Place, Running, Said};
use super::devices::passed_over;
use assay_faultfs::{FUSE_MAGIC, FaultDisk, f_type};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Once, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

static QUIET: RwLock<()> = RwLock::new(());

/// Whether a test has the processors to itself, or shares them with others that do not measure time.
#[expect(dead_code, reason = "held, never looked at")]
pub enum Turn {
    Alone(RwLockWriteGuard<'static, ()>),
    Beside(RwLockReadGuard<'static, ()>),
}

/// Taken by a test that measures time or needs a PASS: no other test runs meanwhile.
pub fn alone() -> Turn {
    Turn::Alone(QUIET.write().unwrap_or_else(PoisonError::into_inner))
}

/// Taken by every other test: it counts what was injected, however long that takes.
pub fn beside() -> Turn {
    Turn::Beside(QUIET.read().unwrap_or_else(PoisonError::into_inner))
}

/// How often trials are repeated: twice, or what `ASSAY_CAMPAIGN` says.
pub fn trials() -> usize {
    std::env::var("ASSAY_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

/// The longest time, in nanoseconds, for which a witness thread could not run since this was last read.
static KEPT: AtomicU64 = AtomicU64::new(0);

/// Whether a processor stood still for 50 ms or more since the last call: on each one, a thread repeatedly sleeps for
/// two milliseconds and measures how late it wakes.
pub fn stood_still() -> bool {
    static WITNESSES: Once = Once::new();
    WITNESSES.call_once(|| {
        for cpu in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            std::thread::spawn(move || witness(cpu));
        }
    });
    KEPT.swap(0, Relaxed) >= 50_000_000
}

fn witness(cpu: usize) {
    const ASLEEP: Duration = Duration::from_millis(2);
    // SAFETY: the set is plain data, large enough, and used by this thread only. If the thread may not run on that
    // processor, it observes another one.
    unsafe {
        let mut here: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut here);
        libc::sched_setaffinity(0, size_of_val(&here), &raw const here);
    }
    loop {
        let before = Instant::now();
        std::thread::sleep(ASLEEP);
        KEPT.fetch_max((before.elapsed() - ASLEEP).as_nanos() as u64, Relaxed);
    }
}

/// Ends an attempt that proved nothing.
struct Unproven(String);

/// Ends this attempt of [`tried`], because the machine kept the test from proving anything.
pub fn unproven(said: &str) -> ! {
    eprintln!("this attempt proves nothing:\n{said}");
    resume_unwind(Box::new(Unproven(said.to_owned())))
}

/// Repeats a test that needs a PASS in real time, up to five times. If the machine does not let the generator run, or
/// the process that acts as the disk, the verdict says that, and nothing about the property to be shown. If, according
/// to the witness threads, the machine stood still each time, the test is skipped.
pub fn tried(test: impl Fn()) {
    let mut seen = Vec::new();
    let mut busy = true;
    for _ in 0..5 {
        stood_still();
        let Err(ended) = catch_unwind(AssertUnwindSafe(&test)) else { return };
        match ended.downcast::<Unproven>() {
            Ok(said) => seen.push(said.0),
            Err(failed) => resume_unwind(failed),
        }
        busy &= stood_still();
    }
    assert!(busy, "nothing proved, and the machine did not stand still: {}", seen.join("\n"));
    passed_over("this machine stood still in each of five tries");
}

pub fn is_root() -> bool {
    // SAFETY: no arguments, cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        passed_over("needs root");
    }
    root
}

/// The disk is unmounted before its directory is removed, and before the next test begins.
pub struct Rig {
    pub fault: FaultDisk,
    pub place: Place,
    _turn: Turn,
}

/// The path of the disk's file, relative to the place.
pub const DISK: &str = "mount/disk";

/// Bytes of a disk.
pub const SIZE: u64 = 64 << 20;

impl Rig {
    /// A disk of [`SIZE`] bytes that exists already, for reading.
    pub fn full(turn: Turn) -> Option<Rig> {
        Rig::mount(turn, |at| FaultDisk::mount(SIZE, at))
    }

    /// A disk that the program creates itself with `--create`, for writing.
    pub fn empty(turn: Turn) -> Option<Rig> {
        Rig::mount(turn, FaultDisk::mount_empty)
    }

    fn mount(turn: Turn, mount: impl FnOnce(&std::path::Path) -> std::io::Result<FaultDisk>) -> Option<Rig> {
        let place = Place::new();
        std::fs::create_dir(place.path("mount")).unwrap();
        match mount(&place.path("mount")) {
            Ok(fault) => {
                assert_eq!(f_type(&place.path("mount")).unwrap(), FUSE_MAGIC, "the tests run on the fault disk");
                Some(Rig { fault, place, _turn: turn })
            }
            Err(e) => {
                passed_over(&format!("no FUSE mount to be had: {e}"));
                None
            }
        }
    }

    /// Creates the disk if it does not exist, and fills it with data: reads of blocks that were never written would
    /// prove nothing.
    pub fn prepare(&self) {
        let said = self.place.assay(&["prep", DISK, "--create", "64MiB", "--skip-zero"]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }

    /// Runs a workload on the disk to its end.
    pub fn run(&self, workload: &str, more: &[&str]) -> (Said, Log) {
        self.place.write("workload.toml", workload);
        self.place.run(&[&["run", "workload.toml", DISK], more].concat())
    }

    /// Starts a workload on the disk and waits for its first interval.
    pub fn start(&self, workload: &str, more: &[&str]) -> Running {
        self.place.write("workload.toml", workload);
        self.place.start(&[&["run", "workload.toml", DISK], more].concat(), 1)
    }

    /// The log of the run that was started.
    pub fn log(&self) -> Log {
        Log::of(&self.place.path("run"))
    }

    /// Asserts that a run on a good device did not end with FAIL, whatever happened to the program.
    pub fn judged_not_failed(&self, said: &Said) {
        let (verdict, _) = self.ended(said);
        assert_ne!(verdict, "FAIL", "{}{}", said.out, said.err);
    }

    /// Asserts how the run ended: with a verdict that agrees with the exit code and `verdict.json`, and with a log that
    /// adds up.
    pub fn ended(&self, said: &Said) -> (String, Log) {
        let log = self.log();
        log.adds_up();
        (said.is_of_verdict(&self.place.path("run")), log)
    }

    /// Asserts that the run ended with this verdict. If the machine prevented that, this attempt ends.
    pub fn judged(&self, said: &Said, verdict: &str) -> Log {
        let (told, log) = self.ended(said);
        if verdict == "PASS" && overslept(said) {
            return log;
        }
        let late = ["test machine", "could not take it"].iter().any(|cause| said.out.contains(cause));
        if told != verdict && (verdict == "PASS" || told == "INVALID") && late {
            unproven(&said.out);
        }
        assert_eq!(told, verdict, "{}{}", said.out, said.err);
        log
    }
}

/// Whether a closed loop misses a PASS only because its generator left slots without an operation. The disk is a process on the same
/// processors here: at full load one of the two must wait, and the measurement is complete nevertheless.
pub fn overslept(said: &Said) -> bool {
    let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    words.starts_with("INVALID") && words.contains(", but the test machine left slots of its closed loop")
}

/// A workload of streams with one criterion on response.
pub fn workload(duration: &str, criterion: (&str, &str), streams: &[&str]) -> String {
    let (over, at_most) = criterion;
    let head = format!("name = \"faults\"\nmodel = \"streams\"\nduration = \"{duration}\"\nslice = \"{duration}\"\n");
    let streams: String = streams.iter().map(|keys| format!("\n[[stream]]\nsize = \"4KiB\"\n{keys}\n")).collect();
    let named = streams.split("name = \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    format!(
        "{head}{streams}\n[[criterion]]\nstream = \"{named}\"\nmeasure = \"response\"\nshare_over = \"{over}\"\nat_most = \"{at_most}\"\n"
    )
}

/// Keys of a closed loop.
pub fn closed(direction: &str, in_flight: u32) -> String {
    format!("name = \"{direction}s\"\ndirection = \"{direction}\"\nin_flight = {in_flight}")
}

/// Keys of an open loop with a steady rate.
pub fn steady(direction: &str, rate: u32) -> String {
    format!("name = \"{direction}s\"\ndirection = \"{direction}\"\nrate = \"{rate}/s\"\narrival = \"steady\"")
}
