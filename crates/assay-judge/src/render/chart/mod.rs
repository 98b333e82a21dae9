//! Charts as SVG, drawn here: they need no script, print as they are, and carry a description for readers who cannot
//! see them. They are for pages with static charts; those of a run over time are drawn in the browser, where they can
//! be zoomed.
//!
//! Colours are classes of the page's style, never attributes, so that they follow a dark screen and paper.

mod axis;

pub(crate) use axis::{Axis, Unit};

use askama::filters::HtmlSafe;
use std::fmt;

/// Size of a chart in units of the SVG, and the margins for its axes.
const WIDTH: f64 = 520.0;
const LEFT: f64 = 90.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 48.0;
/// Number of colours; further series begin again with the first one, with a dashed line.
const COLOURS: usize = 6;

/// A chart with its axes.
#[derive(Debug)]
pub(crate) struct Chart {
    /// A description in a sentence, for readers who cannot see the chart.
    pub alternative: String,
    pub x: Axis,
    pub y: Axis,
    pub height: f64,
    pub marks: Vec<Mark>,
}

/// A mark in the drawing area; its coordinates are values of the axes.
#[derive(Debug)]
pub(crate) enum Mark {
    /// One series.
    Line { series: usize, points: Vec<(f64, f64)> },
    /// One series as steps, filled below: each point holds up to the next one.
    Area { series: usize, points: Vec<(f64, f64)> },
    /// A point with a text that is shown when the mouse is over it.
    Dot { class: String, at: (f64, f64), text: String },
    /// A sign, such as ✓, with a text that is shown when the mouse is over it.
    Sign { class: &'static str, at: (f64, f64), sign: String, text: String },
    /// A line from bottom to top, with a label at its top.
    Vertical { at: f64, text: String },
    /// A part of the horizontal axis.
    Stretch { class: &'static str, from: f64, to: f64 },
}

/// The classes of a series: its colour and its dashes.
pub(crate) fn series_class(series: usize) -> String {
    format!("s{} d{}", series % COLOURS + 1, series / COLOURS % 3)
}

impl Chart {
    fn x_coordinate(&self, value: f64) -> f64 {
        LEFT + self.x.place_of_value(value) * (WIDTH - LEFT - RIGHT)
    }

    fn y_coordinate(&self, value: f64) -> f64 {
        TOP + (1.0 - self.y.place_of_value(value)) * (self.height - TOP - BOTTOM)
    }

    fn svg_path(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (at, (x, y)) in points.iter().enumerate() {
            path += &format!(
                "{}{:.1} {:.1}",
                if at == 0 { "M" } else { "L" },
                self.x_coordinate(*x),
                self.y_coordinate(*y)
            );
        }
        path
    }

    /// The same as a filled area with a step at each point.
    fn svg_area(&self, points: &[(f64, f64)]) -> String {
        let Some((first, last)) = points.first().zip(points.last()) else { return String::new() };
        let bottom = self.height - BOTTOM;
        let mut path = format!("M{:.1} {bottom:.1}", self.x_coordinate(first.0));
        let mut before = first.0;
        for (x, y) in points {
            path += &format!(
                "L{:.1} {:.1}L{:.1} {:.1}",
                self.x_coordinate(before),
                self.y_coordinate(*y),
                self.x_coordinate(*x),
                self.y_coordinate(*y)
            );
            before = *x;
        }
        path + &format!("L{:.1} {bottom:.1}Z", self.x_coordinate(last.0))
    }

    fn write_axes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (right, bottom) = (WIDTH - RIGHT, self.height - BOTTOM);
        for (value, label) in self.y.labelled_ticks() {
            let y = self.y_coordinate(value);
            write!(f, "<path class=\"rule\" d=\"M{LEFT} {y:.1}H{right}\"/>")?;
            write!(f, "<text class=\"tick\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">", LEFT - 6.0, y + 4.0)?;
            write!(f, "{}</text>", escaped_text(&label))?;
        }
        for (value, label) in self.x.labelled_ticks() {
            let x = self.x_coordinate(value);
            write!(f, "<path class=\"rule\" d=\"M{x:.1} {TOP}V{bottom}\"/>")?;
            write!(f, "<text class=\"tick\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">", bottom + 16.0)?;
            write!(f, "{}</text>", escaped_text(&label))?;
        }
        let middle = (LEFT + right) / 2.0;
        write!(f, "<text class=\"title\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">", self.height - 8.0)?;
        write!(f, "{}</text>", escaped_text(&self.x.title))?;
        let up = (TOP + bottom) / 2.0;
        write!(f, "<text class=\"title\" transform=\"translate(12 {up}) rotate(-90)\" text-anchor=\"middle\">")?;
        write!(f, "{}</text>", escaped_text(&self.y.title))
    }

    fn write_mark(&self, mark: &Mark, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match mark {
            Mark::Line { series, points } => {
                write!(f, "<path class=\"line {}\" d=\"{}\"/>", series_class(*series), self.svg_path(points))
            }
            Mark::Area { series, points } => {
                write!(f, "<path class=\"area {}\" d=\"{}\"/>", series_class(*series), self.svg_area(points))
            }
            Mark::Dot { class, at, text } => {
                let (x, y) = (self.x_coordinate(at.0), self.y_coordinate(at.1));
                write!(f, "<circle class=\"dot {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.4\">", escaped_text(class))?;
                write!(f, "<title>{}</title></circle>", escaped_text(text))
            }
            Mark::Sign { class, at, sign, text } => {
                let (x, y) = (self.x_coordinate(at.0), self.y_coordinate(at.1) + 5.0);
                write!(f, "<text class=\"sign {class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">")?;
                write!(f, "{}<title>{}</title></text>", escaped_text(sign), escaped_text(text))
            }
            Mark::Vertical { at, text } => self.write_vertical(*at, text, f),
            Mark::Stretch { class, from, to } => {
                let (from, to) = (self.x_coordinate(*from), self.x_coordinate(*to));
                let (width, height) = ((to - from).max(0.0), self.height - TOP - BOTTOM);
                write!(f, "<rect class=\"stretch {class}\" x=\"{from:.1}\" y=\"{TOP}\" ")?;
                write!(f, "width=\"{width:.1}\" height=\"{height:.1}\"/>")
            }
        }
    }

    /// The label is on the side with more space.
    fn write_vertical(&self, at: f64, text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = self.x_coordinate(at);
        let left = x > WIDTH / 2.0;
        let (anchor, beside) = if left { ("end", x - 5.0) } else { ("start", x + 5.0) };
        write!(f, "<path class=\"vertical\" d=\"M{x:.1} {TOP}V{:.1}\"/>", self.height - BOTTOM)?;
        write!(f, "<text class=\"note\" x=\"{beside:.1}\" y=\"{}\" text-anchor=\"{anchor}\">", TOP + 12.0)?;
        write!(f, "{}</text>", escaped_text(text))
    }
}

// What `Display` writes is escaped there.
impl HtmlSafe for Chart {}

impl fmt::Display for Chart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" ", self.height)?;
        write!(f, "aria-label=\"{}\">", escaped_text(&self.alternative))?;
        self.marks.iter().filter(is_stretch).try_for_each(|mark| self.write_mark(mark, f))?;
        self.write_axes(f)?;
        self.marks.iter().filter(|mark| !is_stretch(mark)).try_for_each(|mark| self.write_mark(mark, f))?;
        f.write_str("</svg>")
    }
}

fn is_stretch(mark: &&Mark) -> bool {
    matches!(mark, Mark::Stretch { .. })
}

pub(crate) fn escaped_text(text: &str) -> impl fmt::Display + '_ {
    askama::filters::escape(text, askama::filters::Html).unwrap_or_else(|never| match never {})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(marks: Vec<Mark>) -> Chart {
        let x = Axis::with_log_scale("response", Unit::Time, 1e5, 1e7);
        let y = Axis::with_linear_scale("share", Unit::Share, 0.5);
        Chart { alternative: "a & b".into(), x, y, height: 240.0, marks }
    }

    #[test]
    fn every_name_is_escaped() {
        let hostile = "</svg><script>alert(1)</script>\"";
        let mut chart = chart(vec![
            Mark::Dot { class: series_class(0), at: (1e6, 0.1), text: hostile.into() },
            Mark::Sign { class: "pass", at: (1e6, 0.1), sign: hostile.into(), text: hostile.into() },
            Mark::Vertical { at: 1e6, text: hostile.into() },
        ]);
        chart.alternative = hostile.into();
        chart.x.title = hostile.into();
        let text = chart.to_string();
        assert!(!text.contains("<script") && text.matches("</svg>").count() == 1, "{text}");
        assert_eq!(text.matches("&#60;script&#62;").count(), 6, "{text}");
    }

    #[test]
    fn what_lies_outside_is_drawn_at_the_edge_and_nothing_is_no_number() {
        let points = vec![(0.0, 0.1), (1e6, f64::NAN), (f64::INFINITY, 7.0)];
        for mark in [
            Mark::Line { series: 0, points: points.clone() },
            Mark::Area { series: 9, points },
            Mark::Line { series: 1, points: vec![] },
        ] {
            let text = chart(vec![mark]).to_string();
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }

    #[test]
    fn series_beyond_the_colours_have_other_dashes() {
        assert_eq!([0, 5, 6, 17, 18].map(series_class), ["s1 d0", "s6 d0", "s1 d1", "s6 d2", "s1 d0"]);
    }
}
