//! A log that cannot be written: the run ends INCOMPLETE, and everything that was acknowledged can be read. The space
//! of the log is reserved when the run begins, so that a full disk must be simulated by a system call that fails.

use super::bed::{Log, Place, Said};
use super::devices::passed_over;
use super::rig::beside;
use std::process::Command;

/// The content of `limit.json` reaches the disk before its name does, and the name before the search continues.
#[test]
fn the_path_of_a_search_survives_a_power_cut() {
    let _turn = beside();
    let place = Place::new();
    let args = "limit act-storage sim:flash --from 10x --to 20x --for 1s --slice 1s --out search";
    let plain = place.command(&args.split(' ').collect::<Vec<_>>());
    let mut traced = Command::new("strace");
    traced.args(["-f", "-qq", "-y", "-o", "trace", "-e", "trace=fsync,rename,renameat,renameat2"]);
    traced.arg(plain.get_program()).args(plain.get_args());
    traced.current_dir(place.path("")).env("XDG_STATE_HOME", place.path("state"));
    let Ok(output) = traced.output() else { return passed_over("no strace here") };
    let Ok(trace) = std::fs::read_to_string(place.path("trace")) else {
        return passed_over("strace may not trace here");
    };
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let step = |line: &str| match () {
        () if line.contains("fsync(") && line.contains("/search/.assay-") => Some("data"),
        () if line.contains("rename") && line.contains("\"limit.json\"") => Some("name"),
        () if line.contains("rename") && line.contains("\"limit.html\"") => Some("page"),
        () if line.contains("fsync(") && line.contains("/search>") => Some("directory"),
        () => None,
    };
    let steps: Vec<_> = trace.lines().filter_map(step).collect();
    // Each time, the page that shows `limit.json` is written after it.
    let kept = ["data", "name", "directory", "data", "page", "directory"];
    assert!(!steps.is_empty() && steps.chunks(6).all(|all| all == kept), "{trace}");
}

/// A run in which the calls of one kind on the run log fail, as `inject` says.
fn run_with(place: &Place, inject: &str) -> Option<Said> {
    // A traced program is late, which must not break a bound: the test is about the log.
    let bound = "reads response max at most 1h";
    let args = ["run", "random-read", "null:1GiB", "--for", "10min", "--criterion", bound, "--out", "run"];
    let plain = place.command(&args);
    let mut traced = Command::new("strace");
    traced.args([
        "-f",
        "-qq",
        "-o",
        "/dev/null",
        "-e",
        "trace=write,fdatasync",
        "-e",
        &format!("inject={inject}"),
        "-P",
    ]);
    traced.arg(place.path("run/run.jsonl")).arg(plain.get_program()).args(plain.get_args());
    traced.current_dir(place.path("")).env("XDG_STATE_HOME", place.path("state"));
    let Ok(output) = traced.output() else {
        passed_over("no strace here");
        return None;
    };
    let said = Said::of(output, &args);
    if said.err.contains("ptrace") {
        passed_over("strace may not trace here");
        return None;
    }
    Some(said)
}

#[test]
fn a_log_that_cannot_be_kept_ends_the_run_incomplete() {
    let _turn = beside();
    // The calls that fail, the message, and the smallest number of intervals that were acknowledged.
    for (inject, why, at_least) in
        [("write:error=ENOSPC:when=6+", "No space left", 3), ("fdatasync:error=EIO:when=2+", "Input/output error", 5)]
    {
        let place = Place::new();
        let Some(said) = run_with(&place, inject) else { return };
        assert_eq!(said.code, Some(12), "{inject}: {}{}", said.out, said.err);
        assert!(said.err.contains("run log") && said.err.contains(why), "{inject}: {}", said.err);
        let log = Log::of(&place.path("run"));
        assert!(log.intervals.len() >= at_least && log.close.is_none(), "{inject}: {}", log.intervals.len());
        assert!(log.damage.iter().all(|damage| damage.torn_tail), "{inject}: {:?}", log.damage);
        log.intervals_add_up();
        assert_eq!(place.assay(&["judge", "run"]).code, Some(12), "{inject}");
        assert!(said.out.starts_with("INCOMPLETE"), "what it holds is judged: {}", said.out);
        assert_eq!(said.is_of_verdict(&place.path("run")), "INCOMPLETE");
    }
}
