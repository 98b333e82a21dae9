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
use assay_formats::bonnie::{Arguments, COLUMNS, Command, Test, USAGE, parse_args, table_text, workload_texts};
use assay_judge::{Judgement, Verdict};
use assay_model::Plan;
use assay_model::workload::read_workload;
use assay_record::CloseReason;
use assay_run::drive::Drive;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::log::logfile::LogFile;
use assay_run::log::rundir;
use assay_run::open::prepared::Prepared;
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
    let start = Start::open(arguments.synchronisation)?;
    let is_table = arguments.times == 1;
    if !is_table {
        print_flushed(&format!("{COLUMNS}\n"));
    }
    for number in 1..=arguments.times {
        let log_dir = consent::run_dir().map(|dir| if is_table { dir } else { dir.join(format!("test-{number}")) });
        let code = TestRun { arguments, memory_mib, start, log_dir }.carry_out()?;
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
    log_dir: Option<PathBuf>,
}

impl TestRun<'_> {
    fn carry_out(&self) -> Result<u8, Failure> {
        let named = targets::parse_targets(&[format!("dir:{}", self.arguments.directory)])?;
        let tasks = self.tasks(&named)?;
        let plans: Vec<&Plan> = tasks.iter().map(|task| &task.plan).collect();
        let log_dir = self.log_dir.as_deref().unwrap_or(Path::new(NOWHERE));
        let smallest = SmallestTarget::ForPlans(&plans);
        let needs = TargetNeeds { writes: true, smallest, beside: 0, log_dir, page_cache: &[] };
        let access = Access::default();
        let prepared = Prepared::open_named(&named, needs, &|named, needs| access.open_targets(named, needs))?;
        let log = match &self.log_dir {
            Some(dir) => LogFile::create_new(&rundir::create_run_directory(dir, true)?.join("run.jsonl"))?,
            None => LogFile::without_file(),
        };
        let speaks = !self.arguments.quiet && self.arguments.times == 1;
        let (printer, heard) = Printer::new(self.arguments.machine.clone(), speaks);
        let mut log = log.heard_by(Box::new(printer));
        self.run_one_after_another(tasks, &prepared, &mut log, &heard)?;
        drop(log);
        self.report(heard)
    }

    /// The tests of both workloads as the steps of one log.
    fn tasks(&self, named: &[(String, Named)]) -> Result<Vec<Task>, Failure> {
        let mut tasks = Vec::new();
        for text in workload_texts(self.arguments, self.memory_mib) {
            let workload = read_workload("bonnie", &text)
                .map_err(|faults| Failure::bad_usage(format!("these sizes make no workload: {faults}")))?;
            tasks.extend(plan_steps(&workload, named, None, &Pace::default(), &[])?);
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
        for task in tasks {
            if let Some(test) = test_of(&task.plan) {
                self.start.wait_before(test, &prepared.stop)?;
            }
            course.run_tasks(vec![task], log, &mut Progress::new(true), &never_decided)?;
            if heard.borrow().ended != Some(CloseReason::Completed) {
                break;
            }
        }
        Ok(())
    }

    /// Prints what was measured, and what is against it.
    fn report(&self, heard: Rc<RefCell<Heard>>) -> Result<u8, Failure> {
        let heard = Rc::into_inner(heard).ok_or_else(|| Failure::internal_bug("the log is heard on"))?;
        let Heard { mut figures, judged, .. } = heard.into_inner();
        let judgement = judged.finish().map_err(|why| Failure::internal_bug(format!("a log without an end: {why}")))?;
        let row = figures.row();
        if self.arguments.times == 1 {
            let table = table_text(row);
            if self.arguments.quiet {
                table.lines().for_each(print_to_stderr);
            } else {
                print_whole(&table);
            }
        }
        print_whole(&format!("{}\n", row.text()));
        tell_verdict(&judgement);
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

/// Says on standard error what the figures prove.
fn tell_verdict(judgement: &Judgement) {
    if judgement.verdict != Verdict::Pass {
        print_to_stderr(&format!("assay: {}: {}", judgement.verdict, judgement.reason));
    }
}

fn print_whole(text: &str) {
    print_flushed(text);
}
