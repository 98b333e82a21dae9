//! The picture of a suite: below each other the streams of each workload, and in each of these a line for each member from its p50
//! over its p90 to its p99, with the noise of the rounds around each of the three.

use crate::render::chart::{Axis, Unit, escaped_text, series_class};
use crate::suite::Suite;
use crate::suite::comparison::{ClassTable, Row};
use askama::filters::HtmlSafe;
use assay_base::Span;
use std::fmt;

/// Size in units of the SVG.
const WIDTH: f64 = 860.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 46.0;
/// Height of the line of a member, and the space between two streams.
const LINE: f64 = 12.0;
const BETWEEN: f64 = 10.0;
/// The figures that a line joins.
const JOINED: [&str; 3] = ["p50", "p90", "p99"];

/// See the module.
pub(super) struct Picture {
    alternative: String,
    scale: Axis,
    streams: Vec<DrawnStream>,
}

/// A stream of a workload with the lines of its members.
struct DrawnStream {
    title: String,
    lines: Vec<MemberLine>,
}

struct MemberLine {
    /// Index of the member, which gives the colour.
    series: usize,
    label: String,
    points: Vec<Point>,
}

struct Point {
    what: String,
    ns: f64,
    noise: Option<(f64, f64)>,
}

impl Picture {
    /// `None` where there is nothing to draw.
    pub(super) fn new(suite: &Suite, tables: &[ClassTable]) -> Option<Picture> {
        // The tables of several classes have the same streams: their lines stand together.
        let mut streams: Vec<DrawnStream> = Vec::new();
        for table in tables {
            for row in table.rows.iter().filter(|row| row.principal) {
                let (title, lines) = (row.title(), member_lines(suite, table, row));
                match streams.iter_mut().find(|stream| stream.title == title) {
                    Some(stream) => stream.lines.extend(lines),
                    None => streams.push(DrawnStream { title, lines }),
                }
            }
        }
        streams.retain(|stream| !stream.lines.is_empty());
        let points = || streams.iter().flat_map(|stream| &stream.lines).flat_map(|line| &line.points);
        let low = points().map(|point| point.noise.map_or(point.ns, |noise| noise.0)).reduce(f64::min)?;
        let high = points().map(|point| point.noise.map_or(point.ns, |noise| noise.1)).reduce(f64::max)?;
        Some(Picture {
            alternative: alternative_text(&streams),
            scale: Axis::with_log_scale("response (logarithmic)", Unit::Time, low, high),
            streams,
        })
    }

    fn height(&self) -> f64 {
        let lines: usize = self.streams.iter().map(|stream| stream.lines.len()).sum();
        TOP + BOTTOM + lines as f64 * LINE + self.streams.len() as f64 * BETWEEN
    }

    fn x_coordinate(&self, ns: f64) -> f64 {
        LEFT + self.scale.place_of_value(ns) * (WIDTH - LEFT - RIGHT)
    }

    fn write_scale(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bottom = self.height() - BOTTOM;
        for (value, label) in self.scale.labelled_ticks() {
            let x = self.x_coordinate(value);
            write!(f, "<path class=\"rule\" d=\"M{x:.1} {TOP}V{bottom:.1}\"/>")?;
            write!(f, "<text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">", bottom + 16.0)?;
            write!(f, "{}</text>", escaped_text(&label))?;
        }
        let middle = (LEFT + WIDTH - RIGHT) / 2.0;
        write!(f, "<text class=\"title\" x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\">", self.height() - 8.0)?;
        write!(f, "{}</text>", escaped_text(&self.scale.title))
    }

    fn write_line(&self, line: &MemberLine, y: f64, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let class = series_class(line.series);
        let path: Vec<String> =
            line.points.iter().map(|point| format!("{:.1} {y:.1}", self.x_coordinate(point.ns))).collect();
        write!(f, "<path class=\"line {class}\" d=\"M{}\"/>", path.join("L"))?;
        for point in &line.points {
            let mut text = format!("{} {}: {}", line.label, point.what, time_in_words(point.ns));
            if let Some((low, high)) = point.noise {
                let (from, to) = (self.x_coordinate(low), self.x_coordinate(high));
                write!(f, "<path class=\"noise {class}\" d=\"M{from:.1} {y:.1}H{to:.1}\"/>")?;
                text += &format!(", between rounds {} to {}", time_in_words(low), time_in_words(high));
            }
            let x = self.x_coordinate(point.ns);
            write!(f, "<circle class=\"dot {class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\">")?;
            write!(f, "<title>{}</title></circle>", escaped_text(&text))?;
        }
        Ok(())
    }
}

fn member_lines(suite: &Suite, table: &ClassTable, row: &Row) -> Vec<MemberLine> {
    let mut lines = Vec::new();
    for (at, label) in table.labels.iter().enumerate() {
        let series = suite.members.iter().position(|member| member.label == *label).unwrap_or(0);
        let mut points = Vec::new();
        for (figure, intervals) in row.figures.iter().zip(&row.intervals) {
            let value = figure.values.get(at).copied().flatten();
            if let Some(ns) = value.filter(|_| JOINED.contains(&figure.what.as_str())) {
                points.push(Point { what: figure.what.clone(), ns, noise: intervals.get(at).copied().flatten() });
            }
        }
        if !points.is_empty() {
            lines.push(MemberLine { series, label: label.clone(), points });
        }
    }
    lines
}

fn time_in_words(ns: f64) -> String {
    Span::from_ns(ns as u64).human_text()
}

/// The p99 of each stream on each member, in words.
fn alternative_text(streams: &[DrawnStream]) -> String {
    let mut sentences = Vec::new();
    for stream in streams {
        let mut each = Vec::new();
        for line in &stream.lines {
            let last = line
                .points
                .last()
                .map_or_else(String::new, |point| format!("{} {}", point.what, time_in_words(point.ns)));
            each.push(format!("{} {last}", line.label));
        }
        sentences.push(format!("{}: {}", stream.title, each.join(", ")));
    }
    format!("Response by workload. {}.", sentences.join("; "))
}

// What `Display` writes is escaped there.
impl HtmlSafe for Picture {}

impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<svg class=\"chart wide\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" ", self.height())?;
        write!(f, "aria-label=\"{}\">", escaped_text(&self.alternative))?;
        self.write_scale(f)?;
        let mut top = TOP;
        for stream in &self.streams {
            let middle = top + stream.lines.len() as f64 * LINE / 2.0 + 4.0;
            write!(f, "<text class=\"tick\" x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">", LEFT - 8.0)?;
            write!(f, "{}</text>", escaped_text(&stream.title))?;
            for (at, line) in stream.lines.iter().enumerate() {
                self.write_line(line, top + (at as f64 + 0.5) * LINE, f)?;
            }
            top += stream.lines.len() as f64 * LINE + BETWEEN;
        }
        f.write_str("</svg>")
    }
}
