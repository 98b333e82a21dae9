//! Many streams side by side, in a row each: operations per second along the time, and the distribution of their
//! responses on one scale for all. Whoever looks for the stream that is slow, or for the moment at which all stood still,
//! finds it here without opening the charts of each. Drawn here as SVG: they need no script and print as they are.

use super::figures::{Cell, count_text, time_text};
use super::still::thin_out;
use super::streams::items_cell;
use crate::judgement::{StepFigures, StreamTotals, TimesSummary};
use std::fmt::Write;

/// From so many streams on they are shown side by side: fewer fit on a screen with their charts.
const LEAST_STREAMS: usize = 4;
/// Drawing areas in units of the SVG.
const RATE_WIDTH: f64 = 220.0;
const SPREAD_WIDTH: f64 = 260.0;
const HEIGHT: f64 = 28.0;

/// The table; without rows where there are few streams.
#[derive(Default)]
pub(crate) struct KindsView<'a> {
    pub rows: Vec<KindRow<'a>>,
    /// The powers of ten of the scale of the responses, with their places.
    pub scale: Vec<ScaleMark>,
    /// Whether some stream lists or counts items.
    pub has_items: bool,
}

/// One stream.
pub(crate) struct KindRow<'a> {
    pub totals: &'a StreamTotals,
    pub rate: Cell,
    /// SVG path of the operations per second.
    pub rate_path: String,
    /// The largest of them, in words.
    pub rate_most: String,
    pub items: Cell,
    /// Where the parts of the distribution lie; `None` where nothing completed.
    pub spread: Option<Spread>,
}

/// The places of a distribution on the scale, in units of the SVG.
pub(crate) struct Spread {
    pub p50: String,
    pub p99: String,
    pub most: String,
    /// From p50 to p99, and from there to p99.9.
    pub usual: String,
    pub rare: String,
    /// The same in words.
    pub words: String,
}

/// A power of ten of the scale.
pub(crate) struct ScaleMark {
    pub text: String,
    pub at: String,
}

/// A logarithmic scale over whole powers of ten, in nanoseconds.
struct TimeScale {
    lowest: i32,
    highest: i32,
}

impl TimeScale {
    fn over(times: impl Iterator<Item = u64>) -> Option<TimeScale> {
        let (mut least, mut most) = (u64::MAX, 0);
        for ns in times {
            (least, most) = (least.min(ns.max(1)), most.max(ns.max(1)));
        }
        let lowest = least.min(most).max(1).ilog10() as i32;
        (most > 0)
            .then(|| TimeScale { lowest, highest: (most as f64).log10().ceil().max(f64::from(lowest) + 1.0) as i32 })
    }

    fn place_of(&self, ns: u64) -> f64 {
        let decades = f64::from(self.highest - self.lowest);
        ((ns.max(1) as f64).log10() - f64::from(self.lowest)) / decades * SPREAD_WIDTH
    }

    fn marks(&self) -> Vec<ScaleMark> {
        let mut marks = Vec::new();
        for power in self.lowest..=self.highest {
            let ns = 10u64.saturating_pow(power.unsigned_abs());
            marks.push(ScaleMark { text: time_text(ns), at: place_text(self.place_of(ns)) });
        }
        marks
    }
}

fn place_text(place: f64) -> String {
    format!("{place:.1}")
}

impl<'a> KindsView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> KindsView<'a> {
        let several = part.targets.each.len() > 1;
        let mut shown = Vec::new();
        for (index, totals) in part.streams.each.iter().enumerate() {
            if !several || totals.target.is_none() {
                shown.push((index, totals));
            }
        }
        if shown.len() < LEAST_STREAMS {
            return KindsView::default();
        }
        let times = shown.iter().flat_map(|(_, totals)| [totals.response.p50_ns, totals.response.max_ns]).flatten();
        let scale = TimeScale::over(times);
        let mut rows = Vec::new();
        for (index, totals) in shown {
            rows.push(kind_row(part, totals, &format!("{root}/streams/{index}"), scale.as_ref()));
        }
        let has_items = rows.iter().any(|row| row.totals.counts.items > 0);
        KindsView { rows, scale: scale.as_ref().map(TimeScale::marks).unwrap_or_default(), has_items }
    }
}

fn kind_row<'a>(part: &StepFigures, totals: &'a StreamTotals, path: &str, scale: Option<&TimeScale>) -> KindRow<'a> {
    let (rate_path, most) = rate_line(part, &totals.name);
    KindRow {
        totals,
        rate: Cell::from_rate(totals.rate_achieved, format!("{path}/rate_achieved")),
        rate_path,
        rate_most: count_text(most.round() as u64),
        items: items_cell(totals, path),
        spread: scale.and_then(|scale| spread_on(scale, &totals.response)),
    }
}

