//! Several runs on the same targets, each in a directory of its own: what the procedures of several runs have in common. Which run
//! comes next is not decided here but in [`crate::procedure::runner`].

use crate::certificate::records::Records;
use crate::databases;
use crate::directories::NamedDirectory;
use crate::drive::Drive;
use crate::failure::{Failure, one_line};
use crate::log::judging::Log;
use crate::log::logfile::LogFile;
use crate::log::remembered::Judged;
use crate::log::rest::{belongs_to_other_run, json_of};
use crate::log::results;
use crate::log::rundir;
use crate::observer::Observer;
use crate::open::prepared::Prepared;
use crate::open::targets::{self, Named, TargetNeeds, refuse_number_on};
use crate::procedure::carrier::{OpenedForRuns, RunToCarry};
use crate::procedure::pace::{Pace, fit_to_blocks};
use crate::procedure::settings::Settings;
use crate::procedure::steps::{self, Course, Task, never_decided};
use assay_base::{Bytes, Geometry, Multiple, Share, Span};
use assay_device::probe;
use assay_device::safety::Roots;
use assay_judge::Judgement;
use assay_model::plan::{PlannedLoad, decisive_members};
use assay_model::workload::Workload;
use assay_model::{Phase, Plan};
use assay_record::{Header, TargetHead};
use std::path::{Path, PathBuf};

/// Upper bound on the length of one run when the command line gives none: "Running ACT for six hours will give you a
/// good idea whether your device can pass" (ACT README, "Determining Expected Performance at Higher Throughput").
const RUN: Span = Span::from_secs(6 * 3600);

/// What is checked of a plan and its targets before anything is opened.
type PlanCheck<'a> = &'a dyn Fn(&Plan, &[(String, Named)]) -> Result<(), Failure>;

/// The part of several runs that stays the same from run to run. The targets are opened once, after every safety rule was evaluated.
#[derive(Debug)]
pub struct Several<'a> {
    settings: Settings<'a>,
    workload: Workload,
    named: Vec<(String, Named)>,
    /// The targets, as the user named them.
    pub names: Vec<String>,
    /// The plan at 1x.
    pub plan: Plan,
    /// Checksum of what distinguishes the plan from others.
    pub plan_sum: String,
    planned: PathBuf,
    prepared: Prepared,
}

