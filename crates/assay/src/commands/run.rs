//! `assay run`: one run of one workload.

use super::result;
use crate::again;
use crate::args::{Access, BehindCache, BesideRun, Jobs, Judged, Lookaside, Output, Pace, Ranks, TileCount};
use crate::candidates;
use crate::live_page::PageBesideRun;
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use assay_base::{Direction, Multiple, Span};
use assay_formats::fio::Line;
use assay_judge::for_a_shell;
use assay_model::cache::{CacheDevice, Caching};
use assay_model::tpcc::load::Verify;
use assay_model::workload::Workload;
use assay_model::{Plan, merge_plans};
use assay_run::certificate::records::Records;
use assay_run::certificate::signing::Signer;
use assay_run::drive::Drive;
use assay_run::failure::{Failure, one_line};
use assay_run::log::logfile::LogFile;
use assay_run::log::results;
use assay_run::log::rundir;
use assay_run::log::unfinished::Unfinished;
use assay_run::observer::Observer;
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, Named, SmallestTarget, TargetNeeds, Targets, named_databases};
use assay_run::prepare::{Preparation, prepare_targets};
use assay_run::procedure::certainty::run_until_certain;
use assay_run::procedure::pace;
use assay_run::procedure::steps::{self, Course, Task, never_decided};
use assay_run::{with_cache, workloads};
use clap_complete::engine::ArgValueCompleter;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// `assay run`
#[derive(clap::Args, Debug)]
pub(crate) struct Run {
    /// A workload file, an ACT configuration, a fio job file, or the name of a workload that comes with the program (`assay workloads`)
    #[arg(add = ArgValueCompleter::new(candidates::workload_candidates))]
    pub workload: String,
    /// Where to run it: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE; for the workload tpcc a database
    /// that assay prep has loaded, such as sqlite:FILE. Further workloads may stand before the targets; all run at the same time, and the name of each stream begins with its workload's name
    #[arg(value_name = "WORKLOAD... TARGETS", add = ArgValueCompleter::new(candidates::workloads_and_targets))]
    pub targets: Vec<String>,
    /// Load, as a multiple of the workload's own (1x), such as 30x. For an ACT configuration 1x is ACT's own: 2000 reads and
    /// 1000 writes per second on each device [default: the workload's]
    #[arg(long, value_name = "LOAD")]
    pub load: Option<Multiple>,
    /// Sign verdict.json with the minisign secret key in this file. The key is read before the run begins
    #[arg(long, value_name = "KEY")]
    pub sign: Option<PathBuf>,
    /// End as soon as it is certain that the verdict will be FAIL, as a certification does: a bound is broken, or an operation failed
    #[arg(long)]
    pub stop_when_certain: bool,
    /// Fill the targets first with data that do not compress, as assay prep --skip-zero does, unless that was done before. Needs the
    /// same consent as writing
    #[arg(long)]
    pub prep: bool,
    /// Test what a database server loses in a crash that you cause during the run. Transactions may fail meanwhile;
    /// within 5 minutes the server must be back, with every commit that it acknowledged. Includes --verify
    #[arg(long)]
    pub crash_test: bool,
    #[command(flatten)]
    pub tiles: TileCount,
    #[command(flatten)]
    pub behind: BehindCache,
    #[command(flatten)]
    pub lookaside: Lookaside,
    #[command(flatten)]
    pub jobs: Jobs,
    #[command(flatten)]
    pub pace: Pace,
    #[command(flatten)]
    pub judged: Judged,
    #[command(flatten)]
    pub access: Access,
    #[command(flatten)]
    pub ranks: Ranks,
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    pub page: BesideRun,
}

/// The text about a run that goes on although its failure is certain.
const GOES_ON: &str = "; the run goes on (Ctrl-C ends it, and --stop-when-certain ends such runs)";

