//! The table of slices as ACT prints it: for each slice the share of operations over each threshold, response (which
//! ACT calls `reads`) beside service (`device-reads`), then all complete slices together and the worst of them.
//!
//! Together means over all their operations, so that a slice with more operations weighs more, as in the terminal's
//! table and in the totals. (The mean of the slices' shares, which ACT prints, is in `assay as act_latency`.) This
//! table decides nothing.

use super::figures::{Cell, two_decimals_percent};
use crate::judgement::{Slice, SliceList, SliceStream, SliceTimes, StepFigures, UnkeptBound};
use crate::render::slices::is_over;
use crate::words::clock_text;
use assay_base::{Measure, Span};
use std::collections::BTreeSet;

/// Upper bound on the rows of one table, so that a run with slices of seconds does not produce a page that is too large
/// to open.
const MOST_ROWS: usize = 200;
/// Upper bound on the rows of all tables of single targets together.
const MOST_TARGET_ROWS: usize = 600;

/// The tables of slices.
pub(crate) struct SlicesView<'a> {
    /// One for each stream over all its targets.
    pub together: Vec<SliceTable<'a>>,
    /// One for each target of each stream that a criterion judges, where there are several targets.
    pub per_target: Vec<SliceTable<'a>>,
    /// True when those are too many to show.
    pub per_target_left_out: bool,
}

/// One stream's table.
pub(crate) struct SliceTable<'a> {
    pub stream: &'a str,
    pub target: Option<&'a str>,
    pub thresholds: Vec<Span>,
    pub rows: Vec<SliceRow<'a>>,
    /// Shares over all complete slices: over all their operations, and the largest; response first, then service.
    pub summaries: [(&'static str, Vec<String>); 2],
    pub complete: usize,
    pub left_out: u64,
}

/// One slice.
pub(crate) struct SliceRow<'a> {
    pub slice: &'a Slice,
    /// The place of its figures in the JSON; the cells name theirs relative to it.
    pub at: String,
    pub start: String,
    pub class: &'static str,
    pub state: &'static str,
    pub operations: Cell,
    pub response: Vec<Cell>,
    pub service: Vec<Cell>,
}

/// Which rows the tables show when there are too many: first those with a problem, then the beginning.
pub(crate) fn shown_rows(slices: &[Slice]) -> BTreeSet<usize> {
    let all = 0..slices.len();
    if slices.len() <= MOST_ROWS {
        return all.collect();
    }
    all.clone()
        .filter(|index| !(slices[*index].within && slices[*index].valid && slices[*index].complete))
        .take(MOST_ROWS * 3 / 4)
        .chain(all.take(MOST_ROWS / 4))
        .collect()
}

impl<'a> SlicesView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> SlicesView<'a> {
        let (per_target, per_target_left_out) = per_target(part, root);
        SlicesView { together: tables_together(part, root), per_target, per_target_left_out }
    }
}

/// One table for each stream over all its targets.
fn tables_together<'a>(part: &'a StepFigures, root: &str) -> Vec<SliceTable<'a>> {
    let several = part.targets.each.len() > 1;
    let keys = stream_keys(&part.slices).into_iter().filter(|(_, target)| !several || target.is_none());
    keys.map(|key| slice_table(part, root, key)).collect()
}

/// One table for each target of each stream that a criterion judges; true when there are too many to show.
fn per_target<'a>(part: &'a StepFigures, root: &str) -> (Vec<SliceTable<'a>>, bool) {
    if part.targets.each.len() < 2 {
        return (Vec::new(), false);
    }
    let keys: Vec<_> = stream_keys(&part.slices)
        .into_iter()
        .filter(|(stream, target)| target.is_some() && part.judges_stream(stream))
        .collect();
    if keys.len() * part.slices.listed.len().min(MOST_ROWS) > MOST_TARGET_ROWS {
        return (Vec::new(), true);
    }
    (keys.into_iter().map(|key| slice_table(part, root, key)).collect(), false)
}

/// Streams and targets in the order in which the slices name them.
fn stream_keys(slices: &SliceList) -> Vec<(&str, Option<&str>)> {
    let mut keys = Vec::new();
    for entry in slices.listed.iter().flat_map(|slice| &slice.streams) {
        let key = (entry.stream.as_str(), entry.target.as_deref());
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    keys
}

fn entry_of_stream<'a>(slice: &'a Slice, key: (&str, Option<&str>)) -> Option<(usize, &'a SliceStream)> {
    slice.streams.iter().enumerate().find(|(_, entry)| entry.stream == key.0 && entry.target.as_deref() == key.1)
}

