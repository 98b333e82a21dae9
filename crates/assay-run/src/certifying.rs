//! A certification: the steps of the procedure one after the other in one log, judged while it is written, so that the rest is left
//! out when nothing can change the verdict any more.

use crate::drive::{Drive, drive};
use crate::failure::{Failure, one_line, shown};
use crate::header;
use crate::logfile::{Listen, LogFile};
use crate::observer::Observer;
use crate::prepare::{self, prepare};
use crate::procedure::{Procedure, Step};
use crate::reading;
use crate::records::{Record, Records};
use crate::rest::{Asked, complete};
use crate::results;
use crate::resume::Held;
use crate::rundir;
use crate::seed::seed;
use crate::settings::Settings;
use crate::signals::StopCell;
use crate::targets::{Named, Targets};
use crate::unfinished::Unfinished;
use assay_base::{Bytes, Span};
use assay_judge::{Fold, Options, Verdict, for_a_shell};
use assay_model::Plan;
use assay_record::{CloseReason, Entry, Preparation, StepHead};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// See the module.
#[derive(Debug)]
pub struct Certifying<'a> {
    /// What is done to the targets.
    pub procedure: &'a Procedure,
    /// The targets as the user named them; none where a scratch file is tested.
    pub named: &'a [(String, Named)],
    /// The same, open.
    pub opened: &'a Targets,
    /// How its runs are made.
    pub settings: &'a Settings<'a>,
    /// All steps are run to their end, also when the verdict is certain to be FAIL.
    pub to_the_end: bool,
    /// Ends it early.
    pub stop: &'a StopCell,
    /// Id of the key that will sign the result.
    pub signer: Option<String>,
    /// What was done to the targets' queues for the run.
    pub notes: Vec<String>,
}

impl Certifying<'_> {
    /// Runs the steps that are left, in the directory `planned` or in that of an earlier call; returns it.
    pub fn run(&self, planned: &Path, observer: &mut dyn Observer) -> Result<PathBuf, Failure> {
        let seed = seed(self.settings.pace.seed.or(self.procedure.workload.seed), self.named_or_scratch());
        let tasks = self.tasks(seed)?;
        let prepared = if self.procedure.quick { self.prepare(observer)? } else { self.require_preparation()? };
        let (dir, log, held, so_far) = self.log(planned, &tasks)?;
        let mut certainty = None;
        let mut log = match self.to_the_end {
            true => log,
            false => {
                let (listener, decided) = Certainty::new(so_far, self.stop);
                certainty = Some(decided);
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
            observer.title(&format!("step {} of {}, {}", head.number, head.of, head.title));
            let how = Drive {
                manner: self.settings.manner.clone(),
                step: Some(head),
                watermarks: self.watermarks(&plan, measured_before_ns),
                prepared: prepared.clone(),
                measured_before_ns,
                signer: self.signer.clone(),
                ..Drive::default()
            };
            let more = how.step.as_ref().is_some_and(|step| step.number < step.of);
            let reason = drive(&plan, self.opened, &how, &mut log, observer, self.stop)?;
            if let Some(certain) = &certainty
                && (certain.get() || (more && reason == CloseReason::Completed && self.has_failed(&log)?))
            {
                observer
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
        // A log that cannot be read back does not decide; the end of the certification says so.
        Ok(results::judge(log.path(), self.settings.judge_on).is_ok_and(|judgement| judgement.verdict == Verdict::Fail))
    }

    /// A new log, or the one to be continued together with the judgement of what it already contains.
    fn log(&self, planned: &Path, tasks: &[(StepHead, Plan)]) -> Result<(PathBuf, LogFile, Vec<Held>, Fold), Failure> {
        let mut fold = Fold::new(Options { judge_on: self.settings.judge_on, ..Options::default() });
        let Some(dir) = &self.settings.place.resume else {
            let dir = self.settings.place.create(planned)?;
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
        if !self.to_the_end {
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
        Asked { plan, step: Some(head), targets: self.opened, seed: self.settings.pace.seed.is_some() }
    }

    /// The steps as they appear in the log, each with its plan.
    fn tasks(&self, seed: u64) -> Result<Vec<(StepHead, Plan)>, Failure> {
        let steps = self.procedure.steps(self.opened.count() as u16, self.settings.pace.measure)?;
        let of = steps.len() as u32;
        let task = |(step, number): (Step, u32)| {
            let seed = seed.wrapping_add(u64::from(number - 1));
            let mut plan =
                self.procedure.plan(&step, self.settings.pace.adjust(&self.procedure.workload, seed, step.targets))?;
            plan.notes.extend(self.notes.iter().cloned());
            let until_certain = !self.to_the_end;
            Ok((
                StepHead { number, of, title: step.title, stress: step.stress, until_certain, of_workload: false },
                plan,
            ))
        };
        steps.into_iter().zip(1..).map(task).collect()
    }

    /// For the choice of the seed, a scratch file counts as a real target.
    fn named_or_scratch(&self) -> &[(String, Named)] {
        if self.named.is_empty() { std::slice::from_ref(&SCRATCH_NAME) } else { self.named }
    }

    fn watermarks(&self, plan: &Plan, before_ns: Option<u64>) -> Vec<String> {
        if self.procedure.quick {
            return vec!["QUICK: quick look, not a certification".into()];
        }
        header::short(plan.measured() + Span::from_ns(before_ns.unwrap_or(0)), self.procedure.whole())
            .into_iter()
            .collect()
    }

    /// A quick look prepares its targets itself, with salt only, which is all that the reads need.
    fn prepare(&self, observer: &mut dyn Observer) -> Result<Vec<Option<Preparation>>, Failure> {
        let names: Vec<String> = (0..self.opened.count()).map(|index| self.opened.name(index).to_owned()).collect();
        if self.opened.real().is_empty() {
            return Ok(vec![None; names.len()]);
        }
        self.opened.recheck()?;
        let total: u64 = (0..names.len()).map(|index| self.opened.geometry(index).size).sum();
        observer.say(&one_line(format_args!("preparing {} ({})", names.join(", "), Bytes::new(total).human())));
        let preparation = prepare::Preparation {
            zero: false,
            afresh: false,
            engine: self.settings.manner.engine,
            run: seed(None, self.named_or_scratch()) as u32,
        };
        let records = prepare(self.opened.real(), &names, preparation, None, observer, self.stop)?;
        Ok(records.iter().map(Record::preparation).collect())
    }

    /// A certification is meaningful only on a device that was written full before.
    fn require_preparation(&self) -> Result<Vec<Option<Preparation>>, Failure> {
        let found = Records::host().preparations(self.opened.real(), self.settings.tell);
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
