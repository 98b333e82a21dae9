//! `limit.html`: the path of a search as one page without a script. Names are hostile input, escaped in the template.

use super::{Outcome, Run, Trail};
use crate::render::chart::{Axis, Chart, Mark, Unit};
use crate::render::html::distribution::Overlay;
use crate::render::html::figures::{ABSENT, megabytes_text, per_second, time_text};
use crate::render::html::{Badge, Frame, Watermark, report_beside, write_page};
use crate::verdict::Verdict;
use askama::Template;
use assay_base::Span;
use std::fmt;

/// Number of distributions drawn in one chart, those nearest to the limit.
const MOST_DRAWN: usize = 6;
const HEIGHT: f64 = 300.0;

/// Writes the page.
pub fn write_html(trail: &Trail, out: &mut dyn fmt::Write) -> fmt::Result {
    let drawn = nearest_runs(trail);
    let labelled = drawn.iter().map(|run| (run_label(trail, run), run.nines.as_slice()));
    let stream = trail.shown_streams().join(", ");
    let rows = trail.runs.iter().enumerate().map(|(index, run)| run_row(trail, index, run));
    let view = View {
        frame: Frame::without_script(),
        trail,
        badge: outcome_badge(trail.outcome),
        said: trail.outcome.map_or("the search goes on".to_owned(), |outcome| trail.outcome_in_words(outcome)),
        length: Span::from_ns(trail.run_ns).human_text(),
        targets: trail.targets.join(", "),
        watermarks: Watermark::all_from_marks(&trail.watermarks),
        charts: Charts {
            loads: (!trail.runs.is_empty()).then(|| loads_chart(trail)),
            beyond: Overlay::of_nines(&stream, labelled),
            stream,
        },
        rows: rows.collect(),
        aside: trail.aside.as_sentences(),
        tiles: trail.tiles.is_some().then(|| tiles_view(trail)),
    };
    write_page(&view, out)
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
    charts: Charts,
    rows: Vec<Row<'a>>,
    /// What failed, and which runs were repeated.
    aside: Vec<String>,
    /// What the workloads of tiles did.
    tiles: Option<TilesView>,
}

/// The loads that were tried, and the response of a stream near the limit.
struct Charts {
    loads: Option<Chart>,
    beyond: Option<Overlay>,
    stream: String,
}

/// What the workloads of the tiles did in each run.
struct TilesView {
    gain: Option<String>,
    chart: Chart,
    workloads: Vec<String>,
    rows: Vec<TilesRow>,
}

/// A run in the table of what workloads did.
struct TilesRow {
    number: usize,
    load: String,
    /// Operations per second of each workload, then how much more that is than of one tile.
    figures: Vec<String>,
}

fn tiles_view(trail: &Trail) -> TilesView {
    let first = trail.runs.iter().find(|run| !run.workloads.is_empty());
    let workloads = first.map_or_else(Vec::new, |run| run.workloads.iter().map(|own| own.workload.clone()).collect());
    let rows = trail.runs.iter().enumerate().map(|(index, run)| tiles_row(trail, index, run));
    TilesView { gain: trail.gain_sentence(), chart: tiles_chart(trail), workloads, rows: rows.collect() }
}

fn tiles_row(trail: &Trail, index: usize, run: &Run) -> TilesRow {
    let rates = run.workloads.iter().map(|own| per_second(own.rate));
    let gain = trail.throughput_gain(run).map_or(ABSENT.to_owned(), |gain| format!("{gain:.2}"));
    TilesRow { number: index + 1, load: run.load.to_string(), figures: rates.chain([gain]).collect() }
}

