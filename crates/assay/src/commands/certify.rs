//! `assay certify`: the main command. It probes the devices, prepares them (quick look) or requires preparation, runs
//! the steps of the procedure, and gives one verdict.

use super::result;
use crate::args::{Access, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::screen::tell;
use assay_base::{Bytes, Multiple, Span};
use assay_judge::{Fold, Options, Verdict, for_a_shell};
use assay_model::Plan;
use assay_model::workload::{Adjust, Workload};
use assay_record::{CloseReason, Entry, Preparation, StepHead};
use assay_run::drive::{Drive, drive};
use assay_run::failure::{Failure, one_line, shown};
use assay_run::logfile::{Listen, LogFile};
use assay_run::prepare::{self, prepare};
use assay_run::procedure::{Procedure, Step};
use assay_run::reading;
use assay_run::records::Records;
use assay_run::rest::{Asked, complete};
use assay_run::results;
use assay_run::resume::Held;
use assay_run::rundir;
use assay_run::schedulers::Schedulers;
use assay_run::seed::seed;
use assay_run::signals::{self, StopCell};
use assay_run::signing::Signer;
use assay_run::targets::{self, Named, Real, TargetNeeds, Targets};
use assay_run::unfinished::Unfinished;
use clap_complete::engine::ArgValueCompleter;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// `assay certify`
#[derive(clap::Args, Debug)]
pub(crate) struct Certify {
    /// Devices to certify. With --quick and no device, a scratch file in the working directory is tested. A workload may stand
    /// before the devices: act-index, a workload file, or an ACT configuration, whose own devices are certified where none
    /// are named [default workload: act-storage]
    #[arg(value_name = "[WORKLOAD] TARGETS", add = ArgValueCompleter::new(candidates::workloads_and_targets))]
    pub targets: Vec<String>,
    /// Take a quick look: a test of about a minute whose result is not a certification
    #[arg(long)]
    pub quick: bool,
    /// Run all steps to their end, even when the verdict is already certain to be FAIL
    #[arg(long)]
    pub keep_going: bool,
    /// Sign verdict.json with the minisign secret key in this file. The key is read before the run begins
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// Load to certify for, as a multiple of the workload's own (1x) [default: 30x; for a workload file or a configuration its
    /// own load; with --quick 1x]
    #[arg(long, value_name = "LOAD")]
    pub at: Option<Multiple>,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub output: Output,
}

/// Size of a quick look's scratch file: enough to exceed a drive's own cache, and small enough to be written in
/// seconds.
const SCRATCH: Bytes = Bytes::new(1 << 30);
/// Space that must stay free beside it.
const KEPT_FREE: u64 = 512 << 20;
/// Runs the procedure.
pub(crate) fn certify(args: &Certify) -> Result<u8, Failure> {
    let (procedure, targets) = Procedure::of(&args.targets, args.quick, args.at)?;
    if targets.is_empty() && !args.quick {
        return Err(Failure::usage(
            "certify needs a device; without one: assay certify --quick looks a scratch file here",
        ));
    }
    let signer = Signer::asked(args.sign.as_deref())?;
    if args.quick && args.output.resume.is_some() {
        return Err(Failure::usage("a quick look takes only a minute and cannot be resumed; start it again"));
    }
    let out = args.output.resume.as_deref().or(args.output.out.as_deref());
    rundir::refuse_taken(args.output.out.as_deref())?;
    let planned = rundir::planned(out, if args.quick { "quick" } else { "certify" });
    let stop = signals::watch().map_err(|e| Failure::host(format!("signals cannot be watched: {e}")))?;
    let mut progress = Progress::new(false);
    let named = targets::named(&targets)?;
    // Restored after everything else: setting a scheduler waits for operations in flight, for ever where a disk hangs.
    let scheduler;
    let opened = open(args, &named, &procedure.workload, &planned)?;
    scheduler = Schedulers::set(procedure.workload.scheduler.as_deref(), &opened, tell)?;
    let id = signer.as_ref().map(Signer::id);
    let notes = scheduler.notes();
    let certifying =
        Certifying { args, procedure: &procedure, named: &named, opened: &opened, stop: &stop, signer: id, notes };
    // A scratch file must not be left behind after a bug either.
    let outcome = catch_unwind(AssertUnwindSafe(|| certifying.run(&planned, &mut progress)));
    for problem in opened.remove_scratch() {
        progress.say(&problem);
    }
    let dir = outcome.unwrap_or_else(|panic| resume_unwind(panic))?;
    result::finish(&dir, &args.output, &progress, signer.as_ref())
}

fn open(args: &Certify, named: &[(String, Named)], workload: &Workload, planned: &Path) -> Result<Targets, Failure> {
    if named.is_empty() {
        let path = PathBuf::from(format!("assay-scratch-{}.dat", std::process::id()));
        return Ok(Targets::Real(vec![Real::scratch(&path, scratch_size(Path::new("."))?, planned)?]));
    }
    let plan =
        workload.plan(&Adjust { targets: named.len() as u16, ..Adjust::default() }).map_err(Failure::workload)?;
    let smallest = |block| plan.smallest_target(block);
    args.access.open(named, TargetNeeds { writes: plan.writes(), smallest: &smallest, log_dir: planned })
}

/// The usual size, or what fits.
fn scratch_size(dir: &Path) -> Result<Bytes, Failure> {
    let free = assay_device::usage::free_bytes(dir)
        .map_err(|e| Failure::host(format!("the working directory cannot be examined: {e}")))?;
    let fits = free.saturating_sub(KEPT_FREE) / (64 << 20) * (64 << 20);
    if fits == 0 {
        return Err(Failure::host(format!(
            "the working directory has {} free, a quick look needs {} or more; free some space or change to another directory",
            Bytes::new(free).human(),
            Bytes::new(KEPT_FREE + (64 << 20)).human()
        )));
    }
    Ok(Bytes::new(SCRATCH.get().min(fits)))
}

struct Certifying<'a> {
    args: &'a Certify,
    procedure: &'a Procedure,
    named: &'a [(String, Named)],
    opened: &'a Targets,
    stop: &'a StopCell,
    /// Id of the key that will sign the result.
    signer: Option<String>,
    /// What was done to the targets' queues for the run.
    notes: Vec<String>,
}

