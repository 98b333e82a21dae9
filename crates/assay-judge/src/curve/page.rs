//! A curve as one HTML page without a script. Names are hostile input, escaped in the template.

use super::render::{
    Own, cache_gain_sentence, maximum_text, run_length_text, stream_in_words, summary_sentences, with_capital_letter,
};
use super::{Curve, Point};
use crate::render::chart::{Axis, Chart, Mark, Unit, series_class};
use crate::render::html::distribution::Overlay;
use crate::render::html::figures::{ABSENT, per_second, time_text};
use crate::render::html::{Badge, Frame, Watermark, report_beside, write_page};
use askama::Template;
use std::fmt;
use std::path::Path;

/// Number of distributions drawn in one chart: as many as there are colours.
const MOST_DRAWN: usize = 6;
const HEIGHT: f64 = 300.0;
/// Directory of the curve without the cache, below that of the curve with it.
const BESIDE: &str = "beside";

/// Writes the page.
pub fn write_html(curve: &Curve, out: &mut dyn fmt::Write) -> fmt::Result {
    let drawn = evenly_spaced_points(curve);
    let labelled =
        drawn.iter().map(|point| (format!("{} ({})", point.share, point.load), point.times.nines.as_slice()));
    let view = View {
        frame: Frame::without_script(),
        curve,
        targets: curve.of.targets.join(", "),
        stream: stream_in_words(curve),
        length: run_length_text(curve),
        gain: cache_gain_sentence(curve),
        badge: Badge::for_verdict(curve.verdict()),
        reason: curve.verdict_reason(),
        watermarks: Watermark::all_from_marks(&curve.limits.watermarks),
        response: (curve.places_on_curve().len() >= 2).then(|| response_chart(curve)),
        keys: chart_lines(curve).into_iter().enumerate().map(|(at, line)| (series_class(at), line.name)).collect(),
        beyond: Overlay::of_nines(&curve.of.stream, labelled),
        tables: curve.titled_curves().into_iter().map(|(title, shown)| points_table(curve, &title, shown)).collect(),
    };
    write_page(&view, out)
}

#[derive(Template)]
#[template(path = "curve.html")]
struct View<'a> {
    frame: Frame,
    curve: &'a Curve,
    targets: String,
    stream: &'a str,
    length: String,
    gain: Option<String>,
    badge: Badge,
    reason: String,
    watermarks: Vec<Watermark<'a>>,
    response: Option<Chart>,
    /// Colour and name of each line of the chart.
    keys: Vec<(String, String)>,
    beyond: Option<Overlay>,
    tables: Vec<Table<'a>>,
}

/// The points of one curve.
struct Table<'a> {
    /// The title that tells this curve from the other one, and the same title as the beginning of a sentence; both are
    /// empty where there is only one curve.
    title: String,
    begins: String,
    maximum: String,
    summary: String,
    /// The head of a column that only some curves have.
    own: Option<&'static str>,
    /// Path of the page that shows the search for its maximum, where the maximum was searched for.
    search: Option<&'static str>,
    rows: Vec<Row<'a>>,
    /// The names of the streams, where there are several, and their throughput at each point.
    streams: Vec<&'a str>,
    by_stream: Vec<(String, Vec<String>)>,
    /// What failed, and which runs were repeated.
    aside: Vec<String>,
}

fn points_table<'a>(whole: &Curve, title: &str, curve: &'a Curve) -> Table<'a> {
    let below = if std::ptr::eq(whole, curve) { "" } else { BESIDE };
    Table {
        title: title.to_owned(),
        begins: with_capital_letter(title),
        maximum: maximum_text(curve),
        summary: summary_sentences(curve),
        own: Own::for_curve(curve).map(Own::column_head),
        search: match (curve.scale.searched, below) {
            (false, _) => None,
            (true, "") => Some("maximum/limit.html"),
            (true, _) => Some("beside/maximum/limit.html"),
        },
        rows: curve.points.iter().enumerate().map(|(index, point)| point_row(curve, below, index, point)).collect(),
        streams: stream_names(curve),
        by_stream: curve.points.iter().map(|point| (point.share.to_string(), by_stream(curve, point))).collect(),
        aside: curve.aside.as_sentences(),
    }
}

/// The streams of a load that has several.
fn stream_names(curve: &Curve) -> Vec<&str> {
    let first = curve.points.iter().find(|point| !point.streams.is_empty());
    first.map_or_else(Vec::new, |point| point.streams.iter().map(|stream| stream.name.as_str()).collect())
}

/// What all streams together and each of them achieved at a point.
fn by_stream(curve: &Curve, point: &Point) -> Vec<String> {
    let each = stream_names(curve).into_iter().map(|name| {
        let stream = point.streams.iter().find(|stream| stream.name == name);
        rate_text(stream.and_then(|stream| stream.achieved))
    });
    std::iter::once(rate_text(point.rates.together)).chain(each).collect()
}

