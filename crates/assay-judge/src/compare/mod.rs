//! Compares two or more runs, and decides which of their differences are more than noise.
//!
//! [`Sampled`] takes the entries of each log in order and keeps what a bootstrap needs in bounded memory; [`compare_runs`]
//! computes the result from several of them. The others are compared with the first run. Names come from logs: hostile
//! input.

mod bootstrap;
mod cells;
mod conclusion;
mod gate;
mod page;
mod render;
mod rows;
mod sample;

pub use bootstrap::Answer;
pub(crate) use cells::FigureCell;
pub use conclusion::Conclusion;
pub(crate) use conclusion::conclude_for_runs;
pub use gate::{Gate, GateOutcome};
pub use page::write_html;
pub use render::write_text;
pub(crate) use render::{answer_text, value_text};
pub use rows::{Figure, StreamRow};
pub use sample::Sampled;

use crate::judgement::{Judgement, MeterFigures, Outcome, Step, StepFigures, TargetTotals};
use crate::verdict::Verdict;
use crate::words::add_new;
use assay_base::{Measure, Span};
use assay_record::CloseReason;
use serde::Serialize;

/// The version of the JSON shape.
pub const SCHEMA: u32 = 3;

/// One run: its label, its judgement, its samples.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its name in the result.
    pub label: String,
    /// Its judgement.
    pub judgement: Judgement,
    /// Its samples.
    pub sampled: Sampled,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`SCHEMA`].
    pub schema: u32,
    /// How noise was distinguished from a difference, in a sentence.
    pub method: String,
    /// Where the plans differ; empty when they are the same.
    pub plans_differ: Vec<String>,
    /// The watermarks of the runs that carry any, in the order given: what limits a run also limits the comparison.
    pub watermarks: Vec<Marked>,
    /// The ways in which the workload of any of the runs deviates from the standard that it is derived from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deviations: Vec<String>,
    /// The runs, in the order given.
    pub runs: Vec<RunSummary>,
    /// The runs, best first.
    pub ranking: Vec<Ranked>,
    /// Criteria by their text, with the outcome in each run, in the order given.
    pub criteria: Vec<CriterionRow>,
    /// Figures per minute, where the first run has some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_minute: Vec<PerMinuteRow>,
    /// Each stream of each step, in the order of the first run.
    pub streams: Vec<StreamRow>,
    /// What it comes to, for each run but the first.
    pub conclusions: Vec<Conclusion>,
    /// The time that a run must measure at least, where it is too little to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measure_at_least_ns: Option<u64>,
}

/// The watermarks of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Marked {
    /// Its label.
    pub label: String,
    /// All of them.
    pub watermarks: Vec<String>,
}

/// What a run was done on, and how much it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its label.
    pub label: String,
    /// Its targets with what they report about themselves.
    pub devices: Vec<String>,
    /// Its verdict.
    pub verdict: Verdict,
    /// What was counted beside the operations, such as by the disk below a database, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beneath: Vec<String>,
    /// What others did on the disks of its targets meanwhile, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign: Vec<String>,
    /// When it began; for simulated time, how long it was.
    pub when: String,
    /// Measured time; where there are several steps, that of the deciding one, as for the next two.
    pub measured_ns: u64,
    /// Operations per second of all streams; absent when no time was measured.
    pub rate: Option<f64>,
    /// Bytes per second of these operations.
    pub bytes_per_second: Option<f64>,
    /// Each step, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepSummary>,
}

/// How much a step of a run did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepSummary {
    /// Its number, from 1.
    pub number: u32,
    /// Its title.
    pub title: String,
    /// Measured time.
    pub measured_ns: u64,
    /// Operations per second of all its streams; absent when no time was measured.
    pub rate: Option<f64>,
    /// Bytes per second of these operations.
    pub bytes_per_second: Option<f64>,
}

impl StepSummary {
    fn new(step: &Step) -> StepSummary {
        let (rate, bytes_per_second) = step.part.streams.total_throughput().unzip();
        let measured_ns = step.part.time.measured_ns;
        StepSummary { number: step.number, title: step.title.clone(), measured_ns, rate, bytes_per_second }
    }
}

