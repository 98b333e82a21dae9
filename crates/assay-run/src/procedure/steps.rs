//! Steps: runs one after another on the same targets and in one log, each with its own result. Those of a workload and those
//! of a certification are continued, and carried out, here.
//!
//! A log is only ever added to, and judged as a whole, so that no step can replace another one. Which steps are over, and
//! whether one may follow another, is decided in the judge's room ([`Ending`]), as in procedures whose runs have logs of their own.

use crate::databases::LoggedCommits;
use crate::drive::{Drive, drive_plan};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use crate::log::header;
use crate::log::logfile::LogFile;
use crate::log::rest::{RequestedStep, belongs_to_other_run, nothing_remains};
use crate::log::resume::LoggedStep;
use crate::observer::Observer;
use crate::open::seed::choose_seed;
use crate::open::targets::{Named, Targets};
use crate::procedure::pace::Pace;
use assay_base::{Criterion, Multiple, Span};
use assay_judge::procedure::Ending;
use assay_model::Plan;
use assay_model::workload::Workload;
use assay_record::{CloseReason, StepHead};
use std::path::Path;

/// One run of a workload: all of it, or one of its steps.
#[derive(Clone, Debug)]
pub struct Task {
    /// The step, where the workload has some.
    pub head: Option<StepHead>,
    /// The plan that is run.
    pub plan: Plan,
    /// The measured time unless it is shortened, which limits the result; `None` if another limit says so.
    pub whole: Option<Span>,
    /// The windows by which it is judged unless others are asked for, where a certificate says so.
    pub usual_slice: Option<Span>,
    /// Measured time of it that the log already holds, where it is continued.
    pub measured_before_ns: Option<u64>,
    /// The transactions that each database has acknowledged to the part that the log already holds.
    pub committed_before: Vec<LoggedCommits>,
}

/// The number of names that a title lists.
const LISTED: usize = 4;

impl Task {
    /// A run that is no step.
    pub fn single_run(plan: Plan, whole: Span) -> Task {
        let (whole, usual_slice) = (Some(whole), None);
        Task { head: None, plan, whole, usual_slice, measured_before_ns: None, committed_before: Vec::new() }
    }
}

/// The steps of a workload, each with its plan; `criteria` replace those of the workload, where there are any.
pub fn plan_steps(
    workload: &Workload,
    named: &[(String, Named)],
    load: Option<Multiple>,
    pace: &Pace,
    criteria: &[String],
) -> Result<Vec<Task>, Failure> {
    let first = choose_seed(pace.seed.or(workload.seed), named);
    let parts = workload.in_steps();
    let of = parts.len() as u32;
    for text in criteria {
        let criterion = Criterion::parse_typed(text, workload.timing.slice).map_err(Failure::bad_workload)?;
        if !has_stream(workload, &criterion.stream) {
            let names: Vec<&str> = workload.load.streams.iter().map(|stream| stream.name.as_str()).collect();
            return Err(Failure::bad_workload(format!(
                "criterion \"{}\": no stream is called {}\n  = the streams are {}",
                text.escape_debug(),
                criterion.stream.escape_debug(),
                names.join(", ")
            )));
        }
    }
    let mut tasks = Vec::new();
    for (part, number) in parts.into_iter().zip(1..) {
        let pace = Pace { seed: Some(first.wrapping_add(u64::from(number - 1))), ..pace.clone() };
        let mut plan = pace.plan_workload(&part, named, load)?;
        if !criteria.is_empty() {
            let own = criteria_for(&part, criteria, plan.timing.slice);
            plan.criteria.clear();
            plan = plan.judged_by(&own).map_err(Failure::bad_workload)?;
        }
        let head =
            StepHead { number, of, title: step_title(&part), stress: false, until_certain: false, of_workload: true };
        let (whole, committed_before) = (Some(part.measured_length()), Vec::new());
        let (head, usual_slice) = (Some(head), None);
        tasks.push(Task { head, plan, whole, usual_slice, measured_before_ns: None, committed_before });
    }
    Ok(tasks)
}

fn has_stream(workload: &Workload, name: &str) -> bool {
    workload.load.streams.iter().any(|stream| stream.name == name)
}

/// Those of `criteria` that are about a stream of this step.
fn criteria_for(step: &Workload, criteria: &[String], slice: Span) -> Vec<String> {
    let mut own = Vec::new();
    for text in criteria {
        if Criterion::parse_typed(text, slice).is_ok_and(|criterion| has_stream(step, &criterion.stream)) {
            own.push(text.clone());
        }
    }
    own
}

