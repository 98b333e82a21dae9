//! The output of `asinfo` about response times, today (`latencies:`) and until version 5 (`latency:`):
//!
//! ```text
//! batch-index:;{ycsb}-read:msec,8850.0,14.90,7.80,0.08,0.00;{ycsb}-write:msec,2951.0,25.77,12.17
//! {ycsb}-read:22:29:59-GMT,ops/sec,>1ms,>8ms,>64ms;22:30:09,8850.0,14.90,0.08,0.00;
//! ```

use super::findings::{Findings, Histogram, Place, Source, Unit};
use super::text::{histogram_name, parse_clock, parse_number};

/// Upper bound on the number of thresholds.
const COLUMNS_MAX: usize = 64;

/// Takes a line of `asinfo`; false for any other line.
pub(super) fn take_line(place: Place, line: &str, found: &mut Findings) -> bool {
    if !line.contains("msec,") && !line.contains("usec,") && !line.contains("bytes,") && !line.contains(",ops/sec") {
        return false;
    }
    let mut taken = false;
    // The old form has the numbers in the next item.
    let mut old: Option<(String, Vec<u64>, bool)> = None;
    for item in line.trim().split(';') {
        if let Some((name, thresholds, filled)) = &mut old
            && let Some((rate, shares)) = values_of(item)
        {
            *filled = true;
            push_histogram(place, name, Unit::Microseconds, thresholds, rate, shares, found);
            taken = true;
            continue;
        }
        if let Some((name, _, false)) = old.take() {
            found.add_remark(place, format!("{name} has no numbers beside its header; it is left out"));
        }
        if let Some((name, unit, rate, shares)) = parse_current_item(item) {
            let scale = if unit == "msec" { 1000 } else { 1 };
            let unit = if unit == "bytes" { Unit::Bytes } else { Unit::Microseconds };
            let thresholds: Vec<u64> = (0..shares.len()).map(|i| scale << i.min(50)).collect();
            push_histogram(place, &name, unit, &thresholds, rate, shares, found);
            taken = true;
        } else if let Some((name, thresholds)) = parse_item_header(item) {
            old = Some((name, thresholds, false));
            taken = true;
        }
    }
    if let Some((name, _, false)) = old {
        found.add_remark(place, format!("{name} has no numbers behind its header; the line is cut"));
    }
    taken
}

fn push_histogram(
    place: Place,
    name: &str,
    unit: Unit,
    thresholds: &[u64],
    rate: f64,
    shares: Vec<f64>,
    found: &mut Findings,
) {
    if shares.len() != thresholds.len() || shares.is_empty() {
        return found.add_remark(
            place,
            format!("{name} has {} shares for {} thresholds; it is left out", shares.len(), thresholds.len()),
        );
    }
    let Some((namespace, rest)) = histogram_name(name) else { return };
    found.count_line("histograms of asinfo");
    found.histograms.push(Histogram {
        namespace,
        name: rest.to_owned(),
        unit,
        over: thresholds.iter().copied().zip(shares).collect(),
        rate: Some(rate),
        place,
        source: Source::Info,
        how: "asinfo, the last seconds before it was called".to_owned(),
    });
}

/// `{ycsb}-read:msec,8850.0,14.90,…`.
fn parse_current_item(item: &str) -> Option<(String, &str, f64, Vec<f64>)> {
    let (name, values) = item.rsplit_once(':')?;
    histogram_name(name)?;
    let (unit, values) = values.split_once(',')?;
    let known = ["msec", "usec", "bytes"].contains(&unit);
    let (rate, shares) = parse_numbers(values).filter(|_| known)?;
    Some((name.trim().to_owned(), unit, rate, shares))
}

/// `{ycsb}-read:22:29:59-GMT,ops/sec,>1ms,>8ms,>64ms`.
fn parse_item_header(item: &str) -> Option<(String, Vec<u64>)> {
    let (head, columns) = item.split_once(",ops/sec,")?;
    let name = head.split(':').next()?;
    histogram_name(name)?;
    let thresholds = columns.split(',').take(COLUMNS_MAX).map(parse_threshold).collect::<Option<Vec<u64>>>()?;
    Some((name.trim().to_owned(), thresholds))
}

/// `>8ms`, in microseconds.
fn parse_threshold(column: &str) -> Option<u64> {
    let column = column.strip_prefix('>')?;
    match column.strip_suffix("ms") {
        Some(digits) => digits.parse::<u64>().ok()?.checked_mul(1000),
        None => column.strip_suffix("us")?.parse().ok(),
    }
}

/// `22:30:09,8850.0,14.90,0.08,0.00`.
fn values_of(item: &str) -> Option<(f64, Vec<f64>)> {
    let (time, values) = item.split_once(',')?;
    parse_clock(time)?;
    parse_numbers(values)
}

/// The rate and the shares after it.
fn parse_numbers(values: &str) -> Option<(f64, Vec<f64>)> {
    let mut numbers = values.split(',').take(COLUMNS_MAX).map(parse_number);
    let rate = numbers.next()??;
    Some((rate, numbers.collect::<Option<Vec<f64>>>()?))
}