/// A run in the ranking.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ranked {
    /// 1-based; two runs share a rank where the p99 of the first criterion's stream differs only by noise.
    pub rank: usize,
    /// Its label.
    pub label: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// p99 of the response of the first criterion's stream.
    pub p99_ns: Option<u64>,
    /// Why it shares the rank of the run before it, where it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tie: Option<Tie>,
}

/// Why two runs share a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// Their p99 differ by noise.
    Noise,
    /// They are too short to tell their p99 apart.
    TooLittle,
}

impl Tie {
    /// The reason in words, to stand behind a p99.
    pub(crate) fn in_words(self) -> &'static str {
        match self {
            Tie::Noise => "same rank: the difference to the run above is noise",
            Tie::TooLittle => "same rank: too little to tell it from the run above",
        }
    }
}

/// A figure per minute over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PerMinuteRow {
    /// The step, where there are several.
    pub step: Option<u32>,
    /// Its name: `NOPM`.
    pub name: String,
    /// Its value in each run; absent where the run has no such figure.
    pub runs: Vec<Option<f64>>,
}

impl PerMinuteRow {
    /// The values as they are shown, each with its ratio to that of the first run.
    fn cells_with_ratios(&self) -> Vec<String> {
        let first = self.runs.first().copied().flatten().filter(|value| *value > 0.0);
        self.runs
            .iter()
            .enumerate()
            .map(|(at, value)| match (value, first) {
                (None, _) => "-".to_owned(),
                (Some(value), Some(first)) if at > 0 => format!("{value:.0} (x{:.2})", value / first),
                (Some(value), _) => format!("{value:.0}"),
            })
            .collect()
    }
}

/// One criterion over all runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriterionRow {
    /// The step, where there are several.
    pub step: Option<u32>,
    /// The criterion in words, with its bound.
    pub criterion: String,
    /// Outcome and measured value in each run; absent where the run has no such criterion.
    pub runs: Vec<Option<(Outcome, Option<String>)>>,
}

impl Run {
    fn run_summary(&self) -> RunSummary {
        let part = &self.judgement.part;
        let (rate, bytes_per_second) = part.streams.total_throughput().unzip();
        RunSummary {
            label: self.label.clone(),
            devices: part.targets.each.iter().map(TargetTotals::device_description).collect(),
            verdict: self.judgement.verdict,
            beneath: part.targets.meters.iter().map(MeterFigures::in_words).collect(),
            foreign: self.foreign_load_texts(),
            when: self.judgement.time_of_run(),
            measured_ns: part.time.measured_ns,
            rate,
            bytes_per_second,
            steps: self.judgement.steps.iter().map(StepSummary::new).collect(),
        }
    }

    /// What others did on the disks of the targets in any step, in words.
    fn foreign_load_texts(&self) -> Vec<String> {
        let disks = self.judged_parts().flat_map(|(_, part)| &part.targets.foreign);
        disks.filter_map(|disk| disk.said.clone()).collect()
    }

    /// The time that this run would have to measure for an answer about a stream; absent where it has measured enough, or
    /// nothing.
    fn needed_ns(&self, row: &StreamRow) -> Option<u64> {
        let units = self.sampled.series_of_stream(row.step, &row.stream, row.measure)?.groups.all.len();
        let (_, part) = self.judged_parts().find(|(step, _)| *step == row.step)?;
        let each = part.time.measured_ns.checked_div(units as u64)?;
        (units < bootstrap::BLOCKS).then(|| each.saturating_mul(bootstrap::BLOCKS as u64))
    }

    fn watermarked_run(&self) -> Option<Marked> {
        let watermarks = self.judgement.watermarks.clone();
        (!watermarks.is_empty()).then(|| Marked { label: self.label.clone(), watermarks })
    }

    /// The parts that were judged, by the number of their step.
    fn judged_parts(&self) -> impl Iterator<Item = (Option<u32>, &StepFigures)> {
        let steps = self.judgement.steps.iter().map(|step| (Some(step.number), &step.part));
        let whole = self.judgement.steps.is_empty().then_some((None, &self.judgement.part));
        steps.chain(whole)
    }

    /// Whether a step (any step for `None`) ended because the device fell too far behind its schedule.
    fn was_stopped(&self, step: Option<u32>) -> bool {
        self.judged_parts()
            .any(|(at, part)| (step.is_none() || at == step) && part.history.closed == Some(CloseReason::DeviceLag))
    }
}

