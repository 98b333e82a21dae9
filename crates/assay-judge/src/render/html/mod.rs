//! `report.html`: one file that shows a judgement on a screen, a phone and paper, without a network.
//!
//! Everything a reader needs is in tables that work without scripts, with two static charts of each judged stream
//! (`still`); where scripts run, the charts are drawn from the JSON that the page carries (`templates/report.js`, uPlot
//! from `vendor/`). Every text of the log is hostile: the templates escape it, the JSON is escaped for its element, and
//! the page's policy allows only the scripts known here (`embed`).

mod badge;
mod beneath;
mod bounds;
mod charts;
mod checks;
mod course;
mod criteria;
mod database;
pub(crate) mod distribution;
pub(crate) mod embed;
pub(crate) mod figures;
mod frame;
pub(crate) mod headline;
mod kinds;
mod marked;
mod multiples;
mod part;
mod plan;
mod proof;
mod ranks;
mod slices;
mod still;
mod streams;
mod targets;
mod tested;

pub(crate) use badge::{Badge, Watermark};
pub use embed::{CHARTS, CHARTS_STYLE, STYLE, security_policy};
pub(crate) use frame::{Frame, write_page};

use crate::Judgement;
use crate::judgement::{Damaged, Deciding};
use crate::words::clock_text;
use askama::Template;
use headline::Headline;

use part::PartView;
use std::fmt;

/// Writes the report of `judgement` to `out`. `Err` only when `out` fails or a figure has no JSON form.
pub fn write_html(judgement: &Judgement, out: &mut dyn fmt::Write) -> fmt::Result {
    let embedded = embed::embed_judgement(judgement).map_err(|_| fmt::Error)?;
    let page = Page {
        frame: Frame::with_scripts(),
        judgement,
        badge: Badge::for_judgement(judgement),
        headline: Headline::new(judgement),
        when: judgement.time_of_run(),
        deciding: judgement.deciding.as_ref().map(deciding_text),
        watermarks: Watermark::all_from_marks(&judgement.watermarks),
        damage: &judgement.damage,
        steps_have_items: judgement.steps.iter().any(|step| step.part.streams.listed_items() > 0),
        loads_differ: judgement.steps.windows(2).any(|steps| steps[0].load != steps[1].load),
        parts: part_views(judgement),
        embedded,
    };
    write_page(&page, out)
}

/// The path to the report of a run, for a page in a directory above it; `None` for a path that is not simply below the
/// page, or that contains characters which a browser might misinterpret.
pub(crate) fn report_beside(directory: &std::path::Path) -> Option<String> {
    let text = directory.to_str()?;
    let below = text.split('/').all(|part| {
        (!part.is_empty() && part != ".." && !part.starts_with('.'))
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    });
    below.then(|| format!("{text}/report.html"))
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    frame: Frame,
    judgement: &'a Judgement,
    badge: Badge,
    headline: Headline,
    when: String,
    deciding: Option<String>,
    watermarks: Vec<Watermark<'a>>,
    damage: &'a [Damaged],
    steps_have_items: bool,
    /// The load has a column of its own; where all steps have the same, it stands above.
    loads_differ: bool,
    parts: Vec<PartView<'a>>,
    embedded: embed::Embedded,
}

fn part_views(judgement: &Judgement) -> Vec<PartView<'_>> {
    if judgement.steps.is_empty() {
        return vec![PartView::from_judgement(judgement)];
    }
    (0..judgement.steps.len()).map(|step| PartView::from_step(judgement, step)).collect()
}

/// The place that decided: `step 2, slice 6 (5:00:00 to 6:00:00), reads on /dev/sdb: 7.91% measured, bound < 5%`.
fn deciding_text(deciding: &Deciding) -> String {
    let mut place = Vec::new();
    if deciding.step > 1 {
        place.push(format!("step {}", deciding.step));
    }
    let stretch = format!("{} to {}", clock_text(deciding.start_ns), clock_text(deciding.end_ns));
    let slice = match deciding.window_ns {
        None => "slice".to_owned(),
        Some(ns) => format!("{} slice", assay_base::Span::from_ns(ns).human_text()),
    };
    place.push(deciding.slice.map_or(stretch.clone(), |number| format!("{slice} {number} ({stretch})")));
    if let Some(stream) = &deciding.stream {
        let target = deciding.target.as_ref().map(|target| format!(" on {target}")).unwrap_or_default();
        place.push(format!("{stream}{target}"));
    }
    let measured = deciding.measured.as_ref().map(|measured| format!("{measured} measured"));
    let bound = deciding.bound.as_ref().map(|bound| format!("bound {bound}"));
    let figures: Vec<String> = [measured, bound].into_iter().flatten().collect();
    let figures = if figures.is_empty() { String::new() } else { format!(": {}", figures.join(", ")) };
    format!("{}{figures}", place.join(", "))
}

#[cfg(test)]
mod tests {
    use super::report_beside;

    #[test]
    fn a_report_is_pointed_to_only_below_the_page() {
        let beside = |path: &str| report_beside(std::path::Path::new(path));
        assert_eq!(beside("01-10x").as_deref(), Some("01-10x/report.html"));
        assert_eq!(beside("maximum/03-2.5x").as_deref(), Some("maximum/03-2.5x/report.html"));
        for hostile in
            ["", "/etc", "../up", "a/../b", "javascript:alert(1)", "a b", "a\"b", "//host/x", "a//b", "%2e%2e"]
        {
            assert_eq!(beside(hostile), None, "{hostile}");
        }
    }
}
