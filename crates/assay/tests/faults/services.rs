//! Servers on a file system that fails, and in a program that somebody stops: what a run, a quick look and a search then
//! say.

use super::directories::{Mounted, texts};
use crate::bed::{Log, Running, until};
use assay_record::EventKind;
use std::fs;

/// A small server: a writer, and pages that are written by a timer. Its bounds are of no concern to a disk that answers.
const SERVICE: &str = r#"
name = "server"
model = "service"
rate = "100/s"
stands_for = "100 commits"
duration = "4s"
slice = "1s"
interval = "250ms"
[[file]]
name = "wal"
size = "4MiB"
made_by = "fallocate"
[[file]]
name = "db"
size = "1MiB"
made_by = "written"
block = "4KiB"
[writer]
name = "wal"
entry = "1KiB"
steps = [{ write = "wal" }, { fdatasync = "wal", name = "wal-sync" }]
[[task]]
name = "pages"
each = "100ms"
with_changes = true
steps = [{ write = "db", page = "4KiB", pages = 2, at = "random" }, { fdatasync = "db" }]
[[criterion]]
stream = "wal-sync"
measure = "service"
max_at_most = "1s"
[certify]
for = "4s"
slice = "1s"
[certify.quick]
for = "3s"
slice = "1s"
[[certify.quick.criterion]]
stream = "wal-sync"
measure = "service"
max_at_most = "1s"
"#;

/// The processes that a process has started.
fn children(id: i32) -> Vec<i32> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{id}/task")).unwrap().flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(children.split_whitespace().map(|child| child.parse::<i32>().unwrap()));
    }
    found
}

fn signal_all(ids: &[i32], signal: i32) {
    for id in ids {
        // SAFETY: it sends a signal to a process that this test has started.
        assert_eq!(unsafe { libc::kill(*id, signal) }, 0, "{id}");
    }
}

/// Longer than a slice, so that it ends in another one than it began in.
const STOP: std::time::Duration = std::time::Duration::from_millis(1500);

fn stop_for_a_while(running: &Running, everything: bool) {
    let mut ids = children(running.pid());
    if everything {
        ids.push(running.pid());
    }
    signal_all(&ids, libc::SIGSTOP);
    std::thread::sleep(STOP);
    signal_all(&ids, libc::SIGCONT);
}

/// What was due meanwhile waits for the program, and a sync that was open returns late because of it.
#[test]
fn a_program_that_is_stopped_fails_no_disk() {
    let commits = super::directories::MIX.replace("slice = \"4s\"", "slice = \"1s\"");
    for (what, workload) in [("a server", SERVICE), ("clients", commits.as_str())] {
        for everything in [false, true] {
            let Some(mounted) = Mounted::new(workload) else { return };
            let running = mounted.place.start(&["run", "w.toml", "mount"], 1);
            stop_for_a_while(&running, everything);
            let said = running.end();
            assert_eq!(said.code, Some(11), "{what}, everything: {everything}: {said:?}");
            Log::of(&mounted.place.path("run")).adds_up();
        }
    }
}

#[test]
fn a_short_write_is_short_and_not_an_error() {
    let Some(mounted) = Mounted::new(SERVICE) else { return };
    let running = mounted.place.start(&["run", "w.toml", "mount"], 1);
    mounted.tree.set("short_every=20");
    let (said, log) = (running.end(), Log::of(&mounted.place.path("run")));
    assert_eq!(said.code, Some(10), "{said:?}");
    for stream in ["wal-write", "commit"] {
        let flow = log.stream(stream);
        assert!(flow.short > 0 && flow.errors.is_empty(), "{stream}: {flow:?}");
    }
    log.adds_up();
}

/// Every fault × every procedure: none is a PASS, what is left is named or nothing, and the account is whole.
#[test]
fn no_procedure_passes_a_file_system_that_fails() {
    for fault in ["fsync.errno=EIO fsync.every=3", "write.errno=ENOSPC write.every=9", "stale=1", "read_only=1"] {
        for verb in [&["run"][..], &["certify", "--quick"], &["limit", "--for", "2s"], &["curve", "--for", "2s"]] {
            let Some(mounted) = Mounted::new(SERVICE) else { return };
            let mut args = vec![verb[0], "w.toml", "mount", "--out", "run"];
            args.extend(&verb[1..]);
            let running = mounted.place.begin(&args);
            until("the load begins", || has_intervals(&mounted));
            mounted.tree.set(fault);
            let said = running.end();
            assert!(matches!(said.code, Some(10..=12)), "{fault}, {verb:?}: {said:?}");
            mounted.tree.set("fsync.errno=off write.errno=off stale=0 read_only=0");
            let cleaned = mounted.place.assay(&["clean", "mount"]);
            assert!(cleaned.code == Some(0) && mounted.entries().is_empty(), "{fault}, {verb:?}: {cleaned:?}");
        }
    }
}

/// Whether some log of the run has an interval.
fn has_intervals(mounted: &Mounted) -> bool {
    let mut directories = vec![mounted.place.path("run")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                directories.push(entry.path());
            } else if entry.file_name() == "run.jsonl"
                && fs::read_to_string(entry.path()).is_ok_and(|log| log.contains("\"kind\":\"interval\""))
            {
                return true;
            }
        }
    }
    false
}

/// A sync that does not return is given up, and so is the run; the disk is not said to be fit.
#[test]
fn a_sync_that_hangs_ends_a_quick_look() {
    let Some(mounted) = Mounted::new(SERVICE) else { return };
    let args = ["certify", "w.toml", "mount", "--quick", "--out", "run", "--stuck", "1s"];
    let running = mounted.place.begin(&args);
    until("the load begins", || has_intervals(&mounted));
    mounted.tree.set("fsync.hang=1");
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    assert!(!texts(&log, &EventKind::TargetLost).is_empty(), "{said:?}");
    mounted.tree.set("fsync.hang=0");
}
