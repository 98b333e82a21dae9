//! Copies of trees: what waits until it is durable.

use super::bed::Place;
use super::devices::passed_over;
use std::fs;
use std::process::Command;

/// A phase that takes every file once, and one that lasts until it has done a number of sequences.
const COPY: &str = r#"
name = "copy"
model = "files"
clients = 2
closed = true
duration = "1min"
slice = "1min"
io = "4KiB"
durable = "each"
[tree]
files = 40
size = "5KiB"
empty = true
[[phase]]
name = "copy-in"
until = "done"
[[phase.do]]
name = "write-file"
steps = ["create", "write", "fsync", "close"]
[[phase]]
name = "update"
count = 30
[[phase.do]]
name = "grow-file"
steps = ["open", "append", "fsync", "close"]
[[phase]]
name = "delete"
until = "done"
[[phase.do]]
name = "unlink"
steps = ["unlink"]
"#;

fn place_with(workload: &str) -> Place {
    let place = Place::new();
    place.write("w.toml", workload);
    fs::create_dir(place.path("data")).unwrap();
    place
}

/// How many syncs of files of the tree the kernel was asked for, by the names of the files.
fn traced_syncs(place: &Place) -> usize {
    let trace = fs::read_to_string(place.path("trace")).unwrap();
    trace
        .lines()
        .filter(|line| line.contains(" fsync(") && line.contains("/data/assay-") && line.contains("/f0"))
        .count()
}

#[test]
fn files_are_durable_one_by_one_at_the_end_of_a_phase_or_never() {
    let works = Command::new("strace").arg("-V").output().is_ok_and(|said| said.status.success());
    if !works {
        return passed_over("strace is not installed");
    }
    // 40 files, 30 of which grow; at the end of a phase each of the 40 that are there is waited for.
    for (durable, syncs) in [("each", 70), ("end", 80), ("none", 0)] {
        let place = place_with(&COPY.replace("durable = \"each\"", &format!("durable = \"{durable}\"")));
        let run = place.command(&["run", "w.toml", "data", "--out", "run"]);
        let mut traced = Command::new("strace");
        traced.args(["-f", "-y", "-e", "trace=fsync", "-o", "trace"]);
        traced.arg(run.get_program()).args(run.get_args()).current_dir(place.path("."));
        let said = traced.output().unwrap();
        if String::from_utf8_lossy(&said.stderr).contains("PTRACE") {
            return passed_over("this process may trace no other one");
        }
        assert_eq!(traced_syncs(&place), syncs, "{durable}: {said:?}");
        let verdict = fs::read_to_string(place.path("run/verdict.json")).unwrap();
        assert_eq!(verdict.contains("NOT DURABLE"), durable == "none", "{durable}: {verdict}");
        let explained = place.assay(&["explain", "w.toml", "data"]);
        assert!(explained.out.contains("  durable: ") && explained.code == Some(0), "{explained:?}");
        assert_eq!(explained.out.contains("make-durable"), durable == "end", "{explained:?}");
        assert_eq!(explained.out.contains("update-durable"), durable == "end", "{explained:?}");
    }
}

#[test]
fn what_cannot_be_made_durable_so_is_refused() {
    for (from, to, what) in [
        ("\"each\"", "\"now\"", "unknown value \"now\""),
        ("\"write\", \"fsync\", \"close\"]", "\"write\", \"close\"]", "write-file writes without waiting for it"),
        ("durable = \"each\"", "durable = \"end\"\nfor = 1", "unknown key"),
    ] {
        let place = place_with(&COPY.replacen(from, to, 1));
        let said = place.assay(&["explain", "w.toml", "data"]);
        assert!(said.code == Some(3) && said.err.contains(what), "{to}: {said:?}");
    }
    let ended = COPY.replace("\"each\"", "\"end\"");
    for (from, to, what) in [
        (
            "until = \"done\"",
            "until = \"done\"\nfor = \"1min\"",
            "copy-in may be over before all of its files are durable",
        ),
        ("name = \"write-file\"", "name = \"make-durable\"", "adds the sequence make-durable"),
        ("name = \"delete\"", "name = \"update-durable\"", "adds a phase update-durable"),
        ("steps = [\"unlink\"]", "steps = [\"fsync-dir\"]", "the phase delete only waits"),
    ] {
        let place = place_with(&ended.replacen(from, to, 1));
        let said = place.assay(&["run", "w.toml", "data"]);
        assert!(said.code == Some(3) && said.err.contains(what), "{to}: {said:?}");
        assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0, "nothing was made");
    }
}
