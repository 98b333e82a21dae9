//! Ending a run early: in good order by SIGINT and SIGTERM, immediately by SIGKILL. What was measured stays.

use super::bed::{Log, Place, Running, until};
use super::devices::{Disk, Frozen, Loop, Mounted};
use assay_record::CloseReason;
use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;

/// Starts ten minutes of load on a file; the test observes a few seconds of it.
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
        // A device that broke its bounds has failed, even if the run was cut short; otherwise nothing is proven.
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

/// An interval of a high load can take minutes to simulate, and the run must not wait for its end.
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

/// The device is on a file system that is frozen: operations in flight do not complete, and its scheduler, which was
/// set for the run, cannot be restored until they do.
#[test]
fn of_a_hung_device_the_first_sigint_waits_and_the_second_does_not() {
    let place = Place::new();
    let Some(low) = Loop::over(&place, "low.img", 256 << 20) else { return };
    let Some(_mounted) = Mounted::ext4(&low, place.path("mounted")) else { return };
    let Some(disk) = Loop::over(&place, "mounted/disk.img", 128 << 20) else { return };
    let token = disk.token(&place);
    place.write("w.toml", "model = \"act-storage\"\nduration = \"24h\"\nscheduler = \"mq-deadline\"\n");
    let run = ["run", "w.toml", disk.path(), "--for", "10min", "--destroy-data", &token];
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
    // The kernel keeps the process until the device answers; the program cannot change that.
    drop(frozen);
    assert_ne!(running.end().is_of_verdict(&place.path("run")), "PASS");
    assert!(disk.queue("scheduler").contains("[none]"), "put back: {}", disk.queue("scheduler"));
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

/// Three seconds on the null device, interrupted in the first. A machine that is late does not break its bound.
const CUT: [&str; 9] =
    ["run", "random-read", "null:1GiB", "--for", "3s", "--slice", "1s", "--criterion", "reads response max at most 1h"];

fn cut(place: &Place) {
    let running = place.start(&CUT, 2);
    running.signal(libc::SIGINT);
    assert_eq!(running.end().code, Some(12));
}

#[test]
fn a_log_that_is_continued_is_read_only_once_nobody_writes_it_any_more() {
    let place = Place::new();
    cut(&place);
    let path = place.path("run/run.jsonl");
    let whole = fs::read(&path).unwrap();
    loop {
        // The first run, which is just ending, has written a part of its last line.
        let (written, rest) = whole.split_at(whole.len() - 10);
        fs::write(&path, written).unwrap();
        let mut log = fs::OpenOptions::new().append(true).open(&path).unwrap();
        // SAFETY: a descriptor owned by this test.
        assert_eq!(unsafe { libc::flock(log.as_raw_fd(), libc::LOCK_EX) }, 0);
        let second = place.begin(&[&CUT[..], &["--resume", "run"]].concat());
        std::thread::sleep(std::time::Duration::from_millis(200));
        log.write_all(rest).unwrap();
        drop(log);
        let said = second.end();
        if said.code == Some(5) {
            // The machine was too busy to write the line in time, and the second run did not wait for ever.
            assert!(said.err.contains("another run is writing it"), "{}", said.err);
            continue;
        }
        said.is_of_verdict(&place.path("run"));
        break;
    }
    let log = Log::of(&place.path("run"));
    assert!(log.damage.is_empty(), "{:?}", log.damage);
    assert!(log.events.iter().all(|event| event.what != "torn-tail"), "{:?}", log.events);
    assert!(fs::read(&path).unwrap().starts_with(&whole), "what the first run wrote is there");
}

#[test]
fn a_run_goes_on_only_on_the_target_it_began_on() {
    let place = Place::new();
    let begun = ["run", "act-storage", "scratch.dat", "--for", "10s", "--slice", "1s"];
    let running = place.start(&[&begun[..], &["--create", "64MiB"]].concat(), 2);
    running.signal(libc::SIGINT);
    running.end();
    let log = place.path("run/run.jsonl");
    // The run that continues drops an incomplete line; a refused run does not.
    fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(b"{\"kind").unwrap();
    let whole = fs::read(&log).unwrap();
    fs::copy(place.path("scratch.dat"), place.path("copy.dat")).unwrap();
    for (other, size, differs) in [("larger.dat", "128MiB", "the size of"), ("copy.dat", "64MiB", "the place of")] {
        let on_other = begun.map(|word| if word == "scratch.dat" { other } else { word });
        let said = place.assay(&[&on_other[..], &["--create", size, "--resume", "run"]].concat());
        assert_eq!(said.code, Some(2), "{}", said.err);
        assert!(said.err.contains(differs) && said.err.contains(other), "{}", said.err);
        assert!(fs::read(&log).unwrap() == whole, "the log is what it was");
    }
    // Another file takes the place of the target, with the same name and size.
    fs::rename(place.path("copy.dat"), place.path("scratch.dat")).unwrap();
    let said = place.assay(&[&begun[..], &["--resume", "run"]].concat());
    assert!(said.code == Some(2) && said.err.contains("the file of its target scratch.dat is inode"), "{}", said.err);
    assert!(fs::read(&log).unwrap() == whole, "the log is what it was");
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
