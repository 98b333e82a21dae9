//! `kill -9` or ctrl-c at random moments during faults, and then `--resume` on a disk that is sound again. The result
//! is never PASS where the disk returned an error, a hang over the bound, or damage that was read.
//!
//! The disk's own account says what it returned. After ctrl-c, the log must contain all of it; after `kill -9`, all
//! that the disk returned up to a quarter of a second before the kill, because the log cannot contain what it returned
//! in the last moment. What the log does contain at the kill decides in any case. This is a small number of trials;
//! `make campaign` makes 1,000.

use super::bed::{Log, Place, Said, until};
use super::devices::passed_over;
use super::rig::{DISK, beside, closed, steady, stood_still, trials, workload};
use assay_base::Prng;
use assay_faultfs::{FaultDisk, Truth};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Number of trials in the normal tests, and in each round of a campaign.
const SMOKE: u64 = 12;
const EACH: u64 = 50;
/// Number of runs in parallel.
const LANES: u64 = 4;
/// An operation that takes longer than this counts as hung.
const HANG_NS: u64 = 100_000_000;
/// Reads per second on a disk that hangs, and the share of them that the criterion allows to hang.
const RATE: u64 = 300;
const MAY_HANG: f64 = 0.05;

/// A fault, how the run ends, and under which load.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Errors,
    Short,
    Stall,
    Tail,
    Damage,
}

const FAULTS: [Fault; 5] = [Fault::Errors, Fault::Short, Fault::Stall, Fault::Tail, Fault::Damage];

impl Fault {
    fn begins(self) -> &'static str {
        match self {
            Fault::Errors => "reset=1 rerr_every=7 werr_every=5",
            Fault::Short => "reset=1 short_every=9",
            Fault::Stall => "reset=1 stall=400ms",
            Fault::Tail => "reset=1 tail=30%:150ms",
            Fault::Damage => "reset=1 corrupt_every=5 lost_every=7 torn_every=11",
        }
    }

    const ENDS: &str =
        "rerr_every=off werr_every=off short_every=off tail=off corrupt_every=off lost_every=off torn_every=off";

    fn load(self) -> String {
        let reads = steady("read", RATE as u32);
        let text = match self {
            Fault::Stall | Fault::Tail => workload("1s", ("100ms", "5%"), &[&reads]),
            Fault::Errors | Fault::Short => workload("1s", ("10s", "50%"), &[&reads, &steady("write", 100)]),
            Fault::Damage => {
                let text = workload("1s", ("10s", "50%"), &[&closed("read", 2), &steady("write", 200)]);
                text.replacen("duration", "verify = true\nduration", 1)
            }
        };
        text.replacen("duration", "interval = \"50ms\"\nmax_lag = \"0s\"\nduration", 1)
    }

    /// Whether the run may never pass, according to the disk's own account.
    fn is_in(self, truth: &Truth) -> bool {
        let hung = truth.service_ns.iter().filter(|ns| **ns > HANG_NS).count() as f64;
        match self {
            Fault::Errors => truth.failed() > 0,
            Fault::Short => truth.short > 0,
            Fault::Stall | Fault::Tail => hung > MAY_HANG * (RATE + 2) as f64 + 1.0,
            // The disk does not know which of the damage was read.
            Fault::Damage => false,
        }
    }
}

/// Whether the log of the run contains an operation that failed, was short or never came back, or damage.
fn is_recorded(place: &Place) -> bool {
    let log = Log::of(&place.path("run"));
    let told = |what: &str| matches!(what, "io-error" | "short-io" | "damage" | "stuck" | "target-lost");
    let counted =
        log.intervals.iter().flat_map(|interval| &interval.flows).any(|flow| flow.failed_operations() + flow.short > 0);
    counted || log.events.iter().any(|event| told(event.what.as_str()))
}

/// The results of the trials.
#[derive(Debug, Default)]
struct Tally {
    moments: AtomicU64,
    /// Runs that must not pass, according to the disk's account or to the log.
    owed: AtomicU64,
    failed: AtomicU64,
    invalid: AtomicU64,
    passed: AtomicU64,
    /// Runs that passed because they were killed so soon after the fault that the log does not contain it.
    unseen: AtomicU64,
}