/// Compares the runs. `Err` lists where their plans differ, unless `anyway`.
pub fn compare_runs(runs: &[Run], anyway: bool) -> Result<Comparison, Vec<String>> {
    let Some(first) = runs.first() else { return Err(vec!["there is nothing to compare".into()]) };
    let plans_differ: Vec<String> = runs[1..]
        .iter()
        .flat_map(|run| first.sampled.plan_differences(&run.sampled, [&first.label, &run.label]))
        .collect();
    if !plans_differ.is_empty() && !anyway {
        return Err(plans_differ);
    }
    let mut deviations = Vec::new();
    runs.iter().for_each(|run| add_new(&mut deviations, run.judgement.workload_deviations()));
    let of = first
        .sampled
        .steps_and_streams()
        .flat_map(|(step, stream)| [Measure::Response, Measure::Service].map(|measure| (step, stream, measure)))
        .filter(|(step, stream, measure)| {
            runs.iter().any(|run| run.sampled.series_of_stream(*step, stream, *measure).is_some())
        });
    let streams: Vec<StreamRow> = of.map(|(step, stream, measure)| stream_row(runs, step, stream, measure)).collect();
    let labels: Vec<&str> = runs.iter().map(|run| run.label.as_str()).collect();
    let verdicts: Vec<Verdict> = runs.iter().map(|run| run.judgement.verdict).collect();
    let conclusions = conclusion::conclude_for_runs(&labels, &streams);
    Ok(Comparison {
        schema: SCHEMA,
        method: bootstrap::METHOD.into(),
        plans_differ,
        watermarks: runs.iter().filter_map(Run::watermarked_run).collect(),
        deviations,
        runs: runs.iter().map(Run::run_summary).collect(),
        ranking: rank_runs(runs),
        criteria: compare_criteria(runs),
        per_minute: per_minute(runs),
        conclusions: conclusion::with_verdicts(conclusions, &first.label, &verdicts),
        measure_at_least_ns: needed_ns(runs, &streams),
        streams,
    })
}

/// The time that a run must measure at least for an answer where there is none; absent where there are answers, or where
/// nothing was measured.
fn needed_ns(runs: &[Run], streams: &[StreamRow]) -> Option<u64> {
    conclusion::without_answer(streams).filter_map(|row| runs.iter().filter_map(|run| run.needed_ns(row)).max()).max()
}

fn stream_row(runs: &[Run], step: Option<u32>, stream: &str, measure: Measure) -> StreamRow {
    let series: Vec<_> = runs.iter().map(|run| run.sampled.series_of_stream(step, stream, measure)).collect();
    let mut figures = Vec::new();
    for (what, quantile) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)] {
        let values = series.iter().map(|series| series.and_then(|s| s.time_at_quantile(quantile)));
        let against_first =
            against_first(runs, step, measure, |at| bootstrap::compare_quantile(series[0], series[at], quantile));
        figures.push(Figure { what: what.into(), share: false, values: values.collect(), against_first });
    }
    // The thresholds of the first run that has any.
    let thresholds =
        runs.iter().map(|run| run.sampled.compared_thresholds(step, stream, measure)).find(|all| !all.is_empty());
    for threshold in thresholds.unwrap_or_default() {
        let values = series.iter().map(|series| series.and_then(|s| s.share_over(threshold)));
        let against_first = against_first(runs, step, measure, |at| {
            bootstrap::compare_share_over_threshold(series[0], series[at], threshold)
        });
        let what = format!("over {}", Span::from_ns(threshold));
        figures.push(Figure { what, share: true, values: values.collect(), against_first });
    }
    let distributions = series.iter().map(|series| series.map_or_else(Vec::new, |series| series.counts_by_time()));
    StreamRow { step, stream: stream.to_owned(), measure, figures, distributions: distributions.collect() }
}

/// Compares each other run with the first. The response is worse where the device could not keep up at all; the
/// service, which is about the operations that the device did carry, is compared as it is.
fn against_first(runs: &[Run], step: Option<u32>, measure: Measure, answer: impl Fn(usize) -> Answer) -> Vec<Answer> {
    (1..runs.len())
        .map(|at| match (is_response_cut(runs, 0, step, measure), is_response_cut(runs, at, step, measure)) {
            (false, true) => Answer::Worse,
            (true, false) => Answer::Better,
            _ => answer(at),
        })
        .collect()
}

