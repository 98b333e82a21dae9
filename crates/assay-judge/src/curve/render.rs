//! A curve as text. Names are hostile input: cleaned here.

use super::{Curve, NOT_COMPARABLE, Point};
use crate::render::Page;
use assay_base::Span;
use std::fmt;

/// Columns and rows of the drawing in a terminal, without its axes.
const COLUMNS: usize = 66;
const ROWS: usize = 12;

/// Table and drawing, at most 40 lines of 80 columns for up to ten points.
pub fn text(curve: &Curve, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    let on = curve.targets.join(", ");
    page.words("", &format!("{} of {} on {on}, {} a point", curve.stream, curve.workload, length(curve)), 2);
    page.line(maximum(curve));
    if !curve.watermarks.is_empty() {
        page.words("", &curve.watermarks.join(", "), 2);
    }
    page.blank();
    page.line("  share      load    achieved     mean      p50      p99    p99.9  verdict");
    for (index, point) in curve.points.iter().enumerate() {
        page.line(row(point, curve.knee == Some(index)));
    }
    page.blank();
    draw(&mut page, curve);
    page.blank();
    page.words("", &summary(curve), 4);
    page.write(out)
}

pub(super) fn length(curve: &Curve) -> String {
    Span::from_ns(curve.run_ns).human()
}

pub(super) fn maximum(curve: &Curve) -> String {
    let counted = |load| curve.counted.as_ref().map_or_else(String::new, |counted| format!(" ({})", counted.of(load)));
    match (curve.maximum, curve.searched) {
        (Some(load), true) => format!("100% is {load}{}, the highest load that was found to pass", counted(load)),
        (Some(load), false) => format!("100% is {load}{}, as it was asked for", counted(load)),
        (None, _) => "no maximum was found".to_owned(),
    }
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| Span::from_ns(ns).human())
}

fn row(point: &Point, knee: bool) -> String {
    let rate = point.rate_achieved.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}/s"));
    let times = [point.mean_ns, point.p50_ns, point.p99_ns, point.p99_9_ns];
    let times: String = times.map(|ns| format!(" {:>8}", time(ns))).concat();
    let mark = match (knee, point.belongs()) {
        (true, _) => "  <- knee",
        (_, false) => "  (left out)",
        _ => "",
    };
    let (share, load) = (point.share.to_string(), point.load.to_string());
    format!("{share:>7} {load:>9} {rate:>11}{times}  {}{mark}", point.verdict)
}

/// The knee and the overall response time, in words.
pub(super) fn summary(curve: &Curve) -> String {
    let knee = match curve.knee.and_then(|index| curve.points.get(index)) {
        Some(point) => format!(
            "Knee at {} ({}, {:.1}/s): the point of the greatest power, throughput over mean response.",
            point.share,
            point.load,
            point.rate_achieved.unwrap_or_default()
        ),
        None if curve.overall_response_ns.is_none() => "No point belongs to the curve.".to_owned(),
        None => "No knee: throughput over mean response still grows at the highest point.".to_owned(),
    };
    let overall = curve.overall_response_ns.map(|ns| {
        let ns = Span::from_ns(ns).human();
        format!(" Overall response time {ns} (area under mean response over throughput); {NOT_COMPARABLE}.")
    });
    knee + &overall.unwrap_or_default()
}

/// Mean (`m`) and p99 (`9`) over the throughput, the response by its logarithm; the knee's column is dotted.
fn draw(page: &mut Page, curve: &Curve) {
    let line = curve.line();
    let p99 = |index: usize| curve.points[index].p99_ns.map(|ns| ns as f64);
    let values = || line.iter().flat_map(|&(index, _, mean)| [Some(mean), p99(index)]).flatten();
    let (low, high) = values().fold((f64::INFINITY, 0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    let Some(&(_, top, _)) = line.last().filter(|_| low < high) else { return };
    let column = |rate: f64| ((rate / top * (COLUMNS - 1) as f64).round() as usize).min(COLUMNS - 1);
    let row = |ns: f64| (((ns / low).ln() / (high / low).ln() * (ROWS - 1) as f64).round() as usize).min(ROWS - 1);
    let mut cells = vec![[' '; COLUMNS]; ROWS];
    if let Some(rate) = curve.knee.and_then(|index| curve.points[index].rate_achieved) {
        cells.iter_mut().for_each(|cells| cells[column(rate)] = '.');
    }
    for &(index, rate, mean) in &line {
        for (mark, ns) in [('9', p99(index)), ('m', Some(mean))] {
            ns.into_iter().for_each(|ns| cells[row(ns)][column(rate)] = mark);
        }
    }
    page.line(format!("{:>10}  m mean, 9 p99{}", "response", if curve.knee.is_some() { ", : knee" } else { "" }));
    for (index, cells) in cells.iter().enumerate().rev() {
        let edge = if index == ROWS - 1 { Some(high) } else { (index == 0).then_some(low) };
        let label = edge.map_or(String::new(), |ns| Span::from_ns(ns as u64).human());
        let cells: String = cells.iter().map(|c| if *c == '.' { ':' } else { *c }).collect();
        page.line(format!("{label:>10} |{cells}"));
    }
    let most = format!("{top:.1}/s");
    page.line(format!("{:>10} +{}", "", "-".repeat(COLUMNS)));
    page.line(format!("{:>10}  0{most:>width$}", "", width = COLUMNS - 1));
}
