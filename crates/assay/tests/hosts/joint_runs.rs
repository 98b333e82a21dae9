//! Runs with several ranks: of this process, and of several joined by each MPI library that is here.

use crate::hosts::{Mpi, ranks_below, told};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Two streams whose operations wait for each other now and then, and a closed loop.
pub(crate) const WORKLOAD: &str = r#"
name = "three"
model = "streams"
duration = "20s"
slice = "5s"
in_flight_bound = 64
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "2000/s"
arrival = "poisson"
[[stream]]
name = "writes"
direction = "write"
size = "64KiB"
rate = "150/s"
[[stream]]
name = "loop"
direction = "read"
size = "16KiB"
in_flight = 16
[[criterion]]
stream = "reads"
p99_at_most = "50ms"
"#;

pub(crate) struct Place {
    directory: tempfile::TempDir,
    pub(crate) workload: PathBuf,
}

impl Place {
    pub(crate) fn with_workload(text: &str) -> Place {
        let directory = tempfile::tempdir().unwrap();
        let workload = directory.path().join("three.toml");
        std::fs::write(&workload, text).unwrap();
        Place { directory, workload }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The arguments of a run on simulated flash, with its results in `out`.
    pub(crate) fn run_arguments(&self, more: &str, out: &str) -> Vec<String> {
        let mut arguments = vec!["run".to_owned(), self.workload.display().to_string(), "sim:flash".to_owned()];
        arguments.extend(["--seed", "5", "--out"].map(str::to_owned));
        arguments.push(self.path(out).display().to_string());
        arguments.extend(more.split_whitespace().map(str::to_owned));
        arguments
    }

    pub(crate) fn run(&self, more: &str, out: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.args(self.run_arguments(more, out)).stdin(Stdio::null()).output().unwrap()
    }
}

/// The lines of one kind, as they stand in a log, but for their number and checksum.
pub(crate) fn lines_of_kind(log: &Path, kinds: &[&str]) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let body = |line: &str| {
        let parsed: Value = serde_json::from_str(line).unwrap();
        let kind = parsed["kind"].as_str().unwrap();
        let at = line.find("\"kind\"").unwrap();
        kinds.contains(&kind).then(|| line[at..].to_owned())
    };
    text.lines().filter_map(body).collect()
}

fn numbers_of(run: &Path) -> Vec<String> {
    lines_of_kind(&run.join("run.jsonl"), &["interval", "histograms"])
}

fn scheduled_of(run: &Path) -> Vec<Vec<u64>> {
    let of_line = |line: String| {
        let parsed: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
        parsed["flows"].as_array().unwrap().iter().map(|flow| flow["scheduled"].as_u64().unwrap()).collect()
    };
    lines_of_kind(&run.join("run.jsonl"), &["interval"]).into_iter().map(of_line).collect()
}

#[test]
fn the_numbers_are_the_same_however_many_ranks_carry_the_parts() {
    let place = Place::with_workload(WORKLOAD);
    let first = place.run("--local 8", "local8");
    assert_eq!(first.status.code(), Some(0), "{}", told(&first));
    assert!(told(&first).contains("PASS"), "{}", told(&first));
    let expected = numbers_of(&place.path("local8"));
    assert!(expected.len() > 20, "{}", expected.len());
    for (more, out) in [("--local 4 --workers 2", "local4"), ("--local 1 --workers 8", "local1")] {
        let output = place.run(more, out);
        assert_eq!(output.status.code(), Some(0), "{more}: {}", told(&output));
        assert!(numbers_of(&place.path(out)) == expected, "{more} has other numbers than --local 8");
    }
    for (number, mpi) in Mpi::all_installed().iter().enumerate() {
        for (ranks, workers) in [(4, 2), (8, 1)] {
            let out = format!("mpi{number}-{ranks}");
            let arguments = place.run_arguments(&format!("--hosts {ranks} --workers {workers}"), &out);
            let output = mpi.command(ranks, &arguments).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}: {}", mpi.name, told(&output));
            assert!(numbers_of(&place.path(&out)) == expected, "{} with {ranks} ranks has other numbers", mpi.name);
        }
    }
    // All parts together have the rates of the plan: six standard deviations of a Poisson process in 20 s.
    let scheduled = scheduled_of(&place.path("local8"));
    let total = |flow: usize| scheduled.iter().map(|flows| flows[flow]).sum::<u64>();
    assert!(total(0).abs_diff(40_000) < 6 * 200, "{}", total(0));
    assert!(total(1).abs_diff(3_000) < 6 * 55, "{}", total(1));
}

