//! Servers on a file system that fails, and in a program that somebody stops: what a run, a quick look and a search then
//! say.

use super::directories::{Mounted, texts};
use crate::bed::{Log, Running, in_one_line, until};
use assay_record::EventKind;
use std::fs;

/// A small server: a writer, and pages that are written by a timer. Its bounds are of no concern to a disk that answers.
pub(crate) const SERVICE: &str = r#"
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

/// Stops the process that makes the calls, and the program itself where `everything` is stopped. Without such a process the
/// program makes them.
pub(crate) fn stop_for(running: &Running, length: std::time::Duration, everything: bool) {
    let mut ids = children(running.pid());
    if everything || ids.is_empty() {
        ids.push(running.pid());
    }
    signal_all(&ids, libc::SIGSTOP);
    std::thread::sleep(length);
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
            stop_for(&running, STOP, everything);
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

/// Their times may be alike: what failed, and what proves nothing, is said behind them.
#[test]
fn a_comparison_of_servers_says_which_of_them_failed_or_prove_nothing() {
    let Some(mounted) = Mounted::new(SERVICE) else { return };
    let run = |out: &str, happens: &dyn Fn(&Running)| {
        let running = mounted.place.begin(&["run", "w.toml", "mount", "--out", out]);
        until("the load begins", || has_intervals_below(mounted.place.path(out)));
        happens(&running);
        running.end().is_of_verdict(&mounted.place.path(out))
    };
    let good = run("good", &|_| {});
    let failed = run("failed", &|_| mounted.tree.set("fsync.errno=EIO fsync.every=9"));
    mounted.tree.set("fsync.errno=off");
    let stopped = run("stopped", &|running| stop_for(running, STOP, true));
    assert_eq!([failed.as_str(), stopped.as_str()], ["FAIL", "INVALID"]);
    for (other, verdict) in [("failed", failed), ("stopped", stopped)] {
        let said = mounted.place.assay(&["compare", "good", other]);
        let told = in_one_line(&said.out);
        let expected = format!("but {other} is {verdict} and good is {good}");
        assert!(told.contains(&expected) || good == verdict && told.contains("both are "), "{told}");
        assert_eq!(verdict == "INVALID" || good != "PASS", told.contains("so that this proves nothing"), "{told}");
        let gate = mounted.place.assay(&["compare", "good", other, "--fail-if-worse", "50%"]);
        assert!(matches!(gate.code, Some(10 | 11)), "{gate:?}");
    }
}

/// Every fault × every procedure: none is a PASS, what is left is named or nothing, and the account is whole.
#[test]
fn no_procedure_passes_a_file_system_that_fails() {
    for fault in [
        "fsync.errno=EIO fsync.every=3",
        "write.errno=ENOSPC write.every=9",
        "stale=1",
        "read_only=1",
        "lost_every=5",
        "torn_every=5",
    ] {
        for verb in [&["run"][..], &["certify", "--quick"], &["limit", "--for", "2s"], &["curve", "--for", "2s"]] {
            let Some(mounted) = Mounted::new(SERVICE) else { return };
            let mut args = vec![verb[0], "w.toml", "mount", "--out", "run"];
            args.extend(&verb[1..]);
            let running = mounted.place.begin(&args);
            until("the load begins", || has_intervals_below(mounted.place.path("run")));
            mounted.tree.set(fault);
            let said = running.end();
            assert!(matches!(said.code, Some(10..=12)), "{fault}, {verb:?}: {said:?}");
            mounted.tree.set("fsync.errno=off write.errno=off stale=0 read_only=0 lost_every=0 torn_every=0");
            let cleaned = mounted.place.assay(&["clean", "mount"]);
            assert!(cleaned.code == Some(0) && mounted.entries().is_empty(), "{fault}, {verb:?}: {cleaned:?}");
        }
    }
}

/// Whether some log of a run has an interval.
pub(crate) fn has_intervals_below(run: std::path::PathBuf) -> bool {
    logs_have(run, "\"kind\":\"interval\"")
}

/// A sync that does not return is given up, and so is the run; the disk is not said to be fit.
#[test]
fn a_sync_that_hangs_ends_a_quick_look() {
    let Some(mounted) = Mounted::new(SERVICE) else { return };
    let args = ["certify", "w.toml", "mount", "--quick", "--out", "run", "--stuck", "1s"];
    let running = mounted.place.begin(&args);
    until("the load begins", || has_intervals_below(mounted.place.path("run")));
    mounted.tree.set("fsync.hang=1");
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&mounted.place.path("run"));
    assert!(!texts(&log, &EventKind::TargetLost).is_empty(), "{said:?}");
    mounted.tree.set("fsync.hang=0");
}

