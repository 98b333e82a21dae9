//! Figures in the forms that a profile and its sentences use.

use super::super::findings::{DriveSeen, Findings, Place};
use assay_base::{Bytes, Share, Span};
use assay_model::profile::{Drive, Sourced};
pub(super) use assay_model::profile::{measured_rate, rounded_rate, share_from_percent};

/// The drive of a device: the disk of a partition, without its directory.
pub(super) fn drive_of(device: &str) -> String {
    let name = device.rsplit('/').next().unwrap_or(device);
    // nvme0n1p2, mmcblk0p1
    if let Some((disk, partition)) = name.rsplit_once('p')
        && is_number(partition)
        && disk.ends_with(|c: char| c.is_ascii_digit())
        && ["nvme", "mmcblk", "loop", "md", "nbd"].iter().any(|kind| disk.starts_with(kind))
    {
        return disk.to_owned();
    }
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let lettered = ["sd", "vd", "xvd", "hd"].iter().any(|kind| {
        disk.strip_prefix(kind)
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_lowercase()))
    });
    if lettered { disk.to_owned() } else { name.to_owned() }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A drive as iostat shows it.
pub(super) fn drive_from_iostat(found: &Findings, node: &str, name: &str, seen: &DriveSeen) -> Drive {
    let reports = if seen.reports == 1 { "1 report".to_owned() } else { format!("mean of {} reports", seen.reports) };
    let source = format!("{}, iostat, {reports}", found.place_name(seen.first));
    let [reads, writes] = ["r/s", "w/s"].map(|column| rounded_rate(seen.column_mean(column)?));
    let [read_bytes, write_bytes] = ["rkB/s", "wkB/s"].map(|column| mean_bytes(seen, column));
    let [read_await, write_await] = ["r_await", "w_await"].map(|column| mean_wait(seen, column));
    let [reads_deviation, writes_deviation] = ["r/s", "w/s"].map(|column| relative_deviation(seen, column));
    Drive {
        node: node.to_owned(),
        name: name.to_owned(),
        reads: with_source(reads, &source),
        writes: with_source(writes, &source),
        read_bytes: with_source(read_bytes, &source),
        write_bytes: with_source(write_bytes, &source),
        read_await: with_source(read_await, &source),
        write_await: with_source(write_await, &source),
        reads_deviation: with_source(reads_deviation, &source),
        writes_deviation: with_source(writes_deviation, &source),
        reports: seen.reports,
    }
}

fn with_source<T>(figure: Option<T>, source: &str) -> Option<Sourced<T>> {
    figure.map(|figure| Sourced::new(figure, source))
}

/// The mean of a column in KiB per second, as bytes per second.
fn mean_bytes(seen: &DriveSeen, column: &str) -> Option<Bytes> {
    let bytes = seen.column_mean(column)? * 1024.0;
    // In quarters of a KiB, so that the text agrees with iostat's.
    let bytes = if bytes < 1e6 { bytes.round() } else { (bytes / 256.0).round() * 256.0 };
    (bytes < 1e18).then(|| Bytes::new(bytes as u64))
}

/// The mean of a column in milliseconds.
fn mean_wait(seen: &DriveSeen, column: &str) -> Option<Span> {
    let micros = (seen.column_mean(column)? * 1000.0).round();
    (0.0..1e15).contains(&micros).then(|| Span::from_us(micros as u64))
}

/// The deviation of a column, as a share of its mean.
fn relative_deviation(seen: &DriveSeen, column: &str) -> Option<Share> {
    let deviation = seen.columns.get(column)?.relative_deviation()?;
    Some(share_from_percent((deviation * 1000.0).round() / 10.0))
}

/// `~1543.2/s` for use in a sentence.
pub(super) fn rate_in_words(value: f64) -> String {
    let text = format!("{value:.1}");
    format!("{}/s", text.trim_end_matches('0').trim_end_matches('.'))
}

pub(super) fn place_names(found: &Findings, all: &[Place]) -> Vec<String> {
    let mut places: Vec<String> = all.iter().map(|place| found.place_name(*place)).collect();
    places.dedup();
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_of_devices() {
        for (device, drive) in [
            ("/dev/nvme0n1", "nvme0n1"),
            ("/dev/nvme0n1p2", "nvme0n1"),
            ("/dev/sdb1", "sdb"),
            ("sda", "sda"),
            ("/dev/xvdca2", "xvdca"),
            ("/dev/mapper/data1", "data1"),
            ("dm-3", "dm-3"),
            ("/opt/aerospike/data/bar.dat", "bar.dat"),
            ("md127", "md127"),
            ("", ""),
        ] {
            assert_eq!(drive_of(device), drive, "{device}");
        }
    }
}