/// What the ranks say of their own slices adds up to the slices of the result.
#[test]
fn the_shares_of_the_ranks_are_those_of_the_result() {
    let place = Place::with_workload(&WORKLOAD.replace("p99_at_most = \"50ms\"", "p99_at_most = \"200us\""));
    let output = place.run("--local 4", "run");
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let verdict: Value = serde_json::from_slice(&std::fs::read(place.path("run/verdict.json")).unwrap()).unwrap();
    let ranks = verdict["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 4);
    let criterion = ranks[0]["shares"][0]["criterion"].as_u64().unwrap() as usize;
    assert_eq!(verdict["criteria"][criterion]["stream"], "reads");
    let threshold = verdict["criteria"][criterion]["threshold"].as_str().unwrap();
    for (number, slice) in verdict["slices"].as_array().unwrap().iter().enumerate() {
        let reads = slice["streams"].as_array().unwrap().iter().find(|stream| stream["stream"] == "reads").unwrap();
        let sum = |of: usize| -> u64 {
            ranks.iter().map(|rank| rank["shares"][0]["slices"][number][of].as_u64().unwrap()).sum()
        };
        let over = reads["response"]["over"][threshold].as_u64().unwrap();
        assert!(over > 0, "the threshold is one that some are over");
        assert_eq!((sum(0), sum(1)), (over, reads["response"]["operations"].as_u64().unwrap()), "slice {number}");
    }
    let page = std::fs::read_to_string(place.path("run/report.html")).unwrap();
    assert!(page.contains("Ranks side by side") && page.contains("class=\"strip\""));
}

/// A bound that every rank breaks is broken by all together: that is the reason, and not what one of them says.
#[test]
fn a_bound_that_all_break_is_the_reason() {
    let place = Place::with_workload(&WORKLOAD.replace("p99_at_most = \"50ms\"", "p99_at_most = \"10us\""));
    let output = place.run("--local 3", "run");
    assert_eq!(output.status.code(), Some(10), "{}", told(&output));
    let verdict: Value = serde_json::from_slice(&std::fs::read(place.path("run/verdict.json")).unwrap()).unwrap();
    let reason = verdict["reason"].as_str().unwrap();
    assert!(!reason.starts_with("rank ") && reason.contains("reads"), "{reason}");
    assert!(verdict["ranks"].as_array().unwrap().iter().all(|rank| rank["verdict"] == "FAIL"), "{}", verdict["ranks"]);
}

#[test]
fn the_log_is_made_once_more_from_those_of_the_ranks() {
    let place = Place::with_workload(WORKLOAD);
    assert_eq!(place.run("--local 3", "run").status.code(), Some(0));
    let merge = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.arg("merge").arg(place.path("run")).args(more).output().unwrap()
    };
    let again = merge(&[]);
    assert_eq!(again.status.code(), Some(0), "{}", told(&again));
    assert!(told(&again).contains("3 ranks' logs are merged") && told(&again).contains("the same as in"));
    let merged = lines_of_kind(&place.path("run/merged.jsonl"), &["interval", "histograms", "close"]);
    assert!(merged == lines_of_kind(&place.path("run/run.jsonl"), &["interval", "histograms", "close"]));
    // Nothing is overwritten.
    assert_eq!(merge(&[]).status.code(), Some(5), "{}", told(&merge(&[])));

    // Nobody continues one of these logs: a process alone would measure something else.
    for log in ["run", "run/hosts/0001"] {
        let log = place.path(log);
        let before = std::fs::read(log.join("run.jsonl")).unwrap();
        let words = ["run", &place.workload.display().to_string(), "sim:flash", "--resume", &log.display().to_string()];
        let refused = Command::new(env!("CARGO_BIN_EXE_assay")).args(words).output().unwrap();
        assert_eq!(refused.status.code(), Some(3), "{}", told(&refused));
        assert!(told(&refused).contains("it is of a run of several ranks"), "{}", told(&refused));
        assert!(std::fs::read(log.join("run.jsonl")).unwrap() == before, "nothing is written");
    }

    // A rank's log that was cut: all that every rank has is there, and the rest is not made up.
    let own = place.path("run/hosts/0001/run.jsonl");
    let text = std::fs::read_to_string(&own).unwrap();
    let kept: Vec<&str> = text.lines().take(12).collect();
    std::fs::write(&own, kept.join("\n") + "\n" + &text.lines().nth(12).unwrap()[..40]).unwrap();
    let cut = place.path("cut.jsonl");
    let output = merge(&["--out", &cut.display().to_string()]);
    assert_ne!(output.status.code(), Some(0), "it differs from the log of the run: {}", told(&output));
    let whole = lines_of_kind(&place.path("run/run.jsonl"), &["interval"]);
    let left = lines_of_kind(&cut, &["interval"]);
    assert!(!left.is_empty() && left.len() < whole.len() && left[..] == whole[..left.len()], "{}", left.len());
    assert!(lines_of_kind(&cut, &["close"]).is_empty());

    // Another number in a rank's log shows.
    std::fs::write(&own, text.replacen("\"scheduled\":", "\"scheduled\":1", 1)).unwrap();
    let output = merge(&["--out", &place.path("changed.jsonl").display().to_string()]);
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
}

