//! Errors, short reads and a target that ends or disappears: counted exactly, and never a PASS.

use super::bed::{Log, Said, until};
use super::devices::{Disk, Loop, Mounted, passed_over};
use super::rig::{DISK, Rig, alone, beside, closed, is_root, steady, tried, workload};
use assay_record::CloseReason;
use std::collections::BTreeMap;

/// Enough operations to show every kind of counting error.
const OPERATIONS: u64 = 100_000;

/// Errors of all flows by name.
fn errors(log: &Log) -> BTreeMap<String, u64> {
    let flows = log.intervals.iter().flat_map(|interval| &interval.flows);
    flows.flat_map(|flow| flow.errors.clone()).fold(BTreeMap::new(), |mut sum, (name, n)| {
        *sum.entry(name).or_default() += n;
        sum
    })
}

#[test]
fn injected_errors_are_the_reported_errors_in_a_hundred_thousand_operations() {
    for (engine, errno, name) in [
        ("io_uring", libc::EIO, "EIO"),
        ("threads", libc::EREMOTEIO, "EREMOTEIO"),
        ("io_uring", libc::EILSEQ, "EILSEQ"),
        ("threads", libc::EIO, "EIO"),
    ] {
        let Some(rig) = Rig::empty(beside()) else { return };
        let both = workload("10min", ("1s", "50%"), &[&closed("read", 8), &closed("write", 4)]);
        let running = rig.start(&both, &["--create", "64MiB", "--engine", engine]);
        rig.fault.set(&format!("reset=1 rerr_every=97 werr_every=89 errno={errno}"));
        until("100,000 operations", || {
            let truth = rig.fault.truth();
            truth.reads + truth.writes + truth.failed() >= OPERATIONS
        });
        rig.fault.set("rerr_every=off werr_every=off");
        running.signal(libc::SIGTERM);
        let said = running.end();
        // The verdict is FAIL although the run was interrupted, because operations failed.
        let log = rig.judged(&said, "FAIL");
        let truth = rig.fault.truth();
        assert!(truth.failed() > OPERATIONS / 97, "{truth}");
        assert_eq!(errors(&log), BTreeMap::from([(name.to_owned(), truth.errors[&errno])]), "{engine}");
        assert_eq!(truth.errors.len(), 1);
        assert!(said.out.contains(name), "the error is named: {}", said.out);
        let json = rig.place.assay(&["judge", "run", "--json"]).json();
        let told = |stream: usize| json["streams"][stream]["errors"][name].as_u64().unwrap();
        assert_eq!(told(0) + told(1), truth.errors[&errno], "JSON has them by errno: {}", json["streams"]);
        let at = |stream: usize| &json["streams"][stream]["failed_at"];
        let parts =
            [0, 1].map(|stream| at(stream).as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>());
        assert_eq!(
            parts.iter().sum::<u64>(),
            truth.errors[&errno],
            "and by the part of the target: {}",
            json["streams"]
        );
        let words = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("% of the target, after up to"), "{words}");
        let told = log.events.iter().filter(|event| event.what == "io-error").count() as u64;
        assert_eq!(told, truth.failed().min(1000), "the first thousand one by one");
    }
}

#[test]
fn what_fails_is_no_seek_of_seekmark() {
    let Some(rig) = Rig::full(beside()) else { return };
    rig.fault.set("reset=1 rerr_every=10 errno=5");
    let mut command = rig.place.command(&["as", "seekmark", "-f", DISK, "-s", "500", "-t", "2"]);
    let said = Said::of(command.env("ASSAY_RUN_DIR", "run").output().unwrap(), &["seekmark"]);
    assert_eq!(said.code, Some(10), "{said:?}");
    let (log, told) = (rig.log(), "Error: unable to read at current position of ");
    let told: Vec<&str> = said.err.lines().filter_map(|line| line.strip_prefix(told)).collect();
    let failed = errors(&log)["EIO"];
    assert_eq!(told.len() as u64, failed, "each is named");
    for line in told {
        let (place, reason) = line.split_once(": ").unwrap();
        assert!(place.parse::<u64>().unwrap() % 512 == 0 && reason == "Input/output error", "{line}");
    }
    // Some of the failed reads may have been those before the run, which compare the ways to the disk.
    let truth = rig.fault.truth().failed();
    assert!(failed > 90 && failed <= truth && truth < failed + 20, "{failed} of {truth}");
    assert_eq!(log.stream("thread-0").ok + log.stream("thread-1").ok, 1000 - failed);
    assert!(said.err.contains(&format!("assay: {failed} operations failed and do not count as seeks")), "{}", said.err);
    // The total covers the operations that succeeded: "request(ms)" is the time of the run divided by their number.
    let number = |before: &str, after: &str| -> f64 {
        said.out.split(before).nth(1).unwrap().split(after).next().unwrap().parse().unwrap()
    };
    let (time, each) = (number("request(ms): ", "\n"), number(" seeks per sec, ", " READ"));
    // The time has three digits after the point, as in the original.
    let by_rate = 1000.0 / (2.0 * each);
    assert!((time - by_rate).abs() < 0.01 * by_rate + 0.000_51, "{}", said.out);
}

