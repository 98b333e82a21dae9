//! The section on databases: figures per minute, what else the operations report, and the settings.

use super::figures::Cell;
use super::still;
use crate::judgement::{DatabaseFigures, PerMinuteFigures, StepFigures, StreamFigures};
use crate::render::chart::Chart;

/// What the section shows; nothing of it for other targets.
pub(crate) struct DatabaseView<'a> {
    pub minutes: Vec<MinuteView<'a>>,
    /// Stream, name and number.
    pub counted: Vec<(&'a str, &'a str, u64)>,
    pub databases: &'a [DatabaseFigures],
}

/// A figure per minute, with its chart.
pub(crate) struct MinuteView<'a> {
    pub name: &'a str,
    pub value: Cell,
    /// The same on each target, with its name, where there are several.
    pub targets: Vec<(String, Cell)>,
    pub chart: Chart,
}

impl<'a> DatabaseView<'a> {
    pub(crate) fn new(part: &'a StepFigures) -> DatabaseView<'a> {
        DatabaseView {
            minutes: minute_views(part),
            counted: counted_by_name(&part.streams),
            databases: &part.databases,
        }
    }

    /// True when the target is a database, or there are figures per minute.
    pub(crate) fn is_there(&self) -> bool {
        !self.databases.is_empty() || !self.minutes.is_empty()
    }
}

fn minute_views(part: &StepFigures) -> Vec<MinuteView<'_>> {
    let mut views = Vec::new();
    for figure in &part.streams.per_minute {
        let on_each = part.databases.iter().zip(&figure.targets).map(|(database, value)| {
            (
                format!("{} on {}", figure.name, database.head.url),
                Cell::from_figure(PerMinuteFigures::value_text(*value)),
            )
        });
        views.push(MinuteView {
            name: &figure.name,
            value: Cell::from_figure(figure.figure_text()),
            targets: on_each.collect(),
            chart: still::minutes_chart(part, figure),
        });
    }
    views
}

/// What else the operations of each stream report.
fn counted_by_name(streams: &StreamFigures) -> Vec<(&str, &str, u64)> {
    let each = streams.streams_over_all_targets();
    each.flat_map(|stream| stream.counts.counted.iter().map(move |(name, n)| (stream.name.as_str(), name.as_str(), *n)))
        .collect()
}
