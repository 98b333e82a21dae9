//! Several runs on the same targets, each in a directory of its own: what `limit`, `curve`, `fit` and `size` have in common.

use super::run;
use crate::args::{Access, Judged, Output, Pace, Subject};
use crate::progress::Progress;
use crate::screen::tell;
use assay_base::{Bytes, Geometry, Multiple, Span};
use assay_device::probe;
use assay_device::safety::Roots;
use assay_judge::{Judgement, Verdict};
use assay_model::Plan;
use assay_model::workload::Workload;
use assay_record::Entry;
use assay_run::drive::{Drive, drive};
use assay_run::failure::{Failure, one_line, shown};
use assay_run::files;
use assay_run::logfile::LogFile;
use assay_run::reading;
use assay_run::records::Records;
use assay_run::rest::{decisive, json_of, other};
use assay_run::results::leave;
use assay_run::rundir;
use assay_run::schedulers::Schedulers;
use assay_run::signals::{self, StopCell};
use assay_run::targets::{self, Named, TargetNeeds, Targets};
use assay_run::workloads;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// Upper bound on the length of one run when the command line gives none: "Running ACT for six hours will give you a
/// good idea whether your device can pass" (ACT README, "Determining Expected Performance at Higher Throughput").
const RUN: Span = Span::from_secs(6 * 3600);

/// What stays the same from run to run. The targets are opened once, after every safety rule was evaluated.
pub(crate) struct Several<'a> {
    access: &'a Access,
    output: &'a Output,
    pace: Pace,
    judged: &'a Judged,
    workload: Workload,
    named: Vec<(String, Named)>,
    opened: Targets,
    stop: StopCell,
    /// The targets, as the user named them.
    pub names: Vec<String>,
    /// The plan at 1x.
    pub plan: Plan,
    /// Checksum of what distinguishes the plan from others.
    pub plan_sum: String,
    planned: PathBuf,
    _scheduler: Schedulers,
}

impl<'a> Several<'a> {
    /// Opens the targets for `verb`. Without `pace.measure` each run measures for the workload's duration, at most six
    /// hours.
    pub(crate) fn open(
        verb: &str,
        Subject { workload, targets, jobs }: &Subject,
        paced: (&Pace, &'a Judged),
        access: &'a Access,
        output: &'a Output,
    ) -> Result<Several<'a>, Failure> {
        Several::of(
            verb,
            (workloads::asked(workload, &jobs.choice(targets)?)?.workload, targets),
            paced,
            access,
            output,
        )
    }

    /// The same for a workload that was read.
    pub(crate) fn of(
        verb: &str,
        (workload, targets): (Workload, &[String]),
        (pace, judged): (&Pace, &'a Judged),
        access: &'a Access,
        output: &'a Output,
    ) -> Result<Several<'a>, Failure> {
        let names = if targets.is_empty() { workload.targets.clone() } else { targets.to_vec() };
        if names.is_empty() {
            return Err(Failure::usage(format!("{verb} needs a target: a device, a file or sim:flash")));
        }
        let named = targets::named(&names)?;
        let pace = Pace { measure: Some(pace.measure.unwrap_or(workload.duration.min(RUN))), ..pace.clone() };
        let (plan, plan_sum) = planned(&workload, &named, &pace, judged)?;
        if !plan.can_be_scaled() {
            return Err(Failure::workload(format!(
                "{verb} offers one load after another: {}",
                Plan::ONLY_CLOSED_LOOPS
            )));
        }
        rundir::refuse_taken(output.out.as_deref())?;
        let given = output.resume.as_deref().or(output.out.as_deref());
        let planned = rundir::planned(given, &format!("{verb}-{}", plan.name));
        let smallest = |block| plan.smallest_target(block);
        let needs = TargetNeeds { writes: plan.writes(), smallest: &smallest, log_dir: &planned };
        let opened = access.open(&named, needs)?;
        let stop = signals::watch().map_err(|e| Failure::host(format!("signals cannot be watched: {e}")))?;
        let _scheduler = Schedulers::set(workload.scheduler.as_deref(), &opened, tell)?;
        Ok(Several {
            access,
            output,
            pace,
            judged,
            workload,
            named,
            opened,
            stop,
            names,
            plan,
            plan_sum,
            planned,
            _scheduler,
        })
    }

