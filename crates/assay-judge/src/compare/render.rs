//! A comparison as text. Names are hostile input: cleaned here.

use super::conclusion::required_time_text;
use super::rows::title_with_step;
use super::{Answer, Comparison, Figure, RunSummary};
use crate::judgement::Outcome;
use crate::render::{Page, cut_to_width};
use assay_base::Span;
use std::fmt;

/// Width of a value in characters.
const VALUE: usize = 26;
/// Width of the first column.
const TITLE: usize = 26;

/// The tables, for a terminal.
pub fn write_text(comparison: &Comparison, labels: &[String], out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    for difference in &comparison.plans_differ {
        page.add_text("NOT THE SAME PLAN  ", difference);
    }
    for ranked in &comparison.ranking {
        let p99 = ranked.p99_ns.map_or("-".to_owned(), |ns| Span::from_ns(ns).human_text());
        let tie = ranked.tie.map(|tie| format!("  ({})", tie.in_words())).unwrap_or_default();
        page.add_line(format!(
            "{:>3}. {:30} {:11} p99 {p99}{tie}",
            ranked.rank,
            cut_to_width(&ranked.label, 30),
            ranked.verdict.to_string()
        ));
    }
    for marked in &comparison.watermarks {
        page.add_text(&format!("{}: ", cut_to_width(&marked.label, 30)), &marked.watermarks.join(", "));
    }
    page.add_blank_line();
    comparison.runs.iter().for_each(|run| add_tested_devices(&mut page, run));
    page.add_blank_line();
    let head: String = labels.iter().map(|label| format!(" {:>VALUE$}", cut_to_width(label, VALUE))).collect();
    page.add_wide_line(format!("{:TITLE$}{head}", "criterion"));
    for row in &comparison.criteria {
        let cells: String = row.runs.iter().map(|run| format!(" {:>VALUE$}", outcome_text(run))).collect();
        titled_row(&mut page, &title_with_step(row.step, &row.criterion), &cells);
    }
    for row in &comparison.per_minute {
        let cells: String = row.cells_with_ratios().iter().map(|cell| format!(" {cell:>VALUE$}")).collect();
        titled_row(&mut page, &title_with_step(row.step, &format!("{} (per minute)", row.name)), &cells);
    }
    for row in &comparison.streams {
        page.add_blank_line();
        titled_row(&mut page, &format!("{} {}", title_with_step(row.step, &row.stream), row.measure), &head);
        for figure in &row.figures {
            let cells: String = figure.values.iter().map(|v| format!(" {:>VALUE$}", value_text(figure, *v))).collect();
            page.add_wide_line(format!("  {:w$}{cells}", figure.what, w = TITLE - 2));
            let answers: String =
                figure.against_first.iter().map(|a| format!(" {:>VALUE$}", answer_text(figure, a))).collect();
            page.add_wide_line(format!("{:w$}{answers}", "", w = TITLE + VALUE + 1));
        }
    }
    page.add_blank_line();
    page.add_text("", &comparison.method);
    page.add_blank_line();
    add_conclusion(&mut page, comparison);
    page.write_lines(out)
}

/// What a run was on, what was counted below it, and what others did there.
fn add_tested_devices(page: &mut Page, run: &RunSummary) {
    let rate = run.rate.map(|rate| format!("; {rate:.0} operations/s")).unwrap_or_default();
    page.add_text(
        &format!("{}: ", cut_to_width(&run.label, 30)),
        &format!("{}; {}{rate}", run.devices.join("; "), run.when),
    );
    run.beneath.iter().for_each(|said| page.add_text("    beneath: ", said));
    run.foreign.iter().for_each(|said| page.add_text("    others: ", said));
}

/// What it comes to, at the end, where a reader of a long text looks first.
fn add_conclusion(page: &mut Page, comparison: &Comparison) {
    comparison.conclusions.iter().for_each(|conclusion| page.add_text("", &format!("{}.", conclusion.sentence)));
    if let Some(ns) = comparison.measure_at_least_ns {
        page.add_text("", &format!("To tell more, measure each run for at least {} (--for).", required_time_text(ns)));
    }
}

/// A row of a table. A title that is too long for its column stands in a line of its own.
fn titled_row(page: &mut Page, title: &str, cells: &str) {
    if title.chars().count() <= TITLE {
        return page.add_wide_line(format!("{title:TITLE$}{cells}"));
    }
    page.add_text("", title);
    page.add_wide_line(format!("{:TITLE$}{cells}", ""));
}

pub(super) fn outcome_text(run: &Option<(Outcome, Option<String>)>) -> String {
    let Some((outcome, measured)) = run else { return "-".into() };
    let word = match outcome {
        Outcome::Pass => "ok",
        Outcome::Fail => "FAIL",
        Outcome::Invalid => "INVALID",
        Outcome::Incomplete => "INCOMPLETE",
        Outcome::NotApplied => "not applied",
    };
    measured.as_ref().map_or(word.to_owned(), |measured| format!("{word} {measured}"))
}

pub(crate) fn value_text(figure: &Figure, value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(share) if figure.share => format!("{:.3}%", share * 100.0),
        Some(ns) => Span::from_ns(ns as u64).human_text(),
    }
}

pub(crate) fn answer_text(figure: &Figure, answer: &Answer) -> String {
    match answer {
        Answer::Noise { low, high } => format!("noise: {}", limits_of(*low, *high, figure.share)),
        Answer::Differs { low, high } => format!("DIFFERS {}", limits_of(*low, *high, figure.share)),
        Answer::Worse => "WORSE, ended by its lag".into(),
        Answer::Better => "BETTER, first was ended".into(),
        Answer::CannotTell => "too little to tell".into(),
    }
}

/// The ends of an interval in words.
fn limits_of(low: f64, high: f64, is_share: bool) -> String {
    if low == high && is_share {
        format!("{:+.2}%", low * 100.0)
    } else if low == high {
        format!("{} times", factor_text(low))
    } else if is_share {
        format!("{:+.2} to {:+.2}%", low * 100.0, high * 100.0)
    } else {
        factor_range_text(low, high)
    }
}

/// Two factors, with the digits that tell them apart.
fn factor_range_text(low: f64, high: f64) -> String {
    let digits = match high - low {
        width if width < 0.02 => 4,
        _ if high >= 10.0 => 1,
        _ => 2,
    };
    format!("{low:.digits$} to {high:.digits$} times")
}

/// A factor, with as many digits as it needs.
fn factor_text(factor: f64) -> String {
    let digits = match factor {
        factor if factor >= 10.0 => 0,
        factor if factor >= 0.1 => 2,
        _ => 4,
    };
    format!("{factor:.digits$}")
}
