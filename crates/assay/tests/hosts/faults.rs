//! What goes wrong while several ranks drive a file: ranks that are killed in each phase, that stand still, whose storage hangs, whose
//! log cannot be kept. There is never a PASS, who is the cause is named, and what all had measured is kept.

use crate::hosts::{Mpi, ranks_below, told};
use crate::joint_runs::{intervals_kept, lines_of_kind};
use crate::real_targets::{Bench, TwoMounts};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const WORKLOAD: &str = r#"
name = "mixed"
model = "streams"
warm_up = "2s"
duration = "60s"
slice = "1s"
in_flight_bound = 32
[[stream]]
name = "reads"
direction = "read"
size = "4KiB"
rate = "200/s"
[[stream]]
name = "writes"
direction = "write"
size = "16KiB"
rate = "50/s"
[[criterion]]
stream = "reads"
p99_at_most = "60s"
"#;

/// How long the longest of these runs may take to come to a point: the machine may be building something beside.
const PATIENCE: Duration = Duration::from_secs(90);

/// A run of some ranks that goes on.
struct Running {
    bench: Bench,
    launcher: Child,
    printed: PathBuf,
}

impl Running {
    /// With these arguments for each rank, where they differ, and options of the launcher.
    fn start(mpi: &Mpi, bench: Bench, options: &[&str], words: &[Vec<String>], ranks: u32) -> Running {
        let printed = bench.path("printed");
        let output = std::fs::File::create(&printed).unwrap();
        let mut command = match words {
            [same] => mpi.command_with(options, ranks, same),
            [first, second] => mpi.command_of_two(first, second),
            _ => panic!("one or two command lines"),
        };
        command.stdout(output.try_clone().unwrap()).stderr(output).stdin(Stdio::null());
        Running { bench, launcher: command.spawn().unwrap(), printed }
    }

    fn printed(&self) -> String {
        std::fs::read_to_string(&self.printed).unwrap_or_default()
    }

    fn wait_until(&self, what: &str, is_so: impl Fn(&Running) -> bool) {
        let since = Instant::now();
        while !is_so(self) {
            assert!(since.elapsed() < PATIENCE, "{what} does not come: {}", self.printed());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The processes, by rank, once all of them are there.
    fn pids(&self, ranks: usize) -> Vec<u32> {
        self.wait_until("a process", |running| ranks_below(&running.launcher).len() == ranks);
        let mut pids: Vec<(u32, u32)> =
            ranks_below(&self.launcher).into_iter().map(|pid| (rank_of(pid), pid)).collect();
        pids.sort_unstable();
        pids.into_iter().map(|(_, pid)| pid).collect()
    }

    fn log_of_rank(&self, rank: usize) -> PathBuf {
        self.bench.path(&format!("run/hosts/{rank:04}/run.jsonl"))
    }

    fn has_intervals(&self, log: &Path, count: usize) -> bool {
        std::fs::read_to_string(log).is_ok_and(|text| text.matches("\"kind\":\"interval\"").count() >= count)
    }

    /// Waits for the launcher, ends what it has left, and gives its exit code.
    fn end(&mut self, pids: &[u32]) -> Option<i32> {
        let since = Instant::now();
        let code = loop {
            if let Some(status) = self.launcher.try_wait().unwrap() {
                break status.code();
            }
            if since.elapsed() > PATIENCE {
                self.launcher.kill().unwrap();
                self.launcher.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        for pid in pids.iter().filter(|pid| is_ours(**pid)) {
            send_signal(*pid, rustix::process::Signal::KILL);
        }
        code
    }

    fn judge(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
        command.current_dir(self.bench.path("")).args(["judge", "run"]).output().unwrap()
    }

    /// The log of all is what the ranks' logs begin with, and these make at least as much.
    fn check_logs(&self, ranks: usize, what: &str) {
        let kept = intervals_kept(&self.bench.path("run/run.jsonl"));
        let merge = self.bench.assay(&["merge", "run"]);
        assert_eq!(merge.status.code(), Some(0), "{what}: {}", told(&merge));
        let merged = intervals_kept(&self.bench.path("run/merged.jsonl"));
        assert!(merged.len() >= kept.len() && merged[..kept.len()] == kept[..], "{what}");
        // Every interval that all had ended is among them; the last one of a rank that was asked to end is not a whole one.
        let own = (0..ranks).map(|rank| {
            let log = self.log_of_rank(rank);
            let closed = usize::from(!lines_whole(&log, "close").is_empty());
            intervals_kept(&log).len().saturating_sub(closed)
        });
        let all_had = own.min().unwrap();
        assert!(merged.len() >= all_had, "{what}: {} of {all_had}", merged.len());
    }
}

/// Lines of a kind, of a log that may end in a torn one.
fn lines_whole(log: &Path, kind: &str) -> Vec<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter(|line| line.contains(&format!("\"kind\":\"{kind}\""))).map(str::to_owned).collect()
}

fn rank_of(pid: u32) -> u32 {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|byte| *byte == 0).filter_map(|variable| std::str::from_utf8(variable).ok());
    let rank = variables.find_map(|variable| {
        let (name, value) = variable.split_once('=')?;
        ["OMPI_COMM_WORLD_RANK", "PMI_RANK"].contains(&name).then(|| value.parse().ok())?
    });
    rank.unwrap_or_default()
}

fn is_ours(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_assay")))
}

fn send_signal(pid: u32, signal: rustix::process::Signal) {
    let _ = rustix::process::kill_process(rustix::process::Pid::from_raw(pid as i32).unwrap(), signal);
}

/// FAIL, INVALID or INCOMPLETE: a run that was cut short is the last, unless a busy machine was late or its disk stalled before.
fn is_no_pass(code: Option<i32>) -> bool {
    matches!(code, Some(10..=12))
}

fn words(output: &Output) -> String {
    told(output).split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn bench_with(text: &str) -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path("mixed.toml"), text).unwrap();
    bench
}

/// When a rank is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Looks,
    WarmUp,
    Load,
    Drain,
}

