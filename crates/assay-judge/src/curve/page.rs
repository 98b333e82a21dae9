//! A curve as one HTML page without a script. Names are hostile input, escaped in the template.

use super::render::{length, maximum, summary};
use super::{Curve, Point};
use crate::render::chart::{Axis, Chart, Mark, Unit, series_class};
use crate::render::html::distribution::Overlay;
use crate::render::html::figures::{ABSENT, per_second, time};
use crate::render::html::{Badge, Frame, Watermark, report_beside, write};
use askama::Template;
use std::fmt;
use std::path::Path;

/// Number of distributions drawn in one chart: as many as there are colours.
const MOST_DRAWN: usize = 6;
const HEIGHT: f64 = 300.0;

/// The page.
pub fn html(curve: &Curve, out: &mut dyn fmt::Write) -> fmt::Result {
    let drawn = spread(curve);
    let labelled = drawn.iter().map(|point| (format!("{} ({})", point.share, point.load), point.nines.as_slice()));
    let view = View {
        frame: Frame::still(),
        curve,
        targets: curve.targets.join(", "),
        length: length(curve),
        maximum: maximum(curve),
        summary: summary(curve),
        badge: Badge::of(curve.verdict()),
        watermarks: Watermark::all(&curve.watermarks),
        response: (curve.line().len() >= 2).then(|| response(curve)),
        beyond: Overlay::of_nines(&curve.stream, labelled),
        rows: curve.points.iter().enumerate().map(|(index, point)| row(curve, index, point)).collect(),
    };
    write(&view, out)
}

#[derive(Template)]
#[template(path = "curve.html")]
struct View<'a> {
    frame: Frame,
    curve: &'a Curve,
    targets: String,
    length: String,
    maximum: String,
    summary: String,
    badge: Badge,
    watermarks: Vec<Watermark<'a>>,
    response: Option<Chart>,
    beyond: Option<Overlay>,
    rows: Vec<Row<'a>>,
}

struct Row<'a> {
    point: &'a Point,
    badge: Badge,
    /// The load as it is counted beside multiples.
    counted: Option<String>,
    knee: bool,
    rates: [String; 2],
    times: [String; 4],
    report: Option<String>,
}

fn row<'a>(curve: &Curve, index: usize, point: &'a Point) -> Row<'a> {
    let rate = |rate: Option<f64>| rate.map_or(ABSENT.to_owned(), per_second);
    let length = |ns: Option<u64>| ns.map_or(ABSENT.to_owned(), time);
    Row {
        point,
        badge: Badge::of(point.verdict),
        counted: curve.counted.as_ref().map(|counted| counted.of(point.load)),
        knee: curve.knee == Some(index),
        rates: [point.rate_asked, point.rate_achieved].map(rate),
        times: [point.mean_ns, point.p50_ns, point.p99_ns, point.p99_9_ns].map(length),
        report: report_beside(Path::new(&point.directory)),
    }
}

/// The points whose distributions are drawn: the lowest, the highest, and as many evenly spaced ones between them as
/// fit.
fn spread(curve: &Curve) -> Vec<&Point> {
    let all: Vec<&Point> = curve.points.iter().filter(|point| point.belongs() && !point.nines.is_empty()).collect();
    let Some(last) = all.len().checked_sub(1) else { return all };
    let kept = all.len().min(MOST_DRAWN);
    (0..kept).map(|at| all[if kept > 1 { at * last / (kept - 1) } else { 0 }]).collect()
}

/// One line of the chart: its name, and its figure for a point.
type Measured = (&'static str, fn(&Point) -> Option<u64>);
const MEASURED: [Measured; 3] =
    [("mean", |point| point.mean_ns), ("p50", |point| point.p50_ns), ("p99", |point| point.p99_ns)];

/// Mean, p50 and p99 of the response over the throughput.
fn response(curve: &Curve) -> Chart {
    let points: Vec<&Point> = curve.line().iter().map(|&(index, ..)| &curve.points[index]).collect();
    let places = |figure: fn(&Point) -> Option<u64>| -> Vec<(f64, f64)> {
        let place = |point: &&Point| Some((point.rate_achieved?, figure(point).filter(|ns| *ns > 0)? as f64));
        points.iter().filter_map(place).collect()
    };
    let mut marks = Vec::new();
    let (mut low, mut high) = (f64::INFINITY, 0f64);
    for (series, (name, figure)) in MEASURED.into_iter().enumerate() {
        let points = places(figure);
        for (rate, ns) in &points {
            (low, high) = (low.min(*ns), high.max(*ns));
            let text = format!("{}: {name} {}", per_second(*rate), time(*ns as u64));
            marks.push(Mark::Dot { class: series_class(series), at: (*rate, *ns), text });
        }
        marks.insert(0, Mark::Line { series, points });
    }
    let knee = curve.knee.and_then(|index| curve.points[index].rate_achieved);
    marks.extend(knee.map(|rate| Mark::Vertical { at: rate, text: "knee".to_owned() }));
    let most = points.iter().filter_map(|point| point.rate_achieved).fold(0.0, f64::max);
    let each: Vec<String> = (points.iter())
        .filter_map(|point| Some(format!("{}: p99 {}", per_second(point.rate_achieved?), time(point.p99_ns?))))
        .collect();
    Chart {
        alternative: format!("Response over throughput: {}.", each.join(", ")),
        x: Axis::linear("achieved operations per second", Unit::PerSecond, most * 1.04),
        y: Axis::log("response (logarithmic)", Unit::Time, low, high),
        height: HEIGHT,
        marks,
    }
}