impl<'a> Several<'a> {
    /// Opens the targets of `workload` for `verb`: those that are given, or else its own. Where the settings give no length,
    /// each run measures for the workload's duration, at most six hours.
    pub fn open_for_verb(
        verb: &str,
        workload: Workload,
        targets: &[String],
        settings: Settings<'a>,
    ) -> Result<Several<'a>, Failure> {
        Several::open_checked(verb, workload, targets, settings, &|plan, _| {
            if plan.load.can_be_scaled() { Ok(()) } else { Err(without_rate(verb, plan)) }
        })
    }

    /// The same for runs that differ by their workloads, and not by their load.
    pub fn open_loops(
        verb: &str,
        workload: Workload,
        targets: &[String],
        settings: Settings<'a>,
    ) -> Result<Several<'a>, Failure> {
        Several::open_checked(verb, workload, targets, settings, &|_, _| Ok(()))
    }

    /// Opens a directory for runs that differ by their workloads; `workload` is one of them, without steps.
    pub fn open_directory(
        verb: &str,
        workload: Workload,
        name: String,
        directory: NamedDirectory,
        settings: Settings<'a>,
    ) -> Result<Several<'a>, Failure> {
        if settings.manner.directory.expected_file_system.is_some() {
            return Err(Failure::bad_usage(format!(
                "--expect-fs is for one directory: {verb} shows the type of each mount, and refuses to go on with others"
            )));
        }
        Several::open_named(verb, workload, vec![(name, Named::Directory(directory))], settings, &|_, _| Ok(()))
    }

    /// How many tiles fit on each of its targets; zero where it has no tiles.
    pub(crate) fn count_tiles_that_fit(&self) -> u64 {
        let Some(tiles) = self.plan.load.tiles() else { return 0 };
        let sizes = (0..self.named.len()).map(|at| self.prepared.targets.target_geometry(at).size);
        sizes.map(|size| tiles.count_on(size)).min().unwrap_or(0)
    }

    /// Refuses a number of tiles that has no plan, or no room on its targets.
    pub(crate) fn check_number_of_tiles(&self, number: Multiple) -> Result<(), Failure> {
        let plan = self.settings.pace.plan_workload(&self.workload, &self.named, Some(number))?;
        self.has_room_for(&plan)
    }

    /// The same, where `check` looks at the plan of one run before anything is opened.
    pub(crate) fn open_checked(
        verb: &str,
        workload: Workload,
        targets: &[String],
        settings: Settings<'a>,
        check: PlanCheck<'_>,
    ) -> Result<Several<'a>, Failure> {
        let names = if targets.is_empty() { workload.targets.paths.clone() } else { targets.to_vec() };
        if names.is_empty() {
            return Err(Failure::bad_usage(format!("{verb} needs a target: a device, a file or sim:flash")));
        }
        let mut named = targets::parse_targets(&names)?;
        targets::expect_file_system(&mut named, settings.manner.directory.expected_file_system.as_deref());
        Several::open_named(verb, workload, named, settings, check)
    }

    fn open_named(
        verb: &str,
        workload: Workload,
        named: Vec<(String, Named)>,
        mut settings: Settings<'a>,
        check: PlanCheck<'_>,
    ) -> Result<Several<'a>, Failure> {
        let workload = fit_to_blocks(&workload, &named)?.unwrap_or(workload);
        let names = named.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        settings.manner.check_suits_targets(&named)?;
        settings.manner.check_suits_several_runs(verb)?;
        settings.pace = with_length(settings.pace, &workload);
        let (plan, plan_sum) = plan_with_checksum(&workload, &named, &settings)?;
        check(&plan, &named)?;
        let directory = format!("{verb}-{}", plan.name);
        let planned = match settings.carrier {
            Some(carrier) if !carrier.is_first_rank() => settings.place.directory_of_another_rank(&directory),
            _ => settings.place.planned_directory(&directory)?,
        };
        let all = targets::with_cache_device(&names, &named, workload.caches.device.as_ref())?;
        let beside = all.len() - named.len();
        let needs = TargetNeeds { beside, page_cache: &plan.caches.page, ..TargetNeeds::for_plan(&plan, &planned) };
        let open = settings.open.as_ref();
        let mut prepared = match settings.carrier {
            None => Prepared::open_named(&all, needs, open)?,
            Some(carrier) => {
                refuse_scheduler_of_ranks(&workload)?;
                Prepared::open_named(&all, needs, &|named, needs| carrier.open_targets(&plan, named, needs, open))?
            }
        };
        Drive::default().refuse_parts_without_marks(&plan, &prepared.targets)?;
        prepared.set_scheduler(workload.targets.scheduler.as_deref(), settings.tell)?;
        Ok(Several { settings, workload, named, names, plan, plan_sum, planned, prepared })
    }

    /// From now on runs this workload on the same targets, at this pace.
    pub fn change_workload(&mut self, workload: Workload, pace: Pace) -> Result<(), Failure> {
        self.settings.pace = with_length(pace, &workload);
        let (plan, plan_sum) = plan_with_checksum(&workload, &self.named, &self.settings)?;
        self.has_room_for(&plan)?;
        (self.workload, self.plan, self.plan_sum) = (workload, plan, plan_sum);
        Ok(())
    }

    /// Refuses a plan whose operations are larger than a target. The first plan was checked when the targets were opened.
    fn has_room_for(&self, plan: &Plan) -> Result<(), Failure> {
        for (target, name) in (0..plan.load.targets).zip(&self.names) {
            let Geometry { size, block } = self.prepared.targets.target_geometry(usize::from(target));
            plan.load.tiles().map_or(Ok(()), |tiles| refuse_number_on(tiles, name, size))?;
            if size < plan.smallest_target(target, block) {
                return Err(Failure::bad_usage(format!(
                    "target {} has {}, too little for the operations of this run; choose a larger target",
                    one_line(name),
                    Bytes::new(size).human_text()
                )));
            }
        }
        Ok(())
    }

    /// From now on runs the same workload without the cache before its targets.
    pub fn without_cache(&mut self) -> Result<(), Failure> {
        let mut workload = self.workload.clone();
        workload.caches.device = None;
        self.change_workload(workload, self.settings.pace.clone())
    }

    /// Whether there is a cache before its targets.
    pub fn has_cache(&self) -> bool {
        self.workload.caches.device.is_some()
    }

    /// Tells the user that a document could not be kept: the disk of the results has died, and what was measured is shown
    /// from memory, as the result of a single run is.
    pub fn tell_if_lost(&self, kept: Result<(), Failure>) {
        if let Err(why) = kept {
            self.tell_user(&format!("error: {}; the result below is made from memory", why.user_message()));
        }
    }

    /// A message for the user that belongs to no run.
    pub(crate) fn tell_user(&self, line: &str) {
        (self.settings.tell)(line);
    }

    /// Whether a signal has asked for the end.
    pub(crate) fn was_asked_to_stop(&self) -> bool {
        self.prepared.stop.is_set()
    }

    /// Whether the command line names a seed.
    pub fn asks_for_a_seed(&self) -> bool {
        self.settings.pace.seed.is_some()
    }

    /// Size and block of the first target.
    pub fn first_geometry(&self) -> Geometry {
        self.prepared.targets.target_geometry(0)
    }

    /// The pace of its runs.
    pub fn run_pace(&self) -> &Pace {
        &self.settings.pace
    }

    /// The largest request that the queue of the first target takes whole, in KiB, where it has one.
    pub fn largest_request(&self) -> Option<String> {
        let (_, number) = self.prepared.targets.disks_beneath(1).into_iter().next()?;
        let queue = probe::queue_settings(&Roots::of_machine(), number);
        queue.into_iter().find_map(|(name, value)| (name == probe::LARGEST_REQUEST).then_some(value))
    }

    /// The first target, as it is named.
    pub fn first_target(&self) -> &Named {
        &self.named[0].1
    }

    /// A sentence about how long each run measures, and why, for the user who waits.
    pub fn length_sentence(&self) -> String {
        let (measured, own) = (self.plan.timing.measured_length(), self.workload.timing.duration);
        let why = match own.cmp(&measured) {
            _ if measured != own.min(RUN) => "as asked by --for".to_owned(),
            std::cmp::Ordering::Equal => "the workload's duration; --for asks for another".to_owned(),
            _ => format!("of the workload's {own}; --for asks for another"),
        };
        format!("each run measures {measured} ({why})")
    }

    /// Whether what an earlier call stored belongs to the same task: the workload and its targets, the length of a run,
    /// the checksum of the plan (which earlier versions did not store), and the seed, where the user gave one.
    pub fn is_of_same_task(
        &self,
        workload: &str,
        targets: &[String],
        run_ns: u64,
        plan: Option<&str>,
        seed: u64,
    ) -> bool {
        (workload, targets, run_ns) == (&self.plan.name, &self.names, self.plan.timing.measured_length().as_ns())
            && plan.is_none_or(|sum| sum == self.plan_sum)
            && (self.settings.pace.seed.is_none() || self.plan.load.seed == seed)
    }

    /// Refuses a run in `dir` that began on other devices than those that the names now stand for.
    pub(crate) fn refuse_other_devices(&self, head: &Header, dir: &Path) -> Result<(), Failure> {
        self.prepared.targets.differ_from(&head.targets).map_or(Ok(()), |what| Err(belongs_to_other_run(dir, &what)))
    }

    /// The directory of all runs: the one to be continued, or a new one.
    pub fn choose_directory(&self) -> Result<PathBuf, Failure> {
        let place = &self.settings.place;
        place.resume.as_ref().map_or_else(|| place.create_directory(&self.planned), |dir| Ok(dir.clone()))
    }

    /// The judgement of the run of an earlier call. If that call was killed before it could leave the results of the run, they are
    /// left now.
    pub(crate) fn judge_earlier_run(&self, run: &Path) -> Result<Judgement, Failure> {
        match run.join("verdict.json").symlink_metadata() {
            Ok(_) => results::judge_file(&run.join("run.jsonl"), self.settings.judge_on),
            Err(_) => Ok(results::write_results(run, self.settings.judge_on, self.settings.tell)?.0),
        }
    }

    /// The judgements of these phases of a run, each by itself.
    pub(crate) fn judged_by_phases(&self, run: &Path, phases: &[Phase]) -> Result<Vec<Judgement>, Failure> {
        Log::open_log(&run.join("run.jsonl"))?.judge_phases(self.settings.judge_on, phases)
    }

    /// The commits that the database has lost since it acknowledged them to the run in this directory, in words; empty if the run kept
    /// no ledger of commits.
    pub(crate) fn lost_commits(&self, run: &Path) -> Result<Vec<String>, Failure> {
        match self.prepared.targets.all_databases() {
            [database] => databases::lost_commits(database, run),
            _ => Ok(Vec::new()),
        }
    }

    /// The workload of its runs, as it is now.
    pub(crate) fn current_workload(&self) -> &Workload {
        &self.workload
    }

    /// The same load in one uninterrupted run through these shares of it, each for as long as a run measures. Where the warm-up
    /// waits until the load is steady, which a load that changes never is, the run warms up for the longest that it may wait.
    pub(crate) fn make_ramp(&self, shares: &[Share]) -> Result<Ramp, Failure> {
        let (span, pace) = (self.plan.timing.measured_length(), &self.settings.pace);
        let workload = self.workload.as_ramp(shares, span).ok_or_else(|| {
            Failure::bad_usage(format!(
                "the load of {} cannot change within a run: measure each point in a run of its own, with --runs each",
                one_line(&self.workload.name)
            ))
        })?;
        let warm_up = pace.until_steady.or(pace.warm_up).unwrap_or(self.workload.timing.warm_up.longest_warm_up());
        let measure = Span::from_ns(span.as_ns().saturating_mul(shares.len() as u64));
        let pace = Pace { measure: Some(measure), warm_up: Some(warm_up), until_steady: None, ..pace.clone() };
        let plan = pace.plan_workload(&workload, &self.named, Some(Multiple::ONE))?;
        plan.judged_by(self.settings.criteria).map_err(Failure::bad_workload)?;
        Ok(Ramp { workload, pace })
    }

    /// What a run consists of: the steps of its workload, where it has some.
    fn tasks_of_run(&self, planned: &PlannedRun) -> Result<Vec<Task>, Failure> {
        let PlannedRun { workload, pace, load, seed, .. } = planned;
        let (pace, criteria) = (Pace { seed: Some(*seed), ..pace.clone() }, self.settings.criteria);
        if !workload.timing.steps.is_empty() {
            return steps::plan_steps(workload, &self.named, Some(*load), &pace, criteria);
        }
        let plan = pace.plan_workload(workload, &self.named, Some(*load))?;
        let plan = plan.judged_by(criteria).map_err(Failure::bad_workload)?;
        Ok(vec![Task::single_run(plan, workload.timing.duration)])
    }

    /// A checksum of what distinguishes a run from others, over all steps of its workload.
    pub(crate) fn checksum_of_run(&self, planned: &PlannedRun) -> Result<String, Failure> {
        let mut members = Vec::new();
        for task in self.tasks_of_run(planned)? {
            members.push(serde_json::json!(decisive_members(&json_of(&task.plan)?)));
        }
        Ok(blake3::hash(serde_json::json!(members).to_string().as_bytes()).to_hex().to_string())
    }

    /// How the log describes the first target.
    pub(crate) fn first_target_head(&self) -> TargetHead {
        self.prepared.targets.target_heads(1).remove(0)
    }

    fn way_of_driving(&self) -> Drive {
        let Settings { manner, tell, .. } = &self.settings;
        Drive {
            manner: manner.clone(),
            prepared: Records::for_host().preparations_of_targets(self.prepared.targets.real_targets(), *tell),
            ..Drive::default()
        }
    }

    fn opened_for_runs<'b>(&'b self, how: &'b Drive) -> OpenedForRuns<'b> {
        OpenedForRuns { targets: &self.prepared.targets, how, stop: &self.prepared.stop }
    }

    /// As another rank than the first: carries this rank's share of each run that the procedure of the first one makes.
    pub fn follow_first_rank(&self) -> Result<(), Failure> {
        let how = self.way_of_driving();
        let carrier = self.settings.carrier.ok_or_else(|| Failure::internal_bug("there are no other ranks"))?;
        carrier.follow_first_rank(self.opened_for_runs(&how))
    }

    /// Makes a run in a new directory below `below`, and judges it, and each of these phases by itself.
    pub(crate) fn make_run(
        &self,
        below: &Path,
        planned: &PlannedRun,
        phases: &[Phase],
        observer: &mut dyn Observer,
    ) -> Result<(Judged, PathBuf), Failure> {
        let Settings { judge_on, tell, .. } = &self.settings;
        let tasks = self.tasks_of_run(planned)?;
        tasks.iter().try_for_each(|task| self.has_room_for(&task.plan))?;
        let (dir, _held) = rundir::create_held(&below.join(&planned.name), false)?;
        let mut log = LogFile::create_new(&dir.join("run.jsonl"))?;
        let how = self.way_of_driving();
        let opened = self.opened_for_runs(&how);
        match self.settings.carrier {
            None => {
                let OpenedForRuns { targets, how, stop } = opened;
                Course { targets, how, stop }.run_tasks(tasks, &mut log, observer, &never_decided)?;
            }
            Some(carrier) => {
                let run = RunToCarry { tasks: &tasks, directory: &dir };
                carrier.carry_run(&run, opened, &mut log, observer)?;
            }
        }
        let (judged, _) = results::write_judged_results(&dir, *judge_on, phases, *tell)?;
        Ok((judged, dir))
    }
}

