//! Distributions of times, drawn over each other: the share of the operations that took longer than each time, and how
//! many took about that time. For the pages that compare runs.

use super::figures::{time_text, two_decimals_percent};
use crate::render::chart::{Axis, Chart, Mark, Unit, series_class};

/// Percentiles that are marked on a line, each with the share of operations that took longer.
const MARKED: [(&str, f64); 5] = [("p50", 0.5), ("p90", 0.1), ("p99", 0.01), ("p99.9", 0.001), ("p99.99", 0.0001)];
/// Shares below this are not drawn: one in a hundred million.
const SMALLEST: f64 = 1e-8;
const HEIGHT: f64 = 300.0;

/// The distribution of one run.
pub(crate) struct Distribution<'a> {
    /// The number of its colour.
    pub series: usize,
    pub label: &'a str,
    /// A time in nanoseconds, and the share of operations that took longer.
    longer: Vec<(f64, f64)>,
    /// A time, and the share of operations that took up to this time and longer than the one before.
    steps: Vec<(f64, f64)>,
    percentiles: Vec<(&'static str, f64, f64)>,
}

impl<'a> Distribution<'a> {
    /// From counts: `(up to this many nanoseconds, operations)`, ascending. The steps are too coarse to read a
    /// percentile from them: `percentile` returns the exact ones by name.
    pub(crate) fn of_counts(
        series: usize,
        label: &'a str,
        counts: &[(u64, u64)],
        percentile: impl Fn(&str) -> Option<f64>,
    ) -> Distribution<'a> {
        let all = counts.iter().fold(0u64, |sum, (_, n)| sum.saturating_add(*n)).max(1) as f64;
        let mut left = all;
        let (mut longer, mut steps) = (Vec::new(), Vec::new());
        for (ns, n) in counts {
            left = (left - *n as f64).max(0.0);
            longer.push((*ns as f64, left / all));
            steps.push((*ns as f64, *n as f64 / all));
        }
        let marked = MARKED.into_iter().filter_map(|(name, share)| Some((name, share, percentile(name)?)));
        Distribution { series, label, longer, steps, percentiles: marked.collect() }
    }

    /// From percentiles: `(share that took no longer, nanoseconds)`, ascending.
    pub(crate) fn of_nines(series: usize, label: &'a str, nines: &[(f64, u64)]) -> Distribution<'a> {
        let longer: Vec<(f64, f64)> = nines.iter().map(|(share, ns)| (*ns as f64, (1.0 - share).max(0.0))).collect();
        // Only percentiles that were recorded; the comparison tolerates the last digit of a share such as 0.999.
        let in_words =
            |share: f64| longer.iter().find(|(_, left)| (left / share - 1.0).abs() < 1e-6).map(|(ns, _)| *ns);
        let marked = MARKED.into_iter().filter_map(|(name, share)| Some((name, share, in_words(share)?)));
        let percentiles = marked.collect();
        Distribution { series, label, longer, steps: Vec::new(), percentiles }
    }

    /// `array A: p50 180 µs, p99 987 µs`.
    fn label_in_words(&self) -> String {
        let in_words: Vec<String> =
            self.percentiles.iter().map(|(name, _, ns)| format!("{name} {}", time_text(*ns as u64))).collect();
        format!("{}: {}", self.label, in_words.join(", "))
    }
}

