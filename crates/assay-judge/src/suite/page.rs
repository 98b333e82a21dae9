//! A suite as one HTML page without a script, with one picture. Names are hostile input, escaped in the template and in the picture.

mod picture;

use super::comparison::{ClassTable, Row};
use super::render::{chance_in_words, class_in_words, conclusions_in_words, member_in_words, suite_in_words};
use super::{Ceilings, ShareRange, Suite, SuiteRun};
use crate::compare::FigureCell;
use crate::render::chart::series_class;
use crate::render::html::figures::{ABSENT, per_second};
use crate::render::html::{Badge, Frame, Watermark, report_beside, write_page};
use askama::Template;
use picture::Picture;
use std::fmt;
use std::path::Path;

/// Writes the page.
pub fn write_html(suite: &Suite, out: &mut dyn fmt::Write) -> fmt::Result {
    let comparison = suite.compare();
    let view = View {
        frame: Frame::without_script(),
        suite,
        made: suite_in_words(suite),
        badge: Badge::for_verdict(suite.verdict()),
        conclusions: conclusions_in_words(suite, &comparison),
        chance: chance_in_words(&comparison),
        watermarks: Watermark::all_from_marks(&suite.watermarks),
        keys: member_keys(suite),
        picture: Picture::new(suite, &comparison.tables),
        tables: comparison.tables.iter().map(|table| table_for_page(suite, table)).collect(),
        ceilings: comparison.ceilings.iter().map(ceilings_row).collect(),
        runs: suite.runs.iter().map(|run| run_row(suite, run)).collect(),
        lost: suite.lost.iter().map(|lost| suite.loss_in_words(lost)).collect(),
        aside: suite.aside.as_sentences(),
        method: comparison.method.clone(),
    };
    write_page(&view, out)
}

#[derive(Template)]
#[template(path = "suite.html")]
struct View<'a> {
    frame: Frame,
    suite: &'a Suite,
    made: String,
    badge: Badge,
    conclusions: Vec<String>,
    chance: String,
    watermarks: Vec<Watermark<'a>>,
    /// The colour of each member.
    keys: Vec<(String, &'a str)>,
    picture: Option<Picture>,
    tables: Vec<TableForPage<'a>>,
    ceilings: Vec<CeilingsRow<'a>>,
    runs: Vec<RunRow<'a>>,
    lost: Vec<String>,
    /// What failed, and which runs were repeated.
    aside: Vec<String>,
    method: String,
}

struct TableForPage<'a> {
    title: String,
    labels: &'a [String],
    /// Each member with its facts.
    members: Vec<(&'a str, String)>,
    differences: &'a [String],
    rows: Vec<FiguresRow>,
}

/// A figure of a stream on all members.
struct FiguresRow {
    /// Title of the stream; empty below its first figure.
    title: String,
    what: String,
    cells: Vec<FigureCell>,
}

fn member_keys(suite: &Suite) -> Vec<(String, &str)> {
    suite.members.iter().enumerate().map(|(at, member)| (series_class(at), member.label.as_str())).collect()
}

fn table_for_page<'a>(suite: &Suite, table: &'a ClassTable) -> TableForPage<'a> {
    TableForPage {
        title: class_in_words(table),
        labels: &table.labels,
        members: table.labels.iter().map(|label| (label.as_str(), member_in_words(suite, label))).collect(),
        differences: &table.differences,
        rows: table.rows.iter().flat_map(figures_rows).collect(),
    }
}

fn figures_rows(row: &Row) -> Vec<FiguresRow> {
    let mut rows = Vec::new();
    for (at, figure) in row.figures.iter().enumerate() {
        let title = if at == 0 { row.title() } else { String::new() };
        rows.push(FiguresRow { title, what: figure.what.clone(), cells: FigureCell::cells_of_figure(figure) });
    }
    rows
}

struct CeilingsRow<'a> {
    ceilings: &'a Ceilings,
    rate: String,
    memory: String,
    client: String,
    link: String,
    cached: String,
    limited_by: String,
}

fn ceilings_row(ceilings: &Ceilings) -> CeilingsRow<'_> {
    let absent = || ABSENT.to_owned();
    CeilingsRow {
        ceilings,
        rate: per_second(ceilings.rate),
        memory: ceilings.times_in_memory.map_or_else(absent, |times| format!("{times:.2} times as many")),
        client: ceilings.client_share.map_or_else(absent, |share| format!("{:.0}%", share * 100.0)),
        link: ceilings.link.as_ref().map_or_else(absent, |link| format!("{} {:.0}%", link.name, link.share * 100.0)),
        cached: ceilings.cached.map_or_else(absent, ShareRange::in_words),
        limited_by: if ceilings.limited_by.is_empty() { absent() } else { ceilings.limited_by.join("; ") },
    }
}

struct RunRow<'a> {
    run: &'a SuiteRun,
    badge: Badge,
    place: String,
    rate: String,
    report: Option<String>,
}

fn run_row<'a>(suite: &Suite, run: &'a SuiteRun) -> RunRow<'a> {
    RunRow {
        run,
        badge: Badge::for_verdict(run.verdict),
        place: suite.place_in_words(run.place),
        rate: run.figures.rate.map_or_else(|| ABSENT.to_owned(), per_second),
        report: report_beside(Path::new(&run.directory)),
    }
}
