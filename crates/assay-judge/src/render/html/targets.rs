//! The targets: what they are, what their block devices counted, and how each compares with the others.

use super::figures::{Cell, two_decimals_percent};
use super::multiples::{self, Multiples};
use super::ranks::RanksView;
use crate::judgement::{StepFigures, StreamTotals, TargetTotals};
use assay_base::Bytes;

/// One target and its facts.
pub(crate) struct TargetRow<'a> {
    pub target: &'a TargetTotals,
    pub size: String,
    pub written: Cell,
    pub read: Cell,
    /// Bytes written as multiples of the target's size; `None` for a target without a size.
    pub drive_writes: Option<String>,
    pub prepared: Option<String>,
    /// Difference between the block device's counters and our own.
    pub disk: Option<String>,
}

/// The targets beside each other, where there are several.
pub(crate) struct BesideView<'a> {
    pub tables: Vec<TargetTable<'a>>,
    pub multiples: Vec<Multiples<'a>>,
    pub ranks: RanksView<'a>,
}

/// One stream on each of several targets.
pub(crate) struct TargetTable<'a> {
    pub stream: &'a str,
    pub rows: Vec<FigureRow<'a>>,
}

/// One stream on one target.
pub(crate) struct FigureRow<'a> {
    pub target: &'a str,
    pub outlier: Option<String>,
    pub cells: Vec<Cell>,
}

impl<'a> BesideView<'a> {
    pub(crate) fn new(part: &'a StepFigures, root: &str) -> BesideView<'a> {
        BesideView {
            tables: target_tables(part, root),
            multiples: multiples::small_multiples(part),
            ranks: RanksView::new(part, root),
        }
    }
}

/// All targets.
pub(crate) fn target_rows<'a>(part: &'a StepFigures, root: &str) -> Vec<TargetRow<'a>> {
    let targets = &part.targets;
    let counts_bytes = !part.lacks_bytes();
    targets.each.iter().enumerate().map(|(index, target)| target_row(index, target, root, counts_bytes)).collect()
}

/// The row of one target.
fn target_row<'a>(index: usize, target: &'a TargetTotals, root: &str, counts_bytes: bool) -> TargetRow<'a> {
    TargetRow {
        target,
        size: Bytes::new(target.head.size_bytes).human_text(),
        written: bytes_or_absent(target.written_bytes, format!("{root}/targets/{index}/written_bytes"), counts_bytes),
        read: bytes_or_absent(target.read_bytes, format!("{root}/targets/{index}/read_bytes"), counts_bytes),
        drive_writes: (target.head.size_bytes > 0 && counts_bytes)
            .then(|| format!("{:.2}", target.written_bytes as f64 / target.head.size_bytes as f64)),
        prepared: target.head.prepared.as_ref().map(|prepared| {
            let [salted, zeroed] = [prepared.salted_bytes, prepared.zeroed_bytes].map(|n| Bytes::new(n).human_text());
            let blocks = prepared.verified_blocks;
            format!("finished {}: {salted} salted, {zeroed} zeroed, {blocks} blocks read back", prepared.finished)
        }),
        disk: target.disk.as_ref().map(|disk| two_decimals_percent(disk.mismatch)),
    }
}

/// A number of bytes, where operations have bytes.
fn bytes_or_absent(n: u64, at: String, counts_bytes: bool) -> Cell {
    if counts_bytes { Cell::from_bytes(n, at) } else { Cell::absent() }
}

/// A table for each stream that runs on several targets.
fn target_tables<'a>(part: &'a StepFigures, root: &str) -> Vec<TargetTable<'a>> {
    let mut tables: Vec<TargetTable<'a>> = Vec::new();
    for (index, totals) in part.streams.each.iter().enumerate() {
        let Some(target) = totals.target.as_deref().filter(|_| part.targets.each.len() > 1) else { continue };
        let outlier = multiples::find_outlier(part, &totals.name, target);
        let outlier = outlier.map(|outlier| format!("{:.1}× the others' {}", outlier.factor, outlier.by));
        let figures = FigureRow { target, outlier, cells: total_cells(totals, &format!("{root}/streams/{index}")) };
        match tables.iter_mut().find(|table| table.stream == totals.name) {
            Some(table) => table.rows.push(figures),
            None => tables.push(TargetTable { stream: &totals.name, rows: vec![figures] }),
        }
    }
    tables
}

fn total_cells(totals: &StreamTotals, at: &str) -> Vec<Cell> {
    let counts = &totals.counts;
    let bad = counts.failed_operations().saturating_add(counts.short);
    vec![
        Cell::from_rate(totals.rate_achieved, format!("{at}/rate_achieved")),
        Cell::from_count(counts.operations, format!("{at}/operations")),
        Cell::from_count(bad, String::new()).marked_if(bad > 0),
        response_cell(at, "mean_ns", totals.response.mean_ns),
        response_cell(at, "p99_ns", totals.response.p99_ns),
        response_cell(at, "p99_9_ns", totals.response.p99_9_ns),
        response_cell(at, "max_ns", totals.response.max_ns),
        Cell::from_time(totals.service.p99_ns, format!("{at}/service/p99_ns")),
    ]
}

/// A time of the response, which is at this path in the result.
fn response_cell(at: &str, field: &str, ns: Option<u64>) -> Cell {
    Cell::from_time(ns, format!("{at}/response/{field}"))
}
