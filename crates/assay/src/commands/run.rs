//! `assay run`: one run of one workload.

use super::result;
use crate::args::{Access, BehindCache, Jobs, Judged, Lookaside, Output, Pace};
use crate::candidates;
use crate::progress::Progress;
use crate::screen::tell;
use assay_base::{Direction, Multiple, Span};
use assay_formats::fio::Line;
use assay_judge::for_a_shell;
use assay_model::cache::{CacheDevice, Caching};
use assay_model::tpcc::load::Verify;
use assay_model::workload::Workload;
use assay_model::{Plan, merge};
use assay_run::certainty::run_until_certain;
use assay_run::drive::Drive;
use assay_run::failure::{Failure, one_line};
use assay_run::logfile::LogFile;
use assay_run::observer::Observer;
use assay_run::pace;
use assay_run::prepare::{Preparation, prepare};
use assay_run::records::Records;
use assay_run::results;
use assay_run::rundir;
use assay_run::schedulers::Schedulers;
use assay_run::seed::seed;
use assay_run::signals::{self, StopCell};
use assay_run::signing::Signer;
use assay_run::steps::{self, Course, Task, never_decided};
use assay_run::targets::{self, Named, TargetNeeds, Targets, databases};
use assay_run::unfinished::Unfinished;
use assay_run::{with_cache, workloads};
use clap_complete::engine::ArgValueCompleter;
use std::path::PathBuf;

/// `assay run`
#[derive(clap::Args, Debug)]
pub(crate) struct Run {
    /// A workload file, an ACT configuration, a fio job file, or the name of a workload that comes with the program (`assay workloads`)
    #[arg(add = ArgValueCompleter::new(candidates::workloads))]
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
    pub output: Output,
}

/// What is said of a run that goes on although its failure is certain.
const GOES_ON: &str = "; the run goes on (Ctrl-C ends it, and --stop-when-certain ends such runs)";

/// Runs a workload, judges it, and leaves log, verdict and report in the run directory.
pub(crate) fn run(args: &Run) -> Result<u8, Failure> {
    let signer = Signer::asked(args.sign.as_deref())?;
    let asked = Asking::of("run", &args.workload, &args.targets, &args.jobs, &args.pace)?;
    let asked = asked.behind(&args.behind).beside(&args.lookaside)?;
    if asked.names.is_empty() {
        return Err(Failure::usage("run needs a target: a device, a file, sim:flash or null:1GiB"));
    }
    let named = targets::any_named(&asked.names)?;
    args.output.manner(args.access.engine).suits(&named)?;
    let mut tasks = asked.tasks(&named, args.load, &args.pace, &args.judged)?;
    if args.crash_test && args.output.no_check {
        return Err(Failure::usage("--crash-test compares the database with what it acknowledged: remove --no-check"));
    }
    if args.crash_test {
        tasks.iter_mut().try_for_each(|task| expects_a_crash(&named, &mut task.plan))?;
    }
    let place = args.output.place();
    goes_on(place.resume.is_some(), &tasks)?;
    let planned = place.planned(&tasks[0].plan.name)?;
    let of_all = |at, block| tasks.iter().map(|task| task.plan.smallest_target(at, block)).max().unwrap_or(0);
    let beside = tasks.iter().map(|task| with_cache(&task.plan) - usize::from(task.plan.targets)).max().unwrap_or(0);
    let writes = args.prep || tasks.iter().any(|task| task.plan.writes());
    // The steps of a workload use its targets in one way.
    let page_cache = tasks[0].plan.page_cache.clone();
    let needs = TargetNeeds { writes, smallest: &of_all, beside, log_dir: &planned, page_cache: &page_cache };
    // Restored after everything else: setting a scheduler waits for operations in flight, for ever where a disk hangs.
    let scheduler;
    let all = match named.first() {
        // What is loaded in it was looked up already.
        Some((_, Named::Database(_))) => named.clone(),
        _ => targets::beside(&asked.names, asked.cache_device())?,
    };
    let opened = args.access.open(&all, needs)?;
    let stop = signals::watch().map_err(|e| Failure::host(format!("signals cannot be watched: {e}")))?;
    scheduler = Schedulers::set(asked.scheduler()?, &opened, tell)?;
    tasks.iter_mut().for_each(|task| task.plan.notes.extend(scheduler.notes()));
    let mut progress = Progress::for_one_run(if args.stop_when_certain { "" } else { GOES_ON });
    match args.prep {
        true if place.resume.is_none() => fill(args, &opened, &named, &mut progress, &stop)?,
        _ => warn_of_blank(&named, &tasks),
    }
    let how = Drive {
        manner: args.output.manner(args.access.engine),
        prepared: Records::host().preparations(opened.real(), tell),
        signer: signer.as_ref().map(Signer::id),
        ..Drive::default()
    };
    let (dir, mut log, tasks) = match &place.resume {
        None => {
            let dir = place.create(&planned)?;
            let log = LogFile::create(&dir.join("run.jsonl"))?;
            (dir, log, tasks)
        }
        Some(dir) => {
            results::may_be_left(dir)?;
            let log = Unfinished::open(&rundir::log_in(dir))?;
            let left = steps::left(tasks, log.steps(), (&opened, args.pace.seed.is_some()), dir)?;
            (dir.clone(), log.go_on()?, left)
        }
    };
    let course = Course { targets: &opened, how: &how, stop: &stop };
    match args.stop_when_certain {
        true => run_until_certain(&course, tasks, log, place.resume.as_deref(), &mut progress)?,
        false => course.run(tasks, &mut log, &mut progress, &never_decided)?,
    }
    result::finish(&dir, &args.output, &progress, signer.as_ref())
}

