//! A matrix as text. Names are hostile input: the page cleans them.

use super::map::{Cell, Map, maps_with_places};
use super::{Matrix, Point};
use crate::render::Page;
use crate::verdict::Verdict;
use assay_base::{Bytes, Span};
use std::fmt;

/// Columns of a map that stand beside each other, and the width of one column in characters.
const BESIDE: usize = 6;
const WIDE: usize = 10;
/// At most this many points without a figure are listed with their reasons.
const LISTED: usize = 12;

/// The maps as tables, then the points that say nothing about the target.
pub fn write_text(matrix: &Matrix, out: &mut dyn fmt::Write) -> fmt::Result {
    let mut page = Page::default();
    page.add_text("", &format!("{} on {}: {}", matrix.workload, matrix.targets.join(", "), runs_in_words(matrix)));
    if !matrix.watermarks.is_empty() {
        page.add_text("", &matrix.watermarks.join(", "));
    }
    for map in maps_with_places(matrix) {
        page.add_blank_line();
        draw_map(&mut page, &map);
    }
    page.add_blank_line();
    page.add_text("", &summary_sentences(matrix));
    let others = matrix.points.iter().filter(|point| !point.is_true());
    for point in others.clone().take(LISTED) {
        page.add_text("  ", &format!("{}: {} ({})", point_label(point), point.verdict, point.reason));
    }
    let more = others.count().saturating_sub(LISTED);
    if more > 0 {
        page.add_line(format!("  and {more} more"));
    }
    matrix.aside.as_sentences().iter().take(LISTED).for_each(|line| page.add_text("  ", line));
    page.write_lines(out)
}

fn draw_map(page: &mut Page, map: &Map) {
    page.add_line(map.title);
    for columns in (0..map.columns.len()).collect::<Vec<_>>().chunks(BESIDE) {
        let head: String = columns.iter().map(|at| format!("{:>WIDE$}", map.columns[*at])).collect();
        page.add_line(format!("{:>6} \\ {:<5}{head}", map.down, map.across));
        for (row, cells) in &map.rows {
            let cells: String = columns.iter().map(|at| format!("{:>WIDE$}", cell_text(&cells[*at]))).collect();
            page.add_line(format!("{row:>6}        {cells}"));
        }
    }
}

fn cell_text(cell: &Cell) -> &str {
    match cell {
        Cell::Outside => "",
        Cell::Missing => "-",
        Cell::Void => "void",
        Cell::Failed => "failed",
        Cell::Figure(text, _) => text,
    }
}

/// `3 small and 2 large`.
pub(super) fn point_label(point: &Point) -> String {
    let all = [count_of(point.place.small, "small"), count_of(point.place.large, "large")];
    all.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}

/// A number of operations of one kind; `None` for none.
fn count_of(n: u32, kind: &str) -> Option<String> {
    (n > 0).then(|| format!("{n} {kind}"))
}

/// What was run, in words.
pub(super) fn runs_in_words(matrix: &Matrix) -> String {
    let large = if matrix.sequential { "1 MiB sequential" } else { "1 MiB random" };
    let writes =
        if matrix.writes.as_ppb() == 0 { "reads only".to_owned() } else { format!("{} writes", matrix.writes) };
    let disks = if matrix.disks == 1 { "1 disk".to_owned() } else { format!("{} disks", matrix.disks) };
    format!(
        "small operations 8 KiB random, large ones {large}, {writes}; {disks}, {} a point, seed {}",
        Span::from_ns(matrix.run_ns).human_text(),
        matrix.seed
    )
}

/// The first point, from few operations in flight to many, whose figure is within a hundredth of the largest: with more
/// in flight, operations only wait longer.
fn first_near_largest<T: Copy>(points: Vec<(&Point, T)>, figure: impl Fn(T) -> f64) -> Option<(&Point, T)> {
    let largest = points.iter().map(|(_, value)| figure(*value)).fold(0.0, f64::max);
    points.into_iter().find(|(_, value)| figure(*value) >= 0.99 * largest)
}

/// The largest figures of the points that have figures, and how many points have none.
pub(super) fn summary_sentences(matrix: &Matrix) -> String {
    let is_true = || matrix.points.iter().filter(|point| point.is_true());
    let small = is_true().filter_map(|point| Some((point, point.small?)));
    let small = first_near_largest(small.collect(), |figures| figures.rate).map(|(point, figures)| {
        format!(
            "At most {:.0} small operations a second, with {} in flight, at a mean of {}.",
            figures.rate,
            point_label(point),
            Span::from_ns(figures.mean_ns).human_text()
        )
    });
    let large = is_true().filter_map(|point| Some((point, point.large?)));
    let large = first_near_largest(large.collect(), |figures| figures.bytes_per_second).map(|(point, figures)| {
        format!(
            "At most {}/s of large operations, with {} in flight.",
            Bytes::new(figures.bytes_per_second as u64).human_text(),
            point_label(point)
        )
    });
    let (void, failed) = (count_verdicts(&[Verdict::Invalid], matrix), count_verdicts(&[Verdict::Fail], matrix));
    let missing = matrix.asked.len()
        - count_verdicts(&[Verdict::Pass, Verdict::Invalid, Verdict::Fail], matrix).min(matrix.asked.len());
    let all = [
        small,
        large,
        points_told(void, "are void: they say nothing about the target, and have no figure", matrix.asked.len()),
        points_told(failed, "failed", matrix.asked.len()),
        points_told(missing, "are missing", matrix.asked.len()),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    all.join(" ")
}

/// A sentence about some of the points; `None` where there are none.
fn points_told(n: usize, what: &str, asked: usize) -> Option<String> {
    (n > 0).then(|| format!("{n} of {asked} points {what}."))
}

/// The number of points that have one of these verdicts.
fn count_verdicts(verdicts: &[Verdict], matrix: &Matrix) -> usize {
    matrix.points.iter().filter(|point| verdicts.contains(&point.verdict)).count()
}
