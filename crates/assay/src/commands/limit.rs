//! `assay limit`: the highest load that still passes.
//!
//! The search is a machine of the judge's room; this runs what it asks for, each load in a directory of its own below the
//! run directory, and keeps the path in `limit.json`, from which an interrupted search goes on.

use super::{print, print_json, result, run};
use crate::act::scheduler::Schedulers;
use crate::cli;
use crate::drive::{Drive, drive, limits};
use crate::failure::Failure;
use crate::logfile::LogFile;
use crate::progress::Progress;
use crate::rundir;
use crate::signals::{self, StopCell};
use crate::targets::{self, Named, Targets, Wish};
use crate::workloads;
use assay_base::Span;
use assay_judge::limit::{Multiple, Next, Observation, Outcome, Search};
use assay_judge::{Judgement, Verdict};
use assay_model::workload::Workload;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Length of one run when the command line gives none: "Running ACT for six hours will give you a good idea whether your
/// device can pass" (ACT README, "Determining Expected Performance at Higher Throughput").
const RUN: Span = Span::from_secs(6 * 3600);
/// Characters of the longest bar.
const BAR: usize = 40;

/// The path of a search, as `limit.json` keeps it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trail {
    schema: u32,
    workload: String,
    targets: Vec<String>,
    run_ns: u64,
    seed: u64,
    outcome: Option<Outcome>,
    runs: Vec<Run>,
}

/// One run of the path.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Run {
    load: Multiple,
    verdict: Verdict,
    reason: String,
    /// Share over the smallest threshold, in percent, or what the criterion nearest its bound measured.
    measured: Option<String>,
    response_p99_ns: Option<u64>,
    directory: PathBuf,
}

/// Searches, shows the path, leaves it in the run directory. Exit code 0 when a load was found that passes, 10 when not even
/// the lowest does, otherwise that of the run that proved nothing.
pub fn limit(args: &cli::Limit) -> Result<u8, Failure> {
    let workload = workloads::find(&args.workload)?;
    let names = if args.targets.is_empty() { workload.targets.clone() } else { args.targets.clone() };
    if names.is_empty() {
        return Err(Failure::usage("limit needs a target: a device, a file or sim:flash"));
    }
    let named = targets::named(&names)?;
    let pace = cli::Pace { measure: Some(args.pace.measure.unwrap_or(RUN)), ..args.pace.clone() };
    let first = run::plan(&workload, &named, Some(load(args.from)?), &pace)?;
    let planned =
        rundir::planned(args.output.resume.as_deref().or(args.output.out.as_deref()), &format!("limit-{}", first.name));
    let smallest = |block| first.smallest_target(block);
    let wish = Wish { writes: first.writes(), smallest: &smallest, log_dir: &planned };
    let opened = Targets::open(&named, wish, &args.access)?;
    let stop = signals::watch().map_err(|e| Failure::host(format!("signals cannot be watched: {e}")))?;
    let _scheduler = Schedulers::set(workload.scheduler.as_deref(), &opened)?;
    let fresh = Trail {
        schema: 1,
        workload: first.name.clone(),
        targets: names,
        run_ns: first.measured().as_ns(),
        seed: first.seed,
        outcome: None,
        runs: Vec::new(),
    };
    let (dir, path) = match &args.output.resume {
        Some(dir) => (dir.clone(), kept(dir, &fresh)?),
        None => (rundir::create(&planned, args.output.out.is_some())?, fresh),
    };
    let mut progress = Progress::new(false);
    let mut searching = Searching {
        args,
        workload: &workload,
        named: &named,
        pace: &pace,
        opened: &opened,
        stop: &stop,
        dir: &dir,
        path,
    };
    let outcome = searching.run(&mut progress)?;
    if args.output.json {
        print_json(&searching.path)?;
    } else {
        print(&searching.text(outcome).map_err(|_| Failure::bug("a path that cannot be shown"))?);
        progress.say(&format!("path in {}", dir.join("limit.json").display()));
    }
    Ok(match outcome {
        Outcome::Between { .. } | Outcome::NeverFailed { .. } => crate::failure::code::DONE,
        Outcome::NeverPassed { .. } => Verdict::Fail.exit_code(),
        Outcome::Stopped { verdict, .. } => verdict.exit_code(),
    })
}

fn load(multiple: Multiple) -> Result<assay_model::Multiple, Failure> {
    let load = assay_model::Multiple::ratio(multiple.as_hundredths(), 100);
    load.ok_or_else(|| Failure::usage(format!("{multiple} is no load")))
}

