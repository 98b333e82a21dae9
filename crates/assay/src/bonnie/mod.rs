//! `bonnie++`: a run of assay with the command line and output of bonnie++ 2.00a. `docs/bonnie.md` lists the differences.
//!
//! Nothing is written but below a directory of its own in the one that `-d` names; the log is kept where ASSAY_RUN_DIR says
//! it, and otherwise nowhere.

mod printer;
mod rights;
mod synchronised;

use crate::act::common::print_flushed;
use crate::act::consent;
use crate::args::Access;
use crate::progress::Progress;
use crate::screen::print_to_stderr;
use assay_device::probe;
use assay_device::safety::Roots;
use assay_formats::bonnie::{
    Arguments, COLUMNS, Command, Row, Synchronisation, Test, USAGE, parse_args, table_text, workload_texts,
};
use assay_judge::{Fold, Verdict};
use assay_model::Plan;
use assay_model::workload::read_workload;
use assay_record::CloseReason;
use assay_run::drive::Drive;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::host::signals::{self, StopCell};
use assay_run::log::logfile::LogFile;
use assay_run::log::rundir;
use assay_run::open::prepared::Prepared;
use assay_run::open::seed::choose_seed;
use assay_run::open::targets::{self, Named, SmallestTarget, TargetNeeds};
use assay_run::procedure::pace::Pace;
use assay_run::procedure::steps::{Course, Task, never_decided, plan_steps};
use printer::{Heard, Printer};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use synchronised::Start;

/// A path that no target can have; it stands for the log directory of a run whose log is not kept.
const NOWHERE: &str = "/proc";
const MIB: u64 = 1 << 20;

/// Carries out tests as bonnie++ would with these arguments, and returns the exit code.
pub(crate) fn run_bonnie(args: &[String]) -> Result<u8, Failure> {
    match parse_args(args).map_err(Failure::bad_usage)? {
        Command::Help => {
            print_flushed(USAGE);
        }
        Command::MakeSemaphores(processes) => {
            synchronised::make_semaphores(processes)?;
            print_to_stderr(&format!("Creating semaphore for {processes} procs."));
        }
        Command::RemoveSemaphores => {
            synchronised::remove_semaphores()?;
            print_to_stderr("Semaphore removed.");
        }
        Command::Run(arguments) => return run_tests(&arguments, args),
    }
    Ok(code::DONE)
}

fn run_tests(arguments: &Arguments, args: &[String]) -> Result<u8, Failure> {
    let rights = rights::take_wanted_rights(arguments.user.as_ref(), args)?;
    if !arguments.quiet && arguments.user.is_some() {
        print_to_stderr(&format!("Using uid:{}, gid:{}.", rights.user, rights.group));
    }
    let memory_mib = memory_mib(arguments)?;
    refuse_small_file(arguments, memory_mib)?;
    if arguments.times.is_some_and(|times| times > 1) && arguments.synchronisation == Some(Synchronisation::Semaphore) {
        return Err(Failure::bad_usage(
            "-x and -y s do not go together, because each semaphore is for one test: repeat -p N and the command",
        ));
    }
    let start = Start::open(arguments.synchronisation)?;
    let stop = signals::stop_on_signals()?;
    let Some(times) = arguments.times else {
        return TestRun { arguments, memory_mib, start, stop, log_dir: consent::run_dir() }.carry_out();
    };
    print_result(&format!("{COLUMNS}\n"))?;
    for number in 1..=times {
        if stop.is_set() {
            return Err(Failure::cut_short(format!("ended by a signal before test {number} of {times}")));
        }
        let log_dir = consent::run_dir().map(|dir| dir.join(format!("test-{number}")));
        let code = TestRun { arguments, memory_mib, start, stop: stop.clone(), log_dir }.carry_out()?;
        if code != code::DONE {
            return Ok(code);
        }
    }
    Ok(code::DONE)
}

/// The memory of this machine in MiB, or what the command line says in its place.
fn memory_mib(arguments: &Arguments) -> Result<u64, Failure> {
    if let Some(mib) = arguments.memory_mib {
        return Ok(mib);
    }
    let found = probe::read_host(&Roots::of_machine()).memory;
    let bytes = found.ok_or_else(|| {
        Failure::host_unable("the kernel does not say how much memory this machine has: write it as -r MIB")
    })?;
    Ok(bytes / MIB)
}

/// A file that fits into memory is read from there.
fn refuse_small_file(arguments: &Arguments, memory_mib: u64) -> Result<(), Failure> {
    let Some(block) = &arguments.block else { return Ok(()) };
    let mib = block.mib(memory_mib);
    if mib >= memory_mib.saturating_mul(2) {
        return Ok(());
    }
    Err(Failure::bad_usage(format!(
        "the file of {mib} MiB should be twice the memory, which is {memory_mib} MiB: write -s {} or more, or -r 0, with \
         which reads may come from memory",
        memory_mib.saturating_mul(2)
    )))
}

/// All tests once.
struct TestRun<'a> {
    arguments: &'a Arguments,
    memory_mib: u64,
    start: Start,
    stop: StopCell,
    log_dir: Option<PathBuf>,
}

