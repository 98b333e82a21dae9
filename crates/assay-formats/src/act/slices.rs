//! The latency table by time slices of any ACT log: how many operations of a slice took longer than 2^i units. Counts
//! are exact and percentages are computed from them last, by the rules of ACT's analyzer, so that both give the same
//! numbers.
//!
//! A slice ends at the block whose time is exactly a multiple of the slice's length; the rest after the last whole
//! slice does not count, nor does a block that is cut by the end of the log.

use super::log::{BUCKETS, Block, Header, Item, Log, LogError, Unit};
use super::number;
use assay_base::Span;
use std::fmt::{self, Write};
use std::io::BufRead;

/// One histogram in one slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Operations that ended in the slice.
    pub operations: u64,
    /// The same number by bucket.
    pub buckets: [u64; BUCKETS],
}

impl Counted {
    /// Operations that took 2^`column` units or longer; the column 0 is "over 1 ms" (or 1 µs).
    pub fn count_over(&self, column: usize) -> u64 {
        self.buckets.iter().skip(column + 1).fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The same in percent, rounded as ACT's analyzer of 6.x rounds; 0 where there was no operation.
    pub fn percent_over(&self, column: usize) -> f64 {
        if self.operations == 0 {
            return 0.0;
        }
        number::round_like_python(self.count_over(column) as f64 * 100.0 / self.operations as f64, 2)
    }

    /// Operations per second over a slice of this length, rounded to one decimal.
    pub fn rate_over_slice(&self, slice: Span) -> f64 {
        number::round_like_python(self.operations as f64 / slice.as_secs_f64(), 1)
    }
}

/// One slice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slice {
    /// Its end, from the start of the test.
    pub end: Span,
    /// One cell per histogram, in the order of [`SliceTable::names`].
    pub cells: Vec<Counted>,
}

/// The table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SliceTable {
    /// The unit of the thresholds.
    pub unit: Unit,
    /// Length of a slice: the requested length, rounded up to whole report intervals.
    pub slice: Span,
    /// The histograms.
    pub names: Vec<String>,
    /// The whole slices in order.
    pub slices: Vec<Slice>,
    /// The time of the last complete block: what lies beyond the last whole slice is left over.
    pub end: Span,
}

impl SliceTable {
    /// ACT's `avg` row: the unweighted mean of the slices' rounded percentages; 0 where there is no slice.
    pub fn average_percent_over(&self, histogram: usize, column: usize) -> f64 {
        let sum: f64 = self.column_values(histogram, column).sum();
        sum / self.slices.len().max(1) as f64
    }

    /// ACT's `max` row: the worst slice's percentage.
    pub fn max_percent_over(&self, histogram: usize, column: usize) -> f64 {
        self.column_values(histogram, column).fold(0.0, f64::max)
    }

    fn column_values(&self, histogram: usize, column: usize) -> impl Iterator<Item = f64> {
        let cells = self.slices.iter().filter_map(move |slice| slice.cells.get(histogram));
        cells.map(move |cell| cell.percent_over(column))
    }
}

/// Reads the rest of `log` into a table of the histograms `names`, in slices of about `slice`.
///
/// A histogram that the log does not have gives cells without operations. Fails where reading the log fails, and where
/// a count decreases.
pub fn tabulate_slices<R: BufRead>(log: &mut Log<R>, names: &[String], slice: Span) -> Result<SliceTable, LogError> {
    let slice = whole_intervals(log.header(), slice);
    let mut table =
        SliceTable { unit: log.header().unit, slice, names: names.to_vec(), slices: Vec::new(), end: Span::ZERO };
    let mut before = vec![Counted { operations: 0, buckets: [0; BUCKETS] }; names.len()];
    while let Some(item) = log.next() {
        let Item::Block(block) = item? else {
            continue;
        };
        if !block.complete {
            break;
        }
        table.end = block.after;
        let expected = slice.as_ns().saturating_mul(table.slices.len() as u64 + 1);
        // If the block that ends a slice is missing, the table ends, like the original's.
        if block.after.as_ns() == expected {
            let cells = advance_slice(log, names, &block, &mut before)?;
            table.slices.push(Slice { end: block.after, cells });
        }
    }
    Ok(table)
}

/// The slice's length rounded up to whole report intervals, at least one.
fn whole_intervals(header: &Header, slice: Span) -> Span {
    let interval = header.interval.as_ns().max(1);
    Span::from_ns(slice.as_ns().max(1).div_ceil(interval).saturating_mul(interval))
}

