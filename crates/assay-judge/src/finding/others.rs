//! What others did on a disk of the run, or to a database, in words: which one, how much of what, and when.

use crate::words::{clock_text, list_in_words};
use assay_record::DiskWork;
use std::fmt;

/// The use of one disk by others.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct OthersUse {
    /// The disk, or the database, as the log names it.
    pub(crate) name: String,
    /// What they did in these stretches, at least.
    pub(crate) work: DiskWork,
    /// How often a transaction of the run met their lock on the database; 0 where it is about a disk.
    pub(crate) locked: u64,
    /// For how long they did it, in nanoseconds.
    pub(crate) ns: u64,
    /// When, in measured time: begin and end of each stretch.
    pub(crate) stretches: Vec<Stretch>,
    /// Number of further stretches.
    pub(crate) more: u64,
}

/// A stretch of measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Begin in nanoseconds.
    pub(crate) from_ns: u64,
    /// End in nanoseconds; the begin for one that lies in the warm-up.
    pub(crate) to_ns: u64,
}

/// Number of stretches that a sentence names.
const NAMED: usize = 4;
/// Later times are said as on a clock.
const IN_SECONDS_NS: u64 = 600_000_000_000;
/// From so many bytes per second on, a rate of bytes says more than one of operations.
const MUCH: f64 = 500_000.0;

impl OthersUse {
    /// `150 MB/s read, 20 writes/s`
    fn amounts_text(&self) -> String {
        let DiskWork { reads, read_bytes, writes, written_bytes, discards, flushes, .. } = self.work;
        let all = [
            self.moved_text(reads, read_bytes, "read", "reads"),
            self.moved_text(writes, written_bytes, "written", "writes"),
            self.counted_text(discards, "discards"),
            self.counted_text(flushes, "flushes"),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// The rate of what was counted.
    fn rate_per_second(&self, n: u64) -> f64 {
        let seconds = (self.ns.max(1)) as f64 / 1e9;
        n as f64 / seconds
    }

    /// `150 MB/s read`, or `20 reads/s` where the bytes are few.
    fn moved_text(&self, operations: u64, bytes: u64, moved: &str, of: &str) -> Option<String> {
        match self.rate_per_second(bytes) {
            much if much >= MUCH => Some(format!("{} MB/s {moved}", rounded_text(much / 1e6))),
            _ if operations > 0 => Some(format!("{} {of}/s", rounded_text(self.rate_per_second(operations)))),
            some if some > 0.0 => Some(format!("{} kB/s {moved}", rounded_text(some / 1e3))),
            _ => None,
        }
    }

    /// `20 flushes/s`
    fn counted_text(&self, n: u64, of: &str) -> Option<String> {
        (n > 0).then(|| format!("{} {of}/s", rounded_text(self.rate_per_second(n))))
    }

    /// `in seconds 4 to 9 and 15 to 17`
    fn times_text(&self) -> String {
        let named = &self.stretches[..self.stretches.len().min(NAMED)];
        if named.iter().all(|stretch| stretch.from_ns == stretch.to_ns) {
            return "in the warm-up".to_owned();
        }
        let late = named.iter().any(|stretch| stretch.to_ns > IN_SECONDS_NS);
        let said: Vec<String> = named
            .iter()
            .map(|stretch| {
                format!("{} to {}", time_in_words(stretch.from_ns, late), time_in_words(stretch.to_ns, late))
            })
            .collect();
        let more = self.more + (self.stretches.len() - named.len()) as u64;
        let more = if more > 0 { format!(" and {more} more times") } else { String::new() };
        let list = list_in_words(&said);
        format!("{} {list}{more}", if late { "from" } else { "in seconds" })
    }
}

fn time_in_words(ns: u64, late: bool) -> String {
    if late { clock_text(ns) } else { rounded_text(ns as f64 / 1e9) }
}

impl fmt::Display for OthersUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, times) = (&self.name, self.times_text());
        match self.locked {
            0 => write!(f, "another program used {name}: {} {times}", self.amounts_text()),
            n => write!(f, "somebody else held a lock on {name}, which transactions met {n} times {times}"),
        }
    }
}

/// Whole from ten on, and with a digit below.
fn rounded_text(n: f64) -> String {
    let text = if n >= 10.0 { format!("{n:.0}") } else { format!("{n:.1}") };
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn used(work: DiskWork, stretches: &[(u64, u64)]) -> String {
        let ns = stretches.iter().map(|(from, to)| (to - from) * SECOND).sum();
        let stretch = |(from, to): &(u64, u64)| Stretch { from_ns: from * SECOND, to_ns: to * SECOND };
        let stretches = stretches.iter().map(stretch).collect();
        OthersUse { name: "vda".into(), work, locked: 0, ns, stretches, more: 0 }.to_string()
    }

    #[test]
    fn it_says_which_disk_how_much_and_when() {
        let read = DiskWork { reads: 5000, read_bytes: 750_000_000, ..DiskWork::default() };
        assert_eq!(used(read, &[(4, 9)]), "another program used vda: 150 MB/s read in seconds 4 to 9");
        let mixed = DiskWork { writes: 30, written_bytes: 120_000, flushes: 5, ..read };
        assert_eq!(
            used(mixed, &[(4, 5), (7, 8), (20, 23)]),
            "another program used vda: 150 MB/s read, 6 writes/s, 1 flushes/s in seconds 4 to 5, 7 to 8 and 20 to 23"
        );
        let late = DiskWork { discards: 7, ..DiskWork::default() };
        assert_eq!(used(late, &[(18_000, 18_010)]), "another program used vda: 0.7 discards/s from 5:00:00 to 5:00:10");
        let often: Vec<(u64, u64)> = (0..7).map(|turn| (turn * 10, turn * 10 + 1)).collect();
        assert!(used(read, &often).ends_with("in seconds 0 to 1, 10 to 11, 20 to 21 and 30 to 31 and 3 more times"));
        assert!(used(read, &[(0, 0)]).ends_with("in the warm-up"));
    }
}