    /// From now on runs this workload on the same targets, in this way.
    pub(crate) fn now_runs(&mut self, workload: Workload, pace: &Pace) -> Result<(), Failure> {
        let pace = Pace { measure: Some(pace.measure.unwrap_or(workload.duration.min(RUN))), ..pace.clone() };
        let (plan, plan_sum) = planned(&workload, &self.named, &pace, self.judged)?;
        let Geometry { size, block } = self.opened.geometry(0);
        if size < plan.smallest_target(block) {
            return Err(Failure::usage(format!(
                "target {} has {}, too little for operations of the size that the fit came to; choose a larger target",
                one_line(&self.names[0]),
                Bytes::new(size).human()
            )));
        }
        (self.workload, self.pace, self.plan, self.plan_sum) = (workload, pace, plan, plan_sum);
        Ok(())
    }

    /// Whether the command line names a seed.
    pub(crate) fn asks_for_a_seed(&self) -> bool {
        self.pace.seed.is_some()
    }

    /// Size and block of the first target.
    pub(crate) fn geometry(&self) -> Geometry {
        self.opened.geometry(0)
    }

    /// How its runs are made.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// The largest request that the queue of the first target takes whole, in KiB, where it has one.
    pub(crate) fn largest_request(&self) -> Option<String> {
        let (_, number) = self.opened.disks(1).into_iter().next()?;
        let queue = probe::queue(&Roots::host(), number);
        queue.into_iter().find_map(|(name, value)| (name == probe::LARGEST_REQUEST).then_some(value))
    }

    /// What the first target is.
    pub(crate) fn first(&self) -> &Named {
        &self.named[0].1
    }

    /// How long each run measures, and why, for the user who waits.
    pub(crate) fn length(&self) -> String {
        let (measured, own) = (self.plan.measured(), self.workload.duration);
        let why = match own.cmp(&measured) {
            _ if measured != own.min(RUN) => "as asked by --for".to_owned(),
            std::cmp::Ordering::Equal => "the workload's duration; --for asks for another".to_owned(),
            _ => format!("of the workload's {own}; --for asks for another"),
        };
        format!("each run measures {measured} ({why})")
    }

    /// Whether what an earlier call stored belongs to the same task: the workload and its targets, the length of a run,
    /// the checksum of the plan (which earlier versions did not store), and the seed, where the user gave one.
    pub(crate) fn goes_on(
        &self,
        (workload, targets): (&str, &[String]),
        run_ns: u64,
        plan: Option<&str>,
        seed: u64,
    ) -> bool {
        (workload, targets, run_ns) == (&self.plan.name, &self.names, self.plan.measured().as_ns())
            && plan.is_none_or(|sum| sum == self.plan_sum)
            && (self.pace.seed.is_none() || self.plan.seed == seed)
    }

    /// Refuses if the runs in `dir` were made on other devices than those that the names now stand for.
    pub(crate) fn same_targets(&self, dir: &Path) -> Result<(), Failure> {
        for run in reading::runs_in(dir) {
            if let Some(Ok(Entry::Header(head))) = reading::read(&run.join("run.jsonl"))?.next_entry().ok().flatten() {
                self.opened.differ_from(&head.targets).map_or(Ok(()), |what| Err(other(&run, &what)))?;
            }
        }
        Ok(())
    }

    /// The directory of all runs: the one to be continued, or a new one.
    pub(crate) fn directory(&self) -> Result<PathBuf, Failure> {
        match &self.output.resume {
            Some(dir) => Ok(dir.clone()),
            None => rundir::create(&self.planned, self.output.out.is_some()),
        }
    }

