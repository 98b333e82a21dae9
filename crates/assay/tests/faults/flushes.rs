//! Flushes that fail, take long or never return: they count towards the verdict like any other operation.

use super::bed::until;
use super::rig::{Rig, alone, beside, tried, workload};

/// A loop of writes, with a flush after every fourth write.
const LOOP: &str = "\n[[loop]]\nname = \"log\"\n";
const WRITES: &str = "name = \"writes\"\ndirection = \"write\"\nloop = \"log\"\naddress = \"sequential\"";
const FLUSHES: &str = "\n[[stream]]\nname = \"flushes\"\ndirection = \"flush\"\nloop = \"log\"\nevery = 4\n";

fn log(duration: &str) -> String {
    format!("{}{LOOP}{FLUSHES}", workload(duration, ("1s", "50%"), &[WRITES]))
}

#[test]
fn failed_flushes_are_counted_exactly_and_never_pass() {
    for engine in ["io_uring", "threads", "inline"] {
        let Some(rig) = Rig::empty(beside()) else { return };
        let running = rig.start(&log("10min"), &["--create", "64MiB", "--engine", engine]);
        rig.fault.set("reset=1 ferr_every=5 errno=5");
        until("failed flushes", || rig.fault.truth().failed() >= 20);
        rig.fault.set("ferr_every=off");
        running.signal(libc::SIGTERM);
        let said = running.end();
        let log = rig.judged(&said, "FAIL");
        let truth = rig.fault.truth();
        let json = rig.place.assay(&["judge", "run", "--json"]).json();
        assert_eq!(json["streams"][0]["errors"].as_object().map(|all| all.len()), Some(0), "{}", json["streams"][0]);
        let flushes = &json["streams"][1];
        assert_eq!((flushes["name"].as_str(), flushes["direction"].as_str()), (Some("flushes"), Some("flush")));
        assert_eq!(flushes["errors"]["EIO"].as_u64(), Some(truth.failed()), "{engine}: {flushes}");
        assert!(said.out.contains("flushes") && said.out.contains("EIO"), "{}", said.out);
        assert_eq!(flushes["bytes"].as_u64(), Some(0), "{flushes}");
        // There was one flush, successful or failed, after every fourth write.
        let (writes, all) = (log.stream("writes").ok, log.stream("flushes").ok + truth.failed());
        assert!((writes / 4 - 1..=writes / 4).contains(&all), "{engine}: {all} after {writes}");
    }
}

#[test]
fn the_time_of_a_flush_is_its_own() {
    tried(|| {
        let Some(rig) = Rig::empty(alone()) else { return };
        rig.fault.set("flush_delay=20ms");
        let (said, _) = rig.run(&log("3s"), &["--create", "64MiB"]);
        rig.judged(&said, "PASS");
        let json = rig.place.assay(&["judge", "run", "--json"]).json();
        let mean = |name: &str| {
            let streams = json["streams"].as_array().unwrap();
            let stream = streams.iter().find(|stream| stream["name"] == name).unwrap();
            stream["service"]["mean_ns"].as_u64().unwrap()
        };
        assert!(mean("flushes") >= 20_000_000, "{} ns", mean("flushes"));
        assert!(mean("writes") < 10_000_000, "{} ns", mean("writes"));
    });
}

#[test]
fn a_flush_that_never_returns_is_stuck_and_the_run_ends() {
    let Some(rig) = Rig::empty(beside()) else { return };
    let running =
        rig.start(&log("10min"), &["--create", "64MiB", "--drain", "2s", "--stuck", "1s", "--engine", "io_uring"]);
    // Writes are answered at once, so the operation that the disk holds back is a flush.
    rig.fault.set("reset=1 flush_delay=10s");
    until("a flush", || rig.fault.truth().held == 1);
    rig.fault.set("hang=1");
    until("a stuck flush", || rig.log().intervals.last().is_some_and(|interval| interval.flows[1].stuck == 1));
    running.signal(libc::SIGTERM);
    until("the results", || rig.place.path("run/report.html").exists());
    // A process ends only when its system calls have returned.
    rig.fault.set("hang=0");
    let said = running.end();
    let log = rig.judged(&said, "FAIL");
    assert!(log.close.as_ref().unwrap().stuck == 1, "{:?}", log.close);
}
