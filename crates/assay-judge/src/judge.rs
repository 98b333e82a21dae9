//! From a log to a judgement: reads entries, opens and ends steps, and lets the most severe step decide.

use crate::finding::Finding;
use crate::finding::log::LogFinding;
use crate::finding::target::TargetFinding;
use crate::fold::finish::{Finished, finish_step};
use crate::fold::step::StepFold;
use crate::judgement::{Damaged, Gain, Judgement, SCHEMA, Step, answer_in_words};
use crate::options::Options;
use crate::rules::disk;
use crate::same_run::foreign_step;
use crate::verdict::Verdict;
use crate::words::human_time;
use assay_base::Span;
use assay_record::{CloseReason, Damage, Entry, EventKind, Header, PhaseKind, Reader};
use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, BufRead};

/// Number of damaged places that are listed; further ones are only counted.
const DAMAGE: usize = 100;
/// The most watermarks that a result lists: a log may claim anything.
const WATERMARKS: usize = 20;

/// Why a log cannot be judged at all.
#[derive(Debug)]
pub enum JudgeError {
    /// The log could not be read.
    Io(io::Error),
    /// It has no usable header; the text says what was found instead.
    NotALog(String),
}

impl fmt::Display for JudgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JudgeError::Io(error) => write!(f, "the log could not be read: {error}"),
            JudgeError::NotALog(met) => {
                write!(f, "not a run log that can be judged: {met}; name the run.jsonl of a run")
            }
        }
    }
}

impl From<io::Error> for JudgeError {
    fn from(error: io::Error) -> JudgeError {
        JudgeError::Io(error)
    }
}

impl std::error::Error for JudgeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            JudgeError::Io(error) => Some(error),
            JudgeError::NotALog(_) => None,
        }
    }
}

/// Judges a whole log.
pub fn judge_log<R: BufRead>(mut reader: Reader<R>, options: &Options) -> Result<Judgement, JudgeError> {
    let mut fold = Fold::new(options.clone());
    while let Some(item) = reader.next_entry()? {
        fold.take_item(&item);
    }
    fold.finish()
}

/// How far the step that a log is in has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoFar {
    /// Measured time of the step up to the newest interval, nanoseconds.
    pub measured_ns: u64,
    /// Measured time that is planned for it, nanoseconds.
    pub planned_ns: u64,
}

/// The state machine behind [`judge_log`]: it takes the entries one by one, so that a log may also be judged while it
/// grows.
#[derive(Clone, Debug)]
pub struct Fold {
    options: Options,
    head: Option<Header>,
    current: Option<StepFold>,
    finished: Vec<Finished>,
    watermarks: Vec<String>,
    /// Names of the targets so far.
    targets: BTreeSet<String>,
    damage: Vec<Damaged>,
    damage_left_out: u64,
    /// Damage before the first step, and its kind.
    early: Option<Finding>,
    met: Option<String>,
}

impl Fold {
    /// The state before the first entry.
    pub fn new(options: Options) -> Fold {
        Fold {
            options,
            head: None,
            current: None,
            finished: Vec::new(),
            watermarks: Vec::new(),
            targets: BTreeSet::new(),
            damage: Vec::new(),
            damage_left_out: 0,
            early: None,
            met: None,
        }
    }

    /// Takes the next entry, or damage.
    pub fn take_item(&mut self, item: &Result<Entry, Damage>) {
        match item {
            Ok(entry) => self.take_entry(entry),
            Err(damage) => self.take_damage(damage.clone()),
        }
    }

    /// Takes the next entry.
    pub fn take_entry(&mut self, entry: &Entry) {
        if let Entry::Header(header) = entry {
            return self.take_header((**header).clone());
        }
        let Some(step) = &mut self.current else {
            self.met.get_or_insert_with(|| "it does not begin with a header".to_owned());
            return;
        };
        match entry {
            Entry::Header(_) => {}
            Entry::Interval(interval) => step.add_interval(interval),
            Entry::Histograms(line) => {
                if let Err(why) = step.add_histograms(line) {
                    self.note_unreadable_line(why);
                }
            }
            Entry::Event(event) if event.what == EventKind::Mark => {
                if let Err(why) = step.take_mark(event.clone()) {
                    self.note_unreadable_line(format!("a mark divides the run in no way: {why}"));
                }
            }
            Entry::Event(event) => {
                step.keep_event(event.clone());
                if event.what == EventKind::Watermark {
                    self.add_watermark(&event.text);
                }
            }
            Entry::Close(close) => step.close_segment(close.clone()),
        }
    }

    fn add_watermark(&mut self, text: &str) {
        if self.watermarks.len() < WATERMARKS && !self.watermarks.iter().any(|known| known == text) {
            self.watermarks.push(text.to_owned());
        }
    }

