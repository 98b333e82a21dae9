//! Data for charts, computed while the log is read: the width of a point follows from the planned time, so that nothing
//! has to be thinned out afterwards and percentiles are never averaged.

use crate::fold::counters::{add_named, sparse_total};
use crate::fold::foreign::ForeignFold;
use crate::fold::layout::Layout;
use crate::fold::meters::Meters;
use crate::fold::per_minute::{counted_operations, rate_per_minute};
use crate::fold::placement::Placed;
use crate::judgement::{Bands, FlowSeries, ForeignFigures, Heat, MeterFigures, Series, StreamSeries};
use assay_base::Span;
use assay_record::{Filled, Header, SHORT_RUN, SHORT_RUN_GROUP, Timing};
use std::collections::BTreeMap;

/// Upper bound on the points of a line.
const POINTS: u64 = 2000;
/// Upper bound on the columns of a heat map.
const COLUMNS: u64 = 240;
/// Distributions are logged about this often, in a run that is not short; bands are not drawn with a finer resolution.
const BAND_NS: u64 = 10_000_000_000;

/// One period of one flow.
#[derive(Clone, Debug, Default)]
struct Point {
    scheduled: u64,
    ok: u64,
    bytes: u64,
    over: u64,
    errors: u64,
    lagged: u64,
    lag_ns: u128,
    lag_max_ns: u64,
    response_max_ns: u64,
    counted: BTreeMap<String, u64>,
}

impl Point {
    fn add(&mut self, other: &Point) {
        self.scheduled = self.scheduled.saturating_add(other.scheduled);
        self.ok = self.ok.saturating_add(other.ok);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.over = self.over.saturating_add(other.over);
        self.errors = self.errors.saturating_add(other.errors);
        self.lagged = self.lagged.saturating_add(other.lagged);
        self.lag_ns = self.lag_ns.saturating_add(other.lag_ns);
        self.lag_max_ns = self.lag_max_ns.max(other.lag_max_ns);
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        add_named(&mut self.counted, &other.counted);
    }

    fn share_over(&self) -> Option<f64> {
        (self.ok > 0).then(|| self.over as f64 / self.ok as f64)
    }
}

/// All that there is along the time.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    /// The lines of the streams.
    pub(crate) series: Series,
    /// The lines of the figures per minute.
    pub(crate) per_minute: Vec<Vec<f64>>,
    /// What else was counted.
    pub(crate) meters: Vec<MeterFigures>,
    /// What others did on the disks.
    pub(crate) foreign: Vec<ForeignFigures>,
}

/// Builds the lines.
#[derive(Clone, Debug)]
pub(crate) struct SeriesFold {
    series: Series,
    meters: Meters,
    foreign: ForeignFold,
    first_over: Option<usize>,
    width_ns: u64,
    point: Option<(u64, u64, Vec<Point>)>,
    per_minute: Vec<Vec<f64>>,
    band_ns: u64,
    band: Option<(u64, Vec<Filled>)>,
    column_ns: u64,
    column: Option<(u64, Vec<Vec<u64>>)>,
}

impl SeriesFold {
    /// Empty lines over the planned measured time; shares are taken over `threshold`.
    pub(crate) fn new(header: &Header, layout: &Layout, threshold: Span) -> SeriesFold {
        let least_band = if layout.planned_ns <= SHORT_RUN.as_ns() { SHORT_RUN_GROUP.as_ns() } else { BAND_NS };
        let heat = Heat { bounds_ns: layout.times.thresholds.bounds_ns().to_vec(), ..Heat::default() };
        let several = layout.targets.len() > 1;
        let series = Series {
            threshold,
            streams: layout.streams.iter().map(|stream| empty_line(&stream.head.name, &heat)).collect(),
            groups: layout.combined.groups.iter().map(|group| empty_line(&group.name, &heat)).collect(),
            flows: if several {
                (0..layout.flows.len())
                    .map(|flow| FlowSeries {
                        stream: layout.stream_of(flow).head.name.clone(),
                        target: layout.target_of(flow).to_owned(),
                        ..FlowSeries::default()
                    })
                    .collect()
            } else {
                Vec::new()
            },
            ..Series::default()
        };
        SeriesFold {
            series,
            meters: Meters::new(header),
            foreign: ForeignFold::new(header),
            first_over: layout.times.thresholds.first_over(threshold),
            width_ns: width_of(layout.planned_ns, POINTS, layout.interval_ns),
            point: None,
            per_minute: vec![Vec::new(); layout.combined.per_minute.len()],
            band_ns: width_of(layout.planned_ns, POINTS / 2, least_band.max(layout.interval_ns)),
            band: None,
            column_ns: width_of(layout.planned_ns, COLUMNS, layout.interval_ns),
            column: None,
        }
    }

