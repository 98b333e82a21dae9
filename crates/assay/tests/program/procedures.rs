//! Procedures of several runs, continued from every state in which a kill may leave their directory, and after runs that prove
//! nothing: what failed is neither forgotten nor measured again.
//!
//! The targets are simulated but for directories, and the logs are cut and added to by hand; `faults/procedures.rs` does the same with a real disk and
//! real kills.

use crate::bed::{Place, Said, until};
use assay_record::{Entry, Event, Writer};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};

const WORKLOAD: &str = r#"
name = "reads"
model = "streams"
duration = "2s"
slice = "1s"
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "100/s"
[[criterion]]
stream = "reads"
share_over = "1s"
at_most = "50%"
"#;

const TILES: &str = r#"
[[tile]]
size = "1GiB"
use = [{ workload = "w.toml" }]
"#;

const PROFILE: &str = r#"
name = "p"
model = "profile"
[[application]]
name = "a"
[application.reads]
rate = "50/s"
sizes = [["4KiB", "100%"]]
[[iostat]]
drive = "sda"
reads = "50/s"
"#;

/// A procedure: its command, the directory of its document and the document's name, the member that lists its runs, and the directory
/// of a run of it.
struct Procedure {
    command: &'static [&'static str],
    document: &'static str,
    lists: &'static str,
    run: &'static str,
}

const PROCEDURES: [Procedure; 9] = [
    Procedure {
        command: &["limit", "w.toml", "sim:flash", "--from", "1x", "--to", "2x"],
        document: "limit.json",
        lists: "runs",
        run: "01-1x",
    },
    Procedure {
        command: &["limit", "tiles.toml", "sim:flash", "--tiles", "--to", "2"],
        document: "limit.json",
        lists: "runs",
        run: "01-1x",
    },
    Procedure {
        command: &["curve", "w.toml", "sim:flash", "--max", "2x", "--points", "50%,100%", "--runs", "each"],
        document: "curve.json",
        lists: "points",
        run: "01-1x",
    },
    Procedure {
        command: &["curve", "w.toml", "sim:flash", "--max", "2x", "--points", "50%,100%", "--runs", "one"],
        document: "curve.json",
        lists: "points",
        run: "ramp",
    },
    Procedure {
        command: &["curve", "w.toml", "sim:flash", "--from", "1x", "--to", "2x", "--points", "100%"],
        document: "maximum/limit.json",
        lists: "runs",
        run: "maximum/01-1x",
    },
    Procedure {
        command: &["matrix", "orion", "sim:flash", "--disks", "1"],
        document: "matrix.json",
        lists: "points",
        run: "small-001-large-000",
    },
    Procedure {
        command: &["fit", "profile.toml", "sim:flash", "--rounds", "1"],
        document: "fit.json",
        lists: "rounds",
        run: "01",
    },
    Procedure {
        command: &["size", "profile.toml", "sim:flash", "--fit-for", "2s", "--to", "1x"],
        document: "01-sim-flash/limit/limit.json",
        lists: "runs",
        run: "01-sim-flash/limit/01-1x",
    },
    // Nothing is simulated for directories: this one is on two real ones.
    Procedure {
        command: &[
            "suite",
            "mounts",
            "one=a.d",
            "two=b.d",
            "--workloads",
            "files.toml",
            "--rounds",
            "1",
            "--memory",
            "none",
        ],
        document: "suite.json",
        lists: "runs",
        run: "one-files-round-1",
    },
];

const FILES: &str = r#"
name = "files"
model = "files"
clients = 2
closed = true
duration = "2s"
slice = "1s"
cache = "warm"
[tree]
files = 40
size = "4KiB"
[[do]]
name = "look"
steps = ["stat", "open", "read", "close"]
"#;

impl Procedure {
    fn place() -> Place {
        let place = Place::new();
        place.write("w.toml", WORKLOAD);
        place.write("profile.toml", PROFILE);
        place.write("files.toml", FILES);
        place.write("tiles.toml", TILES);
        ["a.d", "b.d"].iter().for_each(|name| fs::create_dir(place.path(name)).unwrap());
        place
    }

    fn call(&self, place: &Place, more: &[&str]) -> Said {
        let lengths = ["--for", "2s", "--slice", "1s", "--warm-up", "0s", "--json"];
        place.assay(&[self.command, &lengths, more].concat())
    }

    /// The state before the first run ended: the document has none.
    fn forgets_its_runs(&self, place: &Place, dir: &str) {
        for name in [self.document, "curve.json"] {
            let path = place.path(dir).join(name);
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let mut document: Value = serde_json::from_str(&text).unwrap();
            let lists = if name == self.document { self.lists } else { "points" };
            document[lists] = json!([]);
            if document.get("outcome").is_some() {
                document["outcome"] = Value::Null;
            }
            if self.document == "maximum/limit.json" && name == "curve.json" {
                document["maximum"] = Value::Null;
            }
            fs::write(path, document.to_string()).unwrap();
        }
    }
}

