//! A comparison as text and as one HTML page without a script. Names are hostile input: cleaned here, escaped in the
//! template.

use super::{Answer, Comparison, Figure, Ranked};
use crate::judgement::Outcome;
use crate::render::html::embed::{self, STYLE};
use crate::render::html::{Badge, write};
use crate::render::{Page, cut};
use askama::Template;
use assay_base::Span;
use std::fmt;

/// Columns of a value.
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

fn titled(step: Option<u32>, name: &str) -> String {
    step.map_or(name.to_owned(), |step| format!("step {step}: {name}"))
}

fn outcome(run: &Option<(Outcome, Option<String>)>) -> String {
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

fn value(figure: &Figure, value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(share) if figure.share => format!("{:.3}%", share * 100.0),
        Some(ns) => Span::from_ns(ns as u64).human(),
    }
}

fn answer(figure: &Figure, answer: &Answer) -> String {
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

/// A factor with as many digits as it needs.
fn factor(factor: f64) -> String {
    if factor >= 10.0 { format!("{factor:.0}") } else { format!("{factor:.4}") }
}

/// One page: nothing in it is fetched and nothing in it runs.
pub fn html(comparison: &Comparison, labels: &[String], out: &mut dyn fmt::Write) -> fmt::Result {
    let ranking = comparison.ranking.iter().map(|ranked| RankedRow {
        ranked,
        badge: Badge::of(ranked.verdict),
        p99: ranked.p99_ns.map_or("-".to_owned(), |ns| Span::from_ns(ns).human()),
    });
    let criteria = comparison.criteria.iter();
    let criteria = criteria.map(|row| (titled(row.step, &row.criterion), row.runs.iter().map(outcome).collect()));
    let streams = comparison.streams.iter().map(|row| StreamTable {
        title: format!("{}, {}", titled(row.step, &row.stream), row.measure),
        figures: row.figures.iter().map(|figure| (figure.what.as_str(), cells(figure))).collect(),
    });
    let (scripts, styles) = ([], [STYLE]);
    let view = View {
        policy: embed::policy(&scripts, &styles),
        scripts,
        styles,
        comparison,
        labels,
        ranking: ranking.collect(),
        criteria: criteria.collect(),
        streams: streams.collect(),
    };
    write(&view, out)
}

/// Each run's value, and what it is against the first run's.
fn cells(figure: &Figure) -> Vec<Cell> {
    let found = std::iter::once(None).chain(figure.against_first.iter().map(Some));
    let cell = |(v, found): (&Option<f64>, Option<&Answer>)| Cell {
        value: value(figure, *v),
        against_first: found.map(|found| answer(figure, found)),
        differs: matches!(found, Some(Answer::Differs { .. } | Answer::Worse | Answer::Better)),
    };
    figure.values.iter().zip(found).map(cell).collect()
}

#[derive(Template)]
#[template(path = "compare.html")]
struct View<'a> {
    policy: String,
    scripts: [&'static str; 0],
    styles: [&'static str; 1],
    comparison: &'a Comparison,
    labels: &'a [String],
    ranking: Vec<RankedRow<'a>>,
    criteria: Vec<(String, Vec<String>)>,
    streams: Vec<StreamTable<'a>>,
}

struct RankedRow<'a> {
    ranked: &'a Ranked,
    badge: Badge,
    p99: String,
}

struct StreamTable<'a> {
    title: String,
    figures: Vec<(&'a str, Vec<Cell>)>,
}

struct Cell {
    value: String,
    against_first: Option<String>,
    differs: bool,
}