    /// Continues with another segment, which may have other meters.
    pub(crate) fn continue_with_segment(&mut self, header: &Header) {
        self.meters.continue_with_segment(header);
        self.foreign.continue_with_segment(header);
    }

    /// Adds an interval.
    pub(crate) fn add_interval(&mut self, placed: &Placed<'_>, layout: &Layout) {
        self.add_point(placed, layout);
        self.add_column(placed, layout);
    }

    fn add_point(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let begin =
            begin_of_point(placed.at_ns, self.width_ns, POINTS).max(self.point.as_ref().map_or(0, |(open, ..)| *open));
        if self.point.as_ref().is_some_and(|(open, ..)| *open != begin) {
            self.close_point(layout);
        }
        let first_over = self.first_over;
        let (_, length, points) =
            self.point.get_or_insert_with(|| (begin, 0, vec![Point::default(); layout.flows.len()]));
        *length = length.saturating_add(placed.length_ns());
        self.meters.add_interval(placed);
        self.foreign.add_interval(placed);
        for (point, flow) in points.iter_mut().zip(&placed.interval.flows) {
            let over = |pair: &&[u64]| first_over.is_some_and(|first| pair[0] >= first as u64);
            let over =
                flow.response.counts.chunks_exact(2).filter(over).fold(0u64, |sum, pair| sum.saturating_add(pair[1]));
            point.add(&Point {
                scheduled: flow.scheduled,
                ok: flow.ok,
                bytes: flow.bytes,
                over,
                errors: flow.failed_operations().saturating_add(flow.short),
                lagged: sparse_total(&flow.lag.counts),
                lag_ns: u128::from(flow.lag.sum_ns),
                lag_max_ns: flow.lag.max_ns,
                response_max_ns: flow.response.max_ns,
                counted: flow.counted.clone(),
            });
        }
    }

    fn close_point(&mut self, layout: &Layout) {
        let Some((begin, length, points)) = self.point.take() else { return };
        self.series.at_ns.push(begin);
        self.series.width_ns.push(length);
        self.meters.end_point();
        self.foreign.end_point();
        let of_groups = layout.combined.groups.iter().map(|group| &group.flows);
        let flows = layout.streams.iter().map(|stream| &stream.flows).chain(of_groups);
        for (line, flows) in all_lines(&mut self.series).zip(flows) {
            let mut sum = Point::default();
            flows.iter().for_each(|&flow| sum.add(&points[flow]));
            line.asked.push(rate_over(sum.scheduled, length));
            line.achieved.push(rate_over(sum.ok, length));
            line.bytes_per_second.push(rate_over(sum.bytes, length));
            line.share_over.push(sum.share_over());
            line.errors.push(sum.errors);
            let mean = sum.lag_ns.checked_div(u128::from(sum.lagged));
            line.lag_mean_ns.push(mean.map(|mean| u64::try_from(mean).unwrap_or(u64::MAX)));
            line.lag_max_ns.push(sum.lag_max_ns);
            line.response_max_ns.push(sum.response_max_ns);
        }
        for (line, planned) in self.per_minute.iter_mut().zip(&layout.combined.per_minute) {
            let own = points.iter().enumerate().map(|(flow, point)| {
                counted_operations(planned, layout.stream_of(flow).head.name.as_str(), point.ok, &point.counted)
            });
            line.push(rate_per_minute(own.fold(0, u64::saturating_add), length).unwrap_or(0.0));
        }
        for (line, point) in self.series.flows.iter_mut().zip(&points) {
            line.achieved.push(rate_over(point.ok, length));
            line.share_over.push(point.share_over());
        }
    }

