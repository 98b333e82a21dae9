//! A run that continues without its terminal, and another terminal that follows it.

use super::bed::{Log, Place, Said, until};
use std::process::{Command, Stdio};

const RUN: [&str; 6] = ["run", "random-read", "null:1GiB", "--for", "3s", "--detach"];

/// The process id in the output of a detached command.
fn process(said: &Said) -> i32 {
    let after =
        said.out.split("as process ").nth(1).unwrap_or_else(|| panic!("no process in {} {}", said.out, said.err));
    after.split(';').next().unwrap().parse().unwrap()
}

/// Whether a process runs; one that has ended still exists as a zombie until somebody has waited for it.
fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

#[test]
fn a_detached_run_is_watched_to_its_verdict() {
    let place = Place::new();
    let said = place.assay(&[&RUN[..], &["--out", "run"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("assay watch run") && said.out.contains("run.txt"), "{}", said.out);
    let pid = process(&said);
    let watched = place.assay(&["watch", "run"]);
    until("its end", || !is_alive(pid));
    assert_eq!(watched.is_of_verdict(&place.path("run")), place.assay(&["judge", "run", "--json"]).json()["verdict"]);
    assert!(watched.err.contains("random-read at 1x for 5s"), "what is shown: {}", watched.err);
    let words = std::fs::read_to_string(place.path("run.txt")).unwrap();
    assert!(words.contains("results in run"), "{words}");
    // After the end of the run, `watch` does not wait.
    assert_eq!(
        place.assay(&["watch", "run/run.jsonl"]).out,
        watched.out.replace("assay report run", "assay report run/run.jsonl")
    );
}

#[test]
fn a_detached_run_survives_its_terminal_and_ends_in_good_order_by_a_signal() {
    let place = Place::new();
    let program = env!("CARGO_BIN_EXE_assay");
    // The shell is the leader of a session and of a process group; it sends a hang-up to that whole group, including
    // itself.
    let script = format!("{program} run random-read null:1GiB --for 10min --out run --detach > said; kill -HUP 0");
    let mut shell = Command::new("setsid");
    shell.args(["-w", "sh", "-c", &script]).current_dir(place.path("")).stdin(Stdio::null());
    let _ = shell.status().unwrap();
    let text = std::fs::read_to_string(place.path("said")).unwrap();
    let pid: i32 = text.split("as process ").nth(1).unwrap().split(';').next().unwrap().parse().unwrap();
    let intervals = || Log::of(&place.path("run")).intervals.len();
    let then = intervals();
    until("it goes on after the hang-up", || intervals() > then + 1);
    // SAFETY: the process is this test's run.
    unsafe { libc::kill(pid, libc::SIGTERM) };
    let watched = place.assay(&["watch", "run"]);
    assert_eq!(watched.code, Some(12), "{}", watched.out);
    until("its end", || !is_alive(pid));
    assert!(watched.out.starts_with("INCOMPLETE"), "{}", watched.out);
}

#[test]
fn a_run_that_goes_on_in_the_background_speaks_in_its_own_directory() {
    let place = Place::new();
    let run = ["run", "random-read", "null:1GiB", "--for", "3s", "--slice", "1s"];
    let running = place.start(&run, 2);
    running.signal(libc::SIGINT);
    running.end();
    // A file of somebody else beside the run directory, and a link inside it.
    place.write("run.txt", "notes");
    place.write("theirs", "notes");
    std::os::unix::fs::symlink(place.path("theirs"), place.path("run/said.txt")).unwrap();
    let resume = [&run[..], &["--resume", "run", "--detach"]].concat();
    let trapped = place.assay(&resume);
    assert_eq!(trapped.code, Some(5), "{}", trapped.err);
    assert!(trapped.err.contains("run/said.txt"), "{}", trapped.err);
    std::fs::remove_file(place.path("run/said.txt")).unwrap();
    let said = place.assay(&resume);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("its messages go to run/said.txt"), "{}", said.out);
    let pid = process(&said);
    until("its end", || !is_alive(pid));
    let read = |name: &str| std::fs::read_to_string(place.path(name)).unwrap();
    assert!(read("run/said.txt").contains("results in run"), "{}", read("run/said.txt"));
    assert_eq!((read("run.txt"), read("theirs")), ("notes".to_owned(), "notes".to_owned()));
    let again = place.assay(&resume);
    assert_eq!(again.code, Some(2), "{}", again.err);
    assert!(!again.err.contains("results in"), "only what is new: {}", again.err);
}

#[test]
fn searches_and_curves_go_on_in_the_background_too_and_are_watched() {
    for verb in [
        &["limit", "random-read", "null:1GiB", "--from", "1x"][..],
        &["curve", "random-read", "null:1GiB", "--max", "1x"],
    ] {
        let place = Place::new();
        let said = place.assay(&[verb, &["--for", "10min", "--out", "many", "--detach"]].concat());
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(said.out.contains("assay watch many"), "{}", said.out);
        let pid = process(&said);
        assert!(is_alive(pid), "ten minutes are not over");
        let mut watching = place.begin(&["watch", "many"]);
        std::thread::sleep(std::time::Duration::from_secs(1));
        assert!(watching.is_alive(), "it follows what goes on");
        // SAFETY: the process is this test's search.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        until("its end", || !is_alive(pid));
        let watched = watching.end();
        assert_eq!(watched.code, Some(12), "{watched:?}");
        assert!(watched.out.contains("random-read on null:1GiB"), "{watched:?}");
        assert!(watched.err.contains("random-read at "), "the run that went on: {watched:?}");
        let again = place.assay(&["watch", "many"]);
        assert_eq!((again.code, again.out), (Some(12), watched.out));
    }
}

#[test]
fn what_a_detached_run_is_can_be_read_by_a_program() {
    let place = Place::new();
    let json = place.assay(&[&RUN[..], &["--json", "--out", "run"]].concat()).json();
    assert_eq!((json["dir"].as_str(), json["said"].is_string()), (Some("run"), true), "{json}");
    let pid = json["process"].as_i64().unwrap() as i32;
    until("its end", || !is_alive(pid));
    assert!(place.path("run/verdict.json").exists());
}

#[test]
fn a_run_that_was_killed_is_told_from_one_that_goes_on() {
    let place = Place::new();
    let mut running = place.start(&["run", "random-read", "null:1GiB", "--for", "10min"], 2);
    let judged = place.assay(&["judge", "run"]);
    assert!(judged.err.contains("this run goes on") && judged.err.contains("assay watch run"), "{}", judged.err);
    let second = place.assay(&["run", "random-read", "null:1GiB", "--for", "10min", "--resume", "run"]);
    assert_eq!(second.code, Some(5), "{}", second.err);
    assert!(second.err.contains("another run is writing it"), "{}", second.err);
    running.signal(libc::SIGKILL);
    assert_eq!(place.assay(&["watch", "run"]).code, Some(12));
    assert!(!running.is_alive());
}

#[test]
fn what_cannot_begin_says_why_at_once() {
    let place = Place::new();
    for (args, code, says) in [
        (&["run", "no-such-workload", "null:1GiB", "--detach"][..], 3, "no-such-workload"),
        (&["run", "random-read", "/dev/null", "--detach", "--out", "run"][..], 4, "/dev/null"),
        (&["certify", "--detach", "--out", "run"][..], 2, "certify"),
    ] {
        let said = place.assay(args);
        assert_eq!(said.code, Some(code), "{}", said.err);
        assert!(said.err.contains(says) && said.out.is_empty(), "{} {}", said.out, said.err);
    }
    assert_eq!(place.left(&["state"]), ["assay-runs"], "only the directory of directories");
    let nothing = place.assay(&["watch", "run"]);
    assert_eq!(nothing.code, Some(3), "{}", nothing.err);
    assert!(nothing.err.contains("name a run directory"), "{}", nothing.err);
}
