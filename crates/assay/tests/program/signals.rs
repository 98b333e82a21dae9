//! Ending a run early: in good order by SIGINT and SIGTERM, in none by SIGKILL; what was measured stays.

use super::bed::{Log, Place, Running, until};
use super::devices::{Disk, Frozen, Loop, Mounted};
use assay_record::CloseReason;

/// Ten minutes of load on a file, of which the test sees a few seconds.
fn begun(place: &Place) -> Running {
    place.start(&["run", "act-storage", "scratch.dat", "--create", "64MiB", "--for", "10min", "--slice", "1s"], 2)
}

#[test]
fn sigint_and_sigterm_end_a_run_in_good_order() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let running = begun(&place);
        running.signal(signal);
        let said = running.end();
        // A device that was seen to break its bounds has failed, also when the run was cut; otherwise nothing is proven.
        let verdict = said.is_of_verdict(&place.path("run"));
        assert_ne!(verdict, "PASS", "{}", said.out);
        let log = Log::of(&place.path("run"));
        log.adds_up();
        let close = log.close.as_ref().unwrap();
        assert_eq!((close.reason, close.stuck), (CloseReason::Interrupted, 0));
        assert_eq!(close.issued, close.completed, "what was in flight was waited for");
        assert!(place.path("run/report.html").exists());
        assert_eq!(place.assay(&["judge", "run"]).out, said.out);
    }
}

#[test]
fn an_interrupted_run_that_broke_nothing_is_incomplete() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let place = Place::new();
        let reads = place.start(&["run", "random-read", "null:1GiB", "--for", "10min", "--slice", "10min"], 2);
        reads.signal(signal);
        let said = reads.end();
        assert_eq!(said.is_of_verdict(&place.path("run")), "INCOMPLETE", "{}", said.out);
        assert!(said.out.contains("interrupted"), "{}", said.out);
        Log::of(&place.path("run")).adds_up();
    }
}

/// In virtual time an interval of a great load takes minutes.
#[test]
fn a_simulated_run_is_interrupted_within_an_interval() {
    let place = Place::new();
    let stream = "name = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nrate = \"200000/s\"\narrival = \"poisson\"";
    place.write(
        "w.toml",
        &format!("model = \"streams\"\nduration = \"100h\"\ninterval = \"1h\"\n[[stream]]\n{stream}\n"),
    );
    let running = place.start(&["run", "w.toml", "sim:flash"], 0);
    running.signal(libc::SIGTERM);
    let said = running.end();
    said.is_of_verdict(&place.path("run"));
    let log = Log::of(&place.path("run"));
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::Interrupted);
    log.adds_up();
    assert!(log.intervals.iter().all(|interval| interval.end_ns < 3_600_000_000_000), "{}", log.intervals.len());
}

#[test]
fn a_second_sigint_does_not_wait() {
    let place = Place::new();
    let running = begun(&place);
    running.signal(libc::SIGINT);
    running.signal(libc::SIGINT);
    let said = running.end();
    said.is_of_verdict(&place.path("run"));
    let log = Log::of(&place.path("run"));
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::Interrupted);
    assert!(log.damage.is_empty(), "{:?}", log.damage);
}

/// The device lies on a file system that is frozen under it: what is in flight does not come back.
#[test]
fn of_a_hung_device_the_first_sigint_waits_and_the_second_does_not() {
    let place = Place::new();
    let Some(low) = Loop::over(&place, "low.img", 256 << 20) else { return };
    let Some(_mounted) = Mounted::ext4(&low, place.path("mounted")) else { return };
    let Some(disk) = Loop::over(&place, "mounted/disk.img", 128 << 20) else { return };
    let token = disk.token(&place);
    let run = ["run", "act-storage", disk.path(), "--for", "10min", "--destroy-data", &token];
    let running = place.start(&run, 1);
    let Some(frozen) = Frozen::at(place.path("mounted")) else { return };
    let pause = || std::thread::sleep(std::time::Duration::from_secs(1));
    pause();
    running.signal(libc::SIGINT);
    pause();
    let results = place.path("run/report.html");
    assert!(!results.exists(), "it waits for what is in flight");
    running.signal(libc::SIGINT);
    until("the results, while the device still hangs", || results.exists());
    let log = Log::of(&place.path("run"));
    log.adds_up();
    let close = log.close.as_ref().unwrap();
    assert!(close.reason == CloseReason::Interrupted && close.stuck > 0, "{close:?}");
    // The kernel keeps the process until the device answers; that is not the program's to change.
    drop(frozen);
    assert_ne!(running.end().is_of_verdict(&place.path("run")), "PASS");
}

#[test]
fn a_virtual_run_is_interrupted_too() {
    let place = Place::new();
    let running = place.start(&["run", "act-storage", "sim:flash", "--for", "48h"], 10);
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_eq!(said.is_of_verdict(&place.path("run")), "INCOMPLETE");
    Log::of(&place.path("run")).adds_up();
}

#[test]
fn after_kill_9_every_complete_interval_can_be_read_and_judged() {
    let place = Place::new();
    let running = place.start(&["run", "random-read", "null:1GiB", "--for", "10min", "--slice", "10min"], 3);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end().code, None);
    let log = Log::of(&place.path("run"));
    assert!(log.intervals.len() >= 3 && log.close.is_none());
    assert!(log.damage.iter().all(|damage| damage.torn_tail), "{:?}", log.damage);
    for (at, interval) in log.intervals.iter().enumerate() {
        assert_eq!(interval.index, at as u64);
    }
    let said = place.assay(&["judge", "run", "--json"]);
    assert_eq!(said.code, Some(12), "{}", said.out);
    assert_eq!(said.json()["verdict"], "INCOMPLETE");
    assert!(said.json()["measured_ns"].as_u64().unwrap() > 0, "what was measured counts");
}
