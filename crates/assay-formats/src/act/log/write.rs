//! Writes a log exactly in the format of ACT 6.6: the original analyzer must read ours as it reads its own.

use super::{BUCKETS, DeviceLine};
use crate::act::conf::{Conf, Derived, Kind, write_banner, write_configuration};
use std::fmt::{self, Write};

/// Everything before the devices: banner, the line about processors where the number of service threads was derived
/// from them, and the configuration.
pub fn write_preamble(conf: &Conf, cpus: Option<u32>, out: &mut dyn Write) -> fmt::Result {
    write_banner(conf.kind, out)?;
    if let Some(cpus) = cpus {
        writeln!(out, "detected {cpus} CPUs\n")?;
    }
    write_configuration(conf, out)
}

/// One line per device, when it is discovered.
pub fn write_device(device: &DeviceLine, out: &mut dyn Write) -> fmt::Result {
    write!(out, "{} size = {} bytes", device.name, device.size)?;
    if let Some(blocks) = device.large_blocks {
        write!(out, ", {blocks} large blocks")?;
    }
    if let Some(minimum) = device.minimum_io {
        write!(out, ", minimum IO size = {minimum} bytes")?;
    }
    writeln!(out)
}

/// The histograms of a run, in ACT's order.
pub fn histogram_names(conf: &Conf) -> Vec<String> {
    let writes = conf.write_reqs_per_sec != 0;
    let mut names = Vec::new();
    match (conf.kind, conf.derived_figures()) {
        (Kind::Index, Derived::Index(rates)) => {
            names.extend(group_names(conf, "reads"));
            if rates.cache_reads_and_writes != 0 {
                names.extend(group_names(conf, "writes"));
            }
        }
        _ => {
            if conf.read_reqs_per_sec != 0 {
                names.extend(group_names(conf, "reads"));
            }
            if writes {
                names.extend(["large-block-reads".to_owned(), "large-block-writes".to_owned()]);
            }
            if conf.commit_to_device && writes {
                names.extend(group_names(conf, "writes"));
            }
        }
    }
    names
}

/// The histogram of a direction on all devices, and that on each device.
fn group_names(conf: &Conf, direction: &str) -> Vec<String> {
    let devices = conf.device_names.iter().map(|name| format!("{name}-{direction}"));
    std::iter::once(direction.to_owned()).chain(devices).collect()
}

/// The list of histograms, with the empty lines around it.
pub fn write_histogram_names(names: &[String], out: &mut dyn Write) -> fmt::Result {
    writeln!(out, "\nHISTOGRAM NAMES")?;
    for name in names {
        writeln!(out, "{name}")?;
    }
    writeln!(out)
}

/// One block: each histogram with its counts since the start.
pub fn write_block<'a>(
    after_seconds: u64,
    histograms: impl IntoIterator<Item = (&'a str, &'a [u64; BUCKETS])>,
    out: &mut dyn Write,
) -> fmt::Result {
    writeln!(out, "after {after_seconds} sec:")?;
    for (name, buckets) in histograms {
        write_histogram(name, buckets, out)?;
    }
    writeln!(out)
}

fn write_histogram(name: &str, buckets: &[u64; BUCKETS], out: &mut dyn Write) -> fmt::Result {
    let total = buckets.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
    writeln!(out, "{name} ({total} total)")?;
    let filled: Vec<(usize, u64)> = buckets.iter().copied().enumerate().filter(|(_, count)| *count != 0).collect();
    for line in filled.chunks(4) {
        for (bucket, count) in line {
            write!(out, " ({bucket:02}: {count:010})")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Why ACT stops a test early.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Stop {
    /// Storage: small operations lag.
    Service,
    /// Storage: large-block reads lag.
    LargeBlockReads,
    /// Storage: large-block writes lag.
    LargeBlockWrites,
    /// Index: cache operations lag.
    Cache,
    /// Index: service reads lag.
    Generator,
}

impl Stop {
    /// The lines that ACT prints, including the last line end.
    pub fn printed_text(self) -> &'static str {
        match self {
            Stop::Service => {
                "ERROR: service thread can't keep up\nACT can't do requested load - test stopped\ntry configuring more 'service-threads'\n"
            }
            Stop::LargeBlockReads => "ERROR: large block reads can't keep up\ndrive(s) can't keep up - test stopped\n",
            Stop::LargeBlockWrites => {
                "ERROR: large block writes can't keep up\ndrive(s) can't keep up - test stopped\n"
            }
            Stop::Cache => "ERROR: cache thread device IO can't keep up\ndrive(s) can't keep up - test stopped\n",
            Stop::Generator => {
                "ERROR: read request generator can't keep up\nACT can't do requested load - test stopped\ntry configuring more 'service-threads'\n"
            }
        }
    }
}

/// The line for one failed operation; `text` is the operating system's, such as `Input/output error`.
pub fn io_failed(write: bool, device: &str, errno: i32, text: &str) -> String {
    let verb = if write { "writing" } else { "reading" };
    format!("ERROR: {verb} {device}: {errno} '{text}'\n")
}

/// The line for a device that cannot be opened; ACT ends with 255.
pub fn open_device_failed(device: &str, errno: i32, text: &str) -> String {
    format!("ERROR: open device {device} errno {errno} '{text}'\n")
}

/// The line for a device without a size; ACT ends with 255.
pub fn size_unknown(device: &str) -> String {
    format!("ERROR: {device} ioctl to discover size\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_in_rows_of_four() {
        let mut buckets = [0; BUCKETS];
        let mut out = String::new();
        write_block(3, [("reads", &buckets)], &mut out).unwrap();
        for bucket in [0, 2, 3, 4, 64] {
            buckets[bucket] = bucket as u64 + 7;
        }
        write_block(4, [("a", &buckets)], &mut out).unwrap();
        let expected = "after 3 sec:\nreads (0 total)\n\nafter 4 sec:\na (108 total)\n (00: 0000000007) (02: 0000000009) (03: 0000000010) (04: 0000000011)\n (64: 0000000071)\n\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn names_follow_the_load() {
        let names = |kind, reads, writes, commit| {
            let mut conf = Conf::new(kind);
            conf.device_names = vec!["/a".into(), "/b".into()];
            (conf.read_reqs_per_sec, conf.write_reqs_per_sec, conf.commit_to_device) = (reads, writes, commit);
            histogram_names(&conf).join(" ")
        };
        for (kind, reads, writes, commit, expected) in [
            (Kind::Storage, 1, 1, false, "reads /a-reads /b-reads large-block-reads large-block-writes"),
            (Kind::Storage, 1, 0, true, "reads /a-reads /b-reads"),
            (Kind::Storage, 0, 1, true, "large-block-reads large-block-writes writes /a-writes /b-writes"),
            (Kind::Index, 0, 1, false, "reads /a-reads /b-reads writes /a-writes /b-writes"),
            (Kind::Index, 1, 0, false, "reads /a-reads /b-reads"),
        ] {
            assert_eq!(names(kind, reads, writes, commit), expected);
        }
    }
}
