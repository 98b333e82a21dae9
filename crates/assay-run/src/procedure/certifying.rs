//! A certification: the steps of the procedure one after the other in one log, judged while it is written, so that the rest is left
//! out when nothing can change the verdict any more.

use crate::certificate::records::{Record, Records};
use crate::drive::Drive;
use crate::failure::{Failure, escaped_path, one_line};
use crate::host::signals::StopCell;
use crate::log::logfile::LogFile;
use crate::log::results;
use crate::log::rundir;
use crate::log::unfinished::Unfinished;
use crate::observer::Observer;
use crate::open::seed::choose_seed;
use crate::open::targets::{Named, Targets};
use crate::prepare::{self, prepare_targets};
use crate::procedure::carrier::{OpenedForRuns, RunToCarry};
use crate::procedure::certainty::{Certainty, has_failed, read_into};
use crate::procedure::settings::Settings;
use crate::procedure::steps::{self, Course, EndedStep, Task};
use crate::procedure::{Procedure, Step, WARM_METADATA};
use assay_base::Bytes;
use assay_judge::{Fold, Options, for_a_shell};
use assay_record::{CloseReason, Preparation, StepHead};
use std::cell::Cell;
use std::path::{Path, PathBuf};

/// What a step on a directory does not say that was interrupted: its first part had a tree of its own.
const PARTLY_COMPARED: &str =
    "PARTLY COMPARED: what was written before an interruption was not compared with what is read";

/// A certification that is being carried out.
#[derive(Debug)]
pub struct Certifying<'a> {
    /// The procedure that is carried out.
    pub procedure: &'a Procedure,
    /// The targets as the user named them; none where a scratch file is tested.
    pub named: &'a [(String, Named)],
    /// The same, open.
    pub opened: &'a Targets,
    /// The settings of its runs.
    pub settings: &'a Settings<'a>,
    /// All steps are run to their end, also when the verdict is certain to be FAIL.
    pub to_the_end: bool,
    /// Ends it early.
    pub stop: &'a StopCell,
    /// Id of the key that will sign the result.
    pub signer: Option<String>,
    /// Notes about what was done to the targets' queues for the run.
    pub notes: Vec<String>,
}