const PHASES: [Phase; 4] = [Phase::Looks, Phase::WarmUp, Phase::Load, Phase::Drain];

/// Two hosts that share a file, of which one rank is killed in a phase. In the drain, the storage of rank 1 does not answer.
fn kill_in_phase(mpi: &Mpi, victim: usize, phase: Phase) {
    let what = format!("{}: rank {victim} in {phase:?}", mpi.name);
    let duration = if phase == Phase::Drain { "4s" } else { "60s" };
    let bench = bench_with(&WORKLOAD.replace("\"60s\"\nslice", &format!("\"{duration}\"\nslice")));
    std::fs::create_dir(bench.path("shared")).unwrap();
    bench.prepare_file("shared/data.img");
    let Some(mounts) = TwoMounts::of_directory(&bench, &bench.path("shared")) else { return };
    let more = "--hosts 2 --stuck 60s --drain 60s";
    let both = mounts.targets("data.img").map(|target| bench.run_words(&target, more));
    let mut running = Running::start(mpi, bench, &[], &both, 2);
    let pids = running.pids(2);
    let log = running.bench.path("run/run.jsonl");
    match phase {
        // Rank 0 looks at the target for 5 s.
        Phase::Looks => std::thread::sleep(Duration::from_secs(3)),
        Phase::WarmUp => running.wait_until("the warm-up", |running| running.has_intervals(&running.log_of_rank(1), 1)),
        Phase::Load => running.wait_until("the load", |running| running.has_intervals(&log, 5)),
        Phase::Drain => {
            running.wait_until("the load", |running| running.has_intervals(&log, 3));
            let server = mounts.server_of_second();
            send_signal(server, rustix::process::Signal::STOP);
            // Two seconds of warm-up, four of load.
            std::thread::sleep(Duration::from_secs(5));
        }
    }
    assert!(pids.iter().all(|pid| is_ours(*pid)), "{what}: all ranks are there: {}", running.printed());
    send_signal(pids[victim], rustix::process::Signal::KILL);
    if phase == Phase::Drain {
        std::thread::sleep(Duration::from_secs(3));
        send_signal(mounts.server_of_second(), rustix::process::Signal::CONT);
    }
    let code = running.end(&pids);
    assert_ne!(code, Some(0), "{what}: {}", running.printed());
    if phase == Phase::Looks {
        assert!(!running.bench.path("run").exists(), "{what}: nothing was made");
        return;
    }
    let judge = running.judge();
    assert!(is_no_pass(judge.status.code()), "{what}: {}", told(&judge));
    running.check_logs(2, &what);
}