fn slice_table<'a>(part: &'a StepFigures, root: &str, key: (&'a str, Option<&'a str>)) -> SliceTable<'a> {
    let entries = || part.slices.listed.iter().filter_map(move |slice| Some((slice, entry_of_stream(slice, key)?.1)));
    let thresholds: BTreeSet<Span> =
        entries().flat_map(|(_, entry)| entry.response.over.keys().chain(entry.service.over.keys())).copied().collect();
    let thresholds: Vec<Span> = thresholds.into_iter().collect();
    let shown = shown_rows(&part.slices.listed);
    let rows = shown.iter().filter_map(|&index| {
        let slice = &part.slices.listed[index];
        let (at, entry) = entry_of_stream(slice, key)?;
        let over = is_over(part, slice, key.0, key.1);
        Some(slice_row(slice, over, entry, format!("{root}/slices/{index}/streams/{at}"), &thresholds))
    });
    let rows: Vec<SliceRow<'a>> = rows.collect();
    let complete: Vec<&SliceStream> = entries().filter(|(slice, _)| slice.complete).map(|(_, entry)| entry).collect();
    SliceTable {
        stream: key.0,
        target: key.1,
        left_out: part.slices.left_out.saturating_add((part.slices.listed.len() - shown.len()) as u64),
        rows,
        summaries: [
            ("avg of all operations", summary_cells(&complete, &thresholds, false)),
            ("max", summary_cells(&complete, &thresholds, true)),
        ],
        complete: complete.len(),
        thresholds,
    }
}

/// The share over all operations together, or the largest share of any slice, as the terminal shows them.
fn summary_cells(entries: &[&SliceStream], thresholds: &[Span], largest: bool) -> Vec<String> {
    let kinds: [fn(&SliceStream) -> &SliceTimes; 2] = [|entry| &entry.response, |entry| &entry.service];
    kinds
        .into_iter()
        .flat_map(|times| thresholds.iter().map(move |&over| summary_of(entries, times, over, largest)))
        .collect()
}

/// The figure of one column of a summary.
fn summary_of(
    entries: &[&SliceStream],
    times: fn(&SliceStream) -> &SliceTimes,
    threshold: Span,
    largest: bool,
) -> String {
    let counted: Vec<&SliceTimes> =
        entries.iter().map(|entry| times(entry)).filter(|times| times.over.contains_key(&threshold)).collect();
    let over = counted.iter().map(|times| u128::from(times.over[&threshold])).sum::<u128>() as f64;
    let all = counted.iter().map(|times| u128::from(times.operations)).sum::<u128>() as f64;
    let share = if largest {
        counted.iter().filter_map(|times| times.share_over(threshold)).max_by(f64::total_cmp)
    } else {
        (all > 0.0).then_some(over / all)
    };
    share.map_or_else(|| "–".to_owned(), two_decimals_percent)
}

fn slice_row<'a>(slice: &'a Slice, over: bool, entry: &SliceStream, at: String, thresholds: &[Span]) -> SliceRow<'a> {
    // What does not count is not marked.
    let unkept = if slice.complete && slice.valid { entry.unkept.as_slice() } else { &[] };
    let (class, state) = match (slice.complete, slice.valid, over) {
        (false, ..) => ("incomplete", "◌ incomplete"),
        (_, false, _) => ("invalid", "⚠ proves nothing"),
        (.., true) => ("fail", "✗ broken"),
        _ => ("pass", "✓"),
    };
    SliceRow {
        slice,
        at,
        start: clock_text(slice.start_ns),
        class,
        state,
        operations: Cell::from_count(entry.counts.operations, "operations".to_owned()),
        response: time_cells("response", Measure::Response, &entry.response, thresholds, unkept),
        service: time_cells("service", Measure::Service, &entry.service, thresholds, unkept),
    }
}

/// The cells of one measure of a stream in a slice.
fn time_cells(
    name: &str,
    measure: Measure,
    times: &SliceTimes,
    thresholds: &[Span],
    unkept: &[UnkeptBound],
) -> Vec<Cell> {
    let mean = Cell::from_time(times.mean_ns, format!("{name}/mean_ns"));
    let slow = unkept.iter().any(|bound| bound.is_of_mean(measure));
    let ends = [mean.marked_if(slow), Cell::from_time(times.max_ns, format!("{name}/max_ns"))];
    thresholds
        .iter()
        .map(|over| {
            let (json, of) = (format!("{name}/over/{over}"), format!("{name}/operations"));
            let part = times.over.get(over).copied();
            let broken = unkept.iter().any(|bound| bound.is_of_share(measure, *over));
            Cell::from_part(part, times.operations, json, of).marked_if(broken)
        })
        .chain(ends)
        .collect()
}