/// However long the logs are: every interval is joined, not only those that are near the end of a log.
#[test]
fn logs_of_many_intervals_are_merged_to_their_end() {
    let place = Place::with_workload(&WORKLOAD.replace("slice = \"5s\"", "slice = \"5s\"\ninterval = \"20ms\""));
    assert_eq!(place.run("--local 3", "run").status.code(), Some(0));
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).arg("merge").arg(place.path("run")).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    let merged = lines_of_kind(&place.path("run/merged.jsonl"), &["interval"]);
    assert!(merged.len() >= 1_000, "{}", merged.len());
}

#[test]
fn what_several_ranks_cannot_carry_is_refused_before_anything_is_made() {
    let place = Place::with_workload(WORKLOAD);
    let lives = Place::with_workload(&WORKLOAD.replace("rate = \"150/s\"", "rate = \"150/s\"\nfor = \"5s\""));
    let steady = Place::with_workload(&(WORKLOAD.to_owned() + "[warm_up]\nuntil = \"steady\"\nlimit = \"5min\"\n"));
    for (place, more, code, says) in [
        (&place, "--local 0", 2, "--local"),
        (&place, "--local 2 --hosts 2", 2, "cannot be used with"),
        (&place, "--local 2 --detach", 2, "cannot be used with"),
        (&place, "--local 2 --prep", 2, "--prep is for a run without"),
        (&place, "--local 17", 3, "at most 16 operations in flight, fewer than the 17 parts"),
        (&place, "--hosts 2", 2, "needs a launcher"),
        (&lives, "--local 2", 3, "need one process"),
        (&steady, "--local 2", 3, "give --warm-up TIME"),
    ] {
        let output = place.run(more, "refused");
        assert_eq!(output.status.code(), Some(code), "{more}: {}", told(&output));
        assert!(told(&output).contains(says), "{more}: {}", told(&output));
        assert!(!place.path("refused").exists(), "{more}");
    }
    // A target that would be made is not.
    let file = place.path("data.img").display().to_string();
    let workload = place.workload.display().to_string();
    let words = ["run", &workload, &file, "--create", "16MiB", "--hosts", "2"];
    let output = Command::new(env!("CARGO_BIN_EXE_assay")).args(words).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", told(&output));
    assert!(told(&output).contains("--create is for a run without") && !Path::new(&file).exists(), "{}", told(&output));
    let verifying =
        Place::with_workload(&WORKLOAD.replace("model = \"streams\"", "model = \"streams\"\nverify = true"));
    let output = verifying.run("--local 2", "refused");
    assert_eq!(output.status.code(), Some(3), "{}", told(&output));
    assert!(told(&output).contains("several ranks cannot verify"), "{}", told(&output));
}

/// One rank whose command differs keeps all from beginning; each library.
#[test]
fn ranks_with_different_plans_do_not_begin() {
    for mpi in Mpi::all_installed() {
        let place = Place::with_workload(WORKLOAD);
        let (own, other) = (place.run_arguments("--hosts 2", "run"), place.run_arguments("--hosts 2 --load 2x", "run"));
        let output = mpi.command_of_two(&own, &other).output().unwrap();
        assert_ne!(output.status.code(), Some(0), "{}: {}", mpi.name, told(&output));
        assert!(told(&output).contains("would carry another plan"), "{}: {}", mpi.name, told(&output));
        assert!(!place.path("run").exists(), "{}", mpi.name);
    }
}

/// A rank is killed: there is no PASS, each interval that all had ended is kept, and the logs of the ranks say the same.
#[test]
fn a_killed_rank_leaves_what_was_measured_and_no_pass() {
    for mpi in Mpi::all_installed() {
        for victim in [0, 2] {
            let place = Place::with_workload(&WORKLOAD.replace("duration = \"20s\"", "duration = \"100h\""));
            let mut command = mpi.command(3, &place.run_arguments("--hosts 3", "run"));
            let launcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let log = place.path("run/run.jsonl");
            let since = Instant::now();
            while !log.exists() || lines_of_whole(&log) < 10 {
                assert!(since.elapsed() < Duration::from_secs(60), "{}: the run does not begin", mpi.name);
                std::thread::sleep(Duration::from_millis(50));
            }
            let mut ranks = ranks_below(&launcher);
            ranks.sort_unstable();
            let killed = rustix::process::Pid::from_raw(ranks[victim] as i32).unwrap();
            rustix::process::kill_process(killed, rustix::process::Signal::KILL).unwrap();
            let output = launcher.wait_with_output().unwrap();
            assert_ne!(output.status.code(), Some(0), "{}: {}", mpi.name, told(&output));
            let judge = Command::new(env!("CARGO_BIN_EXE_assay")).arg("judge").arg(place.path("run")).output().unwrap();
            assert_eq!(judge.status.code(), Some(12), "{}: {}", mpi.name, told(&judge));
            let mut merge = Command::new(env!("CARGO_BIN_EXE_assay"));
            let merge = merge.arg("merge").arg(place.path("run")).output().unwrap();
            assert_eq!(merge.status.code(), Some(0), "{}: {}", mpi.name, told(&merge));
            let (kept, merged) = (intervals_kept(&log), intervals_kept(&place.path("run/merged.jsonl")));
            let (both, found) = (kept.len(), (kept.len(), merged.len()));
            assert!(both >= 5 && merged.len() >= both && kept[..] == merged[..both], "{}: {found:?}", mpi.name);
        }
    }
}

