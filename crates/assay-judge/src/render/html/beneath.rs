//! What was counted beside the operations, such as by the disk below a database: drawn under the operations on one time
//! axis, so that a reader sees which follows which. So is what others did on the disks.

use super::figures::Cell;
use super::still::{line_marks, thin_out, time_axis};
use crate::judgement::{Counted, ForeignFigures, MeterFigures, StepFigures};
use crate::render::chart::{Axis, Chart, Unit, series_class};

const HEIGHT: f64 = 190.0;

/// The section.
pub(crate) struct Beneath {
    pub rows: Vec<Row>,
    pub panels: Vec<Panel>,
}

/// A meter in the table: its name, and each figure with its name.
pub(crate) struct Row {
    pub name: String,
    pub what: String,
    pub figure: Cell,
    pub total: Cell,
}

/// Charts of one unit.
pub(crate) struct Panel {
    pub title: &'static str,
    pub keys: Vec<(String, String)>,
    pub chart: Chart,
}

/// A line: its name, and its value at each point of `Series::at_ns`.
type Line = (String, Vec<Option<f64>>);

/// Nothing where nothing else was counted.
pub(crate) fn view_beneath(part: &StepFigures, root: &str) -> Option<Beneath> {
    if part.targets.meters.is_empty() && used_by_others(part).next().is_none() {
        return None;
    }
    let all = [
        build_panel(part, "Per minute", "per minute", Unit::PerSecond, per_minute(part)),
        build_panel(part, "Operations per second", "per second", Unit::PerSecond, events_lines(part)),
        build_panel(part, "MB per second", "MB per second", Unit::PerSecond, megabytes_lines(part)),
        build_panel(
            part,
            "Mean time of one",
            "mean time",
            Unit::Time,
            of_kind(part, |counted| matches!(counted, Counted::TimeOf(_)), 1.0),
        ),
    ];
    Some(Beneath { rows: counter_rows(part, root), panels: all.into_iter().flatten().collect() })
}

fn counter_rows(part: &StepFigures, root: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, meter) in part.targets.meters.iter().enumerate() {
        let counters = 0..meter.head.counters.len();
        rows.extend(
            counters.filter_map(|index| meter_row(meter, index, format!("{root}/meters/{at}/counted/{index}"))),
        );
    }
    rows.extend(rows_of_others(part, root));
    rows
}

/// The row of a counter of a meter, whose total is at `json` in the result; `None` where it has none.
fn meter_row(meter: &MeterFigures, index: usize, json: String) -> Option<Row> {
    let total = *meter.counted.get(index)?;
    let not_measured = meter.not_measured(index);
    let figure = match not_measured {
        Some(why) => format!("not measured: {why}"),
        None => match meter.mean_figure(index) {
            Some(figure) => meter.figure_in_words(index, figure),
            None => super::figures::ABSENT.to_owned(),
        },
    };
    let label = meter.counter_label(index);
    let (what, total) = match meter.counted_kind(index)? {
        Counted::TimeOf(_) if not_measured.is_some() => (format!("time of each {label}"), Cell::absent()),
        Counted::Events => (label, Cell::from_count(total, json)),
        Counted::Bytes => (format!("bytes {label}"), Cell::from_bytes(total, json)),
        Counted::TimeOf(_) => (format!("time of each {label}"), Cell::from_time(Some(total), json)),
    };
    Some(Row { name: meter.meter_name(), what, figure: Cell::from_text(figure), total })
}

/// The disks on which others did something, each with its place in the result.
fn used_by_others(part: &StepFigures) -> impl Iterator<Item = (usize, &ForeignFigures)> {
    part.targets.foreign.iter().enumerate().filter(|(_, disk)| disk.is_used())
}

/// What others did on each disk.
fn rows_of_others(part: &StepFigures, root: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, disk) in used_by_others(part) {
        let json = format!("{root}/foreign/{at}");
        let figures = [
            ("reads", disk.reads, Cell::from_count(disk.reads, format!("{json}/reads"))),
            ("bytes read", disk.read_bytes, Cell::from_bytes(disk.read_bytes, format!("{json}/read_bytes"))),
            ("writes", disk.writes, Cell::from_count(disk.writes, format!("{json}/writes"))),
            (
                "bytes written",
                disk.written_bytes,
                Cell::from_bytes(disk.written_bytes, format!("{json}/written_bytes")),
            ),
        ];
        let mut figure = if disk.notable_ns > 0 {
            format!("{:.1}% of what the disk did in their time", disk.share * 100.0)
        } else {
            "less than a hundredth".to_owned()
        };
        for (what, _, total) in figures.into_iter().filter(|(_, total, _)| *total > 0) {
            let name = format!("others on {}", disk.head.name);
            rows.push(Row { name, what: what.to_owned(), figure: Cell::from_text(std::mem::take(&mut figure)), total });
        }
    }
    rows
}