    fn take_header(&mut self, mut header: Header) {
        if let Some(name) = &self.options.phase {
            let only = header.phases.iter().filter(|phase| phase.name == *name).count() == 1 && !header.continues;
            if !only {
                return self.note_unreadable_line(format!("this part of the run has not the one whole phase {name}"));
            }
            let others = header.phases.iter_mut().filter(|phase| phase.name != *name);
            others.for_each(|phase| phase.kind = PhaseKind::WarmUp);
        }
        header.watermarks.iter().take(WATERMARKS).for_each(|mark| self.add_watermark(mark));
        self.head.get_or_insert_with(|| header.clone());
        let foreign = self.foreign_writes(&header);
        if header.continues && self.current.as_ref().is_some_and(|step| step.header.step == header.step) {
            for url in self.current.as_ref().map(StepFold::not_compared).unwrap_or_default() {
                self.add_watermark(&format!(
                    "UNCOMPARED: whether others wrote to {url} before the run was continued is not known"
                ));
            }
            let resumed = self.current.as_mut().map_or(Ok(()), |step| step.continue_with_segment(&header));
            return resumed.unwrap_or_else(|why| self.note_unreadable_line(why));
        }
        let foreign_step =
            self.current.as_ref().and_then(|step| foreign_step(&step.header, step.was_continued(), &header));
        self.finished.extend(self.current.take().map(finish_step));
        let number = header.step.as_ref().map_or(self.finished.len() as u32 + 1, |step| step.number);
        match StepFold::new(number, header, &self.options) {
            Ok(mut step) => {
                step.notes.findings.extend(self.early.take());
                step.note_foreign_writes(foreign);
                self.current = Some(step);
                if let Some(why) = foreign_step {
                    self.note_unreadable_line(why);
                }
            }
            Err(why) => self.note_unreadable_line(format!("the header describes an impossible run: {why}")),
        }
    }

    /// What others wrote to targets that appear for the first time: later, the run itself has written to them.
    fn foreign_writes(&mut self, header: &Header) -> Vec<TargetFinding> {
        let fresh = header.targets.iter().filter(|target| self.targets.insert(target.name.clone()));
        fresh.filter_map(disk::foreign_writes).collect()
    }

    /// A line that is intact but makes no sense: it counts as damage.
    fn note_unreadable_line(&mut self, what: String) {
        self.take_damage(Damage { line: 0, offset: 0, torn_tail: false, what });
    }

    /// A place where the log differs from what was written.
    pub fn take_damage(&mut self, damage: Damage) {
        let place = if damage.line == 0 { damage.what.clone() } else { damage.to_string() };
        self.met.get_or_insert_with(|| place.clone());
        let found = if damage.torn_tail { LogFinding::TornTail(place) } else { LogFinding::Damaged(place) };
        match &mut self.current {
            Some(step) => step.note_damage(found),
            None => drop(self.early.get_or_insert_with(|| Finding::of_step(found, 1))),
        }
        if self.damage.len() < DAMAGE {
            let Damage { line, offset, torn_tail, what } = damage;
            self.damage.push(Damaged { line, offset, torn_tail, what });
        } else {
            self.damage_left_out += 1;
        }
    }

    /// Whether it is certain that the log will be judged FAIL, whatever follows: nothing outweighs what was found.
    pub fn fails_already(&self) -> bool {
        self.certain_failure().is_some()
    }

    /// Why it is certain that the log will be judged FAIL, where it is.
    pub fn certain_failure(&self) -> Option<String> {
        let ended = self.finished.iter().find(|done| done.step.verdict == Verdict::Fail);
        ended.map(|done| done.step.reason.clone()).or_else(|| self.current.as_ref().and_then(StepFold::certain_failure))
    }

    /// How far the step has come that the log is in; `None` before the first header.
    pub fn so_far(&self) -> Option<SoFar> {
        let step = self.current.as_ref()?;
        Some(SoFar { measured_ns: step.placement.reached_ns(), planned_ns: step.layout.planned_ns })
    }

    /// The thresholds over which the result of this step shows counts, ascending; none before the first header.
    pub fn shown_thresholds(&self) -> Vec<Span> {
        self.current.iter().flat_map(|step| step.layout.times.shown.iter().copied()).collect()
    }

    /// What the log would come to if it ended here. The error says why there is nothing to judge.
    pub fn judgement_so_far(&self) -> Result<Judgement, JudgeError> {
        self.clone().finish()
    }

    /// Ends the log. The error says why there is nothing to judge.
    pub fn finish(mut self) -> Result<Judgement, JudgeError> {
        self.finished.extend(self.current.take().map(finish_step));
        let Some(head) = self.head.take().filter(|_| !self.finished.is_empty()) else {
            return Err(JudgeError::NotALog(self.met.unwrap_or_else(|| "it is empty".to_owned())));
        };
        let finished = std::mem::take(&mut self.finished);
        Ok(self.into_judgement(&head, finished))
    }