/// How much more each number of tiles does than one alone, above the line of as much from every tile.
fn tiles_chart(trail: &Trail) -> Chart {
    let highest = trail.runs.iter().map(|run| run.load.as_f64()).fold(1.0, f64::max);
    let gains =
        trail.runs.iter().enumerate().filter_map(|(index, run)| Some((index, run, trail.throughput_gain(run)?)));
    let mut marks = vec![Mark::Line { series: 0, points: vec![(0.0, 0.0), (highest, highest)] }];
    let mut texts = Vec::new();
    for (index, run, gain) in gains {
        let badge = Badge::for_verdict(run.verdict);
        let text = format!("run {}: {} tiles {}, {gain:.2} times", index + 1, run.load.as_f64(), badge.word);
        texts.push(text.clone());
        marks.push(Mark::Sign { class: badge.class, at: (run.load.as_f64(), gain), sign: badge.sign.to_owned(), text });
    }
    Chart {
        alternative: format!("Throughput of all tiles in multiples of that of one tile: {}.", texts.join(", ")),
        x: Axis::with_linear_scale("tiles", Unit::Load, highest * 1.08),
        y: Axis::with_linear_scale("throughput, in multiples of one tile", Unit::Load, highest * 1.08),
        height: HEIGHT,
        marks,
    }
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
    /// The stream of that response, where not all rows have the same.
    stream: Option<&'a str>,
    decided: &'a str,
    report: Option<String>,
}

/// A run in the list of colours, with its stream where the runs show several.
fn run_label(trail: &Trail, run: &Run) -> String {
    let stream = trail.stream_of(run).map(|stream| format!(", {stream}")).unwrap_or_default();
    format!("{} {}{stream}", run.load, run.verdict)
}

fn run_row<'a>(trail: &'a Trail, index: usize, run: &'a Run) -> Row<'a> {
    let limit = trail.outcome.and_then(|outcome| outcome.limit()).is_some_and(|limit| limit == run.load);
    Row {
        number: index + 1,
        run,
        badge: Badge::for_verdict(run.verdict),
        counted: trail.counted.as_ref().map(|counted| counted.at_load(run.load)),
        limit,
        rate: run.rate.map_or(ABSENT.to_owned(), per_second),
        megabytes: run.bytes_per_second.map_or(ABSENT.to_owned(), megabytes_text),
        p99: run.response_p99_ns.map_or(ABSENT.to_owned(), time_text),
        stream: trail.stream_of(run),
        decided: run.measured.as_deref().filter(|_| run.is_proof()).unwrap_or(&run.reason),
        report: run.directory.file_name().and_then(|name| report_beside(name.as_ref())),
    }
}

fn outcome_badge(outcome: Option<Outcome>) -> Badge {
    Badge::for_verdict(outcome.map_or(Verdict::Incomplete, |outcome| outcome.verdict()))
}

/// The runs whose distributions are drawn, by load: the valid ones nearest to the limit.
fn nearest_runs(trail: &Trail) -> Vec<&Run> {
    let turns = match trail.outcome {
        Some(Outcome::Stopped { at, .. }) => Some(at),
        Some(Outcome::TargetFailed { at, passes }) => at.or(passes).or_else(|| trail.runs.last().map(|run| run.load)),
        Some(outcome) => outcome.highest_passing().or(outcome.lowest_failing()),
        None => trail.runs.last().map(|run| run.load),
    };
    let turns = turns.map_or(1.0, |load| load.as_f64());
    let mut runs: Vec<&Run> = trail.runs.iter().filter(|run| run.is_proof() && !run.nines.is_empty()).collect();
    runs.sort_by(|a, b| distance_from_limit(a, turns).total_cmp(&distance_from_limit(b, turns)));
    runs.truncate(MOST_DRAWN);
    runs.sort_by_key(|run| run.load);
    runs
}

/// How far the load of a run is from the limit.
fn distance_from_limit(run: &Run, turns: f64) -> f64 {
    (run.load.as_f64() / turns).ln().abs()
}

