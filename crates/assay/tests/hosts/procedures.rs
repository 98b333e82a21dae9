//! Procedures of several runs over several ranks: the first rank decides, all carry each run, and the path is the same however many
//! processes there are.

use crate::hosts::{Mpi, ranks_below, told};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Each part has a simulated device of its own, which carries a thousand operations a second: four parts carry four thousand.
const TARGET: &str = "sim:flash?iops=1000";

const WORKLOAD: &str = r#"
name = "searched"
model = "streams"
duration = "20s"
slice = "10s"
in_flight_bound = 256
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "500/s"
arrival = "poisson"
[[criterion]]
stream = "reads"
p99_at_most = "20ms"
"#;

struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    fn with_workload(text: &str) -> Place {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        std::fs::write(directory.path().join("searched.toml"), text).unwrap();
        Place { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn words(&self, verb: &str, target: &str, more: &str, out: &str) -> Vec<String> {
        let (workload, out) = (self.path("searched.toml").display().to_string(), self.path(out).display().to_string());
        let words = [verb.to_owned(), workload, target.to_owned()];
        let out = if more.contains("--resume") { Vec::new() } else { vec!["--out".to_owned(), out] };
        words.into_iter().chain(out).chain(more.split_whitespace().map(str::to_owned)).collect()
    }

    fn alone(&self, words: &[String]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_assay")).args(words).stdin(Stdio::null()).output().unwrap()
    }
}

fn document(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Load, verdict and reason of each run of a search.
fn runs_of(path: &Path) -> Vec<Value> {
    let found = document(path);
    let runs = found["runs"].as_array().unwrap().iter();
    runs.map(|run| serde_json::json!([run["load"], run["verdict"], run["reason"]])).collect()
}

/// Four parts carry four thousand operations a second, whoever has them.
#[test]
fn a_search_finds_the_same_however_many_ranks_carry_its_runs() {
    let place = Place::with_workload(WORKLOAD);
    let more = "--seed 3 --resolution 0.5x ";
    let output = place.alone(&place.words("limit", TARGET, &format!("{more}--local 4"), "local"));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let expected = runs_of(&place.path("local/limit.json"));
    let outcome = document(&place.path("local/limit.json"))["outcome"].clone();
    let (_, ended) = outcome.as_object().unwrap().iter().next().unwrap();
    let found: f64 = ended["passes"].as_str().unwrap().trim_end_matches('x').parse().unwrap();
    assert!((5.0..8.0).contains(&found), "8x are the 4000/s that four parts carry: {outcome}");
    for (number, mpi) in Mpi::all_installed().iter().enumerate() {
        for (ranks, workers) in [(4, 1), (2, 2)] {
            let out = format!("mpi{number}-{ranks}");
            let words = place.words("limit", TARGET, &format!("{more}--hosts {ranks} --workers {workers}"), &out);
            let output = mpi.command(ranks, &words).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}: {}", mpi.name, told(&output));
            assert_eq!(runs_of(&place.path(&out).join("limit.json")), expected, "{} with {ranks} ranks", mpi.name);
            // Only the first rank says anything, and each rank has left its log of each run.
            assert_eq!(told(&output).matches("each run measures").count(), 1, "{}", told(&output));
            let run = std::fs::read_dir(place.path(&out)).unwrap().filter_map(|entry| {
                let path = entry.unwrap().path();
                path.is_dir().then_some(path)
            });
            let runs: Vec<PathBuf> = run.collect();
            assert_eq!(runs.len(), expected.len());
            for run in runs {
                assert!((0..ranks).all(|rank| run.join(format!("hosts/{rank:04}/run.jsonl")).is_file()), "{run:?}");
            }
        }
    }
}

#[test]
fn a_curve_is_the_same_however_many_ranks_carry_its_runs() {
    let place = Place::with_workload(WORKLOAD);
    let more = "--seed 3 --max 4x --points 50%,100% ";
    let output = place.alone(&place.words("curve", TARGET, &format!("{more}--local 4"), "local"));
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let points = |out: &str| {
        let points = document(&place.path(out).join("curve.json"))["points"].clone();
        points
            .as_array()
            .unwrap()
            .iter()
            .map(|point| [&point["share"], &point["rate"], &point["verdict"]].map(Clone::clone))
            .collect::<Vec<_>>()
    };
    let expected = points("local");
    assert_eq!(expected.len(), 2);
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let output = mpi.command(4, &place.words("curve", TARGET, &format!("{more}--hosts 4"), "mpi")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    assert_eq!(points("mpi"), expected);
}

/// All steps of a certification are carried by all ranks, in one log, and the verdict is that of all steps.
#[test]
fn a_certification_is_the_same_however_many_ranks_carry_its_steps() {
    let place = Place::with_workload(WORKLOAD);
    let figures = |out: &str| {
        let verdict = document(&place.path(out).join("verdict.json"));
        let steps = verdict["steps"].as_array().unwrap().iter();
        let steps =
            steps.map(|step| serde_json::json!([step["title"], step["verdict"], step["reason"], step["criteria"]]));
        (verdict["verdict"].clone(), steps.collect::<Vec<Value>>())
    };
    let more = "--seed 3 --at 2x ";
    let words = |more: &str, out: &str| place.words("certify", TARGET, more, out);
    let output = place.alone(&words(&format!("{more}--local 4"), "local"));
    let expected = figures("local");
    assert_eq!((output.status.code(), &expected.0), (Some(0), &"PASS".into()), "{}", told(&output));
    assert!(expected.1.len() > 1, "{expected:?}");
    let verified = place.alone(&["merge".to_owned(), place.path("local").display().to_string()]);
    assert!(told(&verified).contains("the same as in"), "{}", told(&verified));
    // What was judged is judged so again; cut within the second step it is incomplete, and the ranks' logs do not contradict it.
    let judge = || place.alone(&["judge".to_owned(), place.path("local").display().to_string()]);
    assert_eq!(judge().status.code(), Some(0), "{}", told(&judge()));
    let log = place.path("local/run.jsonl");
    let text = std::fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&log, lines[..lines.len() - 6].concat()).unwrap();
    assert_eq!(judge().status.code(), Some(12), "{}", told(&judge()));
    assert!(!told(&judge()).contains("contradict"), "{}", told(&judge()));
    std::fs::write(&log, text).unwrap();
    for mpi in Mpi::all_installed().iter().take(2) {
        let output = mpi.command(4, &words(&format!("{more}--hosts 4"), "mpi")).output().unwrap();
        assert_eq!(
            (output.status.code(), figures("mpi")),
            (Some(0), expected.clone()),
            "{}: {}",
            mpi.name,
            told(&output)
        );
        std::fs::remove_dir_all(place.path("mpi")).unwrap();
    }
    // Four parts carry 8x, and not 12x.
    let output = place.alone(&words("--seed 3 --at 12x --local 4", "fails"));
    assert_eq!((output.status.code(), &figures("fails").0), (Some(10), &"FAIL".into()), "{}", told(&output));
    for (more, says) in [("--local 2 --quick", "--quick is for"), ("--local 2 --resume .", "--resume is for")] {
        let output = place.alone(&words(more, "refused"));
        assert!(output.status.code() == Some(2) && told(&output).contains(says), "{}", told(&output));
        assert!(!place.path("refused").exists());
    }
}

/// What cannot be searched by several ranks is refused by all of them, with one message and nothing made.
#[test]
fn what_ranks_cannot_search_is_refused_before_anything_is_made() {
    let place = Place::with_workload(WORKLOAD);
    let verifying = Place::with_workload(&WORKLOAD.replacen("model =", "verify = true\nmodel =", 1));
    let closed = Place::with_workload(&WORKLOAD.replace("rate = \"500/s\"\narrival = \"poisson\"", "in_flight = 8"));
    for (place, verb, target, more, code, says) in [
        (&place, "limit", TARGET, "--local 0", 2, "--local"),
        (&place, "curve", TARGET, "--local 2 --sessions 1,2", 2, "one process drives"),
        (&place, "limit", TARGET, "--local 300", 3, "fewer than the 300 parts"),
        (&place, "limit", TARGET, "--hosts 2", 2, "needs a launcher"),
        (&place, "limit", "dir:/tmp", "--local 2", 4, "dir:/tmp is a directory"),
        (&verifying, "limit", TARGET, "--local 2", 3, "cannot verify"),
        (&closed, "limit", TARGET, "--local 2", 3, "closed loop"),
    ] {
        let output = place.alone(&place.words(verb, target, more, "refused"));
        assert_eq!(output.status.code(), Some(code), "{verb} {more}: {}", told(&output));
        assert!(told(&output).contains(says), "{verb} {more}: {}", told(&output));
        assert!(!place.path("refused").exists(), "{verb} {more}");
    }
    // One rank that cannot plan keeps all from waiting.
    for mpi in Mpi::all_installed() {
        let good = place.words("limit", TARGET, "--hosts 2", "refused");
        let bad = place.words("limit", TARGET, "--hosts 2 --criterion nonsense", "refused");
        for [first, second] in [[&good, &bad], [&bad, &good]] {
            let output = mpi.command_of_two(first, second).output().unwrap();
            assert!(![Some(0), None].contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
            assert!(told(&output).contains("nonsense"), "{}: {}", mpi.name, told(&output));
            assert!(!place.path("refused").exists(), "{}", mpi.name);
        }
    }
}

/// A rank is killed in the second run: what was found stays, and the search is continued by all ranks.
#[test]
fn a_search_that_lost_a_rank_is_continued() {
    for mpi in Mpi::all_installed() {
        let place = Place::with_workload(
            &WORKLOAD.replace("duration = \"20s\"", "duration = \"3s\"").replace("\"10s\"", "\"1s\""),
        );
        // In real time, so that there is somebody to kill.
        let words = place.words("limit", "null:1GiB", "--seed 3 --hosts 3 --from 1x --to 2x", "search");
        let launcher = mpi.command(3, &words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let second = || {
            let entries = std::fs::read_dir(place.path("search")).ok()?;
            let mut runs: Vec<PathBuf> =
                entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.is_dir()).collect();
            runs.sort();
            let log = runs.get(1)?.join("run.jsonl");
            std::fs::read_to_string(log).ok().filter(|text| text.matches('\n').count() > 2)
        };
        let since = Instant::now();
        while second().is_none() {
            assert!(since.elapsed() < Duration::from_secs(90), "{}: no second run begins", mpi.name);
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut ranks = ranks_below(&launcher);
        ranks.sort_unstable();
        let killed = rustix::process::Pid::from_raw(ranks[1] as i32).unwrap();
        rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
        let output = launcher.wait_with_output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{}: {}", mpi.name, told(&output));
        let known = runs_of(&place.path("search/limit.json"));
        assert_eq!(known.len(), 1, "{}: the first run is known", mpi.name);
        let resume = format!("--seed 3 --hosts 3 --from 1x --to 2x --resume {}", place.path("search").display());
        let output = mpi.command(3, &place.words("limit", "null:1GiB", &resume, "")).output().unwrap();
        assert!([Some(0), Some(11)].contains(&output.status.code()), "{}: {}", mpi.name, told(&output));
        let all = runs_of(&place.path("search/limit.json"));
        assert!(all.len() >= 2 && all[0] == known[0], "{}: {all:?}", mpi.name);
    }
}