/// A line for each disk that others used: one of their figures at each point.
fn of_others(part: &StepFigures, figure: fn(&ForeignFigures) -> &[f64], unit: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for (_, disk) in used_by_others(part) {
        // The points end with the last at which others did something.
        let known = figure(disk).iter().copied().chain(std::iter::repeat(0.0));
        let values = known.take(offered_points(part)).map(|value| Some(value / unit)).collect();
        lines.push((format!("{} others", disk.head.name), values));
    }
    lines
}

/// Bytes of each meter, and of others, in millions a second.
fn megabytes_lines(part: &StepFigures) -> Vec<Line> {
    let mut lines = of_kind(part, |counted| *counted == Counted::Bytes, 1e6);
    lines.extend(of_others(part, |disk| &disk.bytes_per_second, 1e6));
    lines
}

/// The figures per minute, such as of a database.
fn per_minute(part: &StepFigures) -> Vec<Line> {
    part.streams
        .per_minute
        .iter()
        .map(|figure| {
            (figure.name.clone(), figure.over_time.iter().take(offered_points(part)).copied().map(Some).collect())
        })
        .collect()
}

/// The number of points at which load was offered. After the planned end the run only drains, for moments in which a few
/// events would be a rate without meaning.
fn offered_points(part: &StepFigures) -> usize {
    part.course.series.at_ns.partition_point(|at| *at < part.time.planned_ns)
}

/// All operations together first, then the events of each meter.
fn events_lines(part: &StepFigures) -> Vec<Line> {
    let operations = (
        "operations completed".to_owned(),
        (0..offered_points(part))
            .map(|point| {
                Some(part.course.series.streams.iter().filter_map(|line| line.achieved.get(point)).sum::<f64>())
            })
            .collect(),
    );
    let of_meters = of_kind(part, |counted| *counted == Counted::Events, 1.0);
    let of_others = of_others(part, |disk| &disk.operations_per_second, 1.0);
    std::iter::once(operations).chain(of_meters).chain(of_others).collect()
}

/// The lines of the counters of a kind, without those that never rose.
fn of_kind(part: &StepFigures, wanted: impl Fn(&Counted) -> bool, unit: f64) -> Vec<Line> {
    let mut lines = Vec::new();
    for meter in &part.targets.meters {
        for index in (0..meter.head.counters.len())
            .filter(|index| meter.counted.get(*index).is_some_and(|total| *total > 0))
            .filter(|index| meter.counted_kind(*index).is_some_and(|kind| wanted(&kind)))
        {
            let values = part
                .course
                .series
                .width_ns
                .iter()
                .take(offered_points(part))
                .enumerate()
                .map(|(point, width)| {
                    meter
                        .counter_figure(index, |index: usize| *meter.series.get(index)?.get(point)?, *width)
                        .map(|figure| figure / unit)
                })
                .collect();
            lines.push((format!("{} {}", meter.head.name, meter.counter_label(index)), values));
        }
    }
    lines
}