    /// Runs that an earlier call began below `dir` and that failed according to their logs, but whose verdict was not
    /// stored because the call was killed: each with its load. `known` are the directories of runs with a stored
    /// verdict. Runs that did not fail are repeated.
    pub(crate) fn failed_unkept(&self, dir: &Path, known: &[&Path]) -> Vec<(Multiple, Judgement, PathBuf)> {
        let is_known = |run: &Path| known.iter().any(|known| known.file_name() == run.file_name());
        let mut failed = Vec::new();
        for run in reading::runs_in(dir).into_iter().filter(|run| !is_known(run)) {
            // A run that was killed before its first line was complete shows nothing.
            let Ok((judgement, _)) = leave(&run, self.output.judge_on, tell) else { continue };
            if let (Verdict::Fail, Ok(load)) = (judgement.verdict, judgement.load.parse()) {
                failed.push((load, judgement, run));
            }
        }
        failed
    }

    /// One run at `load` with this seed, in a new directory `below/name`, judged.
    pub(crate) fn run(
        &self,
        below: &Path,
        name: &str,
        (load, seed): (Multiple, u64),
        progress: &mut Progress,
    ) -> Result<(Judgement, PathBuf), Failure> {
        let pace = Pace { seed: Some(seed), ..self.pace.clone() };
        let plan = run::plan(&self.workload, &self.named, Some(load), &pace)?;
        let plan = plan.judged_by(&self.judged.criteria).map_err(Failure::workload)?;
        let dir = rundir::create(&below.join(name), false)?;
        let mut log = LogFile::create(&dir.join("run.jsonl"))?;
        let how = Drive {
            engine: self.access.engine,
            workers: self.output.workers,
            spin: self.output.spin(),
            limits: self.output.limits(),
            step: None,
            watermarks: assay_run::header::short(plan.measured(), self.workload.duration).into_iter().collect(),
            prepared: Records::host().preparations(self.opened.real(), tell),
            measured_before_ns: None,
            signer: None,
            readings: None,
        };
        drive(&plan, &self.opened, &how, &mut log, progress, &self.stop)?;
        let (judgement, _) = leave(&dir, self.output.judge_on, tell)?;
        Ok((judgement, dir))
    }
}

/// The plan of a workload at 1x, and the sum of what makes it another one.
fn planned(
    workload: &Workload,
    named: &[(String, Named)],
    pace: &Pace,
    judged: &Judged,
) -> Result<(Plan, String), Failure> {
    let plan = run::plan(workload, named, Some(Multiple::ONE), pace)?;
    let plan = plan.judged_by(&judged.criteria).map_err(Failure::workload)?;
    let decisive = serde_json::json!(decisive(&json_of(&plan)?));
    let sum = blake3::hash(decisive.to_string().as_bytes()).to_hex().to_string();
    Ok((plan, sum))
}

/// Upper bound on the size of such a document.
const LARGEST: u64 = 256 << 20;

/// Writes a document completely or not at all.
pub(crate) fn keep<T: Serialize>(file: &Path, document: &T) -> Result<(), Failure> {
    let write = || files::replace(file, &serde_json::to_vec_pretty(document)?);
    write().map_err(|e| Failure::host(format!("{} cannot be written: {e}", shown(file))))
}

/// Reads what an earlier call stored; `same` says whether it belongs to the same task.
pub(crate) fn kept<T: DeserializeOwned>(file: &Path, same: impl Fn(&T) -> bool) -> Result<T, Failure> {
    let unusable = |why: &dyn std::fmt::Display| Failure::usage(format!("{} cannot be continued: {why}", shown(file)));
    files::check(file).map_err(|e| unusable(&e))?;
    let text = files::text(file, LARGEST).map_err(|e| unusable(&e))?;
    let kept: T = serde_json::from_str(&text).map_err(|e| unusable(&e))?;
    if !same(&kept) {
        let why = "it is of another workload, other targets or criteria, another length or seed; repeat the command it was started with";
        return Err(unusable(&why));
    }
    Ok(kept)
}