/// Whether a response is compared, and the lag of this run ended it.
fn is_response_cut(runs: &[Run], at: usize, step: Option<u32>, measure: Measure) -> bool {
    measure == Measure::Response && runs[at].was_stopped(step)
}

/// Each criterion of the first run's steps, with its outcome in the others.
fn compare_criteria(runs: &[Run]) -> Vec<CriterionRow> {
    let mut rows: Vec<CriterionRow> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        for (step, outcome) in run.judged_parts().flat_map(|(step, part)| part.criteria.iter().map(move |c| (step, c)))
        {
            let criterion = format!("{} {}", outcome.asked.title, outcome.asked.bound);
            let known = rows.iter().position(|row| row.step == step && row.criterion == criterion);
            let at = known.unwrap_or_else(|| {
                rows.push(CriterionRow { step, criterion, runs: vec![None; runs.len()] });
                rows.len() - 1
            });
            let measured = outcome.measured.as_ref().map(|figure| figure.text.clone());
            rows[at].runs[index] = Some((outcome.outcome, measured));
        }
    }
    rows
}

/// Each figure per minute of the first run's steps, with its value in the others.
fn per_minute(runs: &[Run]) -> Vec<PerMinuteRow> {
    let Some(first) = runs.first() else { return Vec::new() };
    let names = first
        .judged_parts()
        .flat_map(|(step, part)| part.streams.per_minute.iter().map(move |figure| (step, &figure.name)));
    names.map(|(step, name)| per_minute_row(step, name, runs)).collect()
}

/// A figure per minute in each run.
fn per_minute_row(step: Option<u32>, name: &str, runs: &[Run]) -> PerMinuteRow {
    PerMinuteRow { step, name: name.to_owned(), runs: runs.iter().map(|run| per_minute_in(run, step, name)).collect() }
}

/// The value of a figure per minute in a run; `None` where the run has no such figure.
fn per_minute_in(run: &Run, step: Option<u32>, name: &str) -> Option<f64> {
    let mut figures = run.judged_parts().filter(|(at, _)| *at == step).flat_map(|(_, part)| &part.streams.per_minute);
    figures.find(|figure| figure.name == name).and_then(|figure| figure.value)
}

/// PASS before FAIL before what proves nothing; among equals a run that ended because of lag comes last, then the
/// shorter p99 comes first.
fn rank_runs(runs: &[Run]) -> Vec<Ranked> {
    let mut order: Vec<&Run> = runs.iter().collect();
    order.sort_by(|a, b| weight_of(a).cmp(&weight_of(b)).then(p99_or_infinite(a).total_cmp(&p99_or_infinite(b))));
    let mut ranked: Vec<Ranked> = Vec::new();
    for (index, run) in order.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| order[before]);
        let tie = before.filter(|before| weight_of(before) == weight_of(run)).and_then(|before| {
            match bootstrap::compare_quantile(before.sampled.main(), run.sampled.main(), 0.99) {
                Answer::Differs { .. } => None,
                Answer::CannotTell => Some(Tie::TooLittle),
                Answer::Noise { .. } | Answer::Worse | Answer::Better => Some(Tie::Noise),
            }
        });
        let rank = if tie.is_some() { ranked[index - 1].rank } else { index + 1 };
        let (label, verdict) = (run.label.clone(), run.judgement.verdict);
        ranked.push(Ranked { rank, label, verdict, p99_ns: p99_of(run).map(|ns| ns as u64), tie });
    }
    ranked
}

/// The place of a verdict in the ranking.
fn weight_of(run: &Run) -> u8 {
    match run.judgement.verdict {
        Verdict::Pass => 0,
        Verdict::Fail => 1 + u8::from(run.was_stopped(None)),
        Verdict::Invalid | Verdict::Incomplete => 3,
    }
}

/// The p99 of the response of the first criterion's stream.
fn p99_of(run: &Run) -> Option<f64> {
    run.sampled.main().and_then(|series| series.time_at_quantile(0.99))
}

/// The same for sorting: a run that has none comes last.
fn p99_or_infinite(run: &Run) -> f64 {
    p99_of(run).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests;
