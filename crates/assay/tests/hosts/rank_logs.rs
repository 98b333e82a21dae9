//! The ranks' own logs beside the log of all: cut, moved, missing, replaced and changed ones, when they are merged and when the log of
//! all is judged.

use crate::hosts::{Mpi, told};
use crate::joint_runs::{Place, WORKLOAD, lines_of_kind};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn assay(words: &[&str], directory: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(directory).args(words).stdin(Stdio::null()).output().unwrap()
}

/// A run of three ranks that passes, and a copy of a rank's log of another one.
struct Run {
    place: Place,
    root: std::path::PathBuf,
}

impl Run {
    fn of_workload(text: &str, code: i32) -> Run {
        let place = Place::with_workload(text);
        let output = place.run("--local 3", "run");
        assert_eq!(output.status.code(), Some(code), "{}", told(&output));
        let root = place.path("");
        Run { place, root }
    }

    fn judge(&self) -> Output {
        assay(&["judge", "run"], &self.root)
    }

    fn merge(&self, out: &str) -> Output {
        assay(&["merge", "run", "--out", out], &self.root)
    }

    fn log_of_rank(&self, rank: usize) -> std::path::PathBuf {
        self.place.path(&format!("run/hosts/{rank:04}/run.jsonl"))
    }
}

/// What a result says, in one line.
fn words(output: &Output) -> String {
    told(output).split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// The log of all ends before those of the ranks do, as after a kill: what it has is right.
#[test]
fn a_log_of_all_that_was_cut_off_is_what_the_ranks_begin_with() {
    let run = Run::of_workload(WORKLOAD, 0);
    let joint = run.place.path("run/run.jsonl");
    let text = std::fs::read_to_string(&joint).unwrap();
    let intervals = lines_of_kind(&joint, &["interval"]).len();
    let at = text.match_indices("\"kind\":\"interval\"").nth(7).unwrap().0;
    let begin = text[..at].rfind('\n').unwrap() + 1;
    for cut in [begin, begin + 30] {
        std::fs::write(&joint, &text[..cut]).unwrap();
        let output = run.merge(&format!("cut-{cut}.jsonl"));
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
        let expected = format!("7 intervals, {} lines", lines_of_kind_whole(&text[..cut], "histograms"));
        assert!(words(&output).contains(&expected), "{expected}: {}", told(&output));
        let more = format!("the ranks' logs have {} intervals more", intervals - 7);
        assert!(words(&output).contains(&more), "{more}: {}", told(&output));
        let judged = run.judge();
        assert_eq!(judged.status.code(), Some(12), "{}", told(&judged));
        assert!(!words(&judged).contains("own log"), "nothing is wrong with the ranks' logs: {}", told(&judged));
    }
}

fn lines_of_kind_whole(text: &str, kind: &str) -> usize {
    text.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).count()
}

/// What is missing is named and changes no verdict: the log of all stands for itself.
#[test]
fn a_missing_or_cut_log_of_a_rank_is_named() {
    let run = Run::of_workload(WORKLOAD, 0);
    assert!(!words(&run.judge()).contains("own log"), "{}", told(&run.judge()));
    let own = run.log_of_rank(1);
    let text = std::fs::read_to_string(&own).unwrap();
    let kept: Vec<&str> = text.lines().take(6).collect();
    std::fs::write(&own, kept.join("\n") + "\n").unwrap();
    let judged = run.judge();
    assert_eq!(judged.status.code(), Some(0), "{}", told(&judged));
    let (left, all) =
        (lines_of_kind(&own, &["interval"]).len(), lines_of_kind(&run.log_of_rank(0), &["interval"]).len());
    let says = format!("the own log of rank 1 has {left} of {all} intervals");
    assert!(words(&judged).contains(&says), "{says}: {}", told(&judged));
    let merged = run.merge("cut.jsonl");
    assert_eq!(merged.status.code(), Some(11), "{}", told(&merged));
    assert!(words(&merged).contains("intervals more than the ranks' logs"), "{}", told(&merged));

    std::fs::remove_file(&own).unwrap();
    let judged = run.judge();
    assert_eq!(judged.status.code(), Some(0), "{}", told(&judged));
    assert!(words(&judged).contains("rank 1 of 3: the own log is not at hand in run/hosts"), "{}", told(&judged));
    let merged = run.merge("missing.jsonl");
    assert_eq!(merged.status.code(), Some(3), "{}", told(&merged));
    assert!(words(&merged).contains("lacks the own log of rank 1"), "{}", told(&merged));
    assert!(!run.place.path("missing.jsonl").exists(), "nothing is made");

    // The last one is missed too, by the log of all, and without it by the parts of the load.
    std::fs::write(&own, &text).unwrap();
    std::fs::remove_dir_all(run.log_of_rank(2).parent().unwrap()).unwrap();
    let merged = run.merge("last.jsonl");
    assert!(words(&merged).contains("lacks the own log of rank 2"), "{}", told(&merged));
    std::fs::remove_file(run.place.path("run/run.jsonl")).unwrap();
    let merged = run.merge("last.jsonl");
    assert_eq!(merged.status.code(), Some(3), "{}", told(&merged));
    assert!(words(&merged).contains("the logs of ranks 0 to 1 carry 2 of 3 parts"), "{}", told(&merged));

    // All of them elsewhere, as on hosts without a common directory.
    let run = Run::of_workload(WORKLOAD, 0);
    for rank in 0..3 {
        std::fs::remove_file(run.log_of_rank(rank)).unwrap();
    }
    let judged = run.judge();
    assert_eq!(judged.status.code(), Some(0), "{}", told(&judged));
    assert!(words(&judged).contains("ranks 0 to 2 of 3: the own log is not at hand"), "{}", told(&judged));
}