/// The cells of the slice that `block` ends; `before` is updated to the counts at its end.
fn advance_slice<R>(
    log: &Log<R>,
    names: &[String],
    block: &Block,
    before: &mut [Counted],
) -> Result<Vec<Counted>, LogError>
where
    R: BufRead,
{
    let mut cells = Vec::with_capacity(names.len());
    for (name, old) in names.iter().zip(before) {
        let reading = block.readings.iter().find(|reading| log.histogram_names()[reading.histogram] == *name);
        let new = match reading {
            Some(reading) => Counted { operations: reading.total, buckets: reading.buckets },
            None => old.clone(),
        };
        cells.push(count_difference(&new, old).ok_or_else(|| {
            let message = format!("the counts of {name} go down in the block that ends at {}", block.after);
            log.fault_here(message, "give the log of one run, in order")
        })?);
        *old = new;
    }
    Ok(cells)
}

fn count_difference(new: &Counted, old: &Counted) -> Option<Counted> {
    let mut buckets = [0; BUCKETS];
    for (bucket, (new, old)) in buckets.iter_mut().zip(new.buckets.iter().zip(&old.buckets)) {
        *bucket = new.checked_sub(*old)?;
    }
    Some(Counted { operations: new.operations.checked_sub(old.operations)?, buckets })
}

/// Writes the table of `reads` and `device-reads` as the analyzer of ACT 3.0 and 4.0 did, beginning with the line that
/// has the version. It sums percentages of buckets 1 to 16 and, like Python 2, rounds ties away from zero.
pub fn write_old_table(
    header: &Header,
    table: &SliceTable,
    columns: usize,
    every: usize,
    out: &mut dyn Write,
) -> fmt::Result {
    let shown: Vec<usize> = (0..OLD_BUCKETS).step_by(every.max(1)).take(columns.max(1)).collect();
    let labels: String = shown.iter().map(|column| format!("{:>7}", 1u32 << column)).collect();
    let line = " ------".repeat(shown.len());
    let width = labels.len() - 7;
    let unit = if table.unit == Unit::Microseconds { " %>(us)" } else { " %>(ms)" };
    let underline = format!("-----  {line}  {line}");
    writeln!(out, "data is act version {}", header.version)?;
    writeln!(out, "        trans {:width$}   device", "")?;
    writeln!(out, "       {unit}{:width$}  {unit}\nslice  {labels}  {labels}\n{underline}", "")?;
    let rows: Vec<Vec<f64>> = table.slices.iter().map(|slice| old_row(slice, &shown)).collect();
    for (index, row) in rows.iter().enumerate() {
        write_old_row(&(index + 1).to_string(), row, out)?;
    }
    if rows.is_empty() {
        return writeln!(out, "could not find {} seconds of data", table.slice.as_ns() / 1_000_000_000);
    }
    let columns = 0..rows[0].len();
    let sums = columns.clone().map(|i| rows.iter().map(|row| row[i]).fold(0.0, |a, b| a + b));
    let averages: Vec<f64> = sums.map(|sum| sum / rows.len() as f64).collect();
    let maxima: Vec<f64> = columns.map(|i| rows.iter().map(|row| row[i]).fold(0.0, f64::max)).collect();
    writeln!(out, "{underline}")?;
    write_old_row("avg", &averages, out)?;
    write_old_row("max", &maxima, out)
}

/// Buckets the old analyzer knows.
const OLD_BUCKETS: usize = 17;

/// The shown percentages of both histograms, one after the other.
fn old_row(slice: &Slice, shown: &[usize]) -> Vec<f64> {
    slice.cells.iter().take(2).flat_map(|cell| shown.iter().map(move |column| percent_over(cell, *column))).collect()
}

/// The percentage of the operations that took longer than the bound of a column. The parts are rounded one by one and
/// added, as in the original.
fn percent_over(cell: &Counted, column: usize) -> f64 {
    let operations = cell.operations;
    let counts = cell.buckets[column + 1..OLD_BUCKETS].iter();
    let percents = counts.map(|count| if operations == 0 { 0.0 } else { *count as f64 / operations as f64 * 100.0 });
    number::round_away(percents.sum(), 2)
}

fn write_old_row(tag: &str, row: &[f64], out: &mut dyn Write) -> fmt::Result {
    let (left, right) = row.split_at(row.len() / 2);
    writeln!(out, "{tag:>5}  {}  {}", old_cells(left), old_cells(right))
}

fn old_cells(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:7.2}")).collect()
}