/// With `ASSAY_CAMPAIGN` set, each rank in each phase with each library; else each library has each phase, and the ranks take turns.
#[test]
fn a_rank_that_is_killed_leaves_no_pass_in_any_phase() {
    let everything = std::env::var_os("ASSAY_CAMPAIGN").is_some();
    for (number, mpi) in Mpi::all_installed().iter().enumerate() {
        for (place, phase) in PHASES.into_iter().enumerate() {
            for victim in (0..2).filter(|victim| everything || *victim == (number + place) % 2) {
                kill_in_phase(mpi, victim, phase);
            }
        }
    }
}

/// A file for three ranks of this host, and a run on it.
fn run_of_three(mpi: &Mpi, options: &[&str], text: &str) -> (Running, Vec<u32>) {
    let bench = bench_with(text);
    let file = bench.prepare_file("data.img").display().to_string();
    run_of_three_on(mpi, options, bench, &file)
}

fn run_of_three_on(mpi: &Mpi, options: &[&str], bench: Bench, target: &str) -> (Running, Vec<u32>) {
    let words = bench.run_words(target, "--hosts 3");
    let running = Running::start(mpi, bench, options, &[words], 3);
    let pids = running.pids(3);
    let log = running.bench.path("run/run.jsonl");
    running.wait_until("the load", |running| running.has_intervals(&log, 5));
    (running, pids)
}

/// Launchers that let the other ranks go on: the dead one is named within 5 s, and given up after 30 s. What it did is not known, so
/// that nothing is proven; a launcher may say 0 all the same.
#[test]
fn where_the_others_live_on_a_killed_rank_is_named_and_the_run_is_invalid() {
    for mpi in Mpi::all_installed() {
        let Some(options) = mpi.lets_others_live() else { continue };
        let (mut running, pids) = run_of_three(&mpi, options, WORKLOAD);
        send_signal(pids[2], rustix::process::Signal::KILL);
        let killed = Instant::now();
        running.wait_until("its name", |running| running.printed().contains("nothing was heard of rank 2 on "));
        let named_after = killed.elapsed();
        eprintln!("{}: named after {named_after:?}", mpi.name);
        running.end(&pids);
        let judge = running.judge();
        assert_eq!(judge.status.code(), Some(11), "{}: {}", mpi.name, told(&judge));
        assert!(words(&judge).contains("nothing was heard of rank 2 on"), "{}: {}", mpi.name, told(&judge));
        assert!(words(&judge).contains("is the last of all"), "{}: {}", mpi.name, told(&judge));
        running.check_logs(3, mpi.name);
    }
}

/// A rank that stood still for 2 s was late: its slice proves nothing, and it is named.
#[test]
fn a_rank_that_stood_still_for_a_while_makes_the_run_invalid() {
    for mpi in Mpi::all_installed() {
        for victim in [0, 2] {
            let text = WORKLOAD.replace("\"60s\"\nslice", "\"8s\"\nslice");
            // A disk that stalls beside builds would be FAIL.
            let (mut running, pids) = run_of_three_on(&mpi, &[], bench_with(&text), "null:1GiB");
            send_signal(pids[victim], rustix::process::Signal::STOP);
            std::thread::sleep(Duration::from_secs(2));
            send_signal(pids[victim], rustix::process::Signal::CONT);
            let code = running.end(&pids);
            let what = format!("{}: rank {victim}: {}", mpi.name, running.printed());
            assert_eq!(code, Some(11), "{what}");
            let judge = running.judge();
            assert_eq!(judge.status.code(), Some(11), "{what}");
            let log = running.bench.path("run/run.jsonl");
            let judged = lines_of_kind(&log, &["event"]).into_iter().filter(|line| line.contains("rank-judged"));
            let says = format!("rank {victim} alone: INVALID");
            assert!(judged.into_iter().any(|line| line.contains(&says)), "{what}");
            running.check_logs(3, &what);
        }
    }
}