impl Certifying<'_> {
    fn run(&self, planned: &Path, progress: &mut Progress) -> Result<PathBuf, Failure> {
        let seed = seed(self.args.pace.seed.or(self.procedure.workload.seed), self.named_or_scratch());
        let tasks = self.tasks(seed)?;
        let prepared = if self.args.quick { self.prepare(progress)? } else { self.require_preparation()? };
        let (dir, log, held, so_far) = self.log(planned, &tasks)?;
        let mut certainty = None;
        let mut log = match self.goes_to_the_end() {
            true => log,
            false => {
                let (listener, told) = Certainty::new(so_far, self.stop);
                certainty = Some(told);
                log.heard_by(Box::new(listener))
            }
        };
        for (index, (mut head, mut plan)) in tasks.into_iter().enumerate() {
            let mut measured_before_ns = None;
            if let Some(held) = held.get(index) {
                if held.is_over() {
                    continue;
                }
                // A step keeps the value that it began with, also when it now continues to its end.
                head.until_certain = held.first.step.as_ref().is_some_and(|step| step.until_certain);
                let rest = self.asked(&head, &plan).rest(Some(held), &dir)?;
                (plan, measured_before_ns) = (rest.plan, Some(rest.at_ns));
            }
            progress.title(&format!("step {} of {}, {}", head.number, head.of, head.title));
            let how = Drive {
                engine: self.args.access.engine,
                workers: self.args.output.workers,
                spin: self.args.output.spin(),
                limits: self.args.output.limits(),
                step: Some(head),
                watermarks: self.watermarks(&plan, measured_before_ns),
                prepared: prepared.clone(),
                measured_before_ns,
                signer: self.signer.clone(),
                readings: None,
            };
            let more = how.step.as_ref().is_some_and(|step| step.number < step.of);
            let reason = drive(&plan, self.opened, &how, &mut log, progress, self.stop)?;
            if let Some(certain) = &certainty
                && (certain.get() || (more && reason == CloseReason::Completed && self.has_failed(&log)?))
            {
                progress
                    .say("the verdict is certain: FAIL. The remaining steps are not run; --keep-going runs all steps");
                break;
            }
            if reason != CloseReason::Completed {
                break;
            }
        }
        Ok(dir)
    }

    /// Whether the steps that are over decide: the last window of a step ends with the step.
    fn has_failed(&self, log: &LogFile) -> Result<bool, Failure> {
        Ok(results::judge(log.path(), self.args.output.judge_on)?.verdict == Verdict::Fail)
    }

    /// A quick look takes only a minute anyway, so it runs to its end.
    fn goes_to_the_end(&self) -> bool {
        self.args.keep_going || self.args.quick
    }

    /// A new log, or the one to be continued together with the judgement of what it already contains.
    fn log(&self, planned: &Path, tasks: &[(StepHead, Plan)]) -> Result<(PathBuf, LogFile, Vec<Held>, Fold), Failure> {
        let mut fold = Fold::new(Options { judge_on: self.args.output.judge_on, ..Options::default() });
        let Some(dir) = &self.args.output.resume else {
            let dir = rundir::create(planned, self.args.output.out.is_some())?;
            let log = LogFile::create(&dir.join("run.jsonl"))?;
            return Ok((dir, log, Vec::new(), fold));
        };
        results::may_be_left(dir)?;
        let log = Unfinished::open(&rundir::log_in(dir))?;
        let held = log.steps().to_vec();
        if held.len() == tasks.len() && held.iter().all(Held::is_over) {
            return Err(complete(dir));
        }
        // Also checks the steps that are over: the following ones are judged together with them.
        for ((head, plan), held) in tasks.iter().zip(&held) {
            self.asked(head, plan).same(held, dir)?;
        }
        if !self.goes_to_the_end() {
            read_into(&mut fold, &rundir::log_in(dir))?;
            if fold.fails_already() {
                let typed = for_a_shell(&dir.to_string_lossy());
                return Err(Failure::usage(format!(
                    "{} is decided: its verdict is FAIL whatever follows. `assay judge {typed}` shows it; --keep-going runs the rest",
                    shown(dir)
                )));
            }
        }
        Ok((dir.clone(), log.go_on()?, held, fold))
    }

    fn asked<'a>(&'a self, head: &'a StepHead, plan: &'a Plan) -> Asked<'a> {
        Asked { plan, step: Some(head), targets: self.opened, seed: self.args.pace.seed.is_some() }
    }

    /// The steps as they appear in the log, each with its plan.
    fn tasks(&self, seed: u64) -> Result<Vec<(StepHead, Plan)>, Failure> {
        let steps = self.procedure.steps(self.opened.count() as u16, self.args.pace.measure)?;
        let of = steps.len() as u32;
        let task = |(step, number): (Step, u32)| {
            let seed = seed.wrapping_add(u64::from(number - 1));
            let mut plan =
                self.procedure.plan(&step, self.args.pace.adjust(&self.procedure.workload, seed, step.targets))?;
            plan.notes.extend(self.notes.iter().cloned());
            let until_certain = !self.goes_to_the_end();
            Ok((StepHead { number, of, title: step.title, stress: step.stress, until_certain }, plan))
        };
        steps.into_iter().zip(1..).map(task).collect()
    }

    /// For the choice of the seed, a scratch file counts as a real target.
    fn named_or_scratch(&self) -> &[(String, Named)] {
        if self.named.is_empty() { std::slice::from_ref(&SCRATCH_NAME) } else { self.named }
    }

    fn watermarks(&self, plan: &Plan, before_ns: Option<u64>) -> Vec<String> {
        if self.args.quick {
            return vec!["QUICK: quick look, not a certification".into()];
        }
        assay_run::header::short(plan.measured() + Span::from_ns(before_ns.unwrap_or(0)), self.procedure.whole())
            .into_iter()
            .collect()
    }

    /// A quick look prepares its targets itself, with salt only, which is all that the reads need.
    fn prepare(&self, progress: &mut Progress) -> Result<Vec<Option<Preparation>>, Failure> {
        let names: Vec<String> = (0..self.opened.count()).map(|index| self.opened.name(index).to_owned()).collect();
        if self.opened.real().is_empty() {
            return Ok(vec![None; names.len()]);
        }
        self.opened.recheck()?;
        let total: u64 = (0..names.len()).map(|index| self.opened.geometry(index).size).sum();
        progress.say(&one_line(format_args!("preparing {} ({})", names.join(", "), Bytes::new(total).human())));
        let preparation = prepare::Preparation {
            zero: false,
            afresh: false,
            engine: self.args.access.engine,
            run: seed(None, self.named_or_scratch()) as u32,
        };
        let records = prepare(self.opened.real(), &names, preparation, None, progress, self.stop)?;
        Ok(records.iter().map(assay_run::records::Record::preparation).collect())
    }

    /// A certification is meaningful only on a device that was written full before.
    fn require_preparation(&self) -> Result<Vec<Option<Preparation>>, Failure> {
        let found = Records::host().preparations(self.opened.real(), tell);
        for (index, prepared) in found.iter().enumerate() {
            if prepared.is_none() {
                let name = self.opened.name(index);
                return Err(Failure::refused(format!(
                    "{} has not been prepared, and reads of blocks that were never written prove nothing\n  = run first: assay prep {} --destroy-data TOKEN",
                    one_line(name),
                    for_a_shell(name)
                )));
            }
        }
        Ok(found)
    }
}