fn build_panel(part: &StepFigures, title: &'static str, axis: &str, unit: Unit, lines: Vec<Line>) -> Option<Panel> {
    let highest = lines.iter().flat_map(|(_, values)| values.iter().flatten()).copied().fold(0.0, f64::max);
    if highest <= 0.0 {
        return None;
    }
    let marks = lines
        .iter()
        .enumerate()
        .flat_map(|(series, (_, values))| {
            line_marks(
                series,
                thin_out(&part.course.series.at_ns[..offered_points(part)], values, |list: &[Option<f64>]| {
                    let known: Vec<f64> = list.iter().flatten().copied().collect();
                    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
                }),
            )
        })
        .collect();
    let keys: Vec<(String, String)> =
        lines.iter().enumerate().map(|(series, (name, _))| (series_class(series), name.clone())).collect();
    let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
    let alternative = format!("{title} over time: {}.", names.join(", "));
    let y = Axis::with_linear_scale(axis, unit, highest * 1.08);
    Some(Panel { title, keys, chart: Chart { alternative, x: time_axis(&part.time), y, height: HEIGHT, marks } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judgement::{Course, MeasuredTime, Series, StreamSeries, TargetFigures};
    use assay_record::MeterHead;

    fn part(series: Vec<Vec<Option<u64>>>) -> StepFigures {
        let counters = ["reads", "read_bytes", "read_ns", "flushes"].map(str::to_owned).to_vec();
        let counted = series.iter().map(|line| line.iter().flatten().sum()).collect();
        let head = MeterHead { name: "vda".into(), kind: "disk".into(), counters, ..MeterHead::default() };
        let achieved = StreamSeries { achieved: vec![3.0, 5.0, 7.0], ..StreamSeries::default() };
        let time = MeasuredTime { planned_ns: 2_000_000_000, measured_ns: 2_000_000_000, ..MeasuredTime::default() };
        let meters = vec![MeterFigures { head, counted, read_ns: 2_000_000_000, series }];
        let series = Series {
            at_ns: vec![0, 1_000_000_000, 2_000_000_000],
            width_ns: vec![1_000_000_000, 1_000_000_000, 1_000],
            streams: vec![achieved.clone(), achieved],
            ..Series::default()
        };
        StepFigures {
            time,
            targets: TargetFigures { meters, ..TargetFigures::default() },
            course: Course { series, ..Course::default() },
            ..StepFigures::default()
        }
    }

    #[test]
    fn the_disk_is_drawn_below_the_operations() {
        let part = part(vec![
            vec![Some(10), Some(30), Some(1)],
            vec![Some(2_000_000), None],
            vec![Some(40_000), Some(0)],
            vec![Some(0), Some(0)],
        ]);
        let lines = events_lines(&part);
        // The third point is a drain.
        assert_eq!(lines[0], ("operations completed".to_owned(), vec![Some(6.0), Some(10.0)]));
        assert_eq!(lines[1], ("vda reads".to_owned(), vec![Some(10.0), Some(30.0)]));
        assert_eq!(lines.len(), 2, "what never happened is not drawn");
        assert_eq!(of_kind(&part, |it| *it == Counted::Bytes, 1e6), [("vda read".to_owned(), vec![Some(2.0), None])]);
        let times = of_kind(&part, |it| matches!(it, Counted::TimeOf(_)), 1.0);
        assert_eq!(times, [("vda read".to_owned(), vec![Some(4_000.0), Some(0.0)])]);
        let drawn = view_beneath(&part, "").unwrap();
        assert_eq!((drawn.panels.len(), drawn.rows.len()), (3, 4));
        assert!(drawn.rows[2].figure.to_string().contains("a read 975 ns"), "{}", drawn.rows[2].figure);
    }

    #[test]
    fn what_others_did_is_drawn_and_listed_where_they_did_anything() {
        let mut part = part(Vec::new());
        part.targets.meters.clear();
        let disk = |name: &str| ForeignFigures {
            head: assay_record::WatchedDisk { name: name.into(), ..Default::default() },
            ..ForeignFigures::default()
        };
        part.targets.foreign = vec![disk("vda"), disk("vdb")];
        assert!(view_beneath(&part, "").is_none(), "nobody did anything");
        part.targets.foreign[1] = ForeignFigures {
            reads: 90,
            read_bytes: 90 << 20,
            share: 0.25,
            notable_ns: 1,
            operations_per_second: vec![90.0],
            bytes_per_second: vec![9e6],
            ..disk("vdb")
        };
        let drawn = view_beneath(&part, "/part").unwrap();
        let told: Vec<(&str, &str)> = drawn.rows.iter().map(|row| (row.name.as_str(), row.what.as_str())).collect();
        assert_eq!(told, [("others on vdb", "reads"), ("others on vdb", "bytes read")]);
        assert!(drawn.rows[0].figure.to_string().contains("25.0% of what the disk did"), "{}", drawn.rows[0].figure);
        assert!(drawn.rows[0].total.to_string().contains("/part/foreign/1/reads"), "{}", drawn.rows[0].total);
        assert_eq!(events_lines(&part)[1], ("vdb others".to_owned(), vec![Some(90.0), Some(0.0)]));
        assert_eq!(megabytes_lines(&part), [("vdb others".to_owned(), vec![Some(9.0), Some(0.0)])]);
    }

    #[test]
    fn nothing_is_drawn_of_what_was_not_counted() {
        assert!(view_beneath(&StepFigures::default(), "").is_none());
        let hostile = part(vec![vec![None, Some(u64::MAX)], Vec::new(), vec![Some(1)]]);
        let drawn = view_beneath(&hostile, "").unwrap();
        let text: String = drawn.panels.iter().map(|panel| panel.chart.to_string()).collect();
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }
}
