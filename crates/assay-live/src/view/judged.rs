//! What the judge says of the log so far, as a reader gets it: the members of `verdict.json` without what is too long to be sent every
//! ten seconds, and without a verdict, which nobody can know before the end.

use super::standing::Standing;
use assay_base::{Bound, Share, Span};
use assay_judge::judgement::{
    CriterionOutcome, DatabaseFigures, ForeignFigures, GeneratorCost, Heat, MeterFigures, PerMinuteFigures,
    RankFigures, Slice, StepFigures, StreamTotals, TargetTotals,
};
use assay_judge::{Judgement, Verdict};
use serde::Serialize;
use std::sync::OnceLock;

/// The most slices, streams, targets and lines of warnings that are sent; the others are counted.
const SLICES: usize = 200;
const ROWS: usize = 100;
/// The most streams whose lines are sent.
const LINES: usize = 16;
/// The newest points of a line that are sent each time. Distributions come with ten points of a line, and the last one before may have
/// grown since.
const NEWEST: usize = 12;

/// What the judge says of the log up to a line.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The number of that line.
    pub seq: u64,
    verdict: Verdict,
    reason: String,
    /// The figures of the newest step, without what is long and stands elsewhere.
    pub part: StepFigures,
    /// What a reader should know, over all steps.
    pub warnings: Vec<String>,
    /// Facts that limit what the result proves.
    pub watermarks: Vec<String>,
    damage: usize,
    /// The steps that have ended, and the one that is running; empty where there is only one.
    steps: Vec<StepLine>,
    /// Texts that are made when they are asked for first: a terminal asks for none.
    texts: Texts,
}

/// What was judged, as texts.
#[derive(Clone, Debug, Default)]
struct Texts {
    figures: OnceLock<String>,
    lines: OnceLock<String>,
    newest_lines: OnceLock<String>,
}

/// A criterion with the value that it was measured by so far.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCriterion {
    /// It, in words.
    pub criterion: String,
    /// The worst value of its windows so far; `None` before the first.
    pub worst: Option<f64>,
    /// Its bound as a share, where it is one.
    pub bound: Option<f64>,
}

/// The members of `verdict.json` that are sent.
#[derive(Serialize)]
struct Figures<'a> {
    /// The line up to which the log was judged.
    seq: u64,
    measured_ns: u64,
    planned_ns: u64,
    slice_ns: u64,
    criteria: &'a [CriterionOutcome],
    slices: Vec<Tile<'a>>,
    slices_left_out: u64,
    streams: &'a [StreamTotals],
    streams_left_out: usize,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    per_minute: &'a [PerMinuteFigures],
    targets: &'a [TargetTotals],
    targets_left_out: usize,
    beneath: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    foreign: &'a [ForeignFigures],
    databases: Vec<String>,
    ranks: &'a [RankFigures],
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<GeneratorCost>,
    segments: u64,
    warnings: &'a [String],
    damage: usize,
    watermarks: &'a [String],
    /// The steps that have ended, and the one that is running.
    steps: &'a [StepLine],
}

/// A slice as a tile.
#[derive(Serialize)]
struct Tile<'a> {
    number: u64,
    start_ns: u64,
    end_ns: u64,
    complete: bool,
    valid: bool,
    within: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    /// Which streams did not keep which bounds, in words.
    unkept: Vec<String>,
}

/// A step in a list.
#[derive(Clone, Debug, Serialize)]
struct StepLine {
    number: u32,
    of: u32,
    title: String,
    load: String,
}

/// The lines along the time: those of `series` in `verdict.json` that the page draws.
#[derive(Serialize)]
struct Lines<'a> {
    at_ns: &'a [u64],
    width_ns: &'a [u64],
    threshold: Span,
    streams: Vec<Line<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    stream: &'a str,
    asked: &'a [f64],
    achieved: &'a [f64],
    share_over: &'a [Option<f64>],
    bands: Percentiles<'a>,
}