/// One trial. `None` where FUSE is not available.
fn moment(seed: u64, tally: &Tally) -> Option<()> {
    let fault = FAULTS[(seed % FAULTS.len() as u64) as usize];
    let mut prng = Prng::from_seed(seed);
    let place = Place::new();
    std::fs::create_dir(place.path("mount")).unwrap();
    let disk = FaultDisk::mount_empty(&place.path("mount"))
        .inspect_err(|e| passed_over(&format!("no FUSE mount to be had: {e}")))
        .ok()?;
    let said = place.assay(&["prep", DISK, "--create", "2MiB", "--skip-zero"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    place.write("workload.toml", &fault.load());
    let args = ["run", "workload.toml", DISK];
    let mut running = place.begin(&[&args[..], &["--out", "run"]].concat());
    let log = place.path("run/run.jsonl");
    let intervals = prng.uniform_below(10) as usize;
    until("the run to be where its fault begins", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        !running.is_alive() || text.contains('\n') && text.matches("\"kind\":\"interval\"").count() >= intervals
    });
    disk.set(fault.begins());
    stood_still();
    std::thread::sleep(Duration::from_millis(prng.uniform_below(500)));
    let (before, since) = (disk.truth(), Instant::now());
    std::thread::sleep(Duration::from_millis(prng.uniform_below(400)));
    let kills = prng.uniform_below(2) == 0;
    running.signal(if kills { libc::SIGKILL } else { libc::SIGINT });
    let long_since = since.elapsed() > Duration::from_millis(250) && !stood_still();
    running.end();
    // What the disk returned and the program must have seen: after ctrl-c all of it, because the run waits for its
    // operations; after a kill, what the disk had returned some time before.
    let account = if kills { before } else { disk.truth() };
    disk.set(Fault::ENDS);
    let recorded = is_recorded(&place);
    let owed = recorded || fault.is_in(&account) && (!kills || long_since);
    let said = resumed(&place, &args);
    let words =
        format!("{fault:?}, seed {seed}, {}: {}{}", if kills { "kill -9" } else { "ctrl-c" }, said.out, said.err);
    assert!(!owed || said.code != Some(0), "PASS by {account}\n{words}");
    let failures = fault != Fault::Stall && fault != Fault::Tail;
    if owed && failures {
        assert_eq!(said.code, Some(10), "a failure is a FAIL: {words}");
        assert!(!said.out.contains("every one as written") && !said.out.contains("no errors"), "{words}");
    }
    tally.moments.fetch_add(1, Relaxed);
    tally.owed.fetch_add(u64::from(owed), Relaxed);
    tally.unseen.fetch_add(u64::from(said.code == Some(0) && fault.is_in(&account)), Relaxed);
    let outcome = match said.code {
        Some(0) => &tally.passed,
        Some(10) => &tally.failed,
        Some(11) => &tally.invalid,
        other => panic!("{other:?}: {words}"),
    };
    outcome.fetch_add(1, Relaxed);
    Some(())
}

/// Continues the run to its end; if the run had already ended, judges it.
fn resumed(place: &Place, args: &[&str]) -> Said {
    let said = place.assay(&[args, &["--resume", "run"]].concat());
    if said.code == Some(2) && said.err.contains("nothing to resume") { place.assay(&["judge", "run"]) } else { said }
}

#[test]
fn what_was_given_before_a_random_end_never_passes() {
    let _turn = beside();
    let moments = if trials() > 2 { trials() as u64 * EACH } else { SMOKE };
    let tally = Tally::default();
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while let Some(seed) = Some(next.fetch_add(1, Relaxed)).filter(|seed| *seed < moments) {
                    if moment(seed, &tally).is_none() {
                        return;
                    }
                }
            });
        }
    });
    eprintln!("{tally:?}");
    let ran = tally.moments.load(Relaxed);
    assert!(ran == 0 || tally.owed.load(Relaxed) > ran / 4, "hardly a fault was met: {tally:?}");
}
