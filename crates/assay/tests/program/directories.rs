//! Runs on a directory: what clients do there is counted, judged and removed again, and what goes wrong is told.

use super::bed::{Log, Place, until};
use assay_base::Span;
use assay_record::{CloseReason, EventKind};
use std::fs;
use std::path::{Path, PathBuf};

/// A small mix that lasts two seconds.
const MIX: &str = r#"
name = "mix"
model = "files"
clients = 3
rate = "200/s"
duration = "2s"
slice = "1s"
interval = "500ms"
cache = "warm"
io = "4KiB"
[tree]
files = 60
size = "8KiB"
width = 20
[[do]]
name = "deliver"
steps = [["create", "write", "fsync", "close"], ["unlink"]]
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
share = 3
[[criterion]]
stream = "look"
share_over = "1s"
at_most = "50%"
"#;

/// Phases that make files, list them and remove them.
const PHASES: &str = r#"
name = "phases"
model = "files"
clients = 2
closed = true
duration = "1min"
slice = "1min"
[tree]
files = 50
size = "4KiB"
empty = true
[[phase]]
name = "make"
until = "done"
[[phase.do]]
name = "make"
steps = ["create", "write", "close"]
[[phase]]
name = "ask"
until = "done"
[[phase.do]]
name = "stat"
steps = ["stat"]
[[phase]]
name = "remove"
until = "stonewall"
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