#[derive(Serialize)]
struct Percentiles<'a> {
    at_ns: &'a [u64],
    p50_ns: &'a [Option<u64>],
    p99_ns: &'a [Option<u64>],
    p99_9_ns: &'a [Option<u64>],
}

impl Judged {
    /// What `judgement` says, which is of the log up to the line `seq`.
    pub(crate) fn new(seq: u64, mut judgement: Judgement) -> Judged {
        let steps: Vec<_> = judgement.steps.iter().map(StepLine::from_step).collect();
        let steps = if steps.len() > 1 { steps } else { Vec::new() };
        // Of several steps the newest is what a reader watches; the result shows the one that decides.
        let mut part = judgement.steps.pop().map_or(judgement.part, |step| step.part);
        leave_out_length(&mut part);
        Judged {
            seq,
            verdict: judgement.verdict,
            reason: judgement.reason,
            part,
            warnings: judgement.warnings,
            watermarks: judgement.watermarks,
            damage: judgement.damage.len(),
            steps,
            texts: Texts::default(),
        }
    }

    /// How a run stands that goes on.
    pub(crate) fn standing(&self) -> Standing {
        Standing::from_verdict_so_far(self.verdict, &self.reason)
    }

    /// What its criteria measured, and their bounds, for metrics.
    pub(crate) fn measured_criteria(&self) -> Vec<MeasuredCriterion> {
        self.part.criteria.iter().map(MeasuredCriterion::from_outcome).collect()
    }

    /// The number of its slices so far.
    pub(crate) fn slice_count(&self) -> u64 {
        self.part.slices.left_out + self.part.slices.listed.len() as u64
    }

    /// Its figures, as JSON.
    pub(crate) fn figures_text(&self) -> &str {
        self.texts.figures.get_or_init(|| as_json(&self.figures()))
    }

    /// Its lines along the time, as JSON.
    pub(crate) fn lines_text(&self) -> &str {
        self.texts.lines.get_or_init(|| as_json(&lines_of(&self.part, usize::MAX)))
    }

    /// The newest points of these lines, as JSON, for a reader that has the others.
    pub(crate) fn newest_lines_text(&self) -> &str {
        self.texts.newest_lines.get_or_init(|| as_json(&lines_of(&self.part, NEWEST)))
    }

    fn figures(&self) -> Figures<'_> {
        let part = &self.part;
        Figures {
            seq: self.seq,
            measured_ns: part.time.measured_ns,
            planned_ns: part.time.planned_ns,
            slice_ns: part.time.slice_ns,
            criteria: &part.criteria,
            slices: newest_of(&part.slices.listed, SLICES).iter().map(Tile::from_slice).collect(),
            slices_left_out: part.slices.left_out + part.slices.listed.len().saturating_sub(SLICES) as u64,
            streams: first_of(&part.streams.each, ROWS),
            streams_left_out: part.streams.each.len().saturating_sub(ROWS),
            per_minute: &part.streams.per_minute,
            targets: first_of(&part.targets.each, ROWS),
            targets_left_out: part.targets.each.len().saturating_sub(ROWS),
            beneath: part.targets.meters.iter().map(MeterFigures::in_words).collect(),
            foreign: &part.targets.foreign,
            databases: part.databases.iter().map(DatabaseFigures::in_words).collect(),
            ranks: first_of(&part.generator.ranks, ROWS),
            cost: part.generator.cost,
            segments: part.history.segments,
            warnings: first_of(&self.warnings, ROWS),
            damage: self.damage,
            watermarks: &self.watermarks,
            steps: &self.steps,
        }
    }
}