/// The path of the operations per second of a stream, and the largest of them.
fn rate_line(part: &StepFigures, stream: &str) -> (String, f64) {
    let series = &part.course.series;
    let Some(line) = series.streams.iter().find(|line| line.stream == stream) else { return (String::new(), 0.0) };
    // Behind the planned end only what is in course ends.
    let offered = series.at_ns.partition_point(|at| *at < part.time.planned_ns);
    let places = thin_out(&series.at_ns[..offered], &line.achieved, mean_of);
    let most = places.iter().filter_map(|(_, rate)| *rate).fold(0.0, f64::max);
    let length = part.time.measured_ns.max(1) as f64;
    let mut path = String::new();
    for (index, (at, rate)) in places.iter().enumerate() {
        let Some(rate) = rate else { continue };
        let end = places.get(index + 1).map_or(length, |(next, _)| *next);
        let y = HEIGHT - 2.0 - rate / most.max(f64::MIN_POSITIVE) * (HEIGHT - 4.0);
        let command = if path.is_empty() { 'M' } else { 'L' };
        let (from, to) = (at / length * RATE_WIDTH, (end / length).min(1.0) * RATE_WIDTH);
        // Writing to a text cannot fail.
        let _ = write!(path, "{command}{from:.1} {y:.1}H{to:.1}");
    }
    (path, most)
}

fn mean_of(rates: &[f64]) -> Option<f64> {
    (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
}

fn spread_on(scale: &TimeScale, times: &TimesSummary) -> Option<Spread> {
    let (p50, most) = (times.p50_ns?, times.max_ns?);
    let p99 = times.p99_ns.unwrap_or(most);
    let p99_9 = times.p99_9_ns.unwrap_or(most);
    let [at_p50, at_p99, at_p99_9, at_most] = [p50, p99, p99_9, most].map(|ns| scale.place_of(ns));
    Some(Spread {
        p50: place_text(at_p50),
        p99: place_text(at_p99),
        most: place_text(at_most),
        // Something is seen even where all took the same time.
        usual: place_text((at_p99 - at_p50).max(1.0)),
        rare: place_text((at_p99_9 - at_p99).max(0.0)),
        words: format!(
            "p50 {}, p99 {}, p99.9 {}, max {}",
            time_text(p50),
            time_text(p99),
            time_text(p99_9),
            time_text(most)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::{StreamSeries, TargetTotals};

    fn part(streams: usize) -> StepFigures {
        let mut part = StepFigures::default();
        part.targets.each = vec![TargetTotals::default()];
        part.course.series.at_ns = vec![0, 500];
        (part.time.planned_ns, part.time.measured_ns) = (1000, 1000);
        for index in 0..streams {
            let name = format!("s{index}");
            let response = TimesSummary {
                p50_ns: Some(2_000),
                p99_ns: Some(20_000),
                p99_9_ns: Some(200_000),
                max_ns: Some(9_000_000),
                ..TimesSummary::default()
            };
            part.streams.each.push(StreamTotals { name: name.clone(), response, ..StreamTotals::default() });
            let achieved = vec![10.0, 40.0];
            part.course.series.streams.push(StreamSeries { stream: name, achieved, ..StreamSeries::default() });
        }
        part
    }

    #[test]
    fn many_streams_share_a_scale_and_few_need_no_table() {
        assert!(KindsView::new(&part(3), "").rows.is_empty());
        let many = part(4);
        let view = KindsView::new(&many, "");
        let marks: Vec<&str> = view.scale.iter().map(|mark| mark.text.as_str()).collect();
        assert_eq!(marks, ["1 µs", "10 µs", "100 µs", "1 ms", "10 ms"]);
        assert_eq!((view.scale[0].at.as_str(), view.scale[4].at.as_str()), ("0.0", "260.0"));
        let row = &view.rows[3];
        assert_eq!((row.rate_path.as_str(), row.rate_most.as_str()), ("M0.0 20.0H110.0L110.0 2.0H220.0", "40"));
        let spread = row.spread.as_ref().unwrap();
        assert_eq!((spread.p50.as_str(), spread.usual.as_str(), spread.rare.as_str()), ("19.6", "65.0", "65.0"));
        assert!(!view.has_items);
    }

    #[test]
    fn a_stream_of_which_nothing_completed_has_no_spread() {
        let mut many = part(4);
        many.streams.each[0].response = TimesSummary::default();
        many.streams.each[0].counts.items = 7;
        let view = KindsView::new(&many, "");
        assert!(view.rows[0].spread.is_none() && view.rows[1].spread.is_some() && view.has_items);
        assert!(TimeScale::over(std::iter::empty()).is_none());
    }
}
