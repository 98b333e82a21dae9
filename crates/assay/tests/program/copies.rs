//! Copies of trees: what waits until it is durable, and what a copy of a real tree is.

use super::bed::{Place, in_one_line, until};
use super::devices::passed_over;
use std::fs;
use std::path::{Path, PathBuf};
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
        (
            "\"write\", \"fsync\", \"close\"]",
            "\"fsync\", \"write\", \"close\"]",
            "write-file writes without waiting for it",
        ),
        (
            "\"write\", \"fsync\", \"close\"]",
            "\"write\", \"fsync-dir\", \"close\"]",
            "write-file writes without waiting for it",
        ),
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

/// A copy of a tree that is there, with links.
const REAL: &str = r#"
name = "real"
model = "files"
clients = 2
closed = true
duration = "1min"
slice = "1min"
io = "4KiB"
durable = "end"
[tree]
source = "SOURCE"
empty = true
[[phase]]
name = "copy-in"
until = "done"
[[phase.do]]
name = "write-file"
steps = ["create", "write", "close"]
[[phase.do]]
name = "make-link"
steps = ["symlink"]
[[phase]]
name = "copy-out"
until = "done"
[[phase.do]]
name = "read-file"
steps = ["open", "read", "close"]
[[phase.do]]
name = "read-link"
steps = ["readlink"]
"#;

/// A tree with directories that have nothing, links that lead out and nowhere, names with spaces, and a pipe.
fn make_source(place: &Place) {
    let source = place.path("source");
    for directory in ["a/b/c", "empty", "a name/d"] {
        fs::create_dir_all(source.join(directory)).unwrap();
    }
    for (number, name) in ["top", "a/b/c/deep", "a name/a file", "a/none", "f0000001-1234"].iter().enumerate() {
        let bytes: Vec<u8> = (0..number * 3001).map(|at| (at * 7 + number) as u8).collect();
        fs::write(source.join(name), bytes).unwrap();
    }
    for number in 0..60 {
        fs::write(source.join(format!("a/b/{number}")), vec![number; 10_000]).unwrap();
    }
    for (name, leads_to) in [("a/link", "b/c/deep"), ("out", "/etc/hostname"), ("empty/nowhere", "nothing")] {
        std::os::unix::fs::symlink(leads_to, source.join(name)).unwrap();
    }
    assert!(Command::new("mkfifo").arg(source.join("pipe")).status().unwrap().success());
}

fn place_with_source(workload: &str) -> Place {
    let place = place_with("");
    make_source(&place);
    place.write("w.toml", &workload.replace("SOURCE", place.path("source").to_str().unwrap()));
    place
}

/// Every entry of the source with its times of change, its size, its links and the time when it was read; only of a
/// symbolic link the kernel always notes that.
fn state_of(place: &Place) -> String {
    let mut command = Command::new("find");
    let all = ["(", "-type", "l", "-printf", "%p %T@ %C@\n", ")", "-o", "-printf", "%p %T@ %C@ %A@ %s %n\n"];
    let listed = command.arg(place.path("source")).args(all).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

/// The only directory of a run, or the only one in it.
fn only_directory(path: &Path) -> PathBuf {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn a_copy_of_a_real_tree_is_the_same_tree_and_goes_again() {
    for empty in ["true", "false"] {
        let workload = REAL.replace("empty = true", &format!("empty = {empty}"));
        let place = place_with_source(&workload);
        // The look itself lists directories: that is noted once.
        state_of(&place);
        let before = state_of(&place);
        let explained = place.assay(&["explain", "w.toml", "data"]);
        assert!(
            explained.out.contains("65 files with 615 KiB") && explained.out.contains("a copy of "),
            "{explained:?}"
        );
        assert!(explained.out.contains("pipe is neither a file"), "{explained:?}");
        assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0, "explain makes nothing");
        let said = place.assay(&["run", "w.toml", "data", "--out", "run", "--keep"]);
        assert!(said.passed_or_late() && said.err.contains("checked: 68 names"), "{said:?}");
        let after = state_of(&place);
        let copy = only_directory(&only_directory(&place.path("data")));
        fs::remove_file(place.path("source/pipe")).unwrap();
        let mut diff = Command::new("diff");
        let differs = diff.args(["-r", "--no-dereference"]).arg(place.path("source")).arg(&copy).output().unwrap();
        assert!(differs.status.success() && differs.stdout.is_empty(), "{differs:?}");
        assert_eq!(after, before, "nothing in the source was touched");
        // What somebody put into the copy stays, and keeps its directories.
        fs::write(copy.join("a/b/theirs"), "").unwrap();
        let cleaned = place.assay(&["clean", "data"]);
        assert!(cleaned.code == Some(4) && cleaned.out.contains("a/b/theirs"), "{cleaned:?}");
        assert!(copy.join("a/b/theirs").exists() && !copy.join("top").exists());
        fs::remove_file(copy.join("a/b/theirs")).unwrap();
        let cleaned = place.assay(&["clean", "data"]);
        assert!(cleaned.code == Some(0), "{cleaned:?}");
        assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0);
    }
}

