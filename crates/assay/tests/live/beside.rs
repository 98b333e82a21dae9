//! `--live`: a page beside a run, which changes nothing about the run.

use super::bed::{Place, until};
use super::growing::port_in;
use super::http::{Events, get};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStderr};

/// A run that was started with a page.
struct Begun {
    child: Child,
    said: BufReader<ChildStderr>,
    port: u16,
}

fn begin(place: &Place, args: &[&str]) -> Begun {
    let mut child = place.command(args).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let port = loop {
        let mut line = String::new();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended before it said where its page is");
        if let Some(url) = line.trim_end().strip_prefix("live page: ") {
            break port_in(url);
        }
    };
    Begun { child, said, port }
}

impl Begun {
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.said.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

/// The processes that serve the page of the run in a directory.
fn servers_of(place: &Place, dir: &str) -> Vec<i32> {
    let path = place.path(dir);
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let command = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = command.split(|byte| *byte == 0).collect();
        let here = std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| path.starts_with(cwd));
        if here && words.get(1) == Some(&b"live".as_slice()) && words.contains(&b"--inherited".as_slice()) {
            found.push(pid);
        }
    }
    found
}

fn kill(pid: i32) {
    // SAFETY: the process serves the page of this test's run.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

#[test]
fn a_run_is_shown_while_it_goes_on_and_some_time_behind_its_end() {
    let place = Place::new();
    let run = [
        "run",
        "random-read",
        "null:1GiB",
        "--for",
        "4s",
        "--slice",
        "2s",
        "--warm-up",
        "1s",
        "--out",
        "run",
        "--live",
        "--linger",
        "3s",
    ];
    let begun = begin(&place, &run);
    let port = begun.port;
    let mut events = Events::open(port);
    let mut kinds: Vec<String> = Vec::new();
    let mut last = None;
    while let Some(event) = events.next() {
        let standing = &event.data["standing"];
        assert!(standing["ended"] == true || standing["word"] != "PASS", "{}", event.data);
        if kinds.last() != Some(&event.kind) {
            kinds.push(event.kind.clone());
        }
        last = Some(event);
    }
    let (code, said) = begun.end();
    let last = last.unwrap();
    assert_eq!((kinds[0].as_str(), last.kind.as_str()), ("snapshot", "end"), "{kinds:?}");
    let judgement = place.assay(&["judge", "run", "--json"]).json();
    assert_eq!(last.data["standing"]["word"], judgement["verdict"], "{said}");
    assert!(matches!(code, Some(0 | 10 | 11)) && !said.contains("warning: the live page"), "{code:?} {said}");
    until("its page is gone", || servers_of(&place, "run").is_empty());
    // A process that ends has lost its command line before its sockets.
    until("nobody listens there", || std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn an_address_that_is_taken_ends_a_command_before_anything_is_opened() {
    let place = Place::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let live = format!("--live={}", taken.local_addr().unwrap());
    for args in [
        &["run", "act-storage", "new.img", "--create", "16MiB", "--for", "2s", &live][..],
        &["certify", "--quick", &live],
        &["limit", "random-read", "sim:flash", "--for", "2s", &live],
        &["curve", "random-read", "sim:flash", "--for", "2s", &live],
    ] {
        let said = place.assay(args);
        assert_eq!(said.code, Some(5), "{args:?}: {said:?}");
        assert!(said.err.contains("nobody can listen on 127.0.0.1"), "{args:?}: {said:?}");
        assert_eq!(place.left(&["state"]), [""; 0], "{args:?}");
    }
    for (args, word) in [
        (&["run", "random-read", "null:1GiB", "--live=0.0.0.0:0"][..], "--insecure-listen"),
        (&["run", "random-read", "null:1GiB", "--linger", "1s"], "add it"),
        (&["run", "random-read", "null:1GiB", "--live=here"], "127.0.0.1:8080"),
    ] {
        let said = place.assay(args);
        assert!(said.code == Some(2) && said.err.contains(word), "{args:?}: {said:?}");
    }
}

#[test]
fn a_page_that_is_killed_costs_a_warning_and_nothing_else() {
    let place = Place::new();
    let run = ["run", "random-read", "null:1GiB", "--for", "5s", "--slice", "2s", "--out", "run", "--live"];
    let begun = begin(&place, &run);
    until("its first line", || get(begun.port, "/snapshot.json").json()["lines"] != 0);
    let servers = servers_of(&place, "run");
    assert_eq!(servers.len(), 1);
    let nice = std::fs::read_to_string(format!("/proc/{}/stat", servers[0])).unwrap();
    let threads = std::fs::read_dir(format!("/proc/{}/task", servers[0])).unwrap().flatten();
    let idle = threads.filter(|thread| {
        let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').nth(16) == Some("19")
    });
    assert!(idle.count() >= 2, "its threads have the lowest priority: {nice}");
    kill(servers[0]);
    let (code, said) = begun.end();
    assert_eq!(said.matches("warning: the live page is not served any more").count(), 1, "{said}");
    assert!(said.contains("assay live run serves it again"), "{said}");
    let judgement = place.assay(&["judge", "run", "--json"]).json();
    assert!(matches!(code, Some(0 | 10 | 11)), "{said}");
    assert_eq!(judgement["closed"], "completed", "the log is complete");
}

#[test]
fn procedures_of_several_runs_are_shown_with_all_of_them() {
    let place = Place::new();
    for (name, args) in [
        (
            "limit",
            &["limit", "act-storage", "sim:flash", "--for", "4s", "--seed", "1", "--from", "8x", "--to", "64x"][..],
        ),
        (
            "curve",
            &[
                "curve",
                "act-storage",
                "sim:flash",
                "--for",
                "4s",
                "--seed",
                "1",
                "--max",
                "20x",
                "--points",
                "50%,100%",
            ],
        ),
        ("certify", &["certify", "sim:flash", "--for", "4s", "--seed", "1"]),
    ] {
        let begun = begin(&place, &[args, &["--out", name, "--live", "--linger", "30s"]].concat());
        let mut snapshot = serde_json::Value::Null;
        let (_, said) = {
            let port = begun.port;
            let ended = begun.end();
            until("the end of it", || {
                snapshot = get(port, "/snapshot.json").json();
                snapshot["over"] == true
            });
            ended
        };
        let runs = snapshot["runs"].as_array().unwrap().len();
        let expected = std::fs::read_dir(place.path(name))
            .unwrap()
            .flatten()
            .filter(|entry| entry.path().join("run.jsonl").exists())
            .count();
        assert_eq!(runs, expected.max(1), "{name}: {said}");
        assert!(snapshot["runs"].as_array().unwrap().iter().all(|run| run["verdict"].is_string()), "{snapshot}");
        servers_of(&place, name).into_iter().for_each(kill);
    }
}

#[test]
fn the_first_of_several_ranks_serves_the_page_of_all() {
    let place = Place::new();
    for (name, args) in [
        ("run", &["run", "random-read", "null:1GiB", "--for", "3s", "--slice", "1s"][..]),
        ("limit", &["limit", "random-read", "null:1GiB", "--for", "2s", "--from", "1x", "--to", "2x"]),
        ("curve", &["curve", "random-read", "null:1GiB", "--for", "2s", "--max", "2x", "--points", "50%,100%"]),
    ] {
        let begun = begin(&place, &[args, &["--local", "2", "--out", name, "--live", "--linger", "30s"]].concat());
        let port = begun.port;
        let (code, said) = begun.end();
        assert!(matches!(code, Some(0 | 10 | 11 | 12)), "{name}: {code:?} {said}");
        let mut snapshot = serde_json::Value::Null;
        until("the end of it", || {
            snapshot = get(port, "/snapshot.json").json();
            snapshot["over"] == true
        });
        assert_eq!(snapshot["run"]["hosts"].as_array().unwrap().len(), 2, "{name}: the log of all: {said}");
        let logs = std::fs::read_dir(place.path(name)).unwrap().flatten();
        let logs = logs.filter(|entry| entry.path().join("run.jsonl").exists()).count();
        let single = place.path(name).join("run.jsonl").exists();
        assert_eq!(snapshot["runs"].as_array().unwrap().len(), if single { 1 } else { logs }, "{name}");
        servers_of(&place, name).into_iter().for_each(kill);
    }
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let live = format!("--live={}", taken.local_addr().unwrap());
    let said = place.assay(&["run", "random-read", "null:1GiB", "--for", "1s", "--local", "2", "--out", "none", &live]);
    assert!(said.code == Some(5) && !place.path("none").exists(), "{said:?}");
}
