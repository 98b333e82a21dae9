//! Several ranks on a directory: on one that all share, each has a tree of its own with the files of its clients; where each host has one
//! of its own, each does all of the load.

use crate::host_targets::two_hosts;
use crate::hosts::{Mpi, told};
use crate::real_targets::{Bench, ENDED, TwoMounts};
use serde_json::Value;
use std::fs;
use std::path::Path;

const MIX: &str = r#"
name = "mixed"
model = "files"
clients = 8
rate = "400/s"
cache = "warm"
duration = "3s"
slice = "1s"
[tree]
files = 403
size = "4KiB"
width = 20
[[do]]
name = "look"
steps = ["stat"]
share = 3
[[do]]
name = "put"
steps = ["create", "write", "close", "unlink"]
share = 1
"#;

/// Every file once, in two phases, of which the first makes them.
const ONCE: &str = r#"
name = "mixed"
model = "files"
clients = 7
closed = true
cache = "warm"
duration = "1min"
[tree]
files = 1003
size = "4KiB"
empty = true
[[phase]]
name = "make"
until = "done"
[[phase.do]]
name = "create-file"
steps = ["create", "write", "close"]
[[phase]]
name = "remove"
until = "done"
[[phase.do]]
name = "remove-file"
steps = ["unlink"]
"#;

fn bench(workload: &str) -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("mixed.toml"), workload).unwrap();
    fs::create_dir(bench.path("shared")).unwrap();
    bench
}

fn shared(bench: &Bench) -> String {
    format!("dir:{}", bench.path("shared").display())
}