/// Runs a workload, judges it, and leaves log, verdict and report in the run directory.
pub(crate) fn run_workload(args: &Run) -> Result<u8, Failure> {
    let page = PageBesideRun::listen_if_asked(&args.page, args.output.judge_on)?;
    let mut planned = plan_run(args, &args.pace)?;
    if args.crash_test && args.output.no_check {
        return Err(Failure::bad_usage(
            "--crash-test compares the database with what it acknowledged: remove --no-check",
        ));
    }
    if args.crash_test {
        planned.tasks.iter_mut().try_for_each(|task| make_crash_test(&planned.named, &mut task.plan))?;
    }
    let place = args.output.results_place();
    let never_continues = reason_not_to_continue(&planned.tasks);
    if let Some(reason) = never_continues.filter(|_| place.resume.is_some()) {
        return Err(Failure::bad_usage(reason));
    }
    let directory = place.planned_directory(&planned.tasks[0].plan.name)?;
    let prepared = open_targets(args, &mut planned, &directory, &[])?;
    let PlannedRun { signer, named, tasks, .. } = planned;
    let mut progress = Progress::for_one_run(if args.stop_when_certain { "" } else { GOES_ON }).with_page(page);
    if args.prep && place.resume.is_none() {
        fill_targets(args, &prepared, &named, &mut progress)?;
    } else {
        warn_of_blank(&named, &tasks);
    }
    let how = way_of_driving(args, &prepared, signer.as_ref());
    let OpenRun { dir, mut log, tasks } = match &place.resume {
        None => begin_log(place.create_directory(&directory)?, tasks)?,
        Some(dir) => resume_log(dir, tasks, &prepared.targets, args.pace.seed.is_some())?,
    };
    progress.begin_directory(&dir);
    let course = Course { targets: &prepared.targets, how: &how, stop: &prepared.stop };
    if args.stop_when_certain {
        run_until_certain(&course, tasks, log, place.resume.as_deref(), &mut progress)?;
    } else {
        course.run_tasks(tasks, &mut log, &mut progress, &never_decided)?;
    }
    let again = match never_continues {
        Some(_) => again::FROM_THE_BEGINNING.to_owned(),
        None => again::resume_command(&dir),
    };
    result::judge_and_report(&dir, &args.output, &progress, signer.as_ref(), &again)
}

/// A run that was asked for, before anything is opened.
pub(super) struct PlannedRun {
    /// Signs the result.
    pub(super) signer: Option<Signer>,
    pub(super) request: RunRequest,
    /// The targets, by name.
    pub(super) named: Vec<(String, Named)>,
    pub(super) tasks: Vec<Task>,
}

/// Reads what the command line asks for, at this pace.
pub(super) fn plan_run(args: &Run, pace: &Pace) -> Result<PlannedRun, Failure> {
    let signer = Signer::load_if_given(args.sign.as_deref())?;
    let request = RunRequest::parse_words("run", &args.workload, &args.targets, &args.jobs, pace)?;
    let request = request.behind_simulated_cache(&args.behind).with_cache_device(&args.lookaside)?;
    if request.names.is_empty() {
        return Err(Failure::bad_usage("run needs a target: a device, a file, sim:flash or null:1GiB"));
    }
    let mut named = targets::parse_targets(&request.names)?;
    targets::expect_file_system(&mut named, args.output.on_directory.expect_fs.as_deref());
    args.output.run_manner(args.access.engine).check_suits_targets(&named)?;
    let load = args.tiles.load_of_workload(request.first_workload(), args.load, None)?;
    let tasks = request.make_tasks(&named, load, pace, &args.judged)?;
    Ok(PlannedRun { signer, request, named, tasks })
}

/// How each of its tasks is carried out on targets that are open.
pub(super) fn way_of_driving(args: &Run, prepared: &Prepared, signer: Option<&Signer>) -> Drive {
    Drive {
        manner: args.output.run_manner(args.access.engine),
        prepared: Records::for_host().preparations_of_targets(prepared.targets.real_targets(), print_to_stderr),
        signer: signer.map(Signer::key_id),
        takes_marks: true,
        ..Drive::default()
    }
}

/// Opens the targets for all tasks, and the cache device, and gives them the scheduler that is asked for.
pub(super) fn open_targets(
    args: &Run,
    planned: &mut PlannedRun,
    log_dir: &Path,
    fellows: &[u32],
) -> Result<Prepared, Failure> {
    let PlannedRun { request, named, tasks, .. } = planned;
    let plans: Vec<&Plan> = tasks.iter().map(|task| &task.plan).collect();
    let needs = TargetNeeds {
        writes: args.prep || plans.iter().any(|plan| plan.load.writes_targets()),
        smallest: SmallestTarget::ForPlans(&plans),
        beside: plans.iter().map(|plan| with_cache(plan) - usize::from(plan.load.targets)).max().unwrap_or(0),
        log_dir,
        // The steps of a workload use its targets in one way.
        page_cache: &plans[0].caches.page,
        fellows,
    };
    let all = targets::with_cache_device(&request.names, named, request.cache_device())?;
    let mut prepared = Prepared::open_named(&all, needs, &|named, needs| args.access.open_targets(named, needs))?;
    let notes = prepared.set_scheduler(request.asked_scheduler()?, print_to_stderr)?;
    tasks.iter_mut().for_each(|task| task.plan.notes.remarks.extend(notes.clone()));
    Ok(prepared)
}

/// A run whose log is open.
struct OpenRun {
    /// The directory of the run.
    dir: PathBuf,
    log: LogFile,
    /// The tasks that are to be run.
    tasks: Vec<Task>,
}

/// Begins a log in a new directory.
fn begin_log(dir: PathBuf, tasks: Vec<Task>) -> Result<OpenRun, Failure> {
    let log = LogFile::create_new(&dir.join("run.jsonl"))?;
    Ok(OpenRun { dir, log, tasks })
}

