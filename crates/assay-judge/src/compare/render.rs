//! A comparison as text. Names are hostile input: cleaned here.

use super::{Answer, Comparison, Figure};
use crate::judgement::Outcome;
use crate::render::{Page, cut};
use assay_base::Span;
use std::fmt;

/// Width of a value in characters.
const VALUE: usize = 22;

/// The tables, for a terminal.
pub fn text(comparison: &Comparison, labels: &[String], out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    for difference in &comparison.plans_differ {
        page.words("NOT THE SAME PLAN  ", difference, 4);
    }
    for ranked in &comparison.ranking {
        let p99 = ranked.p99_ns.map_or("-".to_owned(), |ns| Span::from_ns(ns).human());
        page.line(format!(
            "{:>3}. {:30} {:11} p99 {p99}",
            ranked.rank,
            cut(&ranked.label, 30),
            ranked.verdict.to_string()
        ));
    }
    for marked in &comparison.watermarks {
        page.words(&format!("{}: ", cut(&marked.label, 30)), &marked.watermarks.join(", "), 8);
    }
    page.blank();
    let head: String = labels.iter().map(|label| format!(" {:>VALUE$}", cut(label, VALUE))).collect();
    page.wide(format!("{:34}{head}", "criterion"));
    for row in &comparison.criteria {
        let cells: String = row.runs.iter().map(|run| format!(" {:>VALUE$}", outcome(run))).collect();
        page.wide(format!("{:34}{cells}", cut(&titled(row.step, &row.criterion), 34)));
    }
    for row in &comparison.per_minute {
        let cells: String = row.cells().iter().map(|cell| format!(" {cell:>VALUE$}")).collect();
        page.wide(format!("{:34}{cells}", cut(&titled(row.step, &format!("{} (per minute)", row.name)), 34)));
    }
    for row in &comparison.streams {
        page.blank();
        page.wide(format!("{:34}{head}", cut(&format!("{} {}", titled(row.step, &row.stream), row.measure), 34)));
        for figure in &row.figures {
            let cells: String = figure.values.iter().map(|v| format!(" {:>VALUE$}", value(figure, *v))).collect();
            page.wide(format!("  {:32}{cells}", figure.what));
            let answers: String =
                figure.against_first.iter().map(|a| format!(" {:>VALUE$}", answer(figure, a))).collect();
            page.wide(format!("  {:32}{:w$}{answers}", "", "", w = VALUE + 1));
        }
    }
    page.blank();
    page.words("", &comparison.method, 4);
    page.write(out)
}

pub(super) fn titled(step: Option<u32>, name: &str) -> String {
    step.map_or(name.to_owned(), |step| format!("step {step}: {name}"))
}

pub(super) fn outcome(run: &Option<(Outcome, Option<String>)>) -> String {
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

pub(super) fn value(figure: &Figure, value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(share) if figure.share => format!("{:.3}%", share * 100.0),
        Some(ns) => Span::from_ns(ns as u64).human(),
    }
}

pub(super) fn answer(figure: &Figure, answer: &Answer) -> String {
    let limits = |low: f64, high: f64| {
        if low == high && figure.share {
            format!("{:+.2}%", low * 100.0)
        } else if low == high {
            format!("x{}", factor(low))
        } else if figure.share {
            format!("{:+.2}..{:+.2}%", low * 100.0, high * 100.0)
        } else {
            format!("x{low:.2}..{high:.2}")
        }
    };
    match answer {
        Answer::Noise { low, high } => format!("noise {}", limits(*low, *high)),
        Answer::Differs { low, high } => format!("DIFFERS {}", limits(*low, *high)),
        Answer::Worse => "WORSE, ended by its lag".into(),
        Answer::Better => "BETTER, first was ended".into(),
        Answer::CannotTell => "too little to tell".into(),
    }
}

/// A factor, with as many digits as it needs.
fn factor(factor: f64) -> String {
    if factor >= 10.0 { format!("{factor:.0}") } else { format!("{factor:.4}") }
}
