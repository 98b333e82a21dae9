//! Runs on a directory whose file system does not answer: the run ends, says why, and names who waits; whatever it is at,
//! a first signal ends it. `--stuck 500ms` gives a call up after two seconds, in place of two minutes.

use crate::bed::{Log, Running, Said, until};
use crate::directories::{MIX, Mounted, texts};
use assay_record::{CloseReason, EventKind};
use std::time::{Duration, Instant};

/// A run is given up after two seconds, and must have ended five seconds later. A test allows for a machine that is busy.
const GIVEN_UP: Duration = Duration::from_secs(2);
const BUSY: Duration = Duration::from_secs(20);

/// Only looks at files, so that what removes them is called when the load is over.
const LOOK: &str = r#"
name = "look"
model = "files"
clients = 3
rate = "100/s"
duration = "2s"
slice = "1s"
interval = "500ms"
cache = "warm"
io = "4KiB"
[tree]
files = 600
size = "4KiB"
width = 20
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
"#;

/// Waits until a program has ended that was told to, and asserts that this took no longer than giving up does.
fn ends_in_time(running: Running, told: Instant) -> Said {
    let said = running.end();
    assert!(told.elapsed() < GIVEN_UP + Duration::from_secs(5) + BUSY, "it ended after {:?}", told.elapsed());
    said
}

/// Lets the file system answer again, waits until the process of the calls is gone, and removes what is left.
fn clean_when_it_answers(mounted: &Mounted, answers: &str) {
    mounted.tree.set(answers);
    until("a cleaning", || mounted.place.assay(&["clean", "mount"]).code == Some(0));
    assert!(mounted.entries().is_empty(), "{:?}", mounted.entries());
}

#[test]
fn a_call_that_never_returns_ends_the_run_which_names_the_process_that_waits() {
    let Some(mounted) = Mounted::new(MIX) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount", "--for", "60s", "--stuck", "500ms"], 1);
    let told = Instant::now();
    mounted.tree.set("fsync.hang=1");
    let said = ends_in_time(running, told);
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::TargetLost);
    let lost = texts(&log, &EventKind::TargetLost);
    let process = &log.header.engine["process of the calls"];
    assert!(lost.iter().any(|text| text.contains("fsync") && text.contains(process.as_str())), "{lost:?}");
    assert!(said.err.contains("assay clean mount"), "{}", said.err);
    clean_when_it_answers(&mounted, "fsync.hang=off");
}

#[test]
fn a_first_signal_ends_a_tree_that_hangs_while_it_is_made() {
    let Some(mounted) = Mounted::new(LOOK) else { return };
    mounted.tree.set("close.hang=1");
    let running = mounted.place.begin(&["run", "w.toml", "mount", "--stuck", "500ms", "--out", "run"]);
    until("a directory of the run", || !mounted.entries().is_empty());
    let told = Instant::now();
    running.signal(libc::SIGINT);
    let said = ends_in_time(running, told);
    assert_eq!(said.code, Some(5), "{said:?}");
    assert!(said.err.contains("waits in a call") && said.err.contains("assay clean mount"), "{}", said.err);
    clean_when_it_answers(&mounted, "close.hang=off");
}

#[test]
fn a_first_signal_ends_the_making_of_a_tree_and_removes_what_was_made() {
    let Some(mounted) = Mounted::new(&LOOK.replace("files = 600", "files = 20000")) else { return };
    mounted.tree.set("create.delay=20ms");
    let running = mounted.place.begin(&["run", "w.toml", "mount", "--out", "run"]);
    until("a directory of the run", || !mounted.entries().is_empty());
    running.signal(libc::SIGTERM);
    let said = running.end();
    assert_eq!(said.code, Some(12), "{said:?}");
    assert!(said.err.contains("was ended while its tree was made"), "{}", said.err);
    assert!(mounted.entries().is_empty(), "{:?}", mounted.entries());
}

#[test]
fn a_first_signal_ends_a_removal_that_hangs_and_the_run_has_failed() {
    let Some(mounted) = Mounted::new(&LOOK.replace("cache =", "verify = false\ncache =")) else { return };
    mounted.tree.set("unlink.hang=1");
    let running = mounted.place.start(&["run", "w.toml", "mount", "--stuck", "500ms"], 4);
    // The fourth interval is the last one; a run that has not begun to remove its tree ends it by the same signal.
    std::thread::sleep(Duration::from_millis(500));
    let told = Instant::now();
    running.signal(libc::SIGINT);
    let said = ends_in_time(running, told);
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::TargetLost);
    clean_when_it_answers(&mounted, "unlink.hang=off");
}

#[test]
fn a_first_signal_ends_a_comparison_which_then_proves_nothing() {
    // Three threads open 1,200 files, each for 20 ms: eight seconds.
    let Some(mounted) = Mounted::new(&LOOK.replace("files = 600", "files = 1200").replace("100/s", "20/s")) else {
        return;
    };
    mounted.tree.set("open.delay=20ms");
    let running = mounted.place.start(&["run", "w.toml", "mount"], 4);
    std::thread::sleep(Duration::from_secs(1));
    running.signal(libc::SIGINT);
    let said = running.end();
    assert!(said.code != Some(0), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    assert_eq!(texts(&log, &EventKind::Checked), [] as [String; 0]);
    assert!(mounted.entries().is_empty(), "{:?}", mounted.entries());
}

#[test]
fn a_server_that_has_forgotten_the_export_fails_the_run() {
    let Some(mounted) = Mounted::new(MIX) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount"], 1);
    mounted.tree.set("stale=1");
    let said = running.end();
    mounted.tree.set("stale=off");
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    let stale = ["stat", "create", "open"].iter().any(|name| log.stream(name).errors.contains_key("ESTALE"));
    assert!(stale, "{:?}", log.intervals.last());
    clean_when_it_answers(&mounted, "stale=off");
}
