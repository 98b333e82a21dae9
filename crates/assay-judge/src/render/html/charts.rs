//! Which charts a stream has, and a description of each for readers who cannot see it.

use super::bounds::bound_over;
use super::figures::megabytes_text;
use super::figures::{per_second, time_text, two_decimals_percent};

use super::still::{Still, still_charts};
use crate::judgement::{StepFigures, StreamFigures, StreamSeries, StreamTotals};
use crate::words::clock_text;
use assay_base::Span;

/// The charts of a stream; the script finds their data by these indices.
pub(crate) struct StreamCharts<'a> {
    pub stream: &'a str,
    /// `streams` or `groups`: the member of the result, and of its series, that has the figures.
    pub of: &'static str,
    /// Index into that member of the series.
    pub series: usize,
    /// Index into that member of the result; -1 when there are no totals.
    pub totals: i64,
    /// Judged by a criterion, so shown immediately.
    pub judged: bool,
    pub threshold: Span,
    /// The share that the criterion allows over the threshold; empty without a criterion.
    pub bound: String,
    pub errors: bool,
    /// Whether it was counted at all: where it was counted but has no chart, it was always zero, and a sentence says
    /// so.
    pub over_counted: bool,
    pub lag_counted: bool,
    /// Descriptions of the charts; `None` where there is nothing to draw.
    pub response: Option<String>,
    pub share: Option<String>,
    pub rate: String,
    pub bytes: Option<String>,
    pub lag: Option<String>,
    pub heat: Option<String>,
    pub nines: Option<String>,
    /// Charts for a reader without scripts, of the streams that are shown immediately.
    pub still: Option<Still>,
}

/// Where no stream is judged, the charts of so many are shown immediately: of twenty, nobody would find anything.
const UNJUDGED_SHOWN: usize = 3;

/// The charts of all groups of streams, then of all streams.
pub(crate) fn all_charts(part: &StepFigures) -> Vec<StreamCharts<'_>> {
    // A group stands for its streams.
    let none_judged = part.streams.groups.is_empty()
        && !part.course.series.streams.iter().any(|line| part.judges_stream(&line.stream));
    let groups = part.course.series.groups.iter().enumerate().map(|(index, line)| {
        let totals = part.streams.groups.get(index).map(|totals| (index, totals));
        with_still_charts(part, StreamCharts { of: "groups", ..stream_charts(part, index, line, totals) }, line, true)
    });
    let streams = part.course.series.streams.iter().enumerate().map(|(index, line)| {
        let is_first = none_judged && index < UNJUDGED_SHOWN;
        let totals = totals_of(&part.streams, &line.stream).map(|index| (index, &part.streams.each[index]));
        with_still_charts(
            part,
            stream_charts(part, index, line, totals),
            line,
            part.judges_stream(&line.stream) || is_first,
        )
    });
    groups.chain(streams).collect()
}

/// The charts of one, with those for a reader without scripts where it is shown immediately.
fn with_still_charts<'a>(
    part: &StepFigures,
    charts: StreamCharts<'a>,
    line: &StreamSeries,
    judged: bool,
) -> StreamCharts<'a> {
    let still = judged.then(|| still_charts(part, line, (charts.response.as_ref(), &charts.rate)));
    StreamCharts { judged, still, ..charts }
}

fn stream_charts<'a>(
    part: &StepFigures,
    series: usize,
    line: &'a StreamSeries,
    totals: Option<(usize, &StreamTotals)>,
) -> StreamCharts<'a> {
    let (index, totals) = totals.unzip();
    let bound = bound_over(part, &line.stream, part.course.series.threshold);
    StreamCharts {
        stream: &line.stream,
        of: "streams",
        series,
        totals: index.map_or(-1, |index| i64::try_from(index).unwrap_or(-1)),
        judged: false,
        threshold: part.course.series.threshold,
        bound: bound.map(|share| share.to_string()).unwrap_or_default(),
        errors: line.errors.iter().any(|n| *n > 0),
        over_counted: line.share_over.iter().flatten().next().is_some(),
        lag_counted: line.lag_mean_ns.iter().flatten().next().is_some(),
        response: response_in_words(line),
        share: share_in_words(line, bound),
        rate: rate_in_words(line),
        bytes: totals.and_then(|totals| bytes_in_words(line, totals)),
        lag: lag_in_words(line),
        heat: heat_in_words(line),
        nines: totals.and_then(nines_in_words),
        still: None,
    }
}

/// Index of a stream's totals over all targets.
fn totals_of(streams: &StreamFigures, stream: &str) -> Option<usize> {
    let mine = |totals: &StreamTotals| totals.name == stream;
    let together = streams.each.iter().position(|totals| mine(totals) && totals.target.is_none());
    together.or_else(|| streams.each.iter().position(mine))
}

/// Smallest and largest of the counted values.
fn smallest_and_largest<T: Copy + PartialOrd>(values: impl Iterator<Item = T>) -> Option<(T, T)> {
    values.fold(None, |ends, value| match ends {
        None => Some((value, value)),
        Some((low, high)) => Some((if value < low { value } else { low }, if value > high { value } else { high })),
    })
}

