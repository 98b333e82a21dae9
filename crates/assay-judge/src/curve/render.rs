//! A curve as text. Names are hostile input: cleaned here.

use super::shape::Knee;
use super::{Curve, NOT_COMPARABLE, Point};
use crate::render::Page;
use assay_base::{Bytes, Criterion, Span};
use std::fmt;

/// Columns and rows of the drawing in a terminal, without its axes.
const COLUMNS: usize = 66;
const ROWS: usize = 12;

/// Tables and a drawing. With one curve these are at most 40 lines of 80 columns for up to ten points; a curve beside
/// it has a table of its own.
pub fn write_text(curve: &Curve, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    let on = curve.of.targets.join(", ");
    let how = if curve.in_one_run { ", in one uninterrupted run" } else { "" };
    page.add_text(
        "",
        &format!("{} of {} on {on}, {} a point{how}", curve.of.stream, curve.of.workload, run_length_text(curve)),
    );
    page.add_text("", &format!("{}: {}", curve.verdict(), curve.verdict_reason()));
    let titled = curve.titled_curves();
    if let [(title, curve)] = &titled[..] {
        page.add_text("", &of_all(title, curve));
    }
    if !curve.limits.watermarks.is_empty() {
        page.add_text("", &curve.limits.watermarks.join(", "));
    }
    for (title, shown) in &titled {
        page.add_blank_line();
        if titled.len() > 1 {
            page.add_text("", &of_all(title, shown));
        }
        add_points_table(&mut page, shown);
        add_stream_rates(&mut page, shown);
        shown.aside.as_sentences().iter().for_each(|line| page.add_text("  ", line));
    }
    page.add_blank_line();
    draw_curve(&mut page, curve);
    page.add_blank_line();
    cache_gain_sentence(curve).into_iter().for_each(|gain| page.add_text("", &gain));
    for (title, shown) in &titled {
        let words = if titled.len() > 1 {
            format!("{}: {}", with_capital_letter(title), summary_sentences(shown))
        } else {
            summary_sentences(shown)
        };
        page.add_text("", &words);
    }
    page.write_lines(out)
}

/// What 100 % of a curve is, after the title that tells this curve from the other one.
fn of_all(title: &str, curve: &Curve) -> String {
    let title = if title.is_empty() { String::new() } else { format!("{}: ", with_capital_letter(title)) };
    title + &maximum_text(curve)
}

/// The points of one curve.
fn add_points_table(page: &mut Page, curve: &Curve) {
    let own = Own::for_curve(curve);
    let second = own.map_or("p50", Own::column_head).to_lowercase();
    let achieved = page.reader.cut_name(stream_in_words(curve), 11);
    page.add_line(format!("  share      load {achieved:>11}     mean {second:>8}      p99    p99.9  verdict"));
    for (index, point) in curve.points.iter().enumerate() {
        page.add_line(point_line(point, own, curve.shape.knee == Some(index)));
    }
}

/// The stream whose throughput and response are shown, in words.
pub(super) fn stream_in_words(curve: &Curve) -> &str {
    if curve.of.stream == Criterion::ALL { "all streams" } else { &curve.of.stream }
}

/// Number of streams that have a column.
const COLUMNS_OF_STREAMS: usize = 4;

/// The throughput of all streams together and of each of them, where the load has several.
fn add_stream_rates(page: &mut Page, curve: &Curve) {
    let Some(first) = curve.points.iter().find(|point| !point.streams.is_empty()) else { return };
    let named: Vec<&str> = first.streams.iter().map(|stream| stream.name.as_str()).collect();
    let shown = &named[..named.len().min(COLUMNS_OF_STREAMS)];
    let heads: Vec<String> = shown.iter().map(|name| page.reader.cut_name(name, 14)).collect();
    let heads: String = heads.iter().map(|name| format!(" {name:>14}")).collect();
    page.add_line(format!("  share  together{heads}  achieved a second"));
    for point in curve.points.iter().filter(|point| !point.streams.is_empty()) {
        let cells: String = shown.iter().map(|name| format!(" {:>14}", rate_text(achieved_by(point, name)))).collect();
        page.add_line(format!("{:>7} {:>9}{cells}", point.share.to_string(), rate_text(point.rates.together)));
    }
    let more = named.len() - shown.len();
    if more > 0 {
        page.add_line(format!("        … {more} more streams are in curve.json"));
    }
}