/// A rate, or what stands for an absent figure.
fn rate_text(rate: Option<f64>) -> String {
    rate.map_or(ABSENT.to_owned(), per_second)
}

struct Row<'a> {
    point: &'a Point,
    badge: Badge,
    /// The load in the unit in which loads are counted beside multiples.
    counted: Option<String>,
    knee: bool,
    rates: [String; 2],
    times: [String; 4],
    own: Option<String>,
    report: Option<String>,
}

fn point_row<'a>(curve: &Curve, below: &str, index: usize, point: &'a Point) -> Row<'a> {
    Row {
        point,
        badge: Badge::for_verdict(point.verdict),
        counted: curve.scale.counted.as_ref().map(|counted| counted.at_load(point.load)),
        knee: curve.shape.knee == Some(index),
        rates: [point.rates.asked, point.rates.achieved].map(|rate| rate.map_or(ABSENT.to_owned(), per_second)),
        times: [point.times.mean_ns, point.times.p50_ns, point.times.p99_ns, point.times.p99_9_ns]
            .map(|ns| ns.map_or(ABSENT.to_owned(), time_text)),
        own: Own::for_curve(curve).map(|own| own.column_cell(point)),
        report: report_beside(&Path::new(below).join(&point.directory)),
    }
}

/// The points whose distributions are drawn: the lowest, the highest, and as many evenly spaced ones between them as
/// fit.
fn evenly_spaced_points(curve: &Curve) -> Vec<&Point> {
    let all: Vec<&Point> =
        curve.points.iter().filter(|point| point.belongs() && !point.times.nines.is_empty()).collect();
    let Some(last) = all.len().checked_sub(1) else { return all };
    let kept = all.len().min(MOST_DRAWN);
    (0..kept).map(|at| all[if kept > 1 { at * last / (kept - 1) } else { 0 }]).collect()
}

/// A figure of a point.
type Figure = fn(&Point) -> Option<u64>;
const MEASURED: [(&str, Figure); 3] =
    [("mean", |point| point.times.mean_ns), ("p50", |point| point.times.p50_ns), ("p99", |point| point.times.p99_ns)];

/// One line of the chart.
struct Line<'a> {
    name: String,
    curve: &'a Curve,
    figure: Figure,
}

/// Mean, p50 and p99 of one curve; mean and p99 of two.
fn chart_lines(curve: &Curve) -> Vec<Line<'_>> {
    let alone = curve.beside.is_none();
    let titled = if curve.beside.is_some() { curve.titled_curves() } else { vec![(String::new(), curve)] };
    let mut lines = Vec::new();
    for (title, curve) in titled {
        for (name, figure) in MEASURED.into_iter().filter(|(name, _)| alone || *name != "p50") {
            let name = if title.is_empty() { name.to_owned() } else { format!("{name} {title}") };
            lines.push(Line { name, curve, figure });
        }
    }
    lines
}

/// The response over the throughput.
fn response_chart(curve: &Curve) -> Chart {
    let mut marks = Vec::new();
    let (mut low, mut high, mut most) = (f64::INFINITY, 0f64, 0f64);
    for (series, Line { name, curve, figure }) in chart_lines(curve).into_iter().enumerate() {
        let points: Vec<(f64, f64)> = curve
            .places_on_curve()
            .iter()
            .filter_map(|place| Some((place.rate, figure(&curve.points[place.index]).filter(|ns| *ns > 0)? as f64)))
            .collect();
        for (rate, ns) in &points {
            (low, high, most) = (low.min(*ns), high.max(*ns), most.max(*rate));
            let text = format!("{}: {name} {}", per_second(*rate), time_text(*ns as u64));
            marks.push(Mark::Dot { class: series_class(series), at: (*rate, *ns), text });
        }
        marks.insert(0, Mark::Line { series, points });
    }
    let knee = curve.shape.knee.and_then(|index| curve.points[index].rates.achieved);
    marks.extend(knee.map(|rate| Mark::Vertical { at: rate, text: "knee".to_owned() }));
    let each: Vec<String> =
        curve.titled_curves().into_iter().map(|(title, curve)| p99_in_words(&title, curve)).collect();
    Chart {
        alternative: format!("Response over throughput: {}.", each.join("; ")),
        x: Axis::with_linear_scale(
            &format!("achieved operations per second of {}", stream_in_words(curve)),
            Unit::PerSecond,
            most * 1.04,
        ),
        y: Axis::with_log_scale("response (logarithmic)", Unit::Time, low, high),
        height: HEIGHT,
        marks,
    }
}

/// The p99 at each point of a curve, in words.
fn p99_in_words(title: &str, curve: &Curve) -> String {
    let points = curve.places_on_curve();
    let figures = points.iter().filter_map(|place| {
        Some(format!("{}: p99 {}", per_second(place.rate), time_text(curve.points[place.index].times.p99_ns?)))
    });
    let figures = figures.collect::<Vec<_>>().join(", ");
    if title.is_empty() { figures } else { format!("{title}: {figures}") }
}