fn response_in_words(line: &StreamSeries) -> Option<String> {
    let bands = [("p50", &line.bands.p50_ns), ("p99", &line.bands.p99_ns), ("p99.9", &line.bands.p99_9_ns)];
    let in_words = bands.into_iter().filter_map(|(name, list)| {
        let (low, high) = smallest_and_largest(list.iter().flatten().copied())?;
        Some(format!("{name} between {} and {}", time_text(low), time_text(high)))
    });
    let in_words: Vec<String> = in_words.collect();
    (!in_words.is_empty()).then(|| format!("Response of {} over time: {}.", line.stream, in_words.join(", ")))
}

/// Nothing to draw where nothing was over the threshold and no criterion bounds it.
fn share_in_words(line: &StreamSeries, bound: Option<f64>) -> Option<String> {
    let (low, high) = smallest_and_largest(line.share_over.iter().flatten().copied())?;
    let bound_text = bound.map(|bound| format!("; the bound is {}", two_decimals_percent(bound))).unwrap_or_default();
    (high > 0.0 || bound.is_some()).then(|| {
        format!(
            "Share of slow responses of {} over time: between {} and {}{bound_text}.",
            line.stream,
            two_decimals_percent(low),
            two_decimals_percent(high)
        )
    })
}

fn rate_in_words(line: &StreamSeries) -> String {
    let ends = smallest_and_largest(line.achieved.iter().copied());
    let in_words = ends
        .map_or("nothing".to_owned(), |(low, high)| format!("between {} and {}", per_second(low), per_second(high)));
    let errors = line.errors.iter().fold(0u64, |sum, n| sum.saturating_add(*n));
    let errors = if errors > 0 { format!("; {errors} failed or short") } else { String::new() };
    format!("Operations per second of {} over time: {in_words} achieved{errors}.", line.stream)
}

fn bytes_in_words(line: &StreamSeries, totals: &StreamTotals) -> Option<String> {
    let mean = totals.bytes_per_second().filter(|_| totals.counts.bytes > 0)?;
    Some(format!("Throughput of {} over time: {} MB/s on average.", line.stream, megabytes_text(mean)))
}

/// Nothing to draw where nothing ever lagged.
fn lag_in_words(line: &StreamSeries) -> Option<String> {
    let most = line.lag_max_ns.iter().copied().max().unwrap_or(0);
    (most > 0).then(|| format!("Lag of {} over time: at most {}.", line.stream, time_text(most)))
}

fn heat_in_words(line: &StreamSeries) -> Option<String> {
    let heat = &line.heat;
    let counts = || heat.columns.iter().flat_map(|column| column.chunks_exact(2));
    let (low, high) = smallest_and_largest(counts().map(|pair| pair[0]))?;
    let bound = |row: u64| usize::try_from(row).ok().and_then(|row| heat.bounds_ns.get(row)).copied();
    let from = low.checked_sub(1).and_then(bound).map_or("nothing".to_owned(), time_text);
    let to = bound(high).map_or("times above its range".to_owned(), time_text);
    let most = counts().map(|pair| pair[1]).max().unwrap_or(0);
    let columns = heat.at_ns.len();
    (!heat.bounds_ns.is_empty()).then(|| {
        format!(
            "Heat map of the responses of {}: {columns} intervals up to {}, responses from {from} to {to}, at most {most} operations in one cell.",
            line.stream,
            clock_text(heat.at_ns.last().copied().unwrap_or(0)),
        )
    })
}

fn nines_in_words(totals: &StreamTotals) -> Option<String> {
    let (response, service) = (nines_of(&totals.response), nines_of(&totals.service));
    (!totals.response.nines.is_empty())
        .then(|| format!("Distribution of {}: response {response}; service {service}.", totals.name))
}

/// The percentiles of one measure, in words.
fn nines_of(times: &crate::judgement::TimesSummary) -> String {
    let all = [
        named_time("p50", times.p50_ns),
        named_time("p99", times.p99_ns),
        named_time("p99.9", times.p99_9_ns),
        named_time("max", times.max_ns),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// `p99 1.23 ms`
fn named_time(name: &str, ns: Option<u64>) -> Option<String> {
    ns.map(|ns| format!("{name} {}", time_text(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_nothing_of_is_not_drawn() {
        let quiet = StreamSeries {
            stream: "reads".into(),
            lag_max_ns: vec![0, 0],
            share_over: vec![Some(0.0), None],
            ..StreamSeries::default()
        };
        assert_eq!(
            (lag_in_words(&quiet), share_in_words(&quiet, None), response_in_words(&quiet), heat_in_words(&quiet)),
            (None, None, None, None)
        );
        assert_eq!(
            share_in_words(&quiet, Some(0.05)).unwrap(),
            "Share of slow responses of reads over time: between 0.00% and 0.00%; the bound is 5.00%."
        );
        let late = StreamSeries { lag_max_ns: vec![0, 7], ..quiet };
        assert_eq!(lag_in_words(&late).unwrap(), "Lag of reads over time: at most 7 ns.");
    }
}