fn entries(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The directory of the run that goes on.
fn own_directory(place: &Place) -> PathBuf {
    entries(&place.path("data")).pop().unwrap()
}

/// The process that makes the calls of the run in this place.
fn process_of_calls(place: &Place) -> i32 {
    let log = Log::of(&place.path("run"));
    log.header.engine["process of the calls"].parse().unwrap()
}

fn is_running(pid: i32) -> bool {
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !state.is_empty() && !state.contains(") Z ")
}

fn texts(log: &Log, kind: &EventKind) -> Vec<String> {
    log.events.iter().filter(|event| event.what == *kind).map(|event| event.text.clone()).collect()
}

#[test]
fn what_clients_did_is_counted_compared_and_removed() {
    let place = place_with(MIX);
    let (said, log) = place.run(&["run", "w.toml", "data"]);
    assert!(said.passed_or_late(), "{said:?}");
    log.adds_up();
    assert_eq!(entries(&place.path("data")), [] as [PathBuf; 0]);
    let target = &log.header.targets[0];
    assert_eq!(target.kind, "directory");
    assert!(target.facts.contains_key("file system") && target.size_bytes > 0, "{target:?}");
    let of = |name| log.stream(name);
    let (deliver, look) = (of("deliver"), of("look"));
    assert!(deliver.ok > 40 && look.ok > 150, "{deliver:?} {look:?}");
    // Each sequence has each of its operations once.
    for operation in ["create", "write", "fsync", "unlink"] {
        assert!(of(operation).ok >= deliver.ok, "{operation}");
    }
    assert_eq!(of("close").ok, of("create").ok + of("open").ok);
    assert_eq!(of("stat").ok, of("open").ok);
    assert!(of("read").bytes >= look.ok * 8192 && of("write").bytes >= deliver.ok * 8192);
    assert_eq!(texts(&log, &EventKind::ConditionBroken), [] as [String; 0]);
    assert_eq!(texts(&log, &EventKind::Checked).len(), 1);
    let operation = |name: &str| log.header.streams.iter().find(|stream| stream.name == name).unwrap().operation_word();
    assert_eq!((operation("look").as_str(), operation("stat").as_str()), ("sequence", "stat"));
    assert_eq!(place.assay(&["judge", "run/run.jsonl"]).code, said.code);
}

#[test]
fn phases_are_steps_of_one_log_and_their_tree_is_one() {
    let place = place_with(PHASES);
    let (said, log) = place.run(&["run", "w.toml", "dir:data"]);
    assert!(said.passed_or_late(), "{said:?}");
    assert_eq!(entries(&place.path("data")), [] as [PathBuf; 0]);
    let text = fs::read_to_string(place.path("run/run.jsonl")).unwrap();
    assert_eq!(text.matches("\"kind\":\"header\"").count(), 3);
    // The streams of the three steps have different names, and the first header those of the first.
    assert_eq!(log.header.streams[0].name, "make");
    assert_eq!(log.intervals.iter().map(|interval| interval.flows[0].ok).sum::<u64>(), 150);
    assert_eq!(texts(&log, &EventKind::Checked).len(), 1, "compared once, behind the last phase");
    let again = place.assay(&["run", "w.toml", "data", "--resume", "run"]);
    assert!(again.code == Some(2) && again.err.contains("start another run"), "{again:?}");
}

#[test]
fn a_signal_ends_the_calls_and_removes_the_tree() {
    let place = place_with(&MIX.replace("duration = \"2s\"", "duration = \"60s\""));
    let running = place.start(&["run", "w.toml", "data"], 2);
    let calls = process_of_calls(&place);
    running.signal(libc::SIGINT);
    let said = running.end();
    assert_eq!(said.code, Some(12), "{said:?}");
    assert_eq!(Log::of(&place.path("run")).close.unwrap().reason, CloseReason::Interrupted);
    assert_eq!(entries(&place.path("data")), [] as [PathBuf; 0]);
    until("the end of the process that made the calls", || !is_running(calls));
}

#[test]
fn what_a_killed_run_left_is_removed_by_clean() {
    let place = place_with(&MIX.replace("duration = \"2s\"", "duration = \"60s\""));
    let running = place.start(&["run", "w.toml", "data"], 2);
    let calls = process_of_calls(&place);
    running.signal(libc::SIGKILL);
    running.end_with_signal();
    until("the end of the process that made the calls", || !is_running(calls));
    assert_eq!(entries(&place.path("data")).len(), 1, "nobody has removed it");
    assert_eq!(place.assay(&["judge", "run/run.jsonl"]).code, Some(12));
    assert_eq!(place.assay(&["clean", "data"]).code, Some(0));
    assert_eq!(entries(&place.path("data")), [] as [PathBuf; 0]);
}

#[test]
fn a_run_whose_calls_nobody_makes_any_more_says_so_and_never_passes() {
    let place = place_with(&MIX.replace("duration = \"2s\"", "duration = \"60s\""));
    let running = place.start(&["run", "w.toml", "data"], 2);
    let calls = process_of_calls(&place);
    // SAFETY: a signal to a process that the run has started, which goes on.
    assert_eq!(unsafe { libc::kill(calls, libc::SIGKILL) }, 0);
    let said = running.end();
    assert!(matches!(said.code, Some(11 | 12)), "{said:?}");
    let log = Log::of(&place.path("run"));
    assert_eq!(log.close.as_ref().unwrap().reason, CloseReason::EngineFailed);
    let failed = texts(&log, &EventKind::EngineFailed);
    assert!(failed[0].contains("which makes the calls on the directory"), "{failed:?}");
    assert_eq!(place.assay(&["clean", "data"]).code, Some(0));
}

#[test]
fn what_somebody_else_did_to_the_tree_fails_the_run_by_name() {
    let place = place_with(&MIX.replace("duration = \"2s\"", "duration = \"4s\"").replace("share = 3", "share = 1"));
    let running = place.start(&["run", "w.toml", "data"], 2);
    let own = own_directory(&place);
    // A directory of the tree, and in it a file that nobody will look at before the end.
    let below = entries(&own).into_iter().find(|path| path.is_dir()).unwrap();
    let victim = entries(&below).into_iter().min().unwrap();
    fs::remove_file(&victim).unwrap();
    let said = running.end();
    assert_eq!(said.code, Some(10), "{said:?}");
    let log = Log::of(&place.path("run"));
    let name = victim.file_name().unwrap().to_string_lossy().into_owned();
    let told = log.events.iter().any(|event| event.text.contains(&name) && event.text.contains("lost"));
    let unlinked = log.events.iter().any(|event| event.text.contains(&name));
    assert!(told || unlinked, "{name}: {:?}", log.events);
}

#[test]
fn what_does_not_suit_is_refused_before_anything_is_made() {
    let place = place_with(MIX);
    place.write("file", "");
    for (args, code, says) in [
        (&["run", "w.toml", "null:1GiB"][..], 2, "works on files in a directory"),
        (&["run", "w.toml", "file"], 2, "works on files in a directory"),
        (&["run", "random-read", "data"], 4, "is a directory"),
        (&["run", "w.toml", "data", "dir:data"], 2, "a run works on one directory"),
        (&["run", "w.toml", "dir:nothing"], 5, "does not exist"),
        (&["run", "w.toml", "/usr"], 4, "belongs to the system"),
        (&["run", "w.toml", "data", "--warm-up", "1s"], 3, "has no warm-up"),
        (&["run", "w.toml", "data", "--workers", "2"], 2, "--workers"),
        (&["certify", "act-index", "data"], 4, "is a directory"),
        (&["prep", "dir:data"], 2, "is a directory"),
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(code) && said.err.contains(says), "{args:?}: {said:?}");
    }
    let huge = MIX.replace("size = \"8KiB\"", "size = \"1TiB\"");
    place.write("huge.toml", &huge);
    let said = place.assay(&["run", "huge.toml", "data"]);
    assert!(said.code == Some(4) && said.err.contains("there is room for"), "{said:?}");
    assert_eq!(entries(&place.path("data")), [] as [PathBuf; 0]);
}