/// The rate of a stream at a point.
fn achieved_by(point: &Point, stream: &str) -> Option<f64> {
    point.streams.iter().find(|other| other.name == stream)?.achieved
}

/// A rate with one decimal, or a dash.
fn rate_text(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}"))
}

/// The text with a capital letter at its beginning.
pub(super) fn with_capital_letter(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What the cache gains: more load, where the maximum of each curve was searched for; a shorter response at the same load, where
/// one maximum was given for both.
pub(super) fn cache_gain_sentence(curve: &Curve) -> Option<String> {
    let without = curve.beside.as_deref()?;
    if curve.scale.searched {
        let (with, without) = (curve.scale.maximum?, without.scale.maximum?);
        let more = with.as_f64() / without.as_f64();
        let [counted_with, counted_without] = [with, without].map(|load| match &curve.scale.counted {
            Some(counted) => counted.at_load(load),
            None => load.to_string(),
        });
        return Some(format!(
            "With the cache the targets carry {counted_with}, without it {counted_without}: {more:.2} times as much."
        ));
    }
    let others: Vec<&Point> = with_mean(without).collect();
    let (with, without) = with_mean(curve)
        .rev()
        .find_map(|point| Some((point, *others.iter().find(|other| other.share == point.share)?)))?;
    Some(format!(
        "At {} the mean response is {} with the cache, and {} without it.",
        with.load,
        optional_time_text(with.times.mean_ns),
        optional_time_text(without.times.mean_ns)
    ))
}

/// The points of a curve that have a mean.
fn with_mean(curve: &Curve) -> impl DoubleEndedIterator<Item = &Point> {
    curve.points.iter().filter(|point| point.belongs() && point.times.mean_ns.is_some())
}

pub(super) fn run_length_text(curve: &Curve) -> String {
    Span::from_ns(curve.of.run_ns).human_text()
}

pub(super) fn maximum_text(curve: &Curve) -> String {
    let counted =
        |load| curve.scale.counted.as_ref().map_or_else(String::new, |counted| format!(" ({})", counted.at_load(load)));
    match (curve.scale.maximum, curve.scale.searched) {
        (Some(load), true) => format!("100% is {load}{}, the highest load that was found to pass", counted(load)),
        (Some(load), false) => format!("100% is {load}{}, as it was asked for", counted(load)),
        (None, _) => "no maximum was found".to_owned(),
    }
}

/// What the points of some curves have besides rates and times.
#[derive(Clone, Copy)]
pub(super) enum Own {
    /// The share of reads that a cache answered.
    Hits,
    /// The size of the databases.
    Size,
}

impl Own {
    pub(super) fn for_curve(curve: &Curve) -> Option<Own> {
        let hits = any_point(curve, |point| point.hit_rate.is_some()).then_some(Own::Hits);
        hits.or_else(|| any_point(curve, |point| point.bytes.is_some()).then_some(Own::Size))
    }

    /// The head of the column.
    pub(super) fn column_head(self) -> &'static str {
        match self {
            Own::Hits => "Hits",
            Own::Size => "Size",
        }
    }

    pub(super) fn column_cell(self, point: &Point) -> String {
        let shown = match self {
            Own::Hits => point.hit_rate.map(|rate| format!("{:.1}%", rate * 100.0)),
            Own::Size => point.bytes.map(|bytes| Bytes::new(bytes).human_text()),
        };
        shown.unwrap_or_else(|| "-".to_owned())
    }
}

/// Whether any point of a curve is as asked for.
fn any_point(curve: &Curve, is_so: fn(&Point) -> bool) -> bool {
    curve.points.iter().any(is_so)
}

fn optional_time_text(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human_text())
}

/// The row of a point; what only some curves have stands in the place of the median.
fn point_line(point: &Point, own: Option<Own>, knee: bool) -> String {
    let rate = point.rates.achieved.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}/s"));
    let second = own.map_or_else(|| optional_time_text(point.times.p50_ns), |own| own.column_cell(point));
    let times = [
        optional_time_text(point.times.mean_ns),
        second,
        optional_time_text(point.times.p99_ns),
        optional_time_text(point.times.p99_9_ns),
    ];
    let times: String = times.map(|text| format!(" {text:>8}")).concat();
    let mark = match (knee, point.belongs()) {
        (true, _) => "  <- knee",
        (_, false) => "  (left out)",
        _ => "",
    };
    let (share, load) = (point.share.to_string(), point.load.to_string());
    format!("{share:>7} {load:>9} {rate:>11}{times}  {}{mark}", point.verdict)
}