impl Certifying<'_> {
    /// Runs the steps that are left, in the directory `planned` or in that of an earlier call; returns it.
    pub fn run_steps(&self, planned: &Path, observer: &mut dyn Observer) -> Result<PathBuf, Failure> {
        self.refuse_overlay()?;
        let seed = choose_seed(self.settings.pace.seed.or(self.procedure.workload.seed), self.named_or_scratch());
        let prepared = if self.procedure.quick { self.prepare_targets(observer)? } else { self.require_preparation()? };
        let (dir, log, tasks, so_far) = match &self.settings.place.resume {
            None => {
                let dir = self.settings.place.create_directory(planned)?;
                let log = LogFile::create_new(&dir.join("run.jsonl"))?;
                (dir, log, self.step_tasks(seed)?, self.begin_fold())
            }
            Some(dir) => match self.open_continued(dir, seed, observer)? {
                Some((log, tasks, so_far)) => (dir.clone(), log, tasks, so_far),
                None => return Ok(dir.clone()),
            },
        };
        observer.begin_directory(&dir);
        let (listener, certain) = Certainty::new(so_far, self.stop);
        let mut log = if self.to_the_end { log } else { log.heard_by(Box::new(listener)) };
        let mut watermarks = Vec::new();
        if self.procedure.quick {
            watermarks.push("QUICK: quick look, not a certification".to_owned());
        }
        if matches!(self.opened, Targets::Directory(_)) {
            watermarks.push(WARM_METADATA.to_owned());
        }
        if self.compares_files() && tasks.iter().any(|task| task.measured_before_ns.is_some_and(|before| before > 0)) {
            watermarks.push(PARTLY_COMPARED.to_owned());
        }
        let how = Drive {
            manner: self.settings.manner.clone(),
            watermarks,
            prepared,
            signer: self.signer.clone(),
            question: self.procedure.question(),
            ..Drive::default()
        };
        match self.settings.carrier {
            None => {
                let course = Course { targets: self.opened, how: &how, stop: self.stop };
                course.run_tasks(tasks, &mut log, observer, &|log, observer, ended| {
                    self.is_decided(log, observer, ended, &certain)
                })?;
            }
            Some(carrier) => {
                let opened = OpenedForRuns { targets: self.opened, how: &how, stop: self.stop };
                carrier.carry_run(&RunToCarry { tasks: &tasks, directory: &dir }, opened, &mut log, observer)?;
            }
        }
        Ok(dir)
    }

    /// As another rank than the first: carries this rank's share of the steps.
    pub fn follow_first_rank(&self) -> Result<(), Failure> {
        let carrier = self.settings.carrier.ok_or_else(|| Failure::internal_bug("there are no other ranks"))?;
        self.refuse_overlay()?;
        // What all hosts share was prepared from one of them, which is known there.
        let are_own = self.procedure.workload.hosts.are_own();
        let prepared = if are_own { self.require_preparation()? } else { Vec::new() };
        let how = Drive { manner: self.settings.manner.clone(), prepared, ..Drive::default() };
        carrier.follow_first_rank(OpenedForRuns { targets: self.opened, how: &how, stop: self.stop })
    }

    /// A service keeps its data on a volume and not in the layer of a container, whose file system is another one.
    fn refuse_overlay(&self) -> Result<(), Failure> {
        let Targets::Directory(directory) = self.opened else { return Ok(()) };
        if self.procedure.workload.certificate.is_none() || !directory.is_on_overlay() {
            return Ok(());
        }
        let (name, service) = (one_line(directory.directory_name()), one_line(&self.procedure.workload.name));
        Err(Failure::refused_for_safety(format!(
            "{name} is on an overlay, such as the layer of a container: name a directory on the volume where {service} keeps its data; nothing was made"
        )))
    }

    /// Whether what was written in a directory is compared at the end of a step.
    fn compares_files(&self) -> bool {
        let files = self.procedure.workload.load.as_files();
        files.is_some_and(|files| files.verify) && matches!(self.opened, Targets::Directory(_))
    }

    fn begin_fold(&self) -> Fold {
        Fold::new(Options { judge_on: self.settings.judge_on, ..Options::default() })
    }

    /// The log of an earlier call, to be continued with the steps that are left, and the judgement of what it already contains.
    /// `None` where that decides. The steps have the seeds that follow from the first one, unless the user gave `seed`: by
    /// these it is known that they are of one run.
    fn open_continued(
        &self,
        dir: &Path,
        seed: u64,
        observer: &dyn Observer,
    ) -> Result<Option<(LogFile, Vec<Task>, Fold)>, Failure> {
        results::refuse_unwritable_results(dir)?;
        let log = Unfinished::open_unless_running(&rundir::log_in(dir))?;
        let was_given = self.settings.pace.seed.is_some();
        let first = log.logged_steps().first().filter(|_| !was_given);
        let tasks = self.step_tasks(first.map_or(seed, |logged| logged.first.seed))?;
        let tasks = steps::remaining_tasks(tasks, log.logged_steps(), self.opened, was_given, dir)?;
        let mut fold = self.begin_fold();
        if !self.to_the_end {
            read_into(&mut fold, &rundir::log_in(dir))?;
            if fold.fails_already() {
                observer.say_line(&format!(
                    "{} is decided: its verdict is FAIL whatever follows; --keep-going runs the rest",
                    escaped_path(dir)
                ));
                return Ok(None);
            }
        }
        Ok(Some((log.continue_log()?, tasks, fold)))
    }

    /// Whether the steps that remain cannot change the verdict, or could only make a result of nothing worse.
    fn is_decided(
        &self,
        log: &LogFile,
        observer: &dyn Observer,
        ended: EndedStep,
        certain: &Cell<bool>,
    ) -> Result<bool, Failure> {
        if self.to_the_end {
            return Ok(false);
        }
        let fails = has_failed(log, self.settings.judge_on, ended, certain);
        if fails {
            observer
                .say_line("the verdict is certain: FAIL. The remaining steps are not run; --keep-going runs all steps");
        }
        Ok(fails || ended.reason != CloseReason::Completed)
    }

    /// The steps as they appear in the log, each with its plan.
    fn step_tasks(&self, seed: u64) -> Result<Vec<Task>, Failure> {
        let steps = self.procedure.steps_on_targets(self.opened.target_count() as u16, self.settings.pace.measure)?;
        let of = steps.len() as u32;
        // A quick look is never whole, and has a watermark of its own.
        let usual = (!self.procedure.quick).then(|| self.procedure.full_length());
        let mut tasks = Vec::new();
        for (step, number) in steps.into_iter().zip(1..) {
            let seed = seed.wrapping_add(u64::from(number - 1));
            let adjusted = self.settings.pace.workload_adjustments(&self.procedure.workload, seed, step.targets);
            let mut plan = self.procedure.plan_step(&step, adjusted)?;
            plan.notes.remarks.extend(self.notes.iter().cloned());
            let whole = step.whole.or(usual);
            let Step { title, stress, slice: usual_slice, .. } = step;
            let head = StepHead { number, of, title, stress, until_certain: !self.to_the_end, of_workload: false };
            let committed_before = Vec::new();
            let head = Some(head);
            tasks.push(Task { head, plan, whole, usual_slice, measured_before_ns: None, committed_before });
        }
        Ok(tasks)
    }

    /// For the choice of the seed, a scratch file counts as a real target.
    fn named_or_scratch(&self) -> &[(String, Named)] {
        if self.named.is_empty() { std::slice::from_ref(&SCRATCH_NAME) } else { self.named }
    }

    /// A quick look prepares its targets itself, with salt only, which is all that the reads need.
    fn prepare_targets(&self, observer: &mut dyn Observer) -> Result<Vec<Option<Preparation>>, Failure> {
        let names: Vec<String> =
            (0..self.opened.target_count()).map(|index| self.opened.target_name(index).to_owned()).collect();
        if self.opened.real_targets().is_empty() {
            return Ok(vec![None; names.len()]);
        }
        self.opened.recheck_gate()?;
        let total: u64 = (0..names.len()).map(|index| self.opened.target_geometry(index).size).sum();
        observer.say_line(&one_line(format_args!(
            "preparing {} ({})",
            names.join(", "),
            Bytes::new(total).human_text()
        )));
        let preparation = prepare::Preparation {
            zero: false,
            afresh: false,
            engine: self.settings.manner.engine,
            run: choose_seed(None, self.named_or_scratch()) as u32,
        };
        let records = prepare_targets(self.opened.real_targets(), &names, preparation, None, observer, self.stop)?;
        Ok(records.iter().map(Record::finished_preparation).collect())
    }

    /// A certification is meaningful only on a device that was written full before.
    fn require_preparation(&self) -> Result<Vec<Option<Preparation>>, Failure> {
        let found = Records::for_host().preparations_of_targets(self.opened.real_targets(), self.settings.tell);
        for (index, prepared) in found.iter().enumerate() {
            if prepared.is_none() {
                let name = self.opened.target_name(index);
                let consent = if Path::new(name).is_file() { "" } else { " --destroy-data TOKEN" };
                return Err(Failure::refused_for_safety(format!(
                    "{} has not been prepared, and reads of blocks that were never written prove nothing\n  = run first: assay prep {}{consent}",
                    one_line(name),
                    for_a_shell(name)
                )));
            }
        }
        Ok(found)
    }
}

/// Represents the scratch file where only the kind of a target matters.
static SCRATCH_NAME: std::sync::LazyLock<(String, Named)> =
    std::sync::LazyLock::new(|| ("scratch".into(), Named::Path(PathBuf::from("scratch"))));