#[test]
fn short_reads_are_counted_and_fail() {
    for engine in ["io_uring", "threads"] {
        let Some(rig) = Rig::full(beside()) else { return };
        let reads = workload("3s", ("1s", "50%"), &[&steady("read", 500)]);
        let running = rig.start(&reads, &["--engine", engine]);
        rig.fault.set("reset=1 short_every=50");
        let said = running.end();
        let log = rig.judged(&said, "FAIL");
        let short = rig.fault.truth().short;
        assert!(short > 5, "{}", rig.fault.truth());
        assert_eq!(log.stream("reads").short, short, "{engine}");
        let told: Vec<_> = log.events.iter().filter(|event| event.what == "short-io").collect();
        assert_eq!(told.len() as u64, short);
        assert!(told.iter().all(|event| event.text.ends_with("when the rest was asked for")), "{told:?}");
        assert!(said.out.contains("short") && errors(&log).is_empty(), "{}", said.out);
    }
}

#[test]
fn a_disk_that_ends_before_its_size_is_lost() {
    let Some(rig) = Rig::full(beside()) else { return };
    let running = rig.start(&workload("10min", ("1s", "50%"), &[&steady("read", 500)]), &[]);
    rig.fault.set("end=8MiB");
    let log = rig.judged(&running.end(), "FAIL");
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::TargetLost);
    assert!(log.events.iter().any(|event| event.what == "target-lost"), "{:?}", log.events);
}

#[test]
fn a_disk_that_is_gone_ends_the_run_by_itself() {
    for engine in ["io_uring", "threads"] {
        let Some(rig) = Rig::full(beside()) else { return };
        let running = rig.start(&workload("10min", ("1s", "50%"), &[&steady("read", 2000)]), &["--engine", engine]);
        rig.fault.set("reset=1 gone=1");
        let said = running.end();
        rig.fault.set("gone=0");
        let log = rig.judged(&said, "FAIL");
        assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::TargetLost);
        assert_eq!(errors(&log).keys().collect::<Vec<_>>(), ["ENODEV"], "{engine}");
        let failed = errors(&log)["ENODEV"];
        assert!((1000..20_000).contains(&failed), "a thousand in a row, and what was in flight: {failed}");
        assert!(log.events.iter().any(|event| event.what == "target-lost"), "{:?}", log.events);
    }
}

#[test]
fn errors_of_a_block_device_are_its_own_too() {
    let Some(rig) = Rig::full(beside()).filter(|_| is_root()) else { return };
    let Ok(over) = assay_faultfs::FaultLoop::over(&rig.fault) else { return passed_over("no loop device") };
    rig.place.write("workload.toml", &workload("3s", ("1s", "50%"), &[&steady("read", 1000)]));
    let running = rig.place.start(&["run", "workload.toml", over.path()], 1);
    rig.fault.set("reset=1 rerr_every=97");
    let said = running.end();
    rig.fault.set("rerr_every=off");
    let log = rig.judged(&said, "FAIL");
    let truth = rig.fault.truth();
    assert!(truth.failed() > 5, "{truth}");
    assert_eq!(errors(&log), BTreeMap::from([("EIO".to_owned(), truth.failed())]));
}

#[test]
fn a_thin_disk_that_is_full_fails_and_says_so() {
    if !is_root() {
        return;
    }
    let _turn = beside();
    let place = super::bed::Place::new();
    let Some(below) = Loop::over(&place, "below.img", 24 << 20) else { return };
    let Some(mounted) = Mounted::ext4(&below, place.path("small")) else { return };
    {
        // The device promises 256 MiB; its file system has room for less than 24 MiB of them.
        let Some(thin) = Loop::over(&place, "small/thin.img", 256 << 20) else { return };
        let token = thin.token(&place);
        // A few hundred writes fill the device; even a busy machine carries that many.
        let writes = workload("6s", ("1s", "50%"), &[&closed("write", 8)]).replace("4KiB", "64KiB");
        place.write("workload.toml", &writes);
        let (said, log) = place.run(&["run", "workload.toml", thin.path(), "--destroy-data", &token]);
        assert_eq!(said.is_of_verdict(&place.path("run")), "FAIL", "{}", said.out);
        log.adds_up();
        assert!(errors(&log).get("ENOSPC").is_some_and(|n| *n > 0), "{:?}", errors(&log));
        assert!(said.out.contains("ENOSPC") && said.out.contains("full"), "{}", said.out);
    }
    drop(mounted);
}

#[test]
fn without_faults_the_same_disk_passes() {
    tried(|| {
        let Some(rig) = Rig::empty(alone()) else { return };
        let both = workload("2s", ("1s", "50%"), &[&steady("read", 500), &steady("write", 100)]);
        rig.prepare();
        let (said, _) = rig.run(&both, &[]);
        let log = rig.judged(&said, "PASS");
        assert!(errors(&log).is_empty() && rig.place.path(DISK).exists());
    });
}
