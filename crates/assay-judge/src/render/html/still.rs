//! Charts of a stream over time for a reader without scripts: response and operations per second, with a resolution
//! that fits the width of the page. With scripts, the browser draws finer ones in their place, which can be zoomed and
//! read.

use crate::judgement::{MeasuredTime, PerMinuteFigures, StepFigures, StreamSeries};
use crate::render::chart::{Axis, Chart, Mark, Unit};
use assay_base::Span;

/// Number of points of a line; more are not visible at its size.
const POINTS: usize = 240;
const HEIGHT: f64 = 230.0;

/// The charts of one stream.
pub(crate) struct Still {
    /// The time that a point of the response stands for, where it is longer than a point of the series.
    pub stretch: Option<String>,
    pub response: Option<Chart>,
    pub rate: Chart,
}

/// Places in measured time with their values.
pub(crate) type Places = Vec<(f64, Option<f64>)>;

pub(crate) fn still_charts(part: &StepFigures, line: &StreamSeries, words: (Option<&String>, &str)) -> Still {
    let bands = &line.bands;
    let each = bands.at_ns.len().div_ceil(POINTS).max(1);
    let width = bands.at_ns.get(each).zip(bands.at_ns.first()).map(|(next, first)| next.saturating_sub(*first));
    Still {
        stretch: width.filter(|_| each > 1).map(|ns| Span::from_ns(ns).human_text()),
        response: words.0.map(|words| response_chart(part, line, words)),
        rate: rate_chart(part, line, words.1),
    }
}

/// The percentile of a merged point is the largest in it: percentiles are never averaged.
fn response_chart(part: &StepFigures, line: &StreamSeries, words: &str) -> Chart {
    let bands = &line.bands;
    let lines = [&bands.p50_ns, &bands.p99_ns, &bands.p99_9_ns].map(|list| {
        thin_out(&bands.at_ns, list, |list: &[Option<u64>]| list.iter().flatten().max().map(|ns| *ns as f64))
    });
    let values = lines.iter().flatten().filter_map(|(_, ns)| ns.filter(|ns| *ns > 0.0));
    let (low, high) = values.fold((f64::INFINITY, 0f64), |(low, high), ns| (low.min(ns), high.max(ns)));
    let marks = lines.into_iter().zip(CLASSES).flat_map(|(places, series)| line_marks(series, places)).collect();
    let y = Axis::with_log_scale("response (logarithmic)", Unit::Time, low, high);
    Chart { alternative: words.to_owned(), x: time_axis(&part.time), y, height: HEIGHT, marks }
}

/// Colours of p50, p99 and p99.9, the same as in the chart that the script draws.
const CLASSES: [usize; 3] = [0, 5, 1];

fn rate_chart(part: &StepFigures, line: &StreamSeries, words: &str) -> Chart {
    // After the planned end the run only drains: there is no rate.
    let offered = part.course.series.at_ns.partition_point(|at| *at < part.time.planned_ns);
    let at = &part.course.series.at_ns[..offered];
    let lines = [&line.asked, &line.achieved].map(|list| {
        thin_out(at, list, |list: &[f64]| (!list.is_empty()).then(|| list.iter().sum::<f64>() / list.len() as f64))
    });
    let highest = lines.iter().flatten().filter_map(|(_, rate)| *rate).fold(1.0, f64::max);
    let [asked, achieved] = lines;
    let marks = line_marks(ASKED, asked).into_iter().chain(line_marks(0, achieved)).collect();
    let y = Axis::with_linear_scale("operations per second", Unit::PerSecond, highest * 1.08);
    Chart { alternative: words.to_owned(), x: time_axis(&part.time), y, height: HEIGHT, marks }
}

/// A figure per minute over time.
pub(crate) fn minutes_chart(part: &StepFigures, it: &PerMinuteFigures) -> Chart {
    let offered = part.course.series.at_ns.partition_point(|at| *at < part.time.planned_ns);
    let places = thin_out(&part.course.series.at_ns[..offered], &it.over_time, |list: &[f64]| {
        (!list.is_empty()).then(|| list.iter().sum::<f64>() / list.len() as f64)
    });
    let (low, high) = places
        .iter()
        .filter_map(|(_, value)| *value)
        .fold((f64::INFINITY, 0f64), |(low, high), value| (low.min(value), high.max(value)));
    let between = if low.is_finite() { format!("between {low:.0} and {high:.0}") } else { "nothing".to_owned() };
    let alternative = format!("{} over time: {between}.", it.name);
    let y = Axis::with_linear_scale(&format!("{} (per minute)", it.name), Unit::PerSecond, high.max(1.0) * 1.08);
    Chart { alternative, x: time_axis(&part.time), y, height: HEIGHT, marks: line_marks(0, places) }
}

/// The dashed series of the rate that was asked for.
const ASKED: usize = 7;

pub(crate) fn time_axis(time: &MeasuredTime) -> Axis {
    Axis::with_linear_scale("measured time (h:mm:ss)", Unit::Clock, time.measured_ns as f64)
}

/// Merges neighbours with `joined`, so that few enough are left.
pub(crate) fn thin_out<T>(at_ns: &[u64], list: &[T], joined: impl Fn(&[T]) -> Option<f64>) -> Places {
    let count = at_ns.len().min(list.len());
    let each = count.div_ceil(POINTS).max(1);
    let stretches = at_ns[..count].chunks(each).zip(list[..count].chunks(each));
    stretches.filter_map(|(at, list)| Some((*at.first()? as f64, joined(list)))).collect()
}

/// A line for each part without a hole.
pub(crate) fn line_marks(series: usize, places: Places) -> Vec<Mark> {
    let stretches = places.split(|(_, value)| value.is_none()).filter(|stretch| !stretch.is_empty());
    let points =
        |stretch: &[(f64, Option<f64>)]| stretch.iter().filter_map(|(at, value)| Some((*at, (*value)?))).collect();
    stretches.map(|stretch| Mark::Line { series, points: points(stretch) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_is_thinned_and_a_hole_stays_one() {
        let at: Vec<u64> = (0..1000).collect();
        let list: Vec<Option<u64>> = (0..1000).map(|n| (n / 100 != 5).then_some(n)).collect();
        let places = thin_out(&at, &list, |list| list.iter().flatten().max().map(|ns| *ns as f64));
        assert!(places.len() <= POINTS && places.len() > POINTS / 2, "{}", places.len());
        assert_eq!(places[0], (0.0, Some(4.0)), "the largest of five");
        assert_eq!(line_marks(0, places).len(), 2);
        assert!(thin_out::<Option<u64>>(&[], &[None], |_| None).is_empty());
    }
}
