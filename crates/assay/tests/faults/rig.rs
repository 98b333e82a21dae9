//! A fault disk with a place to run the program in, workloads for it, and what every log of these tests must satisfy.

use super::bed::{Log, Place, Running, Said};
use super::devices::passed_over;
use assay_faultfs::{FUSE_MAGIC, FaultDisk, f_type};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// Taken by every test here.
pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How often trials are repeated: twice, or what `ASSAY_CAMPAIGN` says.
pub fn trials() -> usize {
    std::env::var("ASSAY_CAMPAIGN").ok().and_then(|n| n.parse().ok()).unwrap_or(2)
}

pub fn is_root() -> bool {
    // SAFETY: no arguments, cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    if !root {
        passed_over("needs root");
    }
    root
}

/// The disk is unmounted before its place is removed, and before the next test begins.
pub struct Rig {
    pub fault: FaultDisk,
    pub place: Place,
    _alone: MutexGuard<'static, ()>,
}

/// Where the disk's file is, as seen from the place.
pub const DISK: &str = "mount/disk";

/// Bytes of a disk.
pub const SIZE: u64 = 64 << 20;

impl Rig {
    /// A disk that is there, for reading.
    pub fn full() -> Option<Rig> {
        Rig::mount(|at| FaultDisk::mount(SIZE, at))
    }

    /// A disk that the program makes itself with `--create`, for writing.
    pub fn empty() -> Option<Rig> {
        Rig::mount(FaultDisk::mount_empty)
    }

    fn mount(mount: impl FnOnce(&std::path::Path) -> std::io::Result<FaultDisk>) -> Option<Rig> {
        let alone = alone();
        let place = Place::new();
        std::fs::create_dir(place.path("mount")).unwrap();
        match mount(&place.path("mount")) {
            Ok(fault) => {
                assert_eq!(f_type(&place.path("mount")).unwrap(), FUSE_MAGIC, "the tests run on the fault disk");
                Some(Rig { fault, place, _alone: alone })
            }
            Err(e) => {
                passed_over(&format!("no FUSE mount to be had: {e}"));
                None
            }
        }
    }

    /// Makes the disk of one that is empty, full of data: reads of what was never written would prove nothing.
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

    /// The log of what was started.
    pub fn log(&self) -> Log {
        Log::of(&self.place.path("run"))
    }

    /// Its end: the verdict that its exit code and verdict.json agree on, and a log that adds up.
    pub fn judged(&self, said: &Said, verdict: &str) -> Log {
        let log = self.log();
        log.adds_up();
        let told = said.is_of_verdict(&self.place.path("run"));
        assert_eq!(told, verdict, "{}{}", said.out, said.err);
        log
    }
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
