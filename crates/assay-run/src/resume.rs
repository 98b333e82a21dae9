//! Finds out what an interrupted log already contains, so that a run can continue where it stopped.
//!
//! Complete slices count; the one that was cut is measured again. A new segment marks the gap and says how much of the
//! step precedes it.

use crate::failure::{Failure, shown};
use crate::reading;
use assay_base::Span;
use assay_record::{CloseReason, Entry, Header, PhaseKind};
use std::fs::File;
use std::path::Path;

/// One step, as far as a log contains it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Header of its first segment.
    pub first: Header,
    /// Measured time planned for the whole step, nanoseconds.
    pub planned_ns: u64,
    /// Measured time that counts: complete slices, nanoseconds.
    pub measured_ns: u64,
    /// How its last segment ended; `None` when it was cut off.
    pub closed: Option<CloseReason>,
    /// Segments so far.
    pub segments: u64,
}

impl Held {
    /// True when nothing of it remains to be run: it was completed, or ended with a verdict that more time cannot
    /// change.
    pub fn is_over(&self) -> bool {
        !matches!(self.closed, None | Some(CloseReason::Interrupted | CloseReason::LogFailed))
    }

    /// Where it continues: where a slice and a window of every criterion begin, so that each is measured completely,
    /// with at least one slice left to run.
    pub(crate) fn resume_at_ns(&self) -> u64 {
        let windows = self.first.criteria.iter().filter_map(|criterion| criterion.window).map(Span::as_ns);
        let mut within = windows.filter(|window| (1..self.planned_ns).contains(window));
        let all = within.try_fold(self.first.slice_ns.max(1), common_multiple);
        // Where they only begin together after the end, it starts from the beginning.
        let Some(step) = all else { return 0 };
        self.measured_ns.min(self.planned_ns.saturating_sub(1)) / step * step
    }
}

/// The least common multiple; `None` where it is too large.
fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

/// What a log contains.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Its steps in order; a plain run is one.
    pub steps: Vec<Held>,
    /// Number of the line that would follow.
    pub next_seq: u64,
    /// Bytes up to the end of the last whole line.
    pub length: u64,
    /// Bytes of an incomplete last line, which is dropped.
    pub torn: u64,
}

/// Reads a log that was opened at `path` and not read yet. A log that is damaged in the middle cannot be continued.
pub fn scan(file: &File, path: &Path) -> Result<Scan, Failure> {
    let mut reader = reading::reader(file);
    let mut scan = Scan::default();
    let unreadable =
        |e: &dyn std::fmt::Display| Failure::workload(format!("the log {} cannot be continued: {e}", shown(path)));
    let mut segment = Segment::default();
    while let Some(item) = reader.next_entry().map_err(|e| unreadable(&e))? {
        match item {
            Ok(entry) => segment.take(entry, &mut scan.steps),
            Err(damage) if damage.torn_tail => {
                scan.torn = reader.offset() - damage.offset;
                break;
            }
            Err(damage) => return Err(unreadable(&damage)),
        }
        scan.length = reader.offset();
        scan.next_seq = reader.next_seq();
    }
    if scan.steps.is_empty() {
        return Err(unreadable(&"it holds no run"));
    }
    Ok(scan)
}

/// The segment being read.
#[derive(Debug, Default)]
struct Segment {
    phases: Vec<PhaseKind>,
    before_ns: u64,
    measure_start: Option<u64>,
}

impl Segment {
    fn take(&mut self, entry: Entry, steps: &mut Vec<Held>) {
        match entry {
            Entry::Header(header) => self.open(*header, steps),
            Entry::Interval(interval) => {
                if self.phases.get(usize::from(interval.phase)) == Some(&PhaseKind::Measure) {
                    let start = *self.measure_start.get_or_insert(interval.start_ns);
                    if let Some(held) = steps.last_mut() {
                        held.measured_ns = (self.before_ns + (interval.end_ns - start)).min(held.planned_ns);
                    }
                }
            }
            Entry::Close(close) => {
                if let Some(held) = steps.last_mut() {
                    held.closed = Some(close.reason);
                }
            }
            Entry::Histograms(_) | Entry::Event(_) => {}
        }
    }

    fn open(&mut self, header: Header, steps: &mut Vec<Held>) {
        self.phases = header.phases.iter().map(|phase| phase.kind).collect();
        self.before_ns = header.measured_before_ns;
        self.measure_start = None;
        match steps.last_mut() {
            Some(held) if header.continues => {
                held.segments += 1;
                held.closed = None;
                held.measured_ns = header.measured_before_ns;
            }
            _ => {
                let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
                let planned_ns = measured.map(|phase| phase.span_ns).sum();
                steps.push(Held { first: header, planned_ns, measured_ns: 0, closed: None, segments: 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Adjust;

    #[test]
    fn it_goes_on_where_all_windows_begin() {
        let second = 1_000_000_000;
        let plan = crate::workloads::find("random-read").unwrap().plan(&Adjust::default()).unwrap();
        let header = crate::header::header(&plan, crate::header::HeaderFacts::default());
        for (slice, windows, measured, at) in [
            (30, &[][..], 45, 30),
            (30, &["60s"], 45, 0),
            (30, &["60s"], 65, 60),
            (30, &["60s", "40s"], 130, 120),
            (30, &["60s", "40s"], 119, 0),
            (30, &["1h"], 45, 30),
            (30, &[], 240, 210),
            (1000, &[], 100, 0),
        ] {
            let criterion = |window: &&str| format!("r response over 1ms below 5% per {window}").parse().unwrap();
            let criteria = windows.iter().map(criterion).collect();
            let first = Header { slice_ns: slice * second, criteria, ..header.clone() };
            let (planned_ns, measured_ns) = (240 * second, measured * second);
            let held = Held { first, planned_ns, measured_ns, closed: None, segments: 1 };
            assert_eq!(held.resume_at_ns(), at * second, "{slice} {windows:?} {measured}");
        }
    }
}
