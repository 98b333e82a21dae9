//! `size.html`: the candidates compared in one page without scripts. Names may be hostile input; the template escapes
//! them.

use super::render::{demand_in_words, endings_in_words, formula_in_words, held_load_text};
use super::{Candidate, Sizing};
use crate::render::chart::{Axis, Chart, Mark, Unit, series_class};
use crate::render::html::distribution::Overlay;
use crate::render::html::figures::{ABSENT, time_text};
use crate::render::html::{Badge, Frame, Watermark, write_page};
use crate::verdict::Verdict;
use askama::Template;
use std::fmt;

const HEIGHT: f64 = 320.0;

/// Writes the page.
pub fn write_html(sizing: &Sizing, out: &mut dyn fmt::Write) -> fmt::Result {
    let labelled = sizing.candidates.iter().filter(|one| !one.nines.is_empty());
    let labelled = labelled.map(|one| (one.target.clone(), one.nines.as_slice()));
    let best = sizing.fewest_needed();
    let view = View {
        frame: Frame::without_script(),
        sizing,
        asked: demand_in_words(&sizing.demand),
        formula: formula_in_words(&sizing.demand),
        said: best.map_or("no candidate is known to carry production's load".to_owned(), |best| {
            let drives = best.need.map_or(0, |need| need.drives);
            format!("fewest drives: {drives} of {}{}", best.target, failed_candidates(sizing))
        }),
        badge: Badge::for_verdict(banner_verdict(sizing)),
        watermarks: Watermark::all_from_marks(&sizing.watermarks),
        devices: sizing.candidates.iter().filter_map(|one| one.device.as_deref()).collect(),
        loads: loads_chart(sizing),
        keys: colour_keys(sizing),
        beyond: Overlay::of_nines("at production's load", labelled),
        rows: sizing.candidates.iter().map(candidate_row).collect(),
    };
    write_page(&view, out)
}

/// The verdict of the banner: while candidates are left, that of those that are there.
fn banner_verdict(sizing: &Sizing) -> Verdict {
    match sizing.verdict() {
        Verdict::Invalid => Verdict::Fail,
        verdict => verdict,
    }
}

/// The candidates on which something failed, in words.
fn failed_candidates(sizing: &Sizing) -> String {
    let failed: Vec<&str> =
        sizing.candidates.iter().filter(|one| one.has_failure()).map(|one| one.target.as_str()).collect();
    if failed.is_empty() { String::new() } else { format!("; failed: {}", failed.join(", ")) }
}

#[derive(Template)]
#[template(path = "size.html")]
struct View<'a> {
    frame: Frame,
    sizing: &'a Sizing,
    asked: String,
    formula: String,
    said: String,
    badge: Badge,
    watermarks: Vec<Watermark<'a>>,
    devices: Vec<&'a str>,
    loads: Option<Chart>,
    keys: Vec<(String, String)>,
    beyond: Option<Overlay>,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    one: &'a Candidate,
    badge: Badge,
    holds: String,
    day: String,
    drives: String,
    then: String,
    told: String,
}

fn candidate_row(one: &Candidate) -> Row<'_> {
    let verdict = match (one.holds, one.is_known()) {
        (Some(_), _) => Verdict::Pass,
        (None, true) => Verdict::Fail,
        (None, false) => Verdict::Invalid,
    };
    Row {
        one,
        badge: Badge::for_verdict(verdict),
        holds: held_load_text(one),
        day: per_day(one.drive_writes_a_day),
        drives: one.need.map_or(ABSENT.to_owned(), |need| need.drives.to_string()),
        then: per_day(one.need.and_then(|need| need.drive_writes_a_day)),
        told: endings_in_words(one),
    }
}

/// Drive writes a day, or what stands for an absent figure.
fn per_day(day: Option<f64>) -> String {
    day.map_or(ABSENT.to_owned(), |day| format!("{day:.2}"))
}

/// The colour of each candidate that has a line.
fn colour_keys(sizing: &Sizing) -> Vec<(String, String)> {
    sizing.candidates.iter().enumerate().map(|(series, one)| (series_class(series), one.target.clone())).collect()
}

/// p99 against the load, a line for each candidate and a mark for each run.
fn loads_chart(sizing: &Sizing) -> Option<Chart> {
    let mut marks = Vec::new();
    let (mut low, mut high, mut highest) = (f64::INFINITY, 0f64, 0f64);
    for (series, one) in sizing.candidates.iter().enumerate() {
        let mut runs: Vec<_> = one.runs.iter().filter(|run| run.is_proof()).collect();
        runs.sort_by_key(|run| run.load);
        let points: Vec<(f64, f64)> = runs.iter().filter_map(|run| place_of(run)).collect();
        for (run, at) in runs.iter().filter_map(|run| Some((run, place_of(run)?))) {
            (low, high, highest) = (low.min(at.1), high.max(at.1), highest.max(at.0));
            let badge = Badge::for_verdict(run.verdict);
            let text = format!("{} at {}: {}, p99 {}", one.target, run.load, badge.word, time_text(at.1 as u64));
            marks.push(Mark::Dot { class: series_class(series), at, text: text.clone() });
            if run.verdict == Verdict::Fail {
                marks.push(Mark::Sign { class: badge.class, at, sign: badge.sign.to_owned(), text });
            }
        }
        marks.insert(0, Mark::Line { series, points });
    }
    if highest == 0.0 {
        return None;
    }
    let each: Vec<String> =
        sizing.candidates.iter().map(|one| format!("{} holds {}", one.target, held_load_text(one))).collect();
    Some(Chart {
        alternative: format!("p99 of the response over the load, by candidate: {}.", each.join(", ")),
        x: Axis::with_linear_scale("load (times production's)", Unit::Load, highest * 1.06),
        y: Axis::with_log_scale("p99 of the response (logarithmic)", Unit::Time, low * 0.7, high * 1.5),
        height: HEIGHT,
        marks,
    })
}

/// The place of a run in the chart: its load and its p99.
fn place_of(run: &crate::limit::Run) -> Option<(f64, f64)> {
    Some((run.load.as_f64(), run.response_p99_ns?.max(1) as f64))
}
