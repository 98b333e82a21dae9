//! A loop that takes turns over a disk that fails and one that does not: the failures are those of one target, nothing
//! of the other one is lost, and the run can be continued after it was killed.

use super::bed::{Log, Running};
use super::rig::{DISK, Rig, beside};
use assay_record::CloseReason;

/// The two targets of the loop.
const TARGETS: [&str; 2] = [DISK, "sound.img"];

/// Its flows are the reads on each target, then the writes on each.
const LOOP: &str = "model = \"streams\"\nduration = \"10min\"\nslice = \"1s\"\n\
    [[loop]]\nname = \"mix\"\nin_flight = 6\ntargets = \"in-turn\"\n\
    [[stream]]\nname = \"reads\"\ndirection = \"read\"\nsize = \"4KiB\"\nloop = \"mix\"\nshare = \"50%\"\n\
    [[stream]]\nname = \"writes\"\ndirection = \"write\"\nsize = \"4KiB\"\nloop = \"mix\"\nshare = \"50%\"\n";

/// A rig with both targets full of data.
fn rig() -> Option<Rig> {
    let rig = Rig::empty(beside())?;
    rig.prepare();
    let said = rig.place.assay(&["prep", TARGETS[1], "--create", "64MiB", "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    Some(rig)
}

/// Starts the loop for `duration` with these options, and waits for its first interval.
fn start(rig: &Rig, duration: &str, more: &[&str]) -> Running {
    rig.place.write("loop.toml", &LOOP.replace("10min", duration));
    rig.place.start(&[&["run", "loop.toml"], &TARGETS[..], more].concat(), 1)
}

/// The numbers of operations that succeeded and that failed on one target.
fn on(log: &Log, target: usize) -> (u64, u64) {
    let (reads, writes) = (log.flow(target), log.flow(2 + target));
    (reads.ok + writes.ok, reads.errors.values().chain(writes.errors.values()).sum())
}

#[test]
fn one_target_that_is_gone_ends_the_run_and_one_that_is_read_only_fails_it() {
    for (fault, duration, name, flow, engine) in [
        ("gone=1", "10min", "ENODEV", 0, "io_uring"),
        ("gone=1", "10min", "ENODEV", 0, "threads"),
        // Its reads still succeed, so that the target is not lost.
        ("werr_every=1 errno=EROFS", "6s", "EROFS", 2, "io_uring"),
    ] {
        let Some(rig) = rig() else { return };
        let running = start(&rig, duration, &["--engine", engine, "--workers", "2"]);
        rig.fault.set(&format!("reset=1 {fault}"));
        let said = running.end();
        rig.fault.set("gone=0 werr_every=0");
        let log = rig.judged(&said, "FAIL");
        let ((_, failed), (done, sound)) = (on(&log, 0), on(&log, 1));
        assert_eq!(log.flow(flow).errors.keys().collect::<Vec<_>>(), [name], "{fault}");
        assert!(failed > 0 && sound == 0 && done > 0, "{fault}: {failed} and {sound} failed, {done} done");
        assert!(said.out.contains(name) && said.out.contains(DISK), "{fault}: {}", said.out);
        let told = log.events.iter().filter(|event| event.what == "io-error");
        assert!(told.clone().all(|event| event.details["target"] == "0"), "{:?}", log.events);
        // Each worker writes an event for each of its first thousand failures.
        let told = told.count() as u64;
        assert!((failed.min(1000)..=failed.min(2000)).contains(&told), "{fault}: {told} of {failed}");
        if fault == "gone=1" {
            assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::TargetLost, "{engine}");
            let lost = log.events.iter().find(|event| event.what == "target-lost");
            assert!(
                lost.is_some_and(|event| event.text.contains(DISK) || event.details["target"] == "0"),
                "{:?}",
                lost
            );
        }
    }
}

#[test]
fn errors_of_one_target_are_counted_there_and_the_loop_goes_on_over_both() {
    let Some(rig) = rig() else { return };
    let running = start(&rig, "3s", &[]);
    rig.fault.set("reset=1 rerr_every=7 werr_every=11");
    let said = running.end();
    let truth = rig.fault.truth();
    let log = rig.judged(&said, "FAIL");
    let ((bad, failed), (good, none)) = (on(&log, 0), on(&log, 1));
    // Behind the load the run looks at samples of what the file holds, until one of them cannot be read.
    assert!(failed + 1 == truth.failed() && none == 0, "{failed} and {none}: {truth}");
    assert!(failed > 10, "{truth}");
    // A failed operation counts as a turn, too.
    assert!((bad + failed).abs_diff(good) <= 6, "in turn: {bad} and {failed} failed, {good}");
}

/// A run that was killed while a target failed keeps what it has recorded, and fails when it is continued on sound targets.
#[test]
fn a_killed_loop_keeps_the_failures_it_has_recorded() {
    let Some(rig) = rig() else { return };
    let running = start(&rig, "4s", &["--workers", "2"]);
    rig.fault.set("reset=1 rerr_every=5");
    let log = rig.place.path("run/run.jsonl");
    super::bed::until("a recorded failure", || {
        std::fs::read_to_string(&log).is_ok_and(|text| text.contains("\"io-error\""))
    });
    running.signal(libc::SIGKILL);
    running.end();
    rig.fault.set("rerr_every=0");
    let said = rig.place.assay(&[&["run", "loop.toml"], &TARGETS[..], &["--workers", "2", "--resume", "run"]].concat());
    assert_eq!(said.is_of_verdict(&rig.place.path("run")), "FAIL", "{}{}", said.out, said.err);
    assert!(said.out.contains("EIO") && said.out.contains(DISK), "{}", said.out);
    let log = rig.log();
    let verdict: serde_json::Value =
        serde_json::from_slice(&std::fs::read(rig.place.path("run/verdict.json")).unwrap()).unwrap();
    assert_eq!(verdict["contradictions"].as_u64().unwrap_or(0), 0, "{}", verdict["reason"]);
    assert!(log.events.iter().any(|event| event.what == "io-error" && event.details["target"] == "0"));
    assert_eq!(on(&log, 1).1, 0);
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::Completed);
}
