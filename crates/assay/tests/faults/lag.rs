//! Who caused a lag, in repeated trials: a starved generator is INVALID and never FAIL; a stalled device is FAIL and
//! never INVALID (see `times`).

use super::bed::{Log, Place};
use super::devices::passed_over;
use super::rig::{DISK, Rig, alone, beside, closed, is_root, steady, trials, workload};
use assay_record::CloseReason;
use serde_json::Value;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// At most four reads in flight, 10 ms each, are 400 a second. The search goes from 250 to 500 reads a second: lag ends
/// that run, and the search continues.
#[test]
fn a_load_that_cannot_be_carried_ends_its_own_run_only() {
    let Some(rig) = Rig::full(alone()) else { return };
    rig.fault.set("read_delay=10ms");
    let reads = workload("2s", ("5s", "5%"), &[&steady("read", 50)]);
    let reads = reads.replacen("duration", "in_flight_bound = 4\nmax_lag = \"100ms\"\nduration", 1);
    rig.place.write("workload.toml", &reads);
    let search = ["--from", "5x", "--resolution", "2x", "--for", "2s", "--out", "search", "--json"];
    let path = rig.place.assay(&[&["limit", "workload.toml", DISK][..], &search].concat()).json();
    let runs = path["runs"].as_array().unwrap();
    let log = |run: &Value| Log::of(&rig.place.path(run["directory"].as_str().unwrap()));
    let ended = runs.iter().position(|run| log(run).close.unwrap().reason == CloseReason::DeviceLag);
    assert!(ended.is_some_and(|at| at + 1 < runs.len()), "one is ended, and something lies between: {path}");
    for run in runs {
        let log = log(run);
        log.adds_up();
        assert!(log.close.unwrap().issued > 0, "{run}");
    }
}

/// The generator is stopped at a random moment.
fn stopped(engine: &str, rate: u32, bound: u32) {
    for _ in 0..trials() {
        let Some(rig) = Rig::full(beside()) else { return };
        rig.fault.set("read_delay=1ms");
        let reads = workload("5s", ("100ms", "5%"), &[&steady("read", rate)]);
        let reads = format!("in_flight_bound = {bound}\n{reads}");
        let running = rig.start(&reads, &["--engine", engine]);
        running.signal(libc::SIGSTOP);
        std::thread::sleep(Duration::from_secs(2));
        running.signal(libc::SIGCONT);
        let said = running.end();
        rig.judged(&said, "INVALID");
        assert!(said.out.contains("test machine"), "{}", said.out);
    }
}

#[test]
fn a_stopped_generator_is_invalid() {
    stopped("io_uring", 500, 256);
}

/// It is within a call to the device half of the time, which looks as if the device had blocked.
#[test]
fn a_generator_that_is_stopped_within_a_call_is_invalid() {
    stopped("inline", 500, 256);
}

/// With at most eight in flight, operations that become due meanwhile also wait for a full queue.
#[test]
fn a_stopped_generator_with_a_full_queue_is_invalid() {
    stopped("io_uring", 2000, 8);
}

/// A cgroup (version 1) with a share of one processor; removed when dropped.
struct Quota(PathBuf);

impl Quota {
    fn of_percent(percent: u32) -> Option<Quota> {
        Quota::new("share", percent * 1000, 100_000)
    }