/// Rank 0 stands still for good: the others say so, and after 30 s they stop and close their logs. One library, because that is a wait.
#[test]
fn the_others_end_by_themselves_when_rank_zero_stands_still() {
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let (mut running, pids) = run_of_three(&mpi, &[], WORKLOAD);
    send_signal(pids[0], rustix::process::Signal::STOP);
    running.wait_until("its name", |running| running.printed().contains("rank 1: nothing was heard of rank 0 on "));
    running.wait_until("the end", |running| {
        (1..3).all(|rank| !lines_whole(&running.log_of_rank(rank), "close").is_empty())
    });
    running.end(&pids);
    let judge = running.judge();
    assert!(is_no_pass(judge.status.code()), "{}", told(&judge));
    running.check_logs(3, "rank 0 stands still");
}

/// The storage of one host hangs: its pulse goes on, and what does not complete is FAIL. Threads make the calls, because bindfs lets
/// those of io_uring wait already where they are submitted.
#[test]
fn storage_that_hangs_on_one_host_fails_the_run() {
    let Some(mpi) = Mpi::all_installed().into_iter().next() else { return };
    let bench = bench_with(&WORKLOAD.replace("\"60s\"\nslice", "\"10s\"\nslice"));
    std::fs::create_dir(bench.path("shared")).unwrap();
    bench.prepare_file("shared/data.img");
    let Some(mounts) = TwoMounts::of_directory(&bench, &bench.path("shared")) else { return };
    let both = mounts
        .targets("data.img")
        .map(|target| bench.run_words(&target, "--hosts 2 --stuck 2s --drain 3s --engine threads"));
    let mut running = Running::start(&mpi, bench, &[], &both, 2);
    let pids = running.pids(2);
    let log = running.bench.path("run/run.jsonl");
    running.wait_until("the load", |running| running.has_intervals(&log, 4));
    send_signal(mounts.server_of_second(), rustix::process::Signal::STOP);
    running.wait_until("the end", |_| !lines_whole(&log, "close").is_empty());
    send_signal(mounts.server_of_second(), rustix::process::Signal::CONT);
    let code = running.end(&pids);
    assert_eq!(code, Some(10), "{}", running.printed());
    assert!(!running.printed().contains("nothing was heard of"), "both are there: {}", running.printed());
    let judge = running.judge();
    assert_eq!(judge.status.code(), Some(10), "{}", told(&judge));
}

/// The log of one rank cannot be written any more: all stop, and what was measured is incomplete.
#[test]
fn a_rank_whose_log_cannot_be_kept_stops_all() {
    for mpi in Mpi::all_installed() {
        // The limit is one of all files of the process: the target is none.
        let (mut running, pids) = run_of_three_on(&mpi, &[], bench_with(WORKLOAD), "null:1GiB");
        let size = std::fs::metadata(running.log_of_rank(1)).unwrap().len() + 2_000;
        let limited = Command::new("prlimit").args([format!("--pid={}", pids[1]), format!("--fsize={size}")]).status();
        assert!(limited.is_ok_and(|status| status.success()), "prlimit is a part of util-linux");
        let code = running.end(&pids);
        assert!(is_no_pass(code), "{}: {}", mpi.name, running.printed());
        let judge = running.judge();
        assert!(is_no_pass(judge.status.code()), "{}: {}", mpi.name, told(&judge));
        assert!(words(&judge).contains("rank 1 on"), "{}: {}", mpi.name, told(&judge));
    }
}

/// The launcher is told that its time is over. That of MPICH may end with 0 then, whatever the ranks say: the verdict is in the log.
#[test]
fn a_launcher_whose_time_is_over_leaves_no_pass() {
    for mpi in Mpi::all_installed() {
        let (mut running, pids) = run_of_three(&mpi, &[], WORKLOAD);
        send_signal(running.launcher.id(), rustix::process::Signal::TERM);
        running.end(&pids);
        let judge = running.judge();
        assert!(is_no_pass(judge.status.code()), "{}: {}", mpi.name, told(&judge));
        running.check_logs(3, mpi.name);
    }
}