/// Cuts a log behind its first two lines, and adds an operation that failed, where one did.
pub(super) fn cut(log: &Path, failed: bool) {
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').take(2).collect();
    let mut writer = Writer::new(lines.concat().into_bytes(), lines.len() as u64);
    if failed {
        let details = [("flow", "0"), ("errno", "5")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        let (what, text) = ("io-error".into(), "an operation failed with EIO".to_owned());
        writer.write_entry(&Entry::Event(Event { at_ns: 1, what, text, details: details.into() })).unwrap();
    }
    fs::write(log, writer.into_inner()).unwrap();
    // What the killed program did not leave.
    for left in ["verdict.json", "report.html"] {
        let _ = fs::remove_file(log.with_file_name(left));
    }
}

fn copied(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        match entry.path().is_dir() {
            true => copied(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// Killed in a run: what it had recorded decides, whether the document knows it or not, and whatever other runs say.
#[test]
fn whatever_a_kill_leaves_a_failure_is_taken_over_and_nothing_else_is_lost() {
    for procedure in &PROCEDURES {
        let place = Procedure::place();
        let whole = procedure.call(&place, &["--out", "whole"]);
        let told = format!("{:?}: {}{}", procedure.command, whole.out, whole.err);
        assert_eq!(whole.code, Some(0), "{told}");
        assert!(!whole.out.contains("\"failures\"") && !whole.out.contains("\"repeated\""), "{told}");
        for (name, failed, forgotten) in
            [("a", false, true), ("b", true, true), ("c", true, false), ("d", false, false)]
        {
            copied(&place.path("whole"), &place.path(name));
            let log = place.path(name).join(procedure.run).join("run.jsonl");
            cut(&log, failed);
            if forgotten {
                procedure.forgets_its_runs(&place, name);
            }
            let before = fs::read(&log).unwrap();
            let said = procedure.call(&place, &["--resume", name]);
            let told = format!("{:?} {failed} {forgotten}: {}{}", procedure.command, said.out, said.err);
            assert_eq!(said.code, Some(if failed { 10 } else { 0 }), "{told}");
            assert_eq!(said.out.contains("1 EIO"), failed, "{told}");
            assert_eq!(fs::read(&log).unwrap(), before, "{told}");
            assert!(log.with_file_name("report.html").exists(), "its result is left: {told}");
            let failures = said.out.contains("\"failures\"");
            assert_eq!(failures, failed, "{told}");
            // Once more: the result is the same, whoever has removed what failed.
            let again = procedure.call(&place, &["--resume", name]);
            assert_eq!((again.code, again.json()), (said.code, said.json()), "{told}");
            if failed {
                fs::remove_dir_all(log.parent().unwrap()).unwrap();
                let again = procedure.call(&place, &["--resume", name]);
                assert_eq!((again.code, again.out.contains("1 EIO")), (Some(10), true), "{told}: {}", again.err);
            }
        }
    }
}

/// A run that is whole was not forgotten, even if the program was killed before the document had it.
#[test]
fn what_was_measured_to_its_end_is_not_measured_again() {
    for procedure in &PROCEDURES {
        // Which knobs a round had is in no log.
        if procedure.lists == "rounds" {
            continue;
        }
        let place = Procedure::place();
        let whole = procedure.call(&place, &["--out", "p"]);
        let runs = |place: &Place| -> Vec<PathBuf> {
            let dir = place.path("p").join(procedure.document).parent().unwrap().to_path_buf();
            let mut runs: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
            runs.retain(|run| run.join("run.jsonl").exists());
            runs.sort();
            runs
        };
        let before = runs(&place);
        procedure.forgets_its_runs(&place, "p");
        let said = procedure.call(&place, &["--resume", "p"]);
        assert_eq!((said.code, runs(&place)), (whole.code, before), "{:?}: {}", procedure.command, said.err);
        let (mut said, mut whole) = (said.json(), whole.json());
        for document in [&mut said, &mut whole] {
            document.as_object_mut().unwrap().remove("devices");
        }
        assert_eq!(said, whole, "{:?}", procedure.command);
    }
}

/// A disk with one head: 64 of the 74 reads per second that it carries wait for longer than they may, and in the last phase there is no
/// read at all, so that it proves nothing.
#[test]
fn a_ramp_that_failed_is_not_measured_again_where_another_point_proves_nothing() {
    let place = Place::new();
    let load = WORKLOAD
        .replace("100/s", "40/s")
        .replace("share_over = \"1s\"\nat_most = \"50%\"", "measure = \"response\"\nmean_at_most = \"20ms\"");
    place.write("w.toml", &load);
    let command =
        ["curve", "w.toml", "sim:disk", "--max", "1.6x", "--points", "0.1%,0.2%,100%", "--runs", "one", "--json"];
    let lengths = ["--for", "5s", "--slice", "5s", "--warm-up", "0s"];
    let said = place.assay(&[&command[..], &lengths, &["--out", "p"]].concat());
    let curve = said.json();
    let verdicts: Vec<&str> =
        curve["points"].as_array().unwrap().iter().map(|it| it["verdict"].as_str().unwrap()).collect();
    assert_eq!((said.code, verdicts[0], verdicts[2]), (Some(10), "INVALID", "FAIL"), "{curve}");
    let resumed = place.assay(&[&command[..], &lengths, &["--resume", "p"]].concat());
    assert_eq!((resumed.code, resumed.json()), (Some(10), curve), "{}", resumed.err);
    assert!(place.path("p/ramp").exists() && !place.path("p/ramp-2").exists(), "it is not made again");
    // Another run of all points that passed, as an earlier version made it, does not change that.
    let passing = load.replace("20ms", "20s");
    place.write("w.toml", &passing);
    let other = place.assay(&[&command[..], &lengths, &["--out", "other"]].concat());
    assert_ne!(other.code, Some(10), "{}", other.err);
    place.write("w.toml", &load);
    copied(&place.path("other/ramp"), &place.path("p/ramp-2"));
    let text = place.assay(&[&command[..9], &lengths, &["--resume", "p"]].concat());
    assert_eq!(text.code, Some(10), "{}{}", text.out, text.err);
    let out = text.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(out.contains("100% (1.6x)") && out.contains("ramp-2 is not in the result"), "{}", text.out);
}

/// A point that proves nothing is measured twice in each call, and listed with what became of it.
#[test]
fn what_proves_nothing_is_repeated_and_the_result_says_so() {
    let place = Place::new();
    place.write("w.toml", WORKLOAD);
    let command = ["curve", "w.toml", "sim:flash", "--max", "1x", "--points", "0.1%,100%", "--runs", "each"];
    let lengths = ["--for", "1s", "--slice", "1s", "--warm-up", "0s"];
    let said = place.assay(&[&command[..], &lengths, &["--out", "p", "--json"]].concat());
    let directories = |curve: &Value| {
        let list = curve["repeated"].as_array().unwrap().iter();
        list.map(|run| run["directory"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!((said.code, directories(&said.json())), (Some(11), vec!["01-0.001x".to_owned()]), "{}", said.out);
    assert_eq!(said.json()["points"][0]["directory"], "01-0.001x-2");
    let text = place.assay(&[&command[..], &lengths, &["--resume", "p"]].concat());
    assert!(text.code == Some(11) && place.path("p/01-0.001x-4").exists(), "two more attempts: {}", text.err);
    assert!(!place.path("p/02-1x-2").exists(), "the other point stands");
    assert!(text.out.contains("01-0.001x-3 is not in the result: INVALID"), "{}", text.out);
}

#[test]
fn a_log_that_cannot_be_read_or_is_being_written_is_not_passed_over() {
    let procedure = &PROCEDURES[1];
    let place = Procedure::place();
    assert_eq!(procedure.call(&place, &["--out", "p"]).code, Some(0));
    let log = place.path("p/01-1x/run.jsonl");
    let whole = fs::read(&log).unwrap();
    let mut damaged = whole.clone();
    damaged[30] ^= 1;
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
    for (bytes, code) in [
        (damaged.as_slice(), 3),
        // What was killed before its first line was whole shows nothing.
        (&whole[..first], 0),
        (&[], 0),
    ] {
        fs::write(&log, bytes).unwrap();
        procedure.forgets_its_runs(&place, "p");
        let said = procedure.call(&place, &["--resume", "p"]);
        assert_eq!(said.code, Some(code), "{}{}", said.out, said.err);
        assert!(code == 0 || said.err.contains("cannot be taken over") && said.err.contains("01-1x"), "{}", said.err);
    }
    let long = ["curve", "w.toml", "null:1GiB", "--max", "1x", "--points", "100%", "--for", "60s", "--warm-up", "0s"];
    let running = place.begin(&[&long[..], &["--out", "long"]].concat());
    let log = place.path("long/01-1x/run.jsonl");
    until("the first line", || fs::read_to_string(&log).is_ok_and(|text| text.contains('\n')));
    let second = place.assay(&[&long[..], &["--resume", "long"]].concat());
    assert!(second.code == Some(5) && second.err.contains("another run is writing it"), "{second:?}");
    running.signal(libc::SIGKILL);
    running.end();
}
