//! A cache curve as one HTML page without a script. Names are hostile input, escaped in the template.

use super::CacheCurve;
use super::render::{share_text, simulated_load_in_words, summary_sentences};
use crate::render::chart::{Axis, Chart, Mark, Unit, series_class};
use crate::render::html::{Frame, write_page};
use askama::Template;
use assay_base::Bytes;
use std::fmt;

const HEIGHT: f64 = 300.0;

/// The page.
pub fn write_html(curve: &CacheCurve, out: &mut dyn fmt::Write) -> fmt::Result {
    let rows = curve.points.iter().enumerate().map(|(at, point)| Row {
        size: Bytes::new(point.bytes).human_text(),
        hits: share_text(point.hits),
        error: point.error.map_or("–".to_owned(), |error| format!("± {:.2} points", error * 100.0)),
        knee: curve.knee == Some(at),
    });
    let view = View {
        frame: Frame::without_script(),
        curve,
        targets: curve.targets.join(", "),
        made: simulated_load_in_words(curve),
        summary: summary_sentences(curve),
        chart: curve_chart(curve),
        rows: rows.collect(),
    };
    write_page(&view, out)
}

#[derive(Template)]
#[template(path = "cache.html")]
struct View<'a> {
    frame: Frame,
    curve: &'a CacheCurve,
    targets: String,
    made: String,
    summary: String,
    chart: Chart,
    rows: Vec<Row>,
}

struct Row {
    size: String,
    hits: String,
    error: String,
    knee: bool,
}

fn curve_chart(curve: &CacheCurve) -> Chart {
    let points: Vec<(f64, f64)> = curve.points.iter().map(|point| (place_of_size(point.bytes), point.hits)).collect();
    let mut marks = vec![Mark::Line { series: 0, points }];
    marks.extend(curve.points.iter().map(|point| {
        let text = format!("{}: {}", Bytes::new(point.bytes).human_text(), share_text(point.hits));
        Mark::Dot { class: series_class(0), at: (place_of_size(point.bytes), point.hits), text }
    }));
    let knee = curve.knee.and_then(|knee| curve.points.get(knee));
    marks.extend(knee.map(|point| Mark::Vertical { at: place_of_size(point.bytes), text: "knee".to_owned() }));
    let each: Vec<String> = curve
        .points
        .iter()
        .map(|point| format!("{} {}", Bytes::new(point.bytes).human_text(), share_text(point.hits)))
        .collect();
    let (low, high) = (curve.points.first(), curve.points.last());
    Chart {
        alternative: format!("Reads answered by size of the cache: {}.", each.join(", ")),
        x: Axis::with_log_scale(
            "size of the cache (logarithmic)",
            Unit::Bytes,
            low.map_or(1.0, |point| place_of_size(point.bytes)),
            high.map_or(2.0, |point| place_of_size(point.bytes)),
        ),
        y: Axis::with_linear_scale("reads answered", Unit::Share, 1.0),
        height: HEIGHT,
        marks,
    }
}

/// The place of a size on the axis.
fn place_of_size(bytes: u64) -> f64 {
    bytes.max(1) as f64
}