    fn add_column(&mut self, placed: &Placed<'_>, layout: &Layout) {
        let begin = begin_of_point(placed.at_ns, self.column_ns, COLUMNS)
            .max(self.column.as_ref().map_or(0, |(open, _)| *open));
        if self.column.as_ref().is_some_and(|(open, _)| *open != begin) {
            self.close_column();
        }
        let rows = layout.times.thresholds.bucket_count();
        let streams = layout.streams.len();
        let (_, columns) =
            self.column.get_or_insert_with(|| (begin, vec![vec![0; rows]; streams + layout.combined.groups.len()]));
        for (head, flow) in layout.flows.iter().zip(&placed.interval.flows) {
            // The windows report a bucket that does not exist.
            let stream = usize::from(head.stream);
            let _ = Timing::add_to(&flow.response.counts, &mut columns[stream]);
            for group in layout.groups_of(stream) {
                let _ = Timing::add_to(&flow.response.counts, &mut columns[streams + group]);
            }
        }
    }

    fn close_column(&mut self) {
        let Some((begin, columns)) = self.column.take() else { return };
        for (line, column) in all_lines(&mut self.series).zip(columns) {
            line.heat.at_ns.push(begin);
            line.heat.columns.push(Timing::sparse_counts(&column));
        }
    }

    /// Adds the distribution of one stream's responses, for intervals that begin near `at`.
    pub(crate) fn add_times(&mut self, at: u64, stream: usize, times: &Filled, layout: &Layout) {
        let begin = begin_of_point(at, self.band_ns, POINTS).max(self.band.as_ref().map_or(0, |(open, _)| *open));
        if self.band.as_ref().is_some_and(|(open, _)| *open != begin) {
            self.close_band();
        }
        let streams = self.series.streams.len();
        let (_, bands) =
            self.band.get_or_insert_with(|| (begin, vec![Filled::default(); streams + layout.combined.groups.len()]));
        bands[stream].add(times);
        for group in layout.groups_of(stream) {
            bands[streams + group].add(times);
        }
    }

    fn close_band(&mut self) {
        let Some((begin, bands)) = self.band.take() else { return };
        for (line, times) in all_lines(&mut self.series).zip(bands) {
            let Bands { at_ns, p50_ns, p99_ns, p99_9_ns } = &mut line.bands;
            at_ns.push(begin);
            let values = times.quantiles([0.5, 0.99, 0.999]);
            for (column, value) in [p50_ns, p99_ns, p99_9_ns].into_iter().zip(values) {
                column.push(value.map(Span::as_ns));
            }
        }
    }

    /// Closes the open points; returns what there is along the time.
    pub(crate) fn finish(mut self, layout: &Layout) -> Lines {
        self.close_point(layout);
        self.close_column();
        self.close_band();
        let foreign = self.foreign.finish(&self.series.width_ns);
        Lines { series: self.series, per_minute: self.per_minute, meters: self.meters.finish(), foreign }
    }
}

/// A line without points.
fn empty_line(name: &str, heat: &Heat) -> StreamSeries {
    StreamSeries { stream: name.to_owned(), heat: heat.clone(), ..StreamSeries::default() }
}

/// The width of a point, so that there are at most `most` of them, as a multiple of `least`.
fn width_of(planned_ns: u64, most: u64, least: u64) -> u64 {
    (planned_ns / most).max(least).div_ceil(least).saturating_mul(least).max(1)
}

/// Operations per second of a number in a time.
fn rate_over(n: u64, length: u64) -> f64 {
    if length == 0 { 0.0 } else { n as f64 / (length as f64 / 1e9) }
}

/// The lines of all streams, and behind them those of all groups.
fn all_lines(series: &mut Series) -> impl Iterator<Item = &mut StreamSeries> {
    series.streams.iter_mut().chain(&mut series.groups)
}

/// The begin of the point that `at` belongs to; callers never go back before an open point, so a repeated period is
/// added to it and the number of points stays bounded. What lies beyond the last point (a drain, or a log that is
/// longer than it planned) counts for the last one.
fn begin_of_point(at: u64, width_ns: u64, most: u64) -> u64 {
    (at / width_ns).min(most).saturating_mul(width_ns)
}