/// Continues the log in a directory with what is left of the tasks.
fn resume_log(dir: &Path, tasks: Vec<Task>, targets: &Targets, own_seed: bool) -> Result<OpenRun, Failure> {
    results::refuse_unwritable_results(dir)?;
    let log = Unfinished::open_unless_running(&rundir::log_in(dir))?;
    let tasks = steps::remaining_tasks(tasks, log.logged_steps(), targets, own_seed, dir)?;
    Ok(OpenRun { dir: dir.to_owned(), log: log.continue_log()?, tasks })
}

/// Fills the targets with data, unless all of them are prepared.
fn fill_targets(
    args: &Run,
    opened: &Prepared,
    named: &[(String, Named)],
    progress: &mut Progress,
) -> Result<(), Failure> {
    let Prepared { targets, stop, .. } = opened;
    // A cache device, which is opened behind the targets, is filled by what passes it.
    let all = &targets.real_targets()[..targets.real_targets().len().min(named.len())];
    if all.is_empty() {
        return Err(Failure::bad_usage(
            "--prep fills devices and files; simulated and null targets hold no data, and databases have assay prep",
        ));
    }
    let kept = Records::for_host();
    kept.check_writable()?;
    if kept.preparations_of_targets(all, print_to_stderr).iter().all(Option::is_some) {
        return Ok(());
    }
    targets.recheck_gate()?;
    let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
    let preparation =
        Preparation { zero: false, afresh: false, engine: args.access.engine, run: choose_seed(None, named) as u32 };
    progress.say_line(&one_line(format_args!("filling {}", names.join(", "))));
    prepare_targets(all, &names, preparation, Some(&kept), progress, stop).map(drop)
}

/// Says before the run that it will prove nothing, and what to do.
pub(super) fn warn_of_blank(named: &[(String, Named)], tasks: &[Task]) {
    let mut streams = tasks.iter().flat_map(|task| &task.plan.load.streams);
    if !streams.any(|stream| stream.data_direction() == Some(Direction::Read)) {
        return;
    }
    for (name, _) in named.iter().filter(|(_, named)| named.holds_nothing()) {
        print_to_stderr(&format!(
            "warning: nothing was ever written to {}, and reads of it prove nothing: end this run, and add --prep to the command, or fill the file with assay prep {}",
            one_line(name),
            for_a_shell(name)
        ));
    }
}

/// Makes a run on a database a crash test.
fn make_crash_test(named: &[(String, Named)], plan: &mut Plan) -> Result<(), Failure> {
    match named_databases(named)[..] {
        [database] => database.expects_a_crash(plan),
        [_, _, ..] => Err(Failure::bad_usage("--crash-test is for a run on one database")),
        [] => Err(Failure::bad_usage("--crash-test is for a database server, such as postgres://me@host/shop")),
    }
}

/// Why a run of these tasks cannot be continued after an interruption, and what to do; `None` if it can.
fn reason_not_to_continue(tasks: &[Task]) -> Option<&'static str> {
    let mut loads = tasks.iter().filter_map(|task| task.plan.load.tpcc());
    // Commits that were lost meanwhile would be overtaken by new ones.
    if loads.any(|load| load.verify != Verify::No) {
        return Some(
            "a run with --verify or --crash-test cannot continue: what the database has lost meanwhile would no longer be seen; ask assay check URL --after DIR, and start another run",
        );
    }
    let mut files = tasks.iter().filter_map(|task| task.plan.load.files());
    files.any(|files| files.verify || !files.workload.phases.is_empty()).then_some(
        "a run on a directory cannot continue: its tree is gone, which its phases share, and which was not compared with what was written; start another run",
    )
}

/// True if both workloads name the same targets, in any order.
fn name_the_same_targets(one: &Workload, other: &Workload) -> bool {
    let one: BTreeSet<&String> = one.targets.paths.iter().collect();
    one == other.targets.paths.iter().collect()
}

/// Workloads and the targets to run them on, as named on a command line.
#[derive(Debug)]
pub(crate) struct RunRequest {
    workloads: Vec<Workload>,
    /// The targets: those that are named, or the workload's own.
    pub names: Vec<String>,
    /// The keys of job files of fio, each with what became of it.
    pub keys: Vec<Line>,
}

impl RunRequest {
    /// The same behind a simulated cache, where one is asked for.
    pub(crate) fn behind_simulated_cache(mut self, request: &BehindCache) -> RunRequest {
        for workload in &mut self.workloads {
            let Some(size) = request.behind else { continue };
            let cache = workload.caches.simulated.unwrap_or_else(|| Caching::with_size(size));
            workload.caches.simulated = Some(Caching { size, ..cache });
        }
        self
    }