fn length_axis(measure: &str, all: &[Distribution<'_>]) -> Axis {
    let ends = all.iter().flat_map(|one| &one.longer).map(|(ns, _)| ns.max(1.0));
    let (low, high) = ends.fold((f64::INFINITY, 0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    Axis::with_log_scale(&format!("{measure} (logarithmic)"), Unit::Time, low, high)
}

fn distributions_in_words(what: &str, all: &[Distribution<'_>]) -> String {
    let each: Vec<String> = all.iter().map(Distribution::label_in_words).collect();
    format!("{what} {}.", each.join("; "))
}

/// The distributions of several runs in one drawing, with the key of each colour.
pub(crate) struct Overlay {
    /// The class of a colour, and the run it stands for.
    pub keys: Vec<(String, String)>,
    pub chart: Chart,
}

impl Overlay {
    /// From percentiles, each with its label; `None` when there is nothing to draw.
    pub(crate) fn of_nines<'a>(title: &str, all: impl Iterator<Item = (String, &'a [(f64, u64)])>) -> Option<Overlay> {
        let all: Vec<(String, &[(f64, u64)])> = all.collect();
        let drawn: Vec<Distribution<'_>> = (all.iter().enumerate())
            .map(|(series, (label, nines))| Distribution::of_nines(series, label, nines))
            .collect();
        let keys = all.iter().enumerate().map(|(series, (label, _))| (series_class(series), label.clone())).collect();
        (!drawn.is_empty()).then(|| Overlay { keys, chart: tail_chart(title, "response", &drawn) })
    }
}

/// The share of operations that took longer, over the time, both logarithmic: this shows the tails.
pub(crate) fn tail_chart(title: &str, measure: &str, all: &[Distribution<'_>]) -> Chart {
    let shares = all.iter().flat_map(|one| &one.longer).map(|(_, left)| *left).filter(|left| *left >= SMALLEST);
    let smallest = shares.fold(0.1, f64::min);
    let mut marks = Vec::new();
    for one in all {
        // The last operation is drawn at the bottom: nothing took longer.
        let points = one.longer.iter().map(|(ns, left)| (*ns, left.max(SMALLEST))).collect();
        marks.push(Mark::Line { series: one.series, points });
    }
    for one in all {
        marks.extend(one.percentiles.iter().map(|(name, share, ns)| Mark::Dot {
            class: series_class(one.series),
            at: (*ns, *share),
            text: format!("{}: {name} {}", one.label, time_text(*ns as u64)),
        }));
    }
    Chart {
        alternative: distributions_in_words(&format!("Share of operations beyond each length, {title}."), all),
        x: length_axis(measure, all),
        y: Axis::with_log_scale("operations that took longer", Unit::Share, smallest, 1.0),
        height: HEIGHT,
        marks,
    }
}

/// How many operations took about which time.
pub(crate) fn density_chart(title: &str, measure: &str, all: &[Distribution<'_>]) -> Chart {
    let highest = all.iter().flat_map(|one| &one.steps).map(|(_, share)| *share).fold(0.0, f64::max);
    let peaks: Vec<String> = all
        .iter()
        .filter_map(|one| {
            peak_of(one).map(|(ns, share)| {
                format!("{}: most often about {}, {}", one.label, time_text(ns as u64), two_decimals_percent(share))
            })
        })
        .collect();
    Chart {
        alternative: format!("How many operations took how long, {title}. {}.", peaks.join("; ")),
        x: length_axis(measure, all),
        y: Axis::with_linear_scale("share of operations", Unit::Share, highest * 1.05),
        height: HEIGHT,
        marks: all.iter().map(area_of).collect(),
    }
}

/// The highest step of a distribution: its time and its share.
fn peak_of(one: &Distribution<'_>) -> Option<(f64, f64)> {
    one.steps.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1))
}

/// The area below a distribution.
fn area_of(one: &Distribution<'_>) -> Mark {
    // The first step begins where a step before it would have ended.
    let before = one.steps.first().map(|(ns, _)| (ns / 10f64.powf(0.05), 0.0));
    let points = before.into_iter().chain(one.steps.iter().copied()).collect();
    Mark::Area { series: one.series, points }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_that_were_told() {
        let figure = |what: &str| (what == "p99").then_some(297.0);
        let counted = Distribution::of_counts(0, "a", &[(100, 50), (200, 0), (300, 49), (900, 1)], figure);
        assert_eq!(counted.percentiles, [("p99", 0.01, 297.0)]);
        assert_eq!(counted.longer, [(100.0, 0.5), (200.0, 0.5), (300.0, 0.01), (900.0, 0.0)]);
        assert_eq!(counted.label_in_words(), "a: p99 297 ns");
        let in_words =
            Distribution::of_nines(0, "a", &[(0.5, 100), (0.75, 200), (0.99, 300), (0.999, 400), (1.0, 900)]);
        assert_eq!(in_words.percentiles, [("p50", 0.5, 100.0), ("p99", 0.01, 300.0), ("p99.9", 0.001, 400.0)]);
    }

    #[test]
    fn nothing_and_a_single_length_are_drawn() {
        for counts in [&[][..], &[(0, 0)], &[(5, 7)], &[(u64::MAX, u64::MAX), (u64::MAX, u64::MAX)]] {
            let all = [Distribution::of_counts(0, "<b>", counts, |_| Some(f64::NAN))];
            for chart in [tail_chart("t", "response", &all), density_chart("t", "response", &all)] {
                let text = chart.to_string();
                assert!(!text.contains("NaN") && !text.contains("<b>"), "{text}");
            }
        }
    }
}
