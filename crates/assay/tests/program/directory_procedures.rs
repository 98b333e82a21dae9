//! Procedures of several runs on a directory: the highest load, the curve, two runs compared, a certification.

use super::bed::{Place, in_one_line, until};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Messages that may not be late, on a small tree.
const MESSAGES: &str = r#"
name = "messages"
model = "files"
clients = 3
rate = "40/s"
arrival = "steady"
stands_for = "8 mailboxes"
duration = "1s"
slice = "1s"
interval = "250ms"
cache = "warm"
io = "4KiB"
[tree]
files = 60
size = "8KiB"
[[do]]
name = "deliver"
steps = [["create", "write", "fsync", "close"], ["unlink"]]
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
share = 3
[[criterion]]
stream = "deliver"
share_over = "2s"
at_most = "0%"
window = "1s"
"#;

fn place() -> Place {
    let place = Place::new();
    place.write("w.toml", MESSAGES);
    fs::create_dir(place.path("data")).unwrap();
    place
}

fn entries(place: &Place) -> Vec<PathBuf> {
    fs::read_dir(place.path("data")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

fn json_of(place: &Place, path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(place.path(path)).unwrap()).unwrap()
}

#[test]
fn the_highest_load_of_a_directory_is_also_said_in_what_its_users_count() {
    let place = place();
    let said = place.assay(&["limit", "w.toml", "data", "--from", "1x", "--to", "2x", "--out", "limit"]);
    let path = json_of(&place, "limit/limit.json");
    assert_eq!(path["counted"]["name"], "mailboxes");
    let runs = path["runs"].as_array().unwrap();
    assert!(!runs.is_empty() && runs.iter().all(|run| run["verdict"].is_string()), "{said:?}");
    assert!(said.out.contains("mailboxes"), "{}", said.out);
    if said.code == Some(0) {
        let told = in_one_line(&said.out);
        assert!(told.contains("2x is 16 mailboxes") || told.contains("is 8 mailboxes"), "{told}");
    }
    assert!(entries(&place).is_empty(), "each run removes its tree: {:?}", entries(&place));
}

#[test]
fn a_curve_of_a_directory_has_its_points() {
    let place = place();
    let said = place.assay(&["curve", "w.toml", "data", "--max", "2x", "--points", "50%,100%", "--out", "curve"]);
    let curve = json_of(&place, "curve/curve.json");
    assert_eq!(curve["points"].as_array().map(Vec::len), Some(2), "{said:?}");
    assert!(entries(&place).is_empty(), "{:?}", entries(&place));
}

#[test]
fn two_runs_on_directories_are_compared_stream_by_stream() {
    let place = place();
    for out in ["a", "b"] {
        let said = place.assay(&["run", "w.toml", "data", "--out", out]);
        assert!(said.passed_or_late(), "{said:?}");
    }
    let said = place.assay(&["compare", "a", "b"]);
    for stream in ["deliver", "look", "fsync"] {
        assert!(said.out.contains(stream), "{stream}: {said:?}");
    }
}

#[test]
fn what_cannot_be_offered_at_several_loads_says_what_can_be_done() {
    let place = place();
    for (args, code, told) in [
        (&["limit", "mailspool", "data"][..], 3, "assay workloads mailspool > mine.toml"),
        (&["curve", "mailspool", "data"], 3, "closed = true"),
        (&["limit", "bonnie", "data"], 3, "bonnie has 11 phases"),
        (&["certify", "data"], 4, "assay certify media data"),
        (&["certify", "mailspool", "data"], 3, "has no criteria"),
        (&["certify", "bonnie", "data"], 3, "criteria"),
        (&["certify", "media", "w.toml"], 2, "name a directory"),
    ] {
        let said = place.assay(args);
        let err = in_one_line(&said.err);
        assert!(said.code == Some(code) && err.contains(told), "{args:?}: {said:?}");
        assert!(entries(&place).is_empty(), "{args:?}");
    }
}

#[test]
fn a_directory_is_certified_by_a_load_and_a_stress_step() {
    let place = place();
    let said = place.assay(&["certify", "w.toml", "data", "--keep-going", "--out", "run"]);
    let verdict = said.is_of_verdict(&place.path("run"));
    assert!(said.out.starts_with(&verdict), "{}", said.out);
    let json = json_of(&place, "run/verdict.json");
    let steps: Vec<(bool, &str)> = json["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| (step["stress"].as_bool().unwrap(), step["load"].as_str().unwrap()))
        .collect();
    assert_eq!(steps, [(false, "1x"), (true, "2x")]);
    assert_eq!(json["steps"][0]["title"], "load test at 1x, one directory");
    let marks = json["watermarks"].to_string();
    assert!(marks.contains("METADATA WARM"), "{marks}");
    assert!(entries(&place).is_empty(), "each step removes its tree: {:?}", entries(&place));
    // The log says the same once more.
    assert_eq!(place.assay(&["judge", "run/run.jsonl"]).code, said.code);
}

#[test]
fn a_certification_of_a_directory_is_explained_without_a_preparation() {
    let place = place();
    let said = place.assay(&["explain", "certify", "w.toml", "data"]);
    assert!(said.code == Some(0) && said.out.contains("stress test at 2x, one directory"), "{said:?}");
    assert!(!said.out.contains("assay prep") && said.out.contains("a directory of its own"), "{}", said.out);
    assert!(entries(&place).is_empty());
}

#[test]
fn memory_is_never_certified() {
    let place = Place::in_memory();
    place.write("w.toml", MESSAGES);
    let mount = tempfile::tempdir_in("/tmp").unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64m", "assay-test"])
        .arg(mount.path())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no tmpfs can be mounted");
        return;
    }
    let said = place.assay(&["certify", "w.toml", mount.path().to_str().unwrap(), "--out", "run"]);
    let unmounted = std::process::Command::new("umount").arg(mount.path()).status().unwrap();
    assert!(unmounted.success());
    let marks = json_of(&place, "run/verdict.json")["watermarks"].to_string();
    assert!(marks.contains("NON-CERTIFIABLE: tmpfs is memory"), "{said:?} {marks}");
}

#[test]
fn a_certification_of_a_directory_is_cut_short_and_removes_its_tree() {
    let place = place();
    let running = place.start(&["certify", "w.toml", "data", "--for", "60s", "--slice", "1s"], 2);
    running.signal(libc::SIGTERM);
    let said = running.end();
    assert_eq!(said.code, Some(12), "{said:?}");
    assert!(entries(&place).is_empty(), "{:?}", entries(&place));
    let json = json_of(&place, "run/verdict.json");
    assert_eq!(json["verdict"], "INCOMPLETE");
}

#[test]
fn a_killed_certification_of_a_directory_never_passes_and_leaves_what_clean_removes() {
    let place = place();
    let running = place.start(&["certify", "w.toml", "data", "--for", "60s", "--slice", "1s"], 2);
    running.signal(libc::SIGKILL);
    assert_eq!(running.end_with_signal(), Some(libc::SIGKILL));
    let judged = place.assay(&["judge", "run/run.jsonl"]);
    assert!(judged.code == Some(12), "{judged:?}");
    until("the process of the calls has ended", || place.assay(&["clean", "data"]).code == Some(0));
    assert!(entries(&place).is_empty(), "{:?}", entries(&place));
}