    fn into_judgement(self, head: &Header, finished: Vec<Finished>) -> Judgement {
        let several = finished.len() > 1;
        let steps = finished.iter().map(|done| done.step.of).max().unwrap_or(1);
        let absent = absent_steps(&finished, steps);
        let worst = finished.iter().map(|done| done.step.verdict).max().unwrap_or(Verdict::Incomplete);
        let decides = finished.iter().position(|done| done.step.verdict == worst).unwrap_or(0);
        let chosen = &finished[decides].step;
        let (mut verdict, mut deciding) = (worst, chosen.deciding.clone());
        let mut reason = match (several || steps > 1, worst) {
            (true, Verdict::Pass) => format!("all {} steps passed", finished.len()),
            (true, _) => format!("step {} of {steps} ({}): {}", chosen.number, chosen.title, chosen.reason),
            (false, _) => chosen.reason.clone(),
        };
        if let (Some(absent), true) = (absent, verdict < Verdict::Incomplete) {
            (verdict, reason, deciding) = (Verdict::Incomplete, absent, None);
        }
        let mut warnings: Vec<String> = Vec::new();
        for done in &finished {
            let label = if several { format!("step {}: ", done.step.number) } else { String::new() };
            warnings.extend(done.step.warnings.iter().map(|warning| format!("{label}{warning}")));
        }
        warnings.extend(left_undone(&finished, steps).filter(|_| worst == Verdict::Fail));
        // Where nothing broke, the first step answers: those behind it are at another load.
        let answering = if worst == Verdict::Pass { &finished[0].step } else { chosen };
        let answer = head.question.as_ref().map(|question| {
            let figures = answering.part.streams.answered_by.as_ref();
            answer_in_words(question, verdict, &reason, figures, &self.watermarks)
        });
        if self.damage_left_out > 0 {
            warnings.push(format!("{} more damaged places are not listed", self.damage_left_out));
        }
        let part = chosen.part.clone();
        let load = chosen.load.clone();
        let mut steps = Vec::new();
        if several {
            steps = finished.into_iter().map(|done| done.step).collect();
            add_gains(&head.model, &mut steps);
        }
        Judgement {
            schema: SCHEMA,
            verdict,
            reason,
            answer,
            deciding,
            name: head.name.clone(),
            model: head.model.clone(),
            load,
            seed: head.seed,
            tool: head.tool.clone(),
            created: head.created.clone(),
            watermarks: self.watermarks,
            warnings,
            damage: self.damage,
            judged_on: self.options.judge_on,
            log: None,
            part,
            steps,
        }
    }
}

/// What was not run because the verdict was certain, where the certification ends then.
fn left_undone(finished: &[Finished], of: u32) -> Option<String> {
    let last = finished.last().filter(|done| done.until_certain)?;
    let part = &last.step.part;
    let cut = (part.history.closed != Some(CloseReason::Completed)).then(|| {
        format!(
            "step {} ended after {} of {}",
            last.step.number,
            human_time(part.time.measured_ns),
            human_time(part.time.planned_ns)
        )
    });
    let behind = last.step.number < of;
    let behind = behind.then(|| match of - last.step.number {
        1 => format!("step {of} of {of} was not run"),
        _ => format!("steps {} to {of} of {of} were not run", last.step.number + 1),
    });
    let all: Vec<String> = cut.into_iter().chain(behind).collect();
    let remedy = if last.of_workload { "without --stop-when-certain all is run" } else { "--keep-going runs all" };
    (!all.is_empty()).then(|| format!("FAIL was certain: {} ({remedy})", all.join(", ")))
}

/// The planned steps that the log does not contain.
fn absent_steps(finished: &[Finished], of: u32) -> Option<String> {
    let there: BTreeSet<u32> = finished.iter().map(|done| done.step.number).collect();
    let first = (1..=of).find(|number| !there.contains(number))?;
    Some(format!("step {first} of {of} is not in the log; {} of {of} steps were run", there.len()))
}
/// The model whose steps are numbers of threads.
const MODEL: &str = "seek";

/// Adds the gain to the steps of a run of `model`, where they are numbers of threads.
fn add_gains(model: &str, steps: &mut [Step]) {
    if model != MODEL {
        return;
    }
    let mut first = None;
    for step in steps {
        let per_second = step.part.streams.total_throughput().map_or(0.0, |(operations, _)| operations);
        let first = *first.get_or_insert(per_second);
        step.gain = Some(Gain { per_second, over_first: (first > 0.0).then(|| per_second / first) });
    }
}