/// The name of its phase, where it is one of clients on files; else the names of its streams.
fn step_title(part: &Workload) -> String {
    let phase = part.load.as_files().map(|files| files.current_phase().name);
    phase.unwrap_or_else(|| stream_names(part))
}

/// The names of its streams, or of their loops.
fn stream_names(part: &Workload) -> String {
    let mut names: Vec<&str> = Vec::new();
    for stream in &part.load.streams {
        let name = stream.arrival.loop_name().map_or(stream.name.as_str(), String::as_str);
        names.extend((!names.contains(&name)).then_some(name));
    }
    match names.len().saturating_sub(LISTED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..LISTED].join(", ")),
    }
}

/// The tasks that are left of `tasks`, of which the log in `dir` holds some; `own_seed`: the user gave the seed.
pub fn remaining_tasks(
    tasks: Vec<Task>,
    logged: &[LoggedStep],
    targets: &Targets,
    own_seed: bool,
    dir: &Path,
) -> Result<Vec<Task>, Failure> {
    if logged.len() > tasks.len() {
        return Err(belongs_to_other_run(dir, &format!("it has {} steps", logged.len())));
    }
    let mut left = Vec::new();
    for (index, mut task) in tasks.into_iter().enumerate() {
        let requested = RequestedStep { plan: &task.plan, step: task.head.as_ref(), targets, seed: own_seed };
        match logged.get(index) {
            Some(logged) if logged.is_over() => requested.refuse_other_run(logged, dir)?,
            Some(logged) => {
                let rest = requested.remaining_step(Some(logged), dir)?;
                // A step keeps the value that it began with, also when it now continues to its end.
                if let (Some(head), Some(first)) = (&mut task.head, &logged.first.step) {
                    head.until_certain = first.until_certain;
                }
                (task.plan, task.measured_before_ns) = (rest.plan, Some(rest.at_ns));
                task.committed_before.clone_from(&logged.committed);
                left.push(task);
            }
            None => left.push(task),
        }
    }
    if left.is_empty() { Err(nothing_remains(dir)) } else { Ok(left) }
}

/// The targets, the manner and the stop cell that all steps share.
#[derive(Debug)]
pub struct Course<'a> {
    /// The targets, open.
    pub targets: &'a Targets,
    /// The way in which each step is carried out.
    pub how: &'a Drive,
    /// Ends them early.
    pub stop: &'a StopCell,
}

/// Whether what a step has left in the log makes the steps behind it unnecessary.
pub type IsDecided<'a> = dyn Fn(&LogFile, &dyn Observer, EndedStep) -> Result<bool, Failure> + 'a;

/// A step that has ended.
#[derive(Clone, Copy, Debug)]
pub struct EndedStep {
    /// The reason why it ended.
    pub reason: CloseReason,
    /// Whether a step would follow.
    pub more: bool,
}

impl Course<'_> {
    /// Carries steps out one after another. One that was cut short, or that ended for a reason that the next one would meet too,
    /// ends all; so does one after which `is_decided` says that the others cannot change anything.
    pub fn run_tasks(
        &self,
        tasks: Vec<Task>,
        log: &mut LogFile,
        observer: &mut dyn Observer,
        is_decided: &IsDecided<'_>,
    ) -> Result<(), Failure> {
        for Task { head, plan, whole, usual_slice, measured_before_ns, committed_before } in tasks {
            if let Some(head) = &head {
                observer.begin_part(&format!("step {} of {}, {}", head.number, head.of, head.title));
            }
            let measured = plan.timing.measured_length() + Span::from_ns(measured_before_ns.unwrap_or(0));
            let short = whole.and_then(|whole| header::shortness_word(measured, whole));
            let longer = usual_slice.and_then(|usual| header::longer_windows_word(plan.timing.slice, usual));
            let watermarks = short.into_iter().chain(longer).chain(self.how.watermarks.iter().cloned()).collect();
            let more = head.as_ref().is_some_and(|step| step.number < step.of);
            let how = Drive { step: head, watermarks, measured_before_ns, committed_before, ..self.how.clone() };
            let reason = drive_plan(&plan, self.targets, &how, log, observer, self.stop)?;
            if is_decided(log, observer, EndedStep { reason, more })?
                || Ending::new(Some(reason), false) != Ending::Over
            {
                break;
            }
        }
        Ok(())
    }
}

/// Nothing that a step shows makes the others unnecessary.
pub fn never_decided(_: &LogFile, _: &dyn Observer, _: EndedStep) -> Result<bool, Failure> {
    Ok(false)
}