#[test]
fn explain_says_what_would_be_made_and_makes_nothing() {
    let place = place_with(MIX);
    let said = place.assay(&["explain", "w.toml", "data"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for expected in [
        "60 files with 480 KiB, 3 directories: 63 inodes",
        "3, with 4 KiB for each read or write: 200.000 sequences a second",
        "create, write, fsync, close; on another file unlink",
        "nothing else there is touched",
    ] {
        assert!(said.out.contains(expected), "{expected}: {}", said.out);
    }
    assert_eq!(entries(&place.path("data")), [] as [PathBuf; 0]);
    place.write("phases.toml", PHASES);
    let said = place.assay(&["explain", "phases.toml"]);
    assert!(said.code == Some(0) && said.out.matches("until every").count() >= 2, "{said:?}");
}

/// A phase of names that have to be read from a tree which is written back and dropped from the page cache before.
const SHORT: &str = r#"
model = "files"
clients = 2
closed = true
[tree]
files = 2000
size = "4KiB"
[[phase]]
name = "ask"
until = "stonewall"
for = "5min"
at_least = "1min"
[[phase.do]]
name = "ask"
steps = ["stat"]
"#;

/// The time behind a word in the only event with this text.
fn time_behind(log: &Log, text: &str, word: &str) -> Span {
    let told = log.events.iter().find(|event| event.text.contains(text)).unwrap_or_else(|| panic!("{:?}", log.events));
    let rest = told.text.split(word).nth(1).unwrap();
    rest.split([',', ':']).next().unwrap().trim().parse().unwrap()
}

/// What was done before the phase is no part of it: its intervals are the other account of its time.
#[test]
fn a_phase_that_was_over_too_soon_is_marked_with_the_time_that_it_took() {
    let place = place_with(SHORT);
    let explained = place.assay(&["explain", "w.toml", "data"]);
    assert!(explained.out.contains("a result of less than 1min is marked"), "{explained:?}");
    let (said, log) = place.run(&["run", "w.toml", "data"]);
    assert!(said.out.contains("SHORT PHASE: ask took "), "{said:?}");
    let measured = Span::from_ns(log.intervals.iter().map(|interval| interval.end_ns - interval.start_ns).sum());
    for (text, word) in [("SHORT PHASE", " took "), ("the first client had done its part", " after ")] {
        let took = time_behind(&log, text, word);
        assert!(took <= measured, "{text}: {took}, and {measured} were measured");
    }
    let long = place_with(&SHORT.replace("at_least = \"1min\"\n", ""));
    let (said, _) = long.run(&["run", "w.toml", "data"]);
    assert!(!said.out.contains("SHORT PHASE"), "{said:?}");
}