    /// The same with a cache on a device of its own, where one is asked for.
    pub(crate) fn with_cache_device(mut self, request: &Lookaside) -> Result<RunRequest, Failure> {
        self.workloads.iter_mut().try_for_each(|workload| request.apply_to_workload(workload))?;
        Ok(self)
    }

    /// The device of that cache: of several workloads one has none.
    pub(crate) fn cache_device(&self) -> Option<&CacheDevice> {
        self.workloads.iter().find_map(|workload| workload.caches.device.as_ref())
    }

    /// Parses the workloads, of which there may be several before the targets.
    pub(crate) fn parse_words(
        verb: &'static str,
        first: &str,
        rest: &[String],
        jobs: &Jobs,
        pace: &Pace,
    ) -> Result<RunRequest, Failure> {
        let (words, targets) = workloads::split_workloads_and_targets(first, rest);
        // Of several workloads none knows which of the targets take the places of its files.
        let reading = jobs.reading_for_verb(verb, if words.len() == 1 { targets } else { &[] }, pace.measure)?;
        let found = workloads::read_all(&words, &reading)?;
        let (workloads, keys): (Vec<_>, Vec<_>) = found.into_iter().map(|found| (found.workload, found.keys)).unzip();
        if let Some(tiles) = workloads.iter().find(|workload| workload.tiles().is_some() && words.len() > 1) {
            return Err(Failure::bad_usage(format!(
                "{} is a file of tiles, beside which nothing else runs: write the other workloads as [[background]] into it",
                one_line(&tiles.name)
            )));
        }
        let names = if targets.is_empty() { workloads[0].targets.paths.clone() } else { targets.to_vec() };
        if targets.is_empty() && !workloads.iter().all(|workload| name_the_same_targets(workload, &workloads[0])) {
            return Err(Failure::bad_usage(
                "the workloads name different devices\n  = give the targets for all workloads after them on the command line, or start one run per workload",
            ));
        }
        Ok(RunRequest { workloads, names, keys: keys.concat() })
    }

    /// The tasks that are run one after another: all workloads together, or the steps of a single one.
    pub(crate) fn make_tasks(
        &self,
        named: &[(String, Named)],
        load: Option<assay_base::Multiple>,
        pace: &Pace,
        judged: &Judged,
    ) -> Result<Vec<Task>, Failure> {
        let tasks = match self.workloads.as_slice() {
            [workload] if !workload.timing.steps.is_empty() => {
                steps::plan_steps(workload, named, load, &pace.to_pace(), &judged.criteria)?
            }
            _ => vec![Task::single_run(self.joint_plan(named, load, pace, judged)?, self.longest_duration())],
        };
        tasks.iter().try_for_each(|task| targets::refuse_tiles_beyond(&task.plan, named))?;
        Ok(tasks)
    }

    /// The first of the workloads; a file of tiles is the only one.
    pub(crate) fn first_workload(&self) -> &Workload {
        &self.workloads[0]
    }

    /// The plan of all workloads together; criteria on the command line replace those of the workloads.
    pub(crate) fn joint_plan(
        &self,
        named: &[(String, Named)],
        load: Option<assay_base::Multiple>,
        pace: &Pace,
        judged: &Judged,
    ) -> Result<Plan, Failure> {
        self.merged_plan(named, load, pace)?.judged_by(&judged.criteria).map_err(Failure::bad_workload)
    }

    fn merged_plan(
        &self,
        named: &[(String, Named)],
        load: Option<assay_base::Multiple>,
        pace: &Pace,
    ) -> Result<Plan, Failure> {
        if let [workload] = self.workloads.as_slice() {
            return pace.to_pace().plan_workload(workload, named, load);
        }
        if load.is_some() {
            return Err(Failure::bad_usage(
                "--load cannot be used with several workloads; each runs at the load that its file gives",
            ));
        }
        let seed = choose_seed(pace.seed.or(self.workloads[0].seed), named);
        let pace = pace::Pace { seed: Some(seed), ..pace.to_pace() };
        let plans = self.workloads.iter().map(|workload| pace.plan_workload(workload, named, None));
        merge_plans(plans.collect::<Result<_, _>>()?).map_err(Failure::bad_workload)
    }

    /// The I/O scheduler that they ask for.
    pub(super) fn asked_scheduler(&self) -> Result<Option<&str>, Failure> {
        let first = self.workloads[0].targets.scheduler.as_deref();
        if self.workloads.iter().any(|workload| workload.targets.scheduler.as_deref() != first) {
            return Err(Failure::bad_workload(
                "the workloads ask for different I/O schedulers, but a device has only one; set the same scheduler in all, or start one run per workload",
            ));
        }
        Ok(first)
    }

    /// The longest duration among them.
    fn longest_duration(&self) -> Span {
        self.workloads.iter().map(Workload::measured_length).max().unwrap_or(Span::ZERO)
    }
}
