//! A disk that stops answering: the run continues and reports, the slots of the hung operations stay taken, and the run
//! can be ended.

use super::bed::until;
use super::devices::passed_over;
use super::rig::{Rig, alone, beside, steady, workload};
use assay_record::CloseReason;
use std::time::{Duration, Instant};

/// Operations per second, so few that each of them gets a slot.
const RATE: u32 = 20;

fn intervals(rig: &Rig) -> usize {
    rig.log().intervals.len()
}

#[test]
fn a_hung_disk_hangs_neither_the_reports_nor_the_end() {
    for engine in ["io_uring", "threads"] {
        let Some(rig) = Rig::full(beside()) else { return };
        let reads = workload("10min", ("1s", "5%"), &[&steady("read", RATE)]);
        let running = rig.start(&reads, &["--engine", engine, "--drain", "2s", "--stuck", "2s"]);
        rig.fault.set("reset=1 hang=1");
        until("operations that are stuck", || {
            rig.log().intervals.last().is_some_and(|interval| interval.flows[0].stuck > 0)
        });
        let before = intervals(&rig);
        until("more intervals", || intervals(&rig) >= before + 2);
        // An operation that completes late frees its slot, and is reported.
        rig.fault.set("hang=0");
        until("the stuck ones to come back", || {
            rig.log().intervals.last().is_some_and(|interval| interval.flows[0].stuck == 0)
        });
        rig.fault.set("hang=1");
        until("operations that hang again", || rig.fault.truth().held > 0);
        running.signal(libc::SIGTERM);
        let asked = Instant::now();
        // All results are there already. The process ends only when its system calls have returned; with the engine
        // `threads` they have not yet.
        until("the results", || rig.place.path("run/report.html").exists());
        assert!(asked.elapsed() < Duration::from_secs(20), "two seconds of draining took {:?}", asked.elapsed());
        if engine == "threads" {
            rig.fault.set("hang=0");
        }
        let said = running.end();
        let log = rig.judged(&said, "FAIL");
        let close = log.close.as_ref().unwrap();
        assert_eq!(close.reason, CloseReason::Interrupted);
        assert!(close.stuck > 0, "what never came back is told: {close:?}");
        for what in ["stuck", "late-completion"] {
            assert!(log.events.iter().any(|event| event.what == what), "{what}: {:?}", log.events);
        }
        assert!(said.out.contains("stuck") || said.out.contains("never came back"), "{}", said.out);
    }
}

#[test]
fn a_second_signal_does_not_wait_for_a_hung_disk() {
    let Some(rig) = Rig::full(alone()) else { return };
    let running = rig.start(&workload("10min", ("1s", "5%"), &[&steady("read", RATE)]), &["--drain", "10min"]);
    rig.fault.set("hang=1");
    until("operations that hang", || rig.fault.truth().held > 2);
    running.signal(libc::SIGTERM);
    // While the run drains, intervals continue, but nothing is issued any more.
    let before = intervals(&rig);
    until("more intervals", || intervals(&rig) >= before + 2);
    running.signal(libc::SIGTERM);
    let log = rig.judged(&running.end(), "FAIL");
    assert!(log.close.as_ref().unwrap().stuck > 0);
}

#[test]
fn kill_9_ends_a_run_on_a_hung_disk_within_a_second() {
    let Some(rig) = Rig::full(alone()) else { return };
    let running = rig.start(&workload("10min", ("1s", "5%"), &[&steady("read", RATE)]), &["--engine", "io_uring"]);
    rig.fault.set("hang=1");
    until("operations that hang", || rig.fault.truth().held > 2);
    running.signal(libc::SIGKILL);
    let killed = Instant::now();
    assert_eq!(running.end().code, None);
    let took = killed.elapsed();
    if took > Duration::from_secs(1) {
        passed_over(&format!("within a second: it took {took:?} here"));
    }
    assert!(took < Duration::from_secs(10), "{took:?}");
    let log = rig.log();
    assert!(!log.intervals.is_empty() && log.close.is_none());
    log.intervals_add_up();
    let said = rig.place.assay(&["judge", "run"]);
    assert!([Some(10), Some(12)].contains(&said.code), "FAIL or INCOMPLETE: {}", said.out);
}
