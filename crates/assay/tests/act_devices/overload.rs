//! Drives that do not keep up: what a drive does not carry is not made up for after the planned end, and slow writes
//! are attributed to the drive and do not delay reads. The kernel's throttle (cgroup v1, blkio) slows the drive down;
//! where it is not available, these tests are skipped.

use super::bed::{Loop, Ran, config, dropin, run, text, unhindered};
use super::throttle::Throttle;

/// Runs a config of `act_storage` within the throttled group.
fn throttled(device: &Loop, throttle: &Throttle, keys: &str) -> Ran {
    let dir = tempfile::tempdir().unwrap();
    let conf = config(dir.path(), &[device], keys);
    let out = dir.path().join("run");
    let output = unhindered(|| {
        let mut command = dropin("act_storage", &[device]);
        command.arg(&conf).env("ASSAY_RUN_DIR", &out);
        throttle.within(&command).output().unwrap()
    });
    let log = std::fs::read_to_string(out.join("run.jsonl")).unwrap_or_default();
    Ran { output, log: log.lines().map(|line| serde_json::from_str(line).unwrap()).collect() }
}

#[test]
fn slow_writes_are_the_drives_and_starve_no_reads() {
    let Some(device) = Loop::of(64 << 20) else { return };
    // The limit is ten large blocks a second; the load writes twenty-four.
    let Some(throttle) = Throttle::new(&device.sys("dev"), &[("write_bps", 1_300_000)]) else { return };
    let keys = "test-duration-sec: 30\nservice-threads: 10\nread-reqs-per-sec: 2000\nwrite-reqs-per-sec: 1000\nmax-lag-sec: 1\n";
    let ran = throttled(&device, &throttle, keys);
    let out = text(&ran.output.stdout);
    assert!(out.contains("ERROR: large block writes can't keep up\ndrive(s) can't keep up - test stopped\n"), "{out}");
    assert!(!out.contains("service thread"), "{out}");
    let told = text(&ran.output.stderr);
    let named = format!("the device did not keep up with large-block-writes on {} within the time", device.name());
    assert!(told.contains(&named), "{told}");
    assert_eq!(ran.output.status.code(), Some(10), "{told}");
    let (scheduled, issued) = (ran.sum("reads", "scheduled"), ran.sum("reads", "issued"));
    assert!(scheduled > 2000 && issued * 100 >= scheduled * 95, "{issued} of {scheduled} reads were issued");
    let (scheduled, issued) = (ran.sum("large-block-writes", "scheduled"), ran.sum("large-block-writes", "issued"));
    assert!(issued * 4 < scheduled * 3, "{issued} of {scheduled} writes were issued");
}

#[test]
fn what_a_drive_cannot_carry_is_not_done_after_the_end() {
    let Some(device) = Loop::of(64 << 20) else { return };
    let Some(throttle) = Throttle::new(&device.sys("dev"), &[("read_iops", 200)]) else { return };
    let keys = "test-duration-sec: 2\nreport-interval-sec: 1\nread-reqs-per-sec: 2000\n";
    let ran = throttled(&device, &throttle, keys);
    assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
    let (scheduled, issued) = (ran.sum("reads", "scheduled"), ran.sum("reads", "issued"));
    assert!(scheduled.abs_diff(4000) <= 1 && issued < 1000, "{issued} of {scheduled}");
    assert_eq!(ran.sum("reads", "ok"), issued, "what was in flight is waited for");
    let last = ran.lines("interval").last().unwrap();
    assert_eq!(last["flows"][0]["waiting"].as_u64(), Some(scheduled - issued));
    // The output ends together with the test.
    let out = text(&ran.output.stdout);
    let total = |block: &str| {
        let after = out.split(&format!("after {block} sec:\nreads (")).nth(1).unwrap();
        after.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert!(total("1") > 0 && total("2") <= issued && !out.contains("after 3 sec"), "{out}");
}

#[test]
fn a_load_that_is_carried_is_whole_to_its_end() {
    let Some(device) = Loop::of(64 << 20) else { return };
    let ran = run("act_storage", &[&device], "test-duration-sec: 1\nread-reqs-per-sec: 1000\nwrite-reqs-per-sec: 0\n");
    assert_eq!(ran.output.status.code(), Some(0), "{}", text(&ran.output.stderr));
    // If the machine stands still for more than 50 ms at the very end, the remaining operations are counted as waiting,
    // and none is lost.
    let waiting = ran.lines("interval").last().unwrap()["flows"][0]["waiting"].as_u64().unwrap_or(0);
    assert_eq!((ran.sum("reads", "scheduled"), ran.sum("reads", "ok") + waiting), (1000, 1000));
    assert!(waiting < 500, "{waiting} wait");
}