/// The knee and the overall response time, in words.
pub(super) fn summary_sentences(curve: &Curve) -> String {
    let line = curve.places_on_curve();
    let knee = match Knee::new(&line) {
        Knee::At(index) => {
            let point = &curve.points[index];
            format!(
                "Knee at {} ({}, {:.1}/s of {}): the point of the greatest power, throughput over mean response.",
                point.share,
                point.load,
                point.rates.achieved.unwrap_or_default(),
                stream_in_words(curve)
            )
        }
        Knee::TooFewPoints if line.is_empty() => "No point belongs to the curve.".to_owned(),
        Knee::TooFewPoints => {
            format!("No knee: {} of the points belong to the curve, and a shape has three.", line.len())
        }
        Knee::Falls => "No knee: the response does not rise with the throughput.".to_owned(),
        Knee::Beyond => "No knee: throughput over mean response still grows at the highest point.".to_owned(),
    };
    let overall = curve.shape.overall_response_ns.map(|ns| {
        let ns = Span::from_ns(ns).human_text();
        format!(" Overall response time {ns} (area under mean response over throughput); {NOT_COMPARABLE}.")
    });
    knee + &overall.unwrap_or_default()
}

/// The marks of mean and p99, of the curve and of the one beside it.
const MARKS: [[char; 2]; 2] = [['m', '9'], ['o', '8']];

/// Mean and p99 over the throughput, with a logarithmic scale for the response; the column of the curve's knee is
/// dotted.
fn draw_curve(page: &mut Page, curve: &Curve) {
    // The curve itself is drawn over the one beside it.
    let curves: Vec<&Curve> = curve.both_curves().collect();
    let places: Vec<_> = curves.iter().zip(MARKS).rev().flat_map(|(curve, marks)| places_of(curve, marks)).collect();
    let (low, high) = places.iter().fold((f64::INFINITY, 0f64), |(low, high), at| (low.min(at.2), high.max(at.2)));
    let top = places.iter().fold(0f64, |top, at| top.max(at.1));
    if low >= high {
        return;
    }
    let mut cells = vec![[' '; COLUMNS]; ROWS];
    if let Some(rate) = curve.shape.knee.and_then(|index| curve.points[index].rates.achieved) {
        cells.iter_mut().for_each(|cells| cells[column_of(rate, top)] = '.');
    }
    for (mark, rate, ns) in places {
        let row = ((ns / low).ln() / (high / low).ln() * (ROWS - 1) as f64).round() as usize;
        cells[row.min(ROWS - 1)][column_of(rate, top)] = mark;
    }
    let beside = if curve.beside.is_some() { "; without the cache o mean, 8 p99" } else { "" };
    let knee = if curve.shape.knee.is_some() { ", : knee" } else { "" };
    page.add_line(format!("{:>10}  m mean, 9 p99{knee}{beside}", "response"));
    for (index, cells) in cells.iter().enumerate().rev() {
        let edge = if index == ROWS - 1 { Some(high) } else { (index == 0).then_some(low) };
        let label = edge.map_or(String::new(), |ns| Span::from_ns(ns as u64).human_text());
        let cells: String = cells.iter().map(|c| if *c == '.' { ':' } else { *c }).collect();
        page.add_line(format!("{label:>10} |{cells}"));
    }
    let most = format!("{top:.1}/s of {}", page.reader.cut_name(stream_in_words(curve), 24));
    page.add_line(format!("{:>10} +{}", "", "-".repeat(COLUMNS)));
    page.add_line(format!("{:>10}  0{most:>width$}", "", width = COLUMNS - 1));
}

/// The places of mean and p99 of a curve: the mark, the rate and the time.
fn places_of(curve: &Curve, marks: [char; 2]) -> Vec<(char, f64, f64)> {
    let line = curve.places_on_curve();
    let p99 =
        line.iter().filter_map(|place| Some((marks[1], place.rate, curve.points[place.index].times.p99_ns? as f64)));
    p99.chain(line.iter().map(|place| (marks[0], place.rate, place.mean_ns))).collect()
}

/// The column of the chart for a rate, where `top` is the highest of all.
fn column_of(rate: f64, top: f64) -> usize {
    ((rate / top * (COLUMNS - 1) as f64).round() as usize).min(COLUMNS - 1)
}