/// Another log in the place of a rank's, and other numbers in it, make the result prove nothing; a FAIL stays one.
#[test]
fn a_log_of_a_rank_that_contradicts_the_log_of_all_proves_nothing() {
    let failing = WORKLOAD.replace("p99_at_most = \"50ms\"", "p99_at_most = \"1us\"");
    for (workload, before, after) in [(WORKLOAD, 0, 11), (&failing, 10, 10)] {
        let run = Run::of_workload(workload, before);
        let faster = Run::of_workload(&workload.replace("rate = \"150/s\"", "rate = \"151/s\""), before);
        let logs = [0, 1, 2].map(|rank| std::fs::read(run.log_of_rank(rank)).unwrap());
        let other_numbers = std::fs::read(faster.log_of_rank(1)).unwrap();
        for (content, says) in [
            (&other_numbers, "the ranks' own logs contradict the log of all: they differ at interval"),
            (&logs[2], "run.jsonl is not the log of rank 1 of this run"),
        ] {
            std::fs::write(run.log_of_rank(1), content).unwrap();
            let judged = run.judge();
            assert_eq!(judged.status.code(), Some(after), "{}", told(&judged));
            assert!(words(&judged).contains(says), "{says}: {}", told(&judged));
            std::fs::write(run.log_of_rank(1), &logs[1]).unwrap();
            assert_eq!(run.judge().status.code(), Some(before));
        }
        std::fs::write(run.log_of_rank(1), &logs[2]).unwrap();
        let merged = run.merge("other.jsonl");
        assert_eq!(merged.status.code(), Some(3), "{}", told(&merged));
        assert!(words(&merged).contains("is the log of rank 2, where that of rank 1 belongs"), "{}", told(&merged));
    }
}

const IN_REAL_TIME: &str = r#"
name = "null"
model = "streams"
duration = "4s"
slice = "1s"
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "100/s"
"#;

/// A rank notices itself what somebody does to its log while the run goes on, on whichever host that is.
#[test]
fn what_happens_to_a_log_of_a_rank_during_the_run_is_told() {
    type Change = fn(&Path);
    let changes: [(Change, &str, bool); 3] = [
        (|log| std::fs::rename(log, log.with_file_name("away.jsonl")).unwrap(), "was moved, replaced or deleted", true),
        (|log| std::fs::File::options().write(true).open(log).unwrap().set_len(100).unwrap(), "was cut", false),
        (
            |log| std::fs::rename(log.parent().unwrap(), log.parent().unwrap().with_file_name("away")).unwrap(),
            "was moved away",
            false,
        ),
    ];
    for (change, says, is_rescued) in changes {
        let place = Place::with_workload(IN_REAL_TIME);
        let root = place.path("");
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(&root).args(["run", "three.toml", "null:1GiB", "--local", "2", "--out", "run"]);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let own = root.join("run/hosts/0001/run.jsonl");
        let since = Instant::now();
        while !own.exists() || lines_of_kind_whole(&std::fs::read_to_string(&own).unwrap(), "interval") < 2 {
            assert!(since.elapsed() < Duration::from_secs(60), "the run does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        change(&own);
        let output = child.wait_with_output().unwrap();
        let verdict: Value = serde_json::from_slice(&std::fs::read(root.join("run/verdict.json")).unwrap()).unwrap();
        let warnings = verdict["warnings"].to_string();
        assert!(warnings.contains(says) && warnings.contains("the own log of this rank"), "{says}: {}", told(&output));
        assert_eq!(own.with_file_name("run-rescued.jsonl").exists(), is_rescued, "{says}");
    }
}

/// What every rank would say before the run is said once.
#[test]
fn what_all_ranks_would_say_is_said_once() {
    for mpi in Mpi::all_installed() {
        let place = Place::with_workload(IN_REAL_TIME);
        let file = place.path("blank.img");
        std::fs::File::create(&file).unwrap().set_len(16 << 20).unwrap();
        let words =
            ["run", &place.workload.display().to_string(), &file.display().to_string(), "--hosts", "3", "--out"];
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        words.push(place.path("run").display().to_string());
        let output = mpi.command(3, &words).output().unwrap();
        let text = told(&output);
        assert_eq!(text.matches("nothing was ever written to").count(), 1, "{}: {text}", mpi.name);
        assert!(!text.contains("(rank"), "all of them say it: {text}");
    }
}