    /// `quota` microseconds in each period.
    fn new(name: &str, quota: u32, period: u32) -> Option<Quota> {
        let dir = PathBuf::from(format!("/sys/fs/cgroup/cpu/assay-faults-{name}-{}", std::process::id()));
        let made = fs::create_dir(&dir)
            .and_then(|()| fs::write(dir.join("cpu.cfs_period_us"), period.to_string()))
            .and_then(|()| fs::write(dir.join("cpu.cfs_quota_us"), quota.to_string()))
            .inspect_err(|e| passed_over(&format!("no cgroup with a quota to be had: {e}")));
        made.ok().map(|()| Quota(dir))
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// CAP_SYS_NICE: without it, the program gets no real-time priority. A quota does not apply to a real-time thread.
const SYS_NICE: libc::c_ulong = 23;

/// The program, in the cgroup and without real-time priority from its first instruction on.
fn starved(place: &Place, quota: &Quota, args: &[&str]) -> Command {
    let mut command = place.command(args);
    let procs = std::ffi::CString::new(quota.0.join("cgroup.procs").to_str().unwrap()).unwrap();
    let enter = move || {
        // SAFETY: only system calls, between fork and exec; "0" stands for the calling process.
        let entered = unsafe {
            let fd = libc::open(procs.as_ptr(), libc::O_WRONLY);
            libc::write(fd, c"0".as_ptr().cast(), 1) == 1 && libc::prctl(libc::PR_CAPBSET_DROP, SYS_NICE, 0, 0, 0) == 0
        };
        if entered { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the closure makes only system calls.
    unsafe { command.pre_exec(enter) };
    command
}

#[test]
fn a_generator_without_processor_time_is_invalid() {
    if !is_root() {
        return;
    }
    for _ in 0..trials() {
        let Some(rig) = Rig::full(beside()) else { return };
        let Some(quota) = Quota::of_percent(3) else { return };
        rig.fault.set("read_delay=1ms");
        rig.place.write("workload.toml", &workload("5s", ("10ms", "5%"), &[&steady("read", 2000)]));
        let args = ["run", "workload.toml", DISK, "--out", "run"];
        let said = super::bed::Said::of(starved(&rig.place, &quota, &args).output().unwrap(), &args);
        let log = rig.judged(&said, "INVALID");
        assert!(log.header.engine["scheduling"].contains("normal"), "{:?}", log.header.engine);
    }
}

/// A device that takes 1 ms for each read, whatever happens to the program.
const GOOD: &str = "read_delay=1ms";

/// A closed and an open loop that ask for no more than such a device can do.
fn closed_and_open() -> [String; 2] {
    [closed("read", 4), steady("read", 500)].map(|stream| workload("3s", ("20ms", "0.1%"), &[&stream]))
}

/// The program is stopped for 38 ms at a time, again and again: many of its threads are within a call then.
#[test]
fn a_good_device_never_fails_because_threads_are_stopped_for_a_moment() {
    for load in closed_and_open().iter().cycle().take(2 * trials()) {
        let Some(rig) = Rig::full(beside()) else { return };
        rig.fault.set(GOOD);
        let running = rig.start(load, &["--engine", "threads"]);
        for _ in 0..12 {
            running.signal(libc::SIGSTOP);
            std::thread::sleep(Duration::from_millis(38));
            running.signal(libc::SIGCONT);
            std::thread::sleep(Duration::from_millis(90));
        }
        rig.judged_not_failed(&running.end());
    }
}

/// A quota of 12 ms in 40: what the threads of the pool wait for a processor within a call is not the device's. The disk is a
/// program as well, which a busy machine keeps waiting: the better of three runs counts.
#[test]
fn a_good_device_never_fails_because_threads_have_a_quota() {
    if !is_root() {
        return;
    }
    for load in closed_and_open().iter().cycle().take(2 * trials()) {
        let Some(rig) = Rig::full(beside()) else { return };
        let Some(quota) = Quota::new("quota", 12_000, 40_000) else { return };
        rig.fault.set(GOOD);
        rig.place.write("workload.toml", load);
        let out = |trial: u32| format!("run-{trial}");
        let failed = |trial: &u32| {
            let out = out(*trial);
            let args = ["run", "workload.toml", DISK, "--out", &out, "--engine", "threads"];
            let said = super::bed::Said::of(starved(&rig.place, &quota, &args).output().unwrap(), &args);
            said.is_of_verdict(&rig.place.path(&out)) == "FAIL"
        };
        assert!(!(0..3).all(|trial| failed(&trial)), "three of three runs failed: {load}");
    }
}