/// Several ranks would set it at the same time.
pub fn refuse_scheduler_of_ranks(workload: &Workload) -> Result<(), Failure> {
    match &workload.targets.scheduler {
        None => Ok(()),
        Some(_) => Err(Failure::bad_workload(
            "the workload sets the I/O scheduler of its devices, which several ranks would do at the same time; set it by hand before",
        )),
    }
}

/// The refusal of a load that has no rate to multiply.
fn without_rate(verb: &str, plan: &Plan) -> Failure {
    let name = one_line(&plan.name);
    if plan.load.files().is_none() {
        return Failure::bad_workload(format!(
            "{verb} offers one load after another: {}",
            PlannedLoad::ONLY_CLOSED_LOOPS
        ));
    }
    Failure::bad_workload(format!(
        "{verb} offers one load after another, and each client of {name} begins a sequence when its last one is done (closed = true): there is no rate to multiply\n  = assay run {name} DIR measures what a file system gives; for {verb}, write rate = \"200/s\" in place of closed = true into a copy: assay workloads {name} > mine.toml"
    ))
}

/// A run that a procedure asks for.
#[derive(Debug)]
pub(crate) struct PlannedRun {
    /// Name of its directory, below that of the procedure.
    pub(crate) name: String,
    /// The title that is shown while it runs.
    pub(crate) title: String,
    /// The workload that is run.
    pub(crate) workload: Workload,
    /// Its pace; the seed is a field of its own.
    pub(crate) pace: Pace,
    /// Its load.
    pub(crate) load: Multiple,
    /// Its seed.
    pub(crate) seed: u64,
}

/// One uninterrupted run through several shares of a load.
#[derive(Debug)]
pub(crate) struct Ramp {
    /// The workload that is run; its phases are those of the shares.
    pub(crate) workload: Workload,
    /// Its pace.
    pub(crate) pace: Pace,
}

/// A pace with a length: the workload's duration, at most six hours, where none was asked for.
fn with_length(pace: Pace, workload: &Workload) -> Pace {
    Pace { measure: Some(pace.measure.unwrap_or(workload.timing.duration.min(RUN))), ..pace }
}

/// The plan of a workload at 1x, and the checksum of what distinguishes it from others.
fn plan_with_checksum(
    workload: &Workload,
    named: &[(String, Named)],
    settings: &Settings<'_>,
) -> Result<(Plan, String), Failure> {
    let plan = settings.pace.plan_workload(workload, named, Some(Multiple::ONE))?;
    let plan = plan.judged_by(settings.criteria).map_err(Failure::bad_workload)?;
    let decisive = serde_json::json!(decisive_members(&json_of(&plan)?));
    let sum = blake3::hash(decisive.to_string().as_bytes()).to_hex().to_string();
    Ok((plan, sum))
}
