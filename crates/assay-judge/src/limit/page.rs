//! `limit.html`: the path of a search as one page without a script. Names are hostile input, escaped in the template.

use super::{Outcome, Run, Trail};
use crate::render::chart::{Axis, Chart, Mark, Unit};
use crate::render::html::distribution::Overlay;
use crate::render::html::figures::{ABSENT, megabytes, per_second, time};
use crate::render::html::{Badge, Frame, Watermark, report_beside, write};
use crate::verdict::Verdict;
use askama::Template;
use assay_base::Span;
use std::fmt;

/// Number of distributions drawn in one chart, those nearest to the limit.
const MOST_DRAWN: usize = 6;
const HEIGHT: f64 = 300.0;

/// Writes the page.
pub fn html(trail: &Trail, out: &mut dyn fmt::Write) -> fmt::Result {
    let drawn = nearest(trail);
    let labelled = drawn.iter().map(|run| (format!("{} {}", run.load, run.verdict), run.nines.as_slice()));
    let rows = trail.runs.iter().enumerate().map(|(index, run)| row(trail, index, run));
    let view = View {
        frame: Frame::still(),
        trail,
        badge: badge(trail.outcome),
        said: trail.outcome.map_or("the search goes on".to_owned(), |outcome| trail.said(outcome)),
        length: Span::from_ns(trail.run_ns).human(),
        targets: trail.targets.join(", "),
        watermarks: Watermark::all(&trail.watermarks),
        loads: (!trail.runs.is_empty()).then(|| loads(trail)),
        beyond: Overlay::of_nines(&stream(trail), labelled),
        stream: stream(trail),
        rows: rows.collect(),
    };
    write(&view, out)
}

#[derive(Template)]
#[template(path = "limit.html")]
struct View<'a> {
    frame: Frame,
    trail: &'a Trail,
    badge: Badge,
    said: String,
    length: String,
    targets: String,
    watermarks: Vec<Watermark<'a>>,
    loads: Option<Chart>,
    beyond: Option<Overlay>,
    stream: String,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    number: usize,
    run: &'a Run,
    badge: Badge,
    /// The load as it is counted beside multiples.
    counted: Option<String>,
    /// The highest load that passes, or the lowest that fails.
    limit: bool,
    rate: String,
    megabytes: String,
    p99: String,
    decided: &'a str,
    report: Option<String>,
}

fn row<'a>(trail: &'a Trail, index: usize, run: &'a Run) -> Row<'a> {
    let limit = match trail.outcome {
        Some(Outcome::Between { passes, .. } | Outcome::NeverFailed { passes }) => run.load == passes,
        _ => false,
    };
    Row {
        number: index + 1,
        run,
        badge: Badge::of(run.verdict),
        counted: trail.counted.as_ref().map(|counted| counted.of(run.load)),
        limit,
        rate: run.rate.map_or(ABSENT.to_owned(), per_second),
        megabytes: run.bytes_per_second.map_or(ABSENT.to_owned(), megabytes),
        p99: run.response_p99_ns.map_or(ABSENT.to_owned(), time),
        decided: run.measured.as_deref().filter(|_| run.proves()).unwrap_or(&run.reason),
        report: run.directory.file_name().and_then(|name| report_beside(name.as_ref())),
    }
}

fn badge(outcome: Option<Outcome>) -> Badge {
    Badge::of(match outcome {
        None => Verdict::Incomplete,
        Some(Outcome::Between { .. } | Outcome::NeverFailed { .. }) => Verdict::Pass,
        Some(Outcome::NeverPassed { .. }) => Verdict::Fail,
        Some(Outcome::Stopped { verdict, .. }) => verdict,
    })
}

/// The stream whose response is shown, where all runs have the same.
fn stream(trail: &Trail) -> String {
    let mut names: Vec<&str> = trail.runs.iter().filter_map(|run| run.stream.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The runs whose distributions are drawn, by load: the valid ones nearest to the limit.
fn nearest(trail: &Trail) -> Vec<&Run> {
    let turns = match trail.outcome {
        Some(Outcome::Between { passes, .. } | Outcome::NeverFailed { passes }) => Some(passes),
        Some(Outcome::NeverPassed { fails }) => Some(fails),
        Some(Outcome::Stopped { at, .. }) => Some(at),
        None => trail.runs.last().map(|run| run.load),
    };
    let turns = turns.map_or(1.0, |load| load.as_f64());
    let mut runs: Vec<&Run> = trail.runs.iter().filter(|run| run.proves() && !run.nines.is_empty()).collect();
    let off = |run: &Run| (run.load.as_f64() / turns).ln().abs();
    runs.sort_by(|a, b| off(a).total_cmp(&off(b)));
    runs.truncate(MOST_DRAWN);
    runs.sort_by_key(|run| run.load);
    runs
}

/// Each run at its load, as high as its p99: held, not held, or nothing proven; the limit lies between them.
fn loads(trail: &Trail) -> Chart {
    let p99 = || trail.runs.iter().filter_map(|run| run.response_p99_ns).map(|ns| ns.max(1) as f64);
    let (low, high) = p99().fold((f64::INFINITY, 0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    let highest = trail.runs.iter().map(|run| run.load.as_f64()).fold(0.0, f64::max) * 1.08;
    let runs = trail.runs.iter().enumerate().map(|(index, run)| sign(index, run, low));
    let each: Vec<String> = trail.runs.iter().map(|run| format!("{} {}", run.load, run.verdict)).collect();
    Chart {
        alternative: format!("Loads that were tried and their verdicts: {}.", each.join(", ")),
        x: Axis::linear("load (multiple of the workload's 1x)", Unit::Load, highest),
        // A sign is centred on its place; the margin keeps signs from being cut off.
        y: Axis::log("p99 of the response (logarithmic)", Unit::Time, low * 0.7, high * 1.5),
        height: HEIGHT,
        marks: turn(trail.outcome, highest).into_iter().chain(runs).collect(),
    }
}

/// Loads that hold, loads that do not, and a line at the limit.
fn turn(outcome: Option<Outcome>, highest: f64) -> Vec<Mark> {
    let (passes, fails) = match outcome {
        Some(Outcome::Between { passes, fails }) => (Some(passes), Some(fails)),
        Some(Outcome::NeverFailed { passes }) => (Some(passes), None),
        Some(Outcome::NeverPassed { fails }) => (None, Some(fails)),
        Some(Outcome::Stopped { .. }) | None => (None, None),
    };
    let held = passes.map(|load| Mark::Stretch { class: "pass", from: 0.0, to: load.as_f64() });
    let not = fails.map(|load| Mark::Stretch { class: "fail", from: load.as_f64(), to: highest });
    let line = passes.map(|load| Mark::Vertical { at: load.as_f64(), text: format!("holds {load}") });
    [held, not, line].into_iter().flatten().collect()
}

/// A run without any counted operation is drawn at the bottom.
fn sign(index: usize, run: &Run, low: f64) -> Mark {
    let badge = Badge::of(run.verdict);
    let ns = run.response_p99_ns.map_or(low, |ns| ns.max(1) as f64);
    let p99 = run.response_p99_ns.map_or("nothing counted".to_owned(), |ns| format!("p99 {}", time(ns)));
    let text = format!("run {}: {} {}, {p99}", index + 1, run.load, badge.word);
    Mark::Sign { class: badge.class, at: (run.load.as_f64(), ns), sign: badge.sign.to_owned(), text }
}