/// Fills the targets with data, unless all of them are prepared.
fn fill(
    args: &Run,
    opened: &Targets,
    named: &[(String, Named)],
    progress: &mut Progress,
    stop: &StopCell,
) -> Result<(), Failure> {
    // A cache device, which is opened behind the targets, is filled by what passes it.
    let all = &opened.real()[..opened.real().len().min(named.len())];
    if all.is_empty() {
        return Err(Failure::usage(
            "--prep fills devices and files; simulated and null targets hold no data, and databases have assay prep",
        ));
    }
    let kept = Records::host();
    kept.check()?;
    if kept.preparations(all, tell).iter().all(Option::is_some) {
        return Ok(());
    }
    opened.recheck()?;
    let names: Vec<String> = named.iter().map(|(name, _)| name.clone()).collect();
    let preparation =
        Preparation { zero: false, afresh: false, engine: args.access.engine, run: seed(None, named) as u32 };
    progress.say(&one_line(format_args!("filling {}", names.join(", "))));
    prepare(all, &names, preparation, Some(&kept), progress, stop).map(drop)
}

/// Says before the run that it will prove nothing, and what to do.
fn warn_of_blank(named: &[(String, Named)], tasks: &[Task]) {
    let reads = |task: &Task| task.plan.streams.iter().any(|stream| stream.direction() == Some(Direction::Read));
    if !tasks.iter().any(reads) {
        return;
    }
    for (name, _) in named.iter().filter(|(_, named)| named.holds_nothing()) {
        tell(&format!(
            "warning: nothing was ever written to {}, and reads of it prove nothing: end this run, and add --prep to the command, or fill the file with assay prep {}",
            one_line(name),
            for_a_shell(name)
        ));
    }
}

/// Makes a run on a database a crash test.
fn expects_a_crash(named: &[(String, Named)], plan: &mut Plan) -> Result<(), Failure> {
    match databases(named)[..] {
        [database] => database.expects_a_crash(plan),
        [_, _, ..] => Err(Failure::usage("--crash-test is for a run on one database")),
        [] => Err(Failure::usage("--crash-test is for a database server, such as postgres://me@host/shop")),
    }
}

/// Refuses to continue a run with a ledger: commits that were lost meanwhile would be overtaken by new ones.
fn goes_on(resumes: bool, tasks: &[Task]) -> Result<(), Failure> {
    let keeps = |task: &Task| task.plan.tpcc.as_ref().is_some_and(|load| load.verify != Verify::No);
    if resumes && tasks.iter().any(keeps) {
        return Err(Failure::usage(
            "a run with --verify or --crash-test cannot continue: what the database has lost meanwhile would no longer be seen; ask assay check URL --after DIR, and start another run",
        ));
    }
    Ok(())
}

/// Workloads and the targets to run them on, as named on a command line.
#[derive(Debug)]
pub(crate) struct Asking {
    workloads: Vec<Workload>,
    /// The targets: those that are named, or the workload's own.
    pub names: Vec<String>,
    /// What became of the keys of job files of fio.
    pub keys: Vec<Line>,
}

