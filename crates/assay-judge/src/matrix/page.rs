//! A matrix as one HTML page without a script: heat maps are tables, so that they can be read aloud, copied and printed
//! like other tables. Names are hostile input, escaped in the template.

use super::map::{Cell, STRENGTHS, maps_with_places};
use super::render::{point_label, runs_in_words, summary_sentences};
use super::{Figures, Matrix, Point};
use crate::render::html::figures::{ABSENT, per_second, time_text};
use crate::render::html::{Badge, Frame, Watermark, report_beside, write_page};
use askama::Template;
use assay_base::Bytes;
use std::fmt;
use std::path::Path;

/// Writes the page.
pub fn write_html(matrix: &Matrix, out: &mut dyn fmt::Write) -> fmt::Result {
    let view = View {
        frame: Frame::without_script(),
        matrix,
        targets: matrix.targets.join(", "),
        made: runs_in_words(matrix),
        summary: summary_sentences(matrix),
        aside: matrix.aside.as_sentences(),
        badge: Badge::for_verdict(matrix.verdict()),
        watermarks: Watermark::all_from_marks(&matrix.watermarks),
        maps: maps_with_places(matrix).into_iter().map(map_for_page).collect(),
        rows: matrix.points.iter().map(point_row).collect(),
        strengths: (0..STRENGTHS).collect(),
    };
    write_page(&view, out)
}

#[derive(Template)]
#[template(path = "matrix.html")]
struct View<'a> {
    frame: Frame,
    matrix: &'a Matrix,
    targets: String,
    made: String,
    summary: String,
    /// What failed, and which runs were repeated.
    aside: Vec<String>,
    badge: Badge,
    watermarks: Vec<Watermark<'a>>,
    maps: Vec<Drawn>,
    rows: Vec<Row<'a>>,
    strengths: Vec<usize>,
}

/// A map as a table.
struct Drawn {
    title: &'static str,
    across: &'static str,
    down: &'static str,
    columns: Vec<u32>,
    rows: Vec<(u32, Vec<Field>)>,
}

/// A cell: its class and its text.
struct Field {
    class: String,
    text: String,
}

fn map_for_page(map: super::map::Map) -> Drawn {
    let rows = map.rows.into_iter().map(|(row, cells)| (row, cells.into_iter().map(field_of).collect()));
    Drawn { title: map.title, across: map.across, down: map.down, columns: map.columns, rows: rows.collect() }
}

/// How a cell of a map is shown.
fn field_of(cell: Cell) -> Field {
    match cell {
        Cell::Outside => Field { class: "outside".into(), text: String::new() },
        Cell::Missing => Field { class: "gone".into(), text: ABSENT.into() },
        Cell::Void => Field { class: "void".into(), text: "? void".into() },
        Cell::Failed => Field { class: "bad".into(), text: "✗ failed".into() },
        Cell::Figure(text, strength) => Field { class: format!("h{strength}"), text },
    }
}

struct Row<'a> {
    point: &'a Point,
    badge: Badge,
    place: String,
    figures: [String; 4],
    report: Option<String>,
}

fn point_row(point: &Point) -> Row<'_> {
    Row {
        point,
        badge: Badge::for_verdict(point.verdict),
        place: point_label(point),
        figures: [
            text_or_absent(point.small, |figures| per_second(figures.rate)),
            text_or_absent(point.small, |figures| time_text(figures.mean_ns)),
            text_or_absent(point.large, |figures| {
                format!("{}/s", Bytes::new(figures.bytes_per_second as u64).human_text())
            }),
            text_or_absent(point.large, |figures| time_text(figures.mean_ns)),
        ],
        report: report_beside(Path::new(&point.directory)),
    }
}

/// A figure in words, or what stands for an absent one.
fn text_or_absent(figures: Option<Figures>, text: fn(Figures) -> String) -> String {
    figures.map_or_else(|| ABSENT.to_owned(), text)
}