/// The path an earlier search left, which must be of the same search.
fn kept(dir: &Path, ours: &Trail) -> Result<Trail, Failure> {
    let file = dir.join("limit.json");
    let unusable =
        |why: &dyn std::fmt::Display| Failure::usage(format!("{} cannot be continued: {why}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|e| unusable(&e))?;
    let kept: Trail = serde_json::from_str(&text).map_err(|e| unusable(&e))?;
    if kept.workload != ours.workload || kept.targets != ours.targets || kept.run_ns != ours.run_ns {
        return Err(unusable(
            &"it is of another workload, other targets or another length; repeat the command it was started with",
        ));
    }
    Ok(kept)
}

struct Searching<'a> {
    args: &'a cli::Limit,
    workload: &'a Workload,
    named: &'a [(String, Named)],
    pace: &'a cli::Pace,
    opened: &'a Targets,
    stop: &'a StopCell,
    dir: &'a Path,
    path: Trail,
}

impl Searching<'_> {
    fn run(&mut self, progress: &mut Progress) -> Result<Outcome, Failure> {
        let seen = |run: &Run| Observation { multiple: run.load, verdict: run.verdict };
        let search = Search::start(self.args.from, self.args.resolution).resume(self.path.runs.iter().map(seen));
        let mut search = match self.args.to {
            Some(to) => search.up_to(to),
            None => search,
        };
        loop {
            match search.next() {
                Next::RunAt(multiple) => {
                    let verdict = self.one(multiple, progress)?;
                    search.observe(multiple, verdict);
                }
                Next::Done(outcome) => {
                    self.path.outcome = Some(outcome);
                    self.keep()?;
                    return Ok(outcome);
                }
            }
        }
    }

    /// One run of the path.
    fn one(&mut self, multiple: Multiple, progress: &mut Progress) -> Result<Verdict, Failure> {
        let pace = cli::Pace { seed: Some(self.path.seed), ..self.pace.clone() };
        let plan = run::plan(self.workload, self.named, Some(load(multiple)?), &pace)?;
        let number = self.path.runs.len() + 1;
        let dir = rundir::create(&self.dir.join(format!("{number:02}-{multiple}")), false)?;
        let mut log = LogFile::create(&dir.join("run.jsonl"))?;
        progress.title(&format!("run {number}"));
        let how = Drive {
            engine: self.args.access.engine,
            workers: self.args.output.workers,
            spin: self.args.output.spin,
            limits: limits(&self.args.output),
            step: None,
            watermarks: crate::header::short(plan.measured(), self.workload.duration).into_iter().collect(),
            prepared: run::prepared(self.opened),
            measured_before_ns: None,
        };
        drive(&plan, self.opened, &how, &mut log, progress, self.stop)?;
        let judgement = result::leave(&dir, self.args.output.judge_on)?;
        progress.say(&format!("run {number}: {multiple} {}", judgement.verdict));
        self.path.runs.push(run_of(multiple, &judgement, dir));
        self.keep()?;
        Ok(judgement.verdict)
    }

    fn keep(&self) -> Result<(), Failure> {
        let file = self.dir.join("limit.json");
        let half = self.dir.join("limit.json.new");
        let write = || {
            std::fs::write(&half, serde_json::to_vec_pretty(&self.path)?)?;
            std::fs::rename(&half, &file)
        };
        write().map_err(|e: std::io::Error| Failure::host(format!("{} cannot be written: {e}", file.display())))
    }

    /// The path as a table in the order of the runs, and as bars in the order of the loads.
    fn text(&self, outcome: Outcome) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        writeln!(out, "{outcome}")?;
        writeln!(
            out,
            "{} on {}, {} a run\n",
            self.path.workload,
            self.path.targets.join(", "),
            Span::from_ns(self.path.run_ns)
        )?;
        writeln!(out, "run       load  verdict     response p99  measured")?;
        let p99 = |run: &Run| run.response_p99_ns.map_or_else(|| "-".into(), |ns| Span::from_ns(ns).human());
        for (index, run) in self.path.runs.iter().enumerate() {
            let measured = run.measured.as_deref().unwrap_or(&run.reason);
            writeln!(
                out,
                "{:>3}  {:>9}  {:10}  {:>12}  {measured}",
                index + 1,
                run.load.to_string(),
                run.verdict.to_string(),
                p99(run)
            )?;
        }
        let mut sorted: Vec<&Run> = self.path.runs.iter().collect();
        sorted.sort_by_key(|run| run.load);
        let highest = sorted.last().map_or(1, |run| run.load.as_hundredths().max(1));
        writeln!(out, "\nload")?;
        for run in sorted {
            let length = (run.load.as_hundredths() as u128 * BAR as u128 / u128::from(highest)).max(1) as usize;
            let mark = if run.verdict == Verdict::Pass { "=" } else { "x" };
            writeln!(out, "{:>9}  {:BAR$}  {}", run.load.to_string(), mark.repeat(length), run.verdict)?;
        }
        Ok(out)
    }
}

fn run_of(load: Multiple, judgement: &Judgement, directory: PathBuf) -> Run {
    let part = &judgement.part;
    let first = part.criteria.iter().find(|criterion| criterion.stream.is_some());
    let measured =
        first.and_then(|criterion| Some(format!("{} {}", criterion.title, criterion.measured.as_ref()?.text)));
    let stream = first.and_then(|criterion| criterion.stream.clone());
    let of_all =
        |totals: &&assay_judge::judgement::StreamTotals| stream.as_ref().is_none_or(|name| *name == totals.name);
    let response_p99_ns = part.streams.iter().find(of_all).and_then(|totals| totals.response.p99_ns);
    Run { load, verdict: judgement.verdict, reason: judgement.reason.clone(), measured, response_p99_ns, directory }
}