#[test]
fn a_source_that_changes_or_goes_is_named_and_proves_nothing() {
    // At two files a second the first ones are copied long before the last ones.
    let slow = REAL.replace("closed = true", "rate = \"20/s\"\narrival = \"steady\"");
    let place = place_with_source(&slow.replace("durable = \"end\"\n", ""));
    let mut running = place.start(&["run", "w.toml", "data"], 1);
    fs::write(place.path("source/a/b/58"), "changed").unwrap();
    fs::remove_file(place.path("source/a/b/59")).unwrap();
    replace_by_pipe(&place.path("source/a/b/57"));
    // Without bytes there is nothing to read, and a link is not read either.
    fs::write(place.path("source/top"), "no longer empty").unwrap();
    fs::remove_file(place.path("source/a/link")).unwrap();
    std::os::unix::fs::symlink("elsewhere", place.path("source/a/link")).unwrap();
    assert!(running.is_alive());
    let said = running.end();
    assert_eq!(said.code, Some(11), "{said:?}");
    for text in [
        "a/b/58 of the source was changed",
        "a/b/59 of the source is gone",
        "a/b/57 of the source was changed",
        "source/top of the source was changed",
        "a/link of the source was changed",
    ] {
        let log = fs::read_to_string(place.path("run/run.jsonl")).unwrap();
        assert!(log.contains(text), "{text}: {said:?}");
    }
    assert!(in_one_line(&said.out).contains("source/top of the source was changed"), "the first one: {said:?}");
    assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0);
}

fn replace_by_pipe(path: &Path) {
    fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

/// What is not read is looked at when all is over, also where nothing else was changed.
#[test]
fn an_empty_file_of_a_source_that_gets_bytes_proves_nothing() {
    let place = place_with_source(
        &REAL.replace("closed = true", "rate = \"40/s\"\narrival = \"steady\"").replace("durable = \"end\"\n", ""),
    );
    let running = place.start(&["run", "w.toml", "data"], 1);
    fs::write(place.path("source/top"), "bytes").unwrap();
    let said = running.end();
    assert_eq!(said.code, Some(11), "{said:?}");
    assert!(in_one_line(&said.out).contains("source/top of the source was changed"), "{said:?}");
    assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0);
}

#[test]
fn a_copy_that_was_killed_goes_by_its_names() {
    let slow = REAL.replace("closed = true", "rate = \"40/s\"");
    let place = place_with_source(&slow);
    let running = place.start(&["run", "w.toml", "data"], 1);
    let own = only_directory(&place.path("data"));
    running.signal(libc::SIGKILL);
    assert_eq!(running.end_with_signal(), Some(libc::SIGKILL));
    until("the process of the calls has ended", || place.assay(&["clean", "data", "--list"]).code == Some(0));
    assert!(own.exists());
    let cleaned = place.assay(&["clean", "data"]);
    assert!(cleaned.code == Some(0), "{cleaned:?}");
    assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0);
    assert!(place.path("source/a/b/59").exists(), "the source is not ours");
}

#[test]
fn sources_that_cannot_be_copied_are_refused() {
    for (from, to, code, what) in [
        ("source = \"SOURCE\"", "source = \"source\"", 3, "no absolute path"),
        ("source = \"SOURCE\"", "source = \"SOURCE\"\nfiles = 5", 3, "files is said by what is in the source"),
        ("\"SOURCE\"", "\"SOURCE/none\"", 5, "name a directory that is there"),
        ("\"SOURCE\"", "\"SOURCE/a/b/c/deep\"", 5, "cannot be read"),
        ("\"SOURCE\"", "\"SOURCE/empty\"", 2, "there are no files in"),
        ("source = \"SOURCE\"\n", "", 3, "nothing says how large the files are"),
    ] {
        let place = place_with_source(&REAL.replacen(from, to, 1));
        let said = place.assay(&["run", "w.toml", "data"]);
        assert!(said.code == Some(code) && in_one_line(&said.err).contains(what), "{to}: {said:?}");
        assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0, "nothing was made");
    }
}

#[test]
fn a_source_that_does_not_fit_is_refused() {
    let place = place_with_source(REAL);
    fs::File::create(place.path("source/huge")).unwrap().set_len(1 << 43).unwrap();
    let said = place.assay(&["run", "w.toml", "data"]);
    assert!(said.code == Some(4) && said.err.contains("the workload needs 879609"), "{said:?}");
    assert_eq!(fs::read_dir(place.path("data")).unwrap().count(), 0, "nothing was made");
}