/// Each run at its load, as high as its p99: held, not held, or nothing proven; the limit lies between them.
fn loads_chart(trail: &Trail) -> Chart {
    let (low, high) = trail
        .runs
        .iter()
        .filter_map(|run| run.response_p99_ns)
        .map(|ns| ns.max(1) as f64)
        .fold((f64::INFINITY, 0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    let highest = trail.runs.iter().map(|run| run.load.as_f64()).fold(0.0, f64::max) * 1.08;
    let runs = trail.runs.iter().enumerate().map(|(index, run)| run_mark(index, run, trail.stream_of(run), low));
    let each: Vec<String> = trail.runs.iter().map(|run| format!("{} {}", run.load, run.verdict)).collect();
    Chart {
        alternative: format!("Loads that were tried and their verdicts: {}.", each.join(", ")),
        x: Axis::with_linear_scale("load (multiple of the workload's 1x)", Unit::Load, highest),
        // A sign is centred on its place; the margin keeps signs from being cut off.
        y: Axis::with_log_scale("p99 of the response (logarithmic)", Unit::Time, low * 0.7, high * 1.5),
        height: HEIGHT,
        marks: limit_marks(trail.outcome, highest).into_iter().chain(runs).collect(),
    }
}

/// Loads that hold, loads that do not, and a line at the limit.
fn limit_marks(outcome: Option<Outcome>, highest: f64) -> Vec<Mark> {
    let (passes, fails) = outcome.map_or((None, None), |outcome| (outcome.limit(), outcome.lowest_failing()));
    let passed = passes.map(|load| Mark::Stretch { class: "pass", from: 0.0, to: load.as_f64() });
    let not = fails.map(|load| Mark::Stretch { class: "fail", from: load.as_f64(), to: highest });
    let line = passes.map(|load| Mark::Vertical { at: load.as_f64(), text: format!("holds {load}") });
    [passed, not, line].into_iter().flatten().collect()
}

/// A run without any counted operation is drawn at the bottom.
fn run_mark(index: usize, run: &Run, stream: Option<&str>, low: f64) -> Mark {
    let badge = Badge::for_verdict(run.verdict);
    let ns = run.response_p99_ns.map_or(low, |ns| ns.max(1) as f64);
    let p99 = run.response_p99_ns.map_or("nothing counted".to_owned(), |ns| format!("p99 {}", time_text(ns)));
    let stream = stream.map(|stream| format!(" of {stream}")).unwrap_or_default();
    let text = format!("run {}: {} {}, {p99}{stream}", index + 1, run.load, badge.word);
    Mark::Sign { class: badge.class, at: (run.load.as_f64(), ns), sign: badge.sign.to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each run shows the criterion that decided it, which may be of another stream than that of the run before.
    #[test]
    fn the_response_of_a_run_is_named_where_not_all_runs_show_the_same_stream() {
        let run = |load, stream: &str, verdict: &str| {
            serde_json::json!({
                "load": load, "verdict": verdict, "reason": "why", "measured": format!("{stream} response mean 3 ms (bound < 5 ms)"),
                "response_p99_ns": 4_000_000, "stream": stream, "nines": [[0.5, 1000], [0.9, 9000]], "directory": load,
            })
        };
        let trail = |runs: Vec<serde_json::Value>| -> Trail {
            serde_json::from_value(serde_json::json!({
                "schema": 1, "workload": "w", "targets": ["sim:flash"], "run_ns": 1, "seed": 1,
                "outcome": { "between": { "passes": "1x", "fails": "2x" } }, "runs": runs,
            }))
            .unwrap()
        };
        let page = |trail: &Trail| {
            let mut page = String::new();
            write_html(trail, &mut page).unwrap();
            page
        };
        let several = page(&trail(vec![run("1x", "reads", "PASS"), run("2x", "writes", "FAIL")]));
        for said in ["<small>reads</small>", "<small>writes</small>", "1x PASS, reads", "p99 4 ms of writes"] {
            assert!(several.contains(said), "{said}: {several}");
        }
        let one = page(&trail(vec![run("1x", "reads", "PASS"), run("2x", "reads", "FAIL")]));
        assert!(!one.contains("<small>reads</small>") && one.contains("Response of reads:"), "{one}");
    }
}