impl TestRun<'_> {
    fn carry_out(&self) -> Result<u8, Failure> {
        let named = targets::parse_targets(&[format!("dir:{}", self.arguments.directory)])?;
        let tasks = self.tasks(&named)?;
        let plans: Vec<&Plan> = tasks.iter().map(|task| &task.plan).collect();
        let log_dir = self.log_dir.as_deref().unwrap_or(Path::new(NOWHERE));
        let smallest = SmallestTarget::ForPlans(&plans);
        let needs = TargetNeeds { writes: true, smallest, beside: 0, log_dir, page_cache: &[], fellows: &[] };
        let access = Access::default();
        let prepared = Prepared::from_opened(access.open_targets(&named, needs)?, self.stop.clone());
        let directory = self.log_dir.as_deref().map(|dir| rundir::create_held(dir, true)).transpose()?;
        let log = match &directory {
            Some((dir, _held)) => LogFile::create_new(&dir.join("run.jsonl"))?,
            None => LogFile::without_file(),
        };
        let speaks = !self.arguments.quiet && self.arguments.times.is_none();
        let (printer, heard) = Printer::new(self.arguments.machine.clone(), speaks);
        let mut log = log.heard_by(Box::new(printer));
        let ended = self.run_one_after_another(tasks, &prepared, &mut log, &heard);
        drop(log);
        let heard = Rc::into_inner(heard).ok_or_else(|| Failure::internal_bug("the log is heard on"))?;
        let Heard { mut figures, judged, .. } = heard.into_inner();
        let row = figures.row();
        if ended.is_ok() || row.figures.iter().any(Option::is_some) {
            self.print_figures(row)?;
        }
        ended?;
        self.tell_verdict(judged)
    }

    /// The tests of both workloads as the steps of one log.
    fn tasks(&self, named: &[(String, Named)]) -> Result<Vec<Task>, Failure> {
        let mut tasks = Vec::new();
        // One seed for both, which stands in the line.
        let pace = Pace { seed: Some(choose_seed(self.arguments.seed, named)), ..Pace::default() };
        for text in workload_texts(self.arguments, self.memory_mib) {
            let workload = read_workload("bonnie", &text)
                .map_err(|faults| Failure::bad_usage(format!("these sizes make no workload: {faults}")))?;
            tasks.extend(plan_steps(&workload, named, None, &pace, &[])?);
        }
        let of = tasks.len() as u32;
        for (number, head) in (1..).zip(tasks.iter_mut().filter_map(|task| task.head.as_mut())) {
            (head.number, head.of) = (number, of);
        }
        Ok(tasks)
    }

    fn run_one_after_another(
        &self,
        tasks: Vec<Task>,
        prepared: &Prepared,
        log: &mut LogFile,
        heard: &Rc<RefCell<Heard>>,
    ) -> Result<(), Failure> {
        let how = Drive { watermarks: vec!["RUN AS bonnie++".to_owned()], ..Drive::default() };
        let course = Course { targets: &prepared.targets, how: &how, stop: &prepared.stop };
        let mut ended = Ok(());
        for task in tasks {
            let test = test_of(&task.plan);
            if ended.is_err() || !matches!(heard.borrow().ended, None | Some(CloseReason::Completed)) {
                test.into_iter().for_each(|test| self.start.excuse(test));
                continue;
            }
            ended = test.map_or(Ok(()), |test| self.start.wait_before(test, &prepared.stop));
            if ended.is_ok() {
                ended = course.run_tasks(vec![task], log, &mut Progress::new(true), &never_decided).map(drop);
            }
        }
        ended
    }

    /// Prints what was measured.
    fn print_figures(&self, row: &Row) -> Result<(), Failure> {
        if self.arguments.times.is_none() {
            let table = table_text(row);
            if self.arguments.quiet {
                table.lines().for_each(print_to_stderr);
            } else {
                print_result(&table)?;
            }
        }
        print_result(&format!("{}\n", row.text()))
    }

    /// Says on standard error what the figures prove, and where the log is; returns the exit code.
    fn tell_verdict(&self, judged: Fold) -> Result<u8, Failure> {
        let judgement = judged.finish().map_err(|why| Failure::internal_bug(format!("a log without an end: {why}")))?;
        if judgement.verdict != Verdict::Pass {
            print_to_stderr(&format!("assay: {}: {}", judgement.verdict, judgement.reason));
        }
        if let Some(dir) = &self.log_dir {
            print_to_stderr(&format!("assay: the log is in {}", escaped_path(dir)));
        }
        Ok(judgement.verdict.exit_code())
    }
}

/// The test that a plan is.
fn test_of(plan: &Plan) -> Option<Test> {
    Test::from_phase_name(&plan.load.files()?.current_phase().name)
}

/// Prints what a script reads. Where that is not possible, whoever looks at standard error still has it.
fn print_result(text: &str) -> Result<(), Failure> {
    if print_flushed(text) {
        return Ok(());
    }
    text.lines().for_each(print_to_stderr);
    Err(Failure::host_unable("the result could not be written to standard output; it stands above on standard error"))
}
