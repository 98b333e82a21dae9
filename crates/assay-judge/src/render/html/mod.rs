//! `report.html`: one file that shows a judgement on a screen, a phone and paper, without a network.
//!
//! Everything a reader needs stands in tables that work without scripts, with two still charts of each judged stream (`still`);
//! where scripts run, the charts are drawn over the JSON that the page carries (`templates/report.js`, uPlot from `vendor/`). Every text of the log is hostile: the templates escape it, the JSON
//! is escaped for its element, and the page's policy runs nothing but the scripts known here (`embed`).

mod bounds;
mod charts;
mod checks;
pub(crate) mod distribution;
pub(crate) mod embed;
pub(crate) mod figures;
pub(crate) mod headline;
mod multiples;
mod part;
mod plan;
mod slices;
mod still;
mod targets;

use crate::judgement::{Damaged, Deciding};
use crate::words::clock;
use crate::{Judgement, Verdict};
use askama::Template;
use headline::Headline;
use part::PartView;
use std::fmt;

/// Writes the report of `judgement` to `out`. `Err` only when `out` refuses or a figure has no JSON form.
pub fn html(judgement: &Judgement, out: &mut dyn fmt::Write) -> fmt::Result {
    let embedded = embed::embed(judgement).map_err(|_| fmt::Error)?;
    let (scripts, styles) = ([embed::CHARTS, embed::SCRIPT], [embed::CHARTS_STYLE, embed::STYLE]);
    let page = Page {
        policy: embed::policy(&scripts, &styles),
        styles,
        scripts,
        judgement,
        badge: Badge::of(judgement.verdict),
        headline: Headline::of(judgement),
        when: headline::when(judgement),
        deciding: judgement.deciding.as_ref().map(deciding_text),
        watermarks: judgement.watermarks.iter().map(|mark| Watermark::new(mark)).collect(),
        damage: &judgement.damage,
        parts: parts(judgement),
        embedded,
    };
    write(&page, out)
}

/// Writes a page.
pub(crate) fn write(page: &impl Template, out: &mut dyn fmt::Write) -> fmt::Result {
    page.render_into(&mut Sink(out)).map_err(|_| fmt::Error)
}

/// Where the report of a run lies, for a page in a directory above it; `None` for a path that is not plainly below the page, or
/// that holds what a browser might take for something else.
pub(crate) fn report_beside(directory: &std::path::Path) -> Option<String> {
    let text = directory.to_str()?;
    let plain = |part: &str| !part.is_empty() && part != ".." && !part.starts_with('.');
    let known = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let below = text.split('/').all(|part| plain(part) && part.chars().all(known));
    below.then(|| format!("{text}/report.html"))
}

/// askama writes into sized writers only.
struct Sink<'a>(&'a mut dyn fmt::Write);

impl fmt::Write for Sink<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_str(text)
    }
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    policy: String,
    styles: [&'static str; 2],
    scripts: [&'static str; 2],
    judgement: &'a Judgement,
    badge: Badge,
    headline: Headline,
    when: String,
    deciding: Option<String>,
    watermarks: Vec<Watermark<'a>>,
    damage: &'a [Damaged],
    parts: Vec<PartView<'a>>,
    embedded: embed::Embedded,
}

fn parts(judgement: &Judgement) -> Vec<PartView<'_>> {
    if judgement.steps.is_empty() {
        return vec![PartView::whole(judgement)];
    }
    (0..judgement.steps.len()).map(|step| PartView::step(judgement, step)).collect()
}

/// A verdict in colour, sign and words.
#[derive(Clone, Copy)]
pub(crate) struct Badge {
    pub class: &'static str,
    pub sign: &'static str,
    pub word: &'static str,
    meaning: &'static str,
}

impl Badge {
    pub fn of(verdict: Verdict) -> Badge {
        let (class, sign, word, meaning) = match verdict {
            Verdict::Pass => {
                ("pass", "✓", "PASS", "every bound held in every slice, and the load asked for was delivered")
            }
            Verdict::Fail => ("fail", "✗", "FAIL", "the target did not hold"),
            Verdict::Invalid => ("invalid", "⚠", "INVALID", "the test proves nothing about the target"),
            Verdict::Incomplete => ("incomplete", "◌", "INCOMPLETE", "the run was cut short"),
        };
        Badge { class, sign, word, meaning }
    }
}

/// A fact that limits what the result proves.
pub(crate) struct Watermark<'a> {
    pub mark: &'a str,
    pub meaning: &'a str,
}

impl Watermark<'_> {
    /// Most say what they mean (`SHORT: 3h measured`); the plain ones are explained here.
    pub fn new(text: &str) -> Watermark<'_> {
        let (mark, meaning) = text.split_once(": ").unwrap_or((text, ""));
        let meaning = match (mark, meaning) {
            ("QUICK", "") => "quick look, not a certification",
            ("SIMULATED", "") => "no device was tested: this proves nothing about any hardware",
            ("SHORT", "") => "shorter than the procedure asks for, not a certification",
            (_, said) => said,
        };
        Watermark { mark, meaning }
    }
}

/// Where the decision fell: `step 2, slice 6 (5:00:00 to 6:00:00), reads on /dev/sdb: 7.91% measured, bound < 5%`.
fn deciding_text(deciding: &Deciding) -> String {
    let mut place = Vec::new();
    if deciding.step > 1 {
        place.push(format!("step {}", deciding.step));
    }
    let stretch = format!("{} to {}", clock(deciding.start_ns), clock(deciding.end_ns));
    let window = match deciding.window_ns {
        None => "slice".to_owned(),
        Some(ns) => format!("{} window", assay_base::Span::from_ns(ns).human()),
    };
    place.push(deciding.slice.map_or(stretch.clone(), |number| format!("{window} {number} ({stretch})")));
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