fn entries(directory: &Path) -> Vec<std::ffi::OsString> {
    fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

fn verdict_of(bench: &Bench) -> Value {
    serde_json::from_slice(&fs::read(bench.path("run/verdict.json")).unwrap()).unwrap()
}

/// The place of a stream among the flows of a log.
fn flow_of(bench: &Bench, log: &str, stream: &str) -> usize {
    let header = bench.lines_of_kind(log, "header").swap_remove(0);
    let streams = header["streams"].as_array().unwrap();
    streams.iter().position(|head| head["name"] == stream).unwrap()
}

/// How many of what was done are in the log of all, and in those of the ranks together.
fn sums(bench: &Bench, ranks: usize, stream: &str, number: &str) -> (u64, u64) {
    let flow = flow_of(bench, "run/run.jsonl", stream);
    let of_rank = |rank| bench.sum_of(&format!("run/hosts/{rank:04}/run.jsonl"), flow, number);
    (bench.sum_of("run/run.jsonl", flow, number), (0..ranks).map(of_rank).sum())
}

/// The rate, the clients and the files are those of all ranks together, whoever carries them.
#[test]
fn ranks_share_the_clients_and_the_files_of_a_directory() {
    for mpi in Mpi::all_installed() {
        let bench = bench(MIX);
        let output = mpi.command(3, &bench.run_words(&shared(&bench), "--hosts 3")).output().unwrap();
        assert!(ENDED.contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
        let header = bench.lines_of_kind("run/run.jsonl", "header").swap_remove(0);
        let parts: Vec<u64> =
            header["hosts"].as_array().unwrap().iter().map(|host| host["parts"].as_u64().unwrap()).collect();
        assert_eq!((parts, &header["streams"][0]["rate"]), (vec![2, 3, 3], &"300/s".into()), "{}", mpi.name);
        for stream in ["look", "put"] {
            let (joint, of_ranks) = sums(&bench, 3, stream, "ok");
            assert!(joint == of_ranks && joint > 0, "{}: {stream}: {joint} and {of_ranks}", mpi.name);
        }
        // 400 a second for 3 s, of independent users: within six deviations.
        let due = sums(&bench, 3, "look", "scheduled").0 + sums(&bench, 3, "put", "scheduled").0;
        assert!(due.abs_diff(1200) < 210, "{}: {due}", mpi.name);
        // Each rank has compared its own files, which are those of all.
        let compared: u64 = (0..3).map(|rank| names_compared(&bench, rank)).sum();
        assert_eq!(compared, 403, "{}: {}", mpi.name, told(&output));
        assert_eq!(entries(&bench.path("shared")), [""; 0], "{}", mpi.name);
        bench.check_merged();
    }
}

/// How many names the comparison behind the run of a rank has seen.
fn names_compared(bench: &Bench, rank: usize) -> u64 {
    let events = bench.lines_of_kind(&format!("run/hosts/{rank:04}/run.jsonl"), "event");
    let checked = events.iter().find(|event| event["what"] == "checked");
    let text = checked.unwrap_or_else(|| panic!("{events:?}"))["text"].as_str().unwrap().to_owned();
    text.split(' ').next().unwrap().parse().unwrap()
}

/// Phases are steps that all ranks begin together and end with the last; every file is taken once by one of them.
#[test]
fn phases_until_done_take_every_file_once() {
    let bench = bench(ONCE);
    let output = bench.assay(&["run", "mixed.toml", &shared(&bench), "--local", "3", "--out", "run"]);
    assert!(ENDED.contains(&output.status.code()), "{}", told(&output));
    let alone =
        bench.lines_of_kind("run/run.jsonl", "event").into_iter().filter(|event| event["what"] == "rank-judged");
    assert!(alone.clone().count() == 6 && alone.clone().all(|event| event["details"]["verdict"] != "INCOMPLETE"));
    let headers = bench.lines_of_kind("run/run.jsonl", "header");
    assert_eq!(headers.len(), 2, "{}", told(&output));
    let log = fs::read_to_string(bench.path("run/run.jsonl")).unwrap();
    let (mut step, mut done) = (0, [0; 2]);
    for line in log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        match line["kind"].as_str() {
            Some("header") => step += 1,
            Some("interval") => done[step - 1] += line["flows"][0]["ok"].as_u64().unwrap_or(0),
            _ => {}
        }
    }
    assert_eq!(done, [1003, 1003], "{}", told(&output));
    let verdict = verdict_of(&bench);
    assert_eq!(verdict["steps"].as_array().map(Vec::len), Some(2), "{verdict}");
    assert_eq!(entries(&bench.path("shared")), [""; 0]);
    bench.check_merged();
}

/// Two mounts of one directory, and two hosts that have them.
#[test]
fn what_hosts_have_of_a_directory_is_proven() {
    for mpi in Mpi::all_installed() {
        for keys in ["", "[hosts]\ntargets = \"own\"\n"] {
            let are_own = !keys.is_empty();
            let bench = bench(&format!("{MIX}{keys}"));
            let Some(mounts) = TwoMounts::of_directory(&bench, &bench.path("shared")) else { return };
            let prefixes = two_hosts(&bench);
            let run = |first: &Path, second: &Path| {
                let words =
                    [first, second].map(|path| bench.run_words(&format!("dir:{}", path.display()), "--hosts 2"));
                mpi.command_of_two_hosts([&prefixes[0], &prefixes[1]], &words[0], &words[1]).output().unwrap()
            };
            let apart = ["a", "b"].map(|name| bench.path(name));
            apart.iter().for_each(|path| fs::create_dir(path).unwrap());
            let same = mounts.points();
            let (wrong, right) = if are_own { (same, &apart) } else { (&apart, same) };
            let output = run(&wrong[0], &wrong[1]);
            assert_eq!(output.status.code(), Some(4), "{}: {}", mpi.name, told(&output));
            let says = if are_own { "is not of this host alone" } else { "is not the directory that" };
            assert!(told(&output).contains(says), "{}: {}", mpi.name, told(&output));
            assert!(!bench.path("run").exists() && wrong.iter().all(|path| entries(path).is_empty()), "{}", mpi.name);
            let output = run(&right[0], &right[1]);
            assert!(ENDED.contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
            let header = bench.lines_of_kind("run/run.jsonl", "header").swap_remove(0);
            // Each host is asked for the whole load where it has a directory of its own.
            let rate = if are_own { "600/s" } else { "300/s" };
            assert_eq!(header["streams"][0]["rate"], rate, "{}", mpi.name);
            assert_eq!(names_compared(&bench, 0) + names_compared(&bench, 1), if are_own { 806 } else { 403 });
            assert!(right.iter().all(|path| entries(path).is_empty()), "{}", mpi.name);
            bench.check_merged();
        }
    }
}

/// The process that makes the calls of one rank is killed: all end, nothing passes, and what it left can be removed.
#[test]
fn a_rank_that_cannot_go_on_ends_the_run_of_all() {
    let bench = bench(&MIX.replace("\"3s\"", "\"5min\""));
    let words = bench.run_words(&shared(&bench), "--local 3");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
    let (out, err) = (fs::File::create(bench.path("out")).unwrap(), fs::File::create(bench.path("err")).unwrap());
    let mut running = command.current_dir(bench.path(".")).args(&words).stdout(out).stderr(err).spawn().unwrap();
    let log = bench.path("run/run.jsonl");
    let has_begun = || fs::read_to_string(&log).is_ok_and(|text| text.contains("\"kind\":\"interval\""));
    while !has_begun() {
        assert!(running.try_wait().unwrap().is_none(), "{}", fs::read_to_string(bench.path("err")).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", running.id())).unwrap_or_default();
    let children = if children.trim().is_empty() { children_of_threads(running.id()) } else { children };
    let last: i32 = children.split_whitespace().next_back().unwrap().parse().unwrap();
    // SAFETY: the process makes the calls of a rank of this test's run.
    unsafe { libc::kill(last, libc::SIGKILL) };
    let code = running.wait().unwrap().code();
    let told = fs::read_to_string(bench.path("out")).unwrap() + &fs::read_to_string(bench.path("err")).unwrap();
    assert!(matches!(code, Some(10..=12)), "{code:?}: {told}");
    let cleaned = bench.assay(&["clean", &bench.path("shared").display().to_string()]);
    assert_eq!((cleaned.status.code(), entries(&bench.path("shared")).len()), (Some(0), 0), "{cleaned:?}");
}

/// One of two hosts has no room for its tree: all refuse, before anything is made.
#[test]
fn a_host_without_room_leaves_nothing_on_the_others() {
    for mpi in Mpi::all_installed() {
        let bench = bench(&format!("{MIX}[hosts]\ntargets = \"own\"\n"));
        let full = bench.path("full");
        fs::create_dir(&full).unwrap();
        let mounted =
            std::process::Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&full).status();
        if !mounted.is_ok_and(|mounted| mounted.success()) {
            eprintln!("skipped: nothing can be mounted here, a host without room was NOT tried");
            return;
        }
        let prefixes = two_hosts(&bench);
        let words = [bench.path("shared"), full.clone()]
            .map(|path| bench.run_words(&format!("dir:{}", path.display()), "--hosts 2"));
        let output = mpi.command_of_two_hosts([&prefixes[0], &prefixes[1]], &words[0], &words[1]).output().unwrap();
        let left = [bench.path("shared"), full.clone()].map(|path| entries(&path));
        assert!(std::process::Command::new("umount").arg(&full).status().unwrap().success());
        assert_eq!(output.status.code(), Some(4), "{}: {}", mpi.name, told(&output));
        assert!(told(&output).contains("there is room for"), "{}: {}", mpi.name, told(&output));
        assert!(left.iter().all(Vec::is_empty), "{}: {left:?}: {}", mpi.name, told(&output));
        assert!(!bench.path("run").exists(), "{}", mpi.name);
    }
}

/// The processes that any thread of a process has started.
fn children_of_threads(process: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("children")).ok()).collect::<Vec<_>>().concat()
}

/// What cannot be divided: the message says what to do, and nothing is made.
#[test]
fn what_ranks_cannot_share_is_refused_before_anything_is_made() {
    let many_clients = MIX.replace("clients = 8", "clients = 2");
    let with_shared = MIX.replace("width = 20", "width = 20\nshared = 1");
    let ranges = format!("{MIX}[hosts]\nranges = \"disjoint\"\n");
    let own = format!("{MIX}[hosts]\ntargets = \"own\"\n");
    for (workload, says) in [
        (many_clients.as_str(), "2 clients cannot be divided"),
        (&with_shared, "files that all clients share"),
        (&ranges, "a directory has no ranges"),
        (&own, "start one rank on each host"),
    ] {
        let bench = bench(workload);
        let output = bench.assay(&["run", "mixed.toml", &shared(&bench), "--local", "3", "--out", "run"]);
        assert_eq!(output.status.code(), Some(3), "{says}: {}", told(&output));
        assert!(told(&output).contains(says), "{says}: {}", told(&output));
        assert!(!bench.path("run").exists() && entries(&bench.path("shared")).is_empty(), "{says}");
    }
    let bench = bench(MIX);
    for (workload, says) in [("copy", "1 client cannot"), ("etcd", "a server is one program")] {
        let output = bench.assay(&["run", workload, &shared(&bench), "--local", "2", "--for", "1s", "--out", "run"]);
        assert_eq!(output.status.code(), Some(3), "{says}: {}", told(&output));
        assert!(told(&output).contains(says), "{says}: {}", told(&output));
    }
    let output = bench.assay(&["run", "mixed.toml", "sqlite:x.db", "--local", "2", "--out", "run"]);
    assert!(matches!(output.status.code(), Some(2 | 3)), "{}", told(&output));
    assert!(!bench.path("run").exists() && !bench.path("x.db").exists());
}

/// A search decides on the result of all ranks.
#[test]
fn a_search_over_ranks_of_a_directory_finds_a_load() {
    let bench = bench(MIX);
    let limit =
        ["limit", "mixed.toml", &shared(&bench), "--local", "2", "--from", "1x", "--to", "1x", "--out", "found"];
    let output = bench.assay(&limit);
    assert!(matches!(output.status.code(), Some(0 | 10 | 11)), "{}", told(&output));
    let found: Value = serde_json::from_slice(&fs::read(bench.path("found/limit.json")).unwrap()).unwrap();
    assert!(!found["runs"].as_array().unwrap().is_empty(), "{found}");
    assert_eq!(entries(&bench.path("shared")), [""; 0]);
}
