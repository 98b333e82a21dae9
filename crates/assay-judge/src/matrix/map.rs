//! The maps of a matrix: which figure stands in which cell, and how strong the colour of the cell is.

use super::{Figures, Matrix, Place, Point};
use assay_base::{Bytes, Span};

/// Number of strengths of colour, from the smallest figure to the largest.
pub(super) const STRENGTHS: usize = 9;

/// A map: rows and columns of cells.
#[derive(Debug)]
pub(super) struct Map {
    pub title: &'static str,
    /// What the columns and the rows count.
    pub across: &'static str,
    pub down: &'static str,
    pub columns: Vec<u32>,
    pub rows: Vec<(u32, Vec<Cell>)>,
}

/// What a cell shows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// It was not asked for.
    Outside,
    /// It was not run yet, or was cut short.
    Missing,
    /// The point says nothing about the target.
    Void,
    /// An operation failed.
    Failed,
    /// A figure, and the strength of its colour.
    Figure(String, usize),
}

/// What a map shows.
struct Shown {
    title: &'static str,
    is_small: bool,
    value: fn(&Figures) -> f64,
    text: fn(&Figures) -> String,
}

const MAPS: [Shown; 3] = [
    Shown {
        title: "Small operations per second",
        is_small: true,
        value: |figures| figures.rate,
        text: |figures| short_rate(figures.rate),
    },
    Shown {
        title: "Mean response of small operations",
        is_small: true,
        value: |figures| figures.mean_ns as f64,
        text: |figures| Span::from_ns(figures.mean_ns).human_text(),
    },
    Shown {
        title: "Large operations, bytes per second",
        is_small: false,
        value: |figures| figures.bytes_per_second,
        text: |figures| Bytes::new(figures.bytes_per_second as u64).human_text(),
    },
];

impl Shown {
    /// The figures of a point that are shown.
    fn shown_figures(&self, point: &Point) -> Option<Figures> {
        if self.is_small { point.small } else { point.large }
    }

    /// The cell of an asked place; `low` and `high` are the ends of all values.
    fn cell_at(&self, matrix: &Matrix, own: u32, other: u32, low: f64, high: f64) -> Cell {
        let (small, large) = if self.is_small { (own, other) } else { (other, own) };
        let Some(point) = matrix.point_at(Place { small, large }) else { return Cell::Missing };
        match (point.verdict, self.shown_figures(point)) {
            (crate::Verdict::Pass, Some(figures)) => {
                Cell::Figure((self.text)(&figures), colour_strength((self.value)(&figures), low, high))
            }
            (crate::Verdict::Fail, _) => Cell::Failed,
            (crate::Verdict::Incomplete, _) => Cell::Missing,
            _ => Cell::Void,
        }
    }
}

/// How strongly a value is coloured, from 0 at the lowest of all.
fn colour_strength(value: f64, low: f64, high: f64) -> usize {
    if high > low { (((value - low) / (high - low)) * (STRENGTHS - 1) as f64).round() as usize } else { STRENGTHS / 2 }
}

/// The numbers in ascending order, each once.
fn sorted_without_repeats(numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut all: Vec<u32> = numbers.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Three digits and a unit: `12.3k`.
fn short_rate(rate: f64) -> String {
    let (value, unit) = match rate {
        rate if rate >= 999_500.0 => (rate / 1e6, "M"),
        rate if rate >= 999.5 => (rate / 1e3, "k"),
        rate => (rate, ""),
    };
    let digits = if value >= 99.95 || unit.is_empty() && value.fract() < 0.05 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$}{unit}")
}

/// The maps that have at least one place. The columns count the operations whose figures are shown, the rows the
/// operations of the other kind.
pub(super) fn maps_with_places(matrix: &Matrix) -> Vec<Map> {
    MAPS.iter().filter_map(|shown| build_map(matrix, shown)).collect()
}

fn build_map(matrix: &Matrix, shown: &Shown) -> Option<Map> {
    let places: Vec<(u32, u32)> = matrix
        .asked
        .iter()
        .map(|place| if shown.is_small { (place.small, place.large) } else { (place.large, place.small) })
        .filter(|(own, _)| *own > 0)
        .collect();
    let columns = sorted_without_repeats(places.iter().map(|place| place.0));
    let rows = sorted_without_repeats(places.iter().map(|place| place.1));
    let values = matrix.points.iter().filter(|point| point.is_true()).filter_map(|point| shown.shown_figures(point));
    let (low, high) = values
        .map(|figures| (shown.value)(&figures))
        .fold((f64::INFINITY, 0f64), |(low, high), value| (low.min(value), high.max(value)));
    let cell = |own: u32, other: u32| {
        if places.contains(&(own, other)) { shown.cell_at(matrix, own, other, low, high) } else { Cell::Outside }
    };
    let (across, down) = if shown.is_small { ("small", "large") } else { ("large", "small") };
    (!places.is_empty()).then(|| Map {
        title: shown.title,
        across,
        down,
        rows: rows.iter().map(|other| (*other, columns.iter().map(|own| cell(*own, *other)).collect())).collect(),
        columns: columns.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::short_rate;

    #[test]
    fn rates_have_three_digits() {
        for (rate, text) in
            [(0.0, "0"), (7.25, "7.25"), (812.0, "812"), (999.6, "1.00k"), (12_345.0, "12.3k"), (1.5e6, "1.50M")]
        {
            assert_eq!(short_rate(rate), text);
        }
    }
}