/// Killed at some moment, with and without an error before it, and continued on a file system that is sound again: what was
/// recorded decides, nothing of the killed run stays behind `clean`, and what is compared at the end is never continued.
#[test]
fn what_was_killed_goes_on_and_forgets_no_failure() {
    let unverified = SERVICE.replacen("duration", "verify = false\nduration", 1);
    let mut prng = assay_base::Prng::from_seed(34);
    for fault in ["", "fsync.errno=EIO fsync.every=3"] {
        for verb in
            [&["certify"][..], &["limit", "--for", "2s", "--to", "2x"], &["curve", "--for", "2s", "--max", "2x"]]
        {
            let Some(mounted) = Mounted::new(&unverified) else { return };
            let args = [&[verb[0], "w.toml", "mount"], &verb[1..]].concat();
            let running = mounted.place.begin(&[&args[..], &["--out", "run"]].concat());
            until("the load begins", || has_intervals_below(mounted.place.path("run")));
            if !fault.is_empty() {
                mounted.tree.set(fault);
                until("the error is in a log", || logs_have(mounted.place.path("run"), "\"EIO\""));
            }
            std::thread::sleep(std::time::Duration::from_millis(prng.uniform_below(400)));
            running.signal(libc::SIGKILL);
            let _ = running.end_with_signal();
            mounted.tree.set("fsync.errno=off");
            until("the process of the calls has ended", || mounted.place.assay(&["clean", "mount"]).code == Some(0));
            assert!(mounted.entries().is_empty(), "{verb:?}: {:?}", mounted.entries());
            let said = mounted.place.assay(&[&args[..], &["--resume", "run"]].concat());
            // Where the program was killed behind the end of all, there is nothing to resume.
            let is_over = said.code == Some(2) && said.err.contains("nothing to resume");
            let said = if is_over { mounted.place.assay(&["judge", "run"]) } else { said };
            if fault.is_empty() {
                assert!(matches!(said.code, Some(0 | 11)), "{verb:?}: {said:?}");
            } else {
                assert!(said.code == Some(10) && said.out.contains("EIO"), "{verb:?}: {said:?}");
            }
            assert!(mounted.entries().is_empty(), "{verb:?}: {:?}", mounted.entries());
        }
    }
    // What a certificate compares at its end is not what its first part wrote, and the result says so.
    let Some(mounted) = Mounted::new(SERVICE) else { return };
    let running = mounted.place.start(&["certify", "w.toml", "mount"], 9);
    running.signal(libc::SIGKILL);
    let _ = running.end_with_signal();
    until("the process of the calls has ended", || mounted.place.assay(&["clean", "mount"]).code == Some(0));
    let said = mounted.place.assay(&["certify", "w.toml", "mount", "--resume", "run"]);
    assert!(said.passed_or_late() && in_one_line(&said.out).contains("PARTLY COMPARED"), "{said:?}");
}

/// Whether a log below a directory has this text.
fn logs_have(directory: std::path::PathBuf, text: &str) -> bool {
    let mut directories = vec![directory];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                directories.push(entry.path());
            } else if entry.file_name() == "run.jsonl"
                && fs::read_to_string(entry.path()).is_ok_and(|log| log.contains(text))
            {
                return true;
            }
        }
    }
    false
}