/// Three ranks that go on for long, of which the last is sent a signal; the launcher's output, and the verdict of the log of all.
fn run_with_signal(mpi: &Mpi, signal: rustix::process::Signal) -> (Output, Output, Place) {
    let place = Place::with_workload(&WORKLOAD.replace("duration = \"20s\"", "duration = \"100h\""));
    let mut command = mpi.command(3, &place.run_arguments("--hosts 3", "run"));
    let launcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = place.path("run/run.jsonl");
    let since = Instant::now();
    while !log.exists() || lines_of_whole(&log) < 10 {
        assert!(since.elapsed() < Duration::from_secs(60), "{}: the run does not begin", mpi.name);
        std::thread::sleep(Duration::from_millis(50));
    }
    let ranks = ranks_below(&launcher);
    let pid_of = |pid: &u32| rustix::process::Pid::from_raw(*pid as i32).unwrap();
    rustix::process::kill_process(pid_of(ranks.iter().max().unwrap()), signal).unwrap();
    let output = launcher.wait_with_output().unwrap();
    // MPI does not end what is stopped.
    for pid in ranks.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        let _ = rustix::process::kill_process(pid_of(pid), rustix::process::Signal::KILL);
    }
    let judge = Command::new(env!("CARGO_BIN_EXE_assay")).arg("judge").arg(place.path("run")).output().unwrap();
    (output, judge, place)
}

/// A signal to one rank ends all, each with a closed log, and the joint log with the last interval of all.
#[test]
fn a_signal_to_one_rank_ends_all_in_order() {
    for mpi in Mpi::all_installed() {
        let (output, judge, place) = run_with_signal(&mpi, rustix::process::Signal::TERM);
        assert_eq!(output.status.code(), Some(12), "{}: {}", mpi.name, told(&output));
        assert_eq!(judge.status.code(), Some(12), "{}: {}", mpi.name, told(&judge));
        let said = told(&judge).split_whitespace().collect::<Vec<&str>>().join(" ");
        assert!(said.contains("a signal asked for the end"), "{}: {said}", mpi.name);
        for log in ["run.jsonl", "hosts/0000/run.jsonl", "hosts/0001/run.jsonl", "hosts/0002/run.jsonl"] {
            let closes = lines_of_kind(&place.path("run").join(log), &["close"]);
            assert_eq!(closes.len(), 1, "{}: {log}", mpi.name);
        }
        assert!(place.path("run/report.html").exists(), "{}", mpi.name);
    }
}

/// A rank that stands still is named, and given up after 30 s: one library, because that is a wait.
#[test]
fn a_rank_that_stands_still_is_given_up() {
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let (output, judge, place) = run_with_signal(&mpi, rustix::process::Signal::STOP);
    assert_eq!(output.status.code(), Some(11), "{}", told(&output));
    assert!(told(&output).contains("nothing was heard of rank 2 on "), "{}", told(&output));
    assert_eq!(judge.status.code(), Some(11), "{}", told(&judge));
    let log = place.path("run/run.jsonl");
    assert!(lines_of_kind(&log, &["event"]).iter().any(|event| event.contains("rank-lost")));
    assert_eq!(lines_of_kind(&log, &["close"]).len(), 1);
    assert!(place.path("run/report.html").exists());
}

pub(crate) fn lines_of_whole(log: &Path) -> usize {
    std::fs::read_to_string(log).unwrap_or_default().matches('\n').count()
}

/// The intervals of a log that may end in a torn line.
pub(crate) fn intervals_kept(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap();
    let whole = &text[..=text.rfind('\n').unwrap()];
    let is_interval = |line: &&str| line.contains("\"kind\":\"interval\"");
    whole.lines().filter(is_interval).map(|line| line[line.find("\"kind\"").unwrap()..].to_owned()).collect()
}