/// Reads what a log already contains into `fold`.
fn read_into(fold: &mut Fold, log: &Path) -> Result<(), Failure> {
    let mut reader = reading::read(log)?;
    let unreadable = |e| Failure::workload(format!("the log {} cannot be read: {e}", shown(log)));
    while let Some(item) = reader.next_entry().map_err(unreadable)? {
        fold.item(&item);
    }
    Ok(())
}

/// Judges the log while it is written, and ends the run when nothing can change its verdict any more.
#[derive(Debug)]
struct Certainty {
    fold: Fold,
    stop: StopCell,
    certain: Rc<Cell<bool>>,
}

impl Certainty {
    /// Continues from what `fold` has read. The cell tells whether a certain FAIL was found.
    fn new(fold: Fold, stop: &StopCell) -> (Certainty, Rc<Cell<bool>>) {
        let certain = Rc::new(Cell::new(false));
        (Certainty { fold, stop: stop.clone(), certain: certain.clone() }, certain)
    }
}

impl Listen for Certainty {
    fn hear(&mut self, entry: &Entry) {
        // Distributions decide nothing, and are the largest part of a log.
        if matches!(entry, Entry::Histograms(_)) {
            return;
        }
        self.fold.entry(entry);
        if !self.certain.get() && self.fold.fails_already() {
            self.certain.set(true);
            if !matches!(entry, Entry::Close(_)) {
                self.stop.ask_because("the verdict was certain: FAIL");
            }
        }
    }
}

/// Represents the scratch file where only the kind of a target matters.
static SCRATCH_NAME: std::sync::LazyLock<(String, Named)> =
    std::sync::LazyLock::new(|| ("scratch".into(), Named::Path(PathBuf::from("scratch"))));
