//! A comparison as text and as one HTML page without a script. Names are hostile input: cleaned here, escaped there.

use super::{Answer, Comparison, Figure};
use crate::judgement::Outcome;
use crate::render::html::embed::{self, STYLE as REPORT};
use crate::render::{Page, cut, escaped};
use assay_base::Span;
use std::fmt::{self, Write};

/// Columns of a value.
const VALUE: usize = 22;

/// The tables, for a terminal.
pub fn text(comparison: &Comparison, labels: &[String], out: &mut dyn Write) -> fmt::Result {
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
        if figure.share {
            format!("{:+.2}..{:+.2}%", low * 100.0, high * 100.0)
        } else {
            format!("x{low:.2}..{high:.2}")
        }
    };
    match answer {
        Answer::Noise { low, high } => format!("noise {}", limits(*low, *high)),
        Answer::Differs { low, high } => format!("DIFFERS {}", limits(*low, *high)),
        Answer::CannotTell => "too little to tell".into(),
    }
}

/// What this page has beside the report's own style.
const STYLE: &str = "td{font-variant-numeric:tabular-nums}td:not(:first-child),th:not(:first-child){text-align:right}\
.differs{font-weight:700}.noise{color:var(--soft)}";

/// One page: nothing in it is fetched and nothing in it runs.
pub fn html(comparison: &Comparison, labels: &[String], out: &mut dyn Write) -> fmt::Result {
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\"><title>Comparison</title>\n\
         <style>{REPORT}</style><style>{STYLE}</style></head><body>\n\
         <p class=\"product\">Assay comparison</p><h1>Comparison</h1>\n",
        embed::policy(&[], &[REPORT, STYLE])
    )?;
    for difference in &comparison.plans_differ {
        writeln!(out, "<p class=\"differs\">Not the same plan: {}</p>", escaped(difference))?;
    }
    writeln!(out, "<div class=\"scroll\"><table><tr><th>run</th><th>rank</th><th>verdict</th><th>p99</th></tr>")?;
    for ranked in &comparison.ranking {
        let p99 = ranked.p99_ns.map_or("-".to_owned(), |ns| Span::from_ns(ns).human());
        let label = escaped(&ranked.label);
        writeln!(out, "<tr><td>{label}</td><td>{}</td><td>{}</td><td>{p99}</td></tr>", ranked.rank, ranked.verdict)?;
    }
    let head: String = labels.iter().map(|label| format!("<th>{}</th>", escaped(label))).collect();
    writeln!(out, "</table></div>\n<h2>Criteria</h2>\n<div class=\"scroll\"><table><tr><th>criterion</th>{head}</tr>")?;
    for row in &comparison.criteria {
        let cells: String = row.runs.iter().map(|run| format!("<td>{}</td>", escaped(&outcome(run)))).collect();
        writeln!(out, "<tr><td>{}</td>{cells}</tr>", escaped(&titled(row.step, &row.criterion)))?;
    }
    writeln!(out, "</table></div>")?;
    for row in &comparison.streams {
        let name = escaped(&titled(row.step, &row.stream));
        writeln!(out, "<h2>{name}, {}</h2>\n<div class=\"scroll\"><table><tr><th></th>{head}</tr>", row.measure)?;
        for figure in &row.figures {
            write!(out, "<tr><td>{}</td>", escaped(&figure.what))?;
            for (index, v) in figure.values.iter().enumerate() {
                write!(out, "<td>{}", value(figure, *v))?;
                if let Some(found) = index.checked_sub(1).and_then(|other| figure.against_first.get(other)) {
                    let class = if matches!(found, Answer::Differs { .. }) { "differs" } else { "noise" };
                    write!(out, "<br><span class=\"{class}\">{}</span>", escaped(&answer(figure, found)))?;
                }
                write!(out, "</td>")?;
            }
            writeln!(out, "</tr>")?;
        }
        writeln!(out, "</table></div>")?;
    }
    writeln!(out, "<p class=\"note\">{}</p>\n</body></html>", escaped(&comparison.method))
}