impl Asking {
    /// The same behind a simulated cache, where one is asked for.
    pub(crate) fn behind(mut self, asked: &BehindCache) -> Asking {
        for workload in &mut self.workloads {
            let Some(size) = asked.behind else { continue };
            let cache = workload.caches.simulated.unwrap_or_else(|| Caching::with_size(size));
            workload.caches.simulated = Some(Caching { size, ..cache });
        }
        self
    }

    /// The same with a cache on a device of its own, where one is asked for.
    pub(crate) fn beside(mut self, asked: &Lookaside) -> Result<Asking, Failure> {
        self.workloads.iter_mut().try_for_each(|workload| asked.apply(workload))?;
        Ok(self)
    }

    /// The device of that cache: of several workloads one has none.
    pub(crate) fn cache_device(&self) -> Option<&CacheDevice> {
        self.workloads.iter().find_map(|workload| workload.caches.device.as_ref())
    }

    /// Parses the workloads, of which there may be several before the targets.
    pub(crate) fn of(
        verb: &'static str,
        first: &str,
        rest: &[String],
        jobs: &Jobs,
        pace: &Pace,
    ) -> Result<Asking, Failure> {
        let (words, targets) = workloads::among(first, rest);
        // Of several workloads none knows which of the targets take the places of its files.
        let reading = jobs.reading(verb, if words.len() == 1 { targets } else { &[] }, pace.measure)?;
        let found = workloads::all_asked(&words, &reading)?;
        let (workloads, keys): (Vec<_>, Vec<_>) = found.into_iter().map(|found| (found.workload, found.keys)).unzip();
        let names = if targets.is_empty() { workloads[0].targets.paths.clone() } else { targets.to_vec() };
        let alike = |workload: &Workload| {
            let all = |names: &[String]| names.iter().cloned().collect::<std::collections::BTreeSet<_>>();
            all(&workload.targets.paths) == all(&workloads[0].targets.paths)
        };
        if targets.is_empty() && !workloads.iter().all(alike) {
            return Err(Failure::usage(
                "the workloads name different devices\n  = give the targets for all workloads after them on the command line, or start one run per workload",
            ));
        }
        Ok(Asking { workloads, names, keys: keys.concat() })
    }

    /// What is run, one after another: all workloads together, or the steps of a single one.
    pub(crate) fn tasks(
        &self,
        named: &[(String, Named)],
        load: Option<assay_base::Multiple>,
        pace: &Pace,
        judged: &Judged,
    ) -> Result<Vec<Task>, Failure> {
        match self.workloads.as_slice() {
            [workload] if !workload.timing.steps.is_empty() => {
                steps::of(workload, named, load, &pace.asked(), &judged.criteria)
            }
            _ => Ok(vec![Task::only(self.plan(named, load, pace, judged)?, self.duration())]),
        }
    }

    /// The plan of all workloads together; criteria on the command line replace those of the workloads.
    pub(crate) fn plan(
        &self,
        named: &[(String, Named)],
        load: Option<assay_base::Multiple>,
        pace: &Pace,
        judged: &Judged,
    ) -> Result<Plan, Failure> {
        self.merged(named, load, pace)?.judged_by(&judged.criteria).map_err(Failure::workload)
    }

    fn merged(
        &self,
        named: &[(String, Named)],
        load: Option<assay_base::Multiple>,
        pace: &Pace,
    ) -> Result<Plan, Failure> {
        if let [workload] = self.workloads.as_slice() {
            return pace.asked().plan(workload, named, load);
        }
        if load.is_some() {
            return Err(Failure::usage(
                "--load cannot be used with several workloads; each runs at the load that its file gives",
            ));
        }
        let seed = seed(pace.seed.or(self.workloads[0].seed), named);
        let pace = pace::Pace { seed: Some(seed), ..pace.asked() };
        let plans = self.workloads.iter().map(|workload| pace.plan(workload, named, None));
        merge(plans.collect::<Result<_, _>>()?).map_err(Failure::workload)
    }

    /// The I/O scheduler that they ask for.
    fn scheduler(&self) -> Result<Option<&str>, Failure> {
        let first = self.workloads[0].targets.scheduler.as_deref();
        match self.workloads.iter().all(|workload| workload.targets.scheduler.as_deref() == first) {
            true => Ok(first),
            false => Err(Failure::workload(
                "the workloads ask for different I/O schedulers, but a device has only one; set the same scheduler in all, or start one run per workload",
            )),
        }
    }

    /// The longest duration among them.
    fn duration(&self) -> Span {
        self.workloads.iter().map(Workload::whole).max().unwrap_or(Span::ZERO)
    }
}
