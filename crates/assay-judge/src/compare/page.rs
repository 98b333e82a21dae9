//! A comparison as one HTML page without a script: the page fetches nothing and executes nothing. Names are hostile
//! input, escaped in the template.

use super::cells::FigureCell;
use super::conclusion::required_time_text;
use super::render::outcome_text;
use super::rows::title_with_step;
use super::{Comparison, Marked, Ranked, RunSummary, StreamRow};
use crate::judgement::Outcome;
use crate::render::chart::{Chart, series_class};
use crate::render::html::distribution::{self, Distribution};
use crate::render::html::figures::{ABSENT, megabytes_text, per_second};
use crate::render::html::{Badge, Frame, Watermark, write_page};
use crate::words::clock_text;
use askama::Template;
use assay_base::Span;
use std::fmt;

/// The page.
pub fn write_html(comparison: &Comparison, labels: &[String], out: &mut dyn fmt::Write) -> fmt::Result {
    let criteria = comparison.criteria.iter();
    let view = View {
        frame: Frame::without_script(),
        comparison,
        labels,
        watermarks: group_watermarks(&comparison.watermarks),
        needed: comparison.measure_at_least_ns.map(required_time_text),
        runs: comparison.runs.iter().map(run_row).collect(),
        ranking: ranked_rows(comparison),
        criteria: criteria
            .map(|row| (title_with_step(row.step, &row.criterion), row.runs.iter().map(outcome_cell).collect()))
            .collect(),
        per_minute: comparison
            .per_minute
            .iter()
            .map(|row| (title_with_step(row.step, &format!("{} (per minute)", row.name)), row.cells_with_ratios()))
            .collect(),
        streams: comparison.streams.iter().enumerate().map(|(index, row)| stream_table(index, row, labels)).collect(),
    };
    write_page(&view, out)
}

#[derive(Template)]
#[template(path = "compare.html")]
struct View<'a> {
    frame: Frame,
    comparison: &'a Comparison,
    labels: &'a [String],
    watermarks: Vec<(String, Vec<Watermark<'a>>)>,
    /// How long to measure, where it is too little to tell.
    needed: Option<String>,
    runs: Vec<RunRow<'a>>,
    ranking: Vec<RankedRow<'a>>,
    criteria: Vec<(String, Vec<OutcomeCell>)>,
    per_minute: Vec<(String, Vec<String>)>,
    streams: Vec<StreamTable<'a>>,
}

struct RunRow<'a> {
    told: &'a RunSummary,
    /// Its figures; those of each step, where there are several.
    figures: Vec<RunFigures>,
}

struct RunFigures {
    /// The step, where there are several.
    title: Option<String>,
    rate: String,
    megabytes: String,
    measured: String,
}

struct RankedRow<'a> {
    ranked: &'a Ranked,
    badge: Badge,
    p99: String,
    /// Length of its bar, in percent.
    bar: String,
}

struct OutcomeCell {
    class: &'static str,
    text: String,
}

struct StreamTable<'a> {
    id: String,
    title: String,
    figures: Vec<(&'a str, Vec<FigureCell>)>,
    keys: Vec<(String, &'a str)>,
    charts: Option<[Chart; 2]>,
}

/// The watermarks of the runs; runs with the same watermarks share an entry.
fn group_watermarks(all: &[Marked]) -> Vec<(String, Vec<Watermark<'_>>)> {
    let mut groups: Vec<(Vec<&str>, &Marked)> = Vec::new();
    for marked in all {
        match groups.iter_mut().find(|(_, first)| first.watermarks == marked.watermarks) {
            Some((labels, _)) => labels.push(&marked.label),
            None => groups.push((vec![&marked.label], marked)),
        }
    }
    let mut shown = Vec::new();
    for (labels, marked) in groups {
        shown.push((labels.join(", "), Watermark::all_from_marks(&marked.watermarks)));
    }
    shown
}

fn run_row(told: &RunSummary) -> RunRow<'_> {
    let figures = if told.steps.is_empty() {
        vec![run_figures(None, told.measured_ns, told.rate, told.bytes_per_second)]
    } else {
        told.steps
            .iter()
            .map(|step| {
                let title = Some(format!("step {}: {}", step.number, step.title));
                run_figures(title, step.measured_ns, step.rate, step.bytes_per_second)
            })
            .collect()
    };
    RunRow { told, figures }
}

fn run_figures(title: Option<String>, measured_ns: u64, rate: Option<f64>, bytes: Option<f64>) -> RunFigures {
    RunFigures {
        title,
        rate: rate.map_or(ABSENT.to_owned(), per_second),
        megabytes: bytes.map_or(ABSENT.to_owned(), megabytes_text),
        measured: clock_text(measured_ns),
    }
}

/// The length of a bar is proportional to the p99; the longest one fills its column.
fn ranked_rows(comparison: &Comparison) -> Vec<RankedRow<'_>> {
    let longest = comparison.ranking.iter().filter_map(|ranked| ranked.p99_ns).max().unwrap_or(1).max(1);
    comparison
        .ranking
        .iter()
        .map(|ranked| RankedRow {
            ranked,
            badge: Badge::for_verdict(ranked.verdict),
            p99: ranked.p99_ns.map_or(ABSENT.to_owned(), |ns| Span::from_ns(ns).human_text()),
            bar: format!("{:.1}", ranked.p99_ns.map_or(0.0, |ns| (ns as f64 / longest as f64 * 100.0).max(0.5))),
        })
        .collect()
}

fn outcome_cell(run: &Option<(Outcome, Option<String>)>) -> OutcomeCell {
    let class = match run {
        Some((Outcome::Pass, _)) => "pass",
        Some((Outcome::Fail, _)) => "fail",
        Some((Outcome::Invalid, _)) => "invalid",
        Some((Outcome::Incomplete | Outcome::NotApplied, _)) | None => "incomplete",
    };
    OutcomeCell { class, text: outcome_text(run) }
}

fn stream_table<'a>(index: usize, row: &'a StreamRow, labels: &'a [String]) -> StreamTable<'a> {
    let title = format!("{}, {}", title_with_step(row.step, &row.stream), row.measure);
    let drawn: Vec<Distribution<'_>> = (row.distributions.iter().zip(labels).enumerate())
        .filter(|(_, (counts, _))| !counts.is_empty())
        .map(|(series, (counts, label))| {
            Distribution::of_counts(series, label, counts, |what: &str| {
                row.figures.iter().find(|figure| figure.what == what)?.values.get(series).copied()?
            })
        })
        .collect();
    let measure = row.measure.to_string();
    StreamTable {
        id: format!("stream-{}", index + 1),
        keys: drawn.iter().map(|one| (series_class(one.series), one.label)).collect(),
        charts: (!drawn.is_empty()).then(|| {
            [distribution::tail_chart(&title, &measure, &drawn), distribution::density_chart(&title, &measure, &drawn)]
        }),
        figures: row.figures.iter().map(|figure| (figure.what.as_str(), FigureCell::cells_of_figure(figure))).collect(),
        title,
    }
}