/// Takes out what is long and stands elsewhere: distributions by nines, histograms, what was counted at each point of time.
fn leave_out_length(part: &mut StepFigures) {
    for stream in &mut part.streams.each {
        stream.own_lag_counts.clear();
        for times in [&mut stream.response, &mut stream.service, &mut stream.lag, &mut stream.own_lag] {
            times.nines.clear();
        }
    }
    part.streams.per_minute.iter_mut().for_each(|figures| {
        figures.over_time.clear();
        figures.slices.clear();
    });
    for foreign in &mut part.targets.foreign {
        foreign.operations_per_second.clear();
        foreign.bytes_per_second.clear();
        foreign.notable.clear();
    }
    part.generator.ranks.iter_mut().for_each(|rank| rank.shares.clear());
    part.targets.meters.iter_mut().for_each(|meter| meter.series.clear());
    let series = &mut part.course.series;
    series.flows.clear();
    series.groups.clear();
    series.streams.iter_mut().for_each(|line| line.heat = Heat::default());
}

/// The newest points of the lines, at most so many.
fn lines_of(part: &StepFigures, points: usize) -> Lines<'_> {
    let series = &part.course.series;
    let streams = first_of(&series.streams, LINES).iter().map(|line| Line {
        stream: &line.stream,
        asked: newest_of(&line.asked, points),
        achieved: newest_of(&line.achieved, points),
        share_over: newest_of(&line.share_over, points),
        bands: Percentiles {
            at_ns: newest_of(&line.bands.at_ns, points),
            p50_ns: newest_of(&line.bands.p50_ns, points),
            p99_ns: newest_of(&line.bands.p99_ns, points),
            p99_9_ns: newest_of(&line.bands.p99_9_ns, points),
        },
    });
    Lines {
        at_ns: newest_of(&series.at_ns, points),
        width_ns: newest_of(&series.width_ns, points),
        threshold: series.threshold,
        streams: streams.collect(),
    }
}

/// The first of them, at most so many.
fn first_of<T>(all: &[T], most: usize) -> &[T] {
    &all[..all.len().min(most)]
}

/// The last of them, at most so many.
fn newest_of<T>(all: &[T], most: usize) -> &[T] {
    &all[all.len().saturating_sub(most)..]
}

/// Plain data always has a form as JSON.
fn as_json<T: Serialize>(data: &T) -> String {
    serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned())
}

impl MeasuredCriterion {
    fn from_outcome(outcome: &CriterionOutcome) -> MeasuredCriterion {
        let bound = match outcome.asked.exact_bound {
            Some(Bound::Over { below, .. }) => Some(below),
            Some(Bound::OverAtMost { at_most, .. }) => Some(at_most),
            Some(Bound::ErrorsAtMost(at_most)) => Some(at_most),
            _ => None,
        };
        MeasuredCriterion {
            criterion: outcome.asked.criterion.clone(),
            worst: outcome.worst.as_ref().or(outcome.measured.as_ref()).map(|figure| figure.value),
            bound: bound.map(Share::as_f64),
        }
    }
}

impl<'a> Tile<'a> {
    fn from_slice(slice: &'a Slice) -> Tile<'a> {
        let mut unkept = unkept_bounds(slice);
        unkept.truncate(4);
        Tile {
            number: slice.number,
            start_ns: slice.start_ns,
            end_ns: slice.end_ns,
            complete: slice.complete,
            valid: slice.valid,
            within: slice.within,
            note: slice.note.as_deref(),
            unkept,
        }
    }
}

/// Which bounds a slice did not keep, in words.
pub(crate) fn unkept_bounds(slice: &Slice) -> Vec<String> {
    let mut unkept = Vec::new();
    for stream in &slice.streams {
        for bound in &stream.unkept {
            let on = stream.target.as_ref().map_or_else(String::new, |target| format!(" on {target}"));
            unkept.push(format!("{}{on}: {} {}", stream.stream, bound.measure, bound.bound));
        }
    }
    unkept
}

impl StepLine {
    fn from_step(step: &assay_judge::judgement::Step) -> StepLine {
        StepLine { number: step.number, of: step.of, title: step.title.clone(), load: step.load.clone() }
    }
}
