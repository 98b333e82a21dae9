//! Finds out what an interrupted log already contains, so that a run can continue where it stopped.
//!
//! Complete slices count; the one that was cut is measured again. A new segment marks the gap and says how much of the
//! step precedes it.

use crate::databases::LoggedCommits;
use crate::failure::{Failure, escaped_path};
use crate::log::marks::MarksSoFar;
use crate::log::reading;
use assay_base::Span;
use assay_judge::procedure::Ending;
use assay_record::{CloseReason, Entry, Header, PhaseKind};
use std::fs::File;
use std::path::Path;

/// One step, as far as a log contains it.
#[derive(Clone, Debug)]
pub struct LoggedStep {
    /// Header of its first segment.
    pub first: Header,
    /// Measured time planned for the whole step, nanoseconds.
    pub planned_ns: u64,
    /// Measured time that counts: complete slices, nanoseconds.
    pub measured_ns: u64,
    /// The reason why its last segment ended; `None` when it was cut off.
    pub closed: Option<CloseReason>,
    /// Segments so far.
    pub segments: u64,
    /// The transactions that each database has acknowledged to its last segment.
    pub committed: Vec<LoggedCommits>,
}

impl LoggedStep {
    /// True when nothing of it remains to be run: it was completed, or ended with a verdict that more time cannot
    /// change.
    pub fn is_over(&self) -> bool {
        Ending::new(self.closed, false) != Ending::CutShort
    }

    /// The measured time at which it continues: a slice and a window of every criterion begin there, so that each is measured completely,
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

/// The content of a log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scan {
    /// Its steps in order; a plain run is one.
    pub steps: Vec<LoggedStep>,
    /// Number of the line that would follow.
    pub next_seq: u64,
    /// Bytes up to the end of the last whole line.
    pub length: u64,
    /// Bytes of an incomplete last line, which is dropped.
    pub torn: u64,
    /// Its marks.
    pub marks: MarksSoFar,
}

/// Reads a log that was opened at `path` and not read yet. A log that is damaged in the middle cannot be continued.
pub(crate) fn scan_log(file: &File, path: &Path) -> Result<Scan, Failure> {
    let mut reader = reading::reader_from(file);
    let mut scan = Scan::default();
    let mut segment = Segment::default();
    while let Some(item) = reader.next_entry().map_err(|e| unreadable_log(path, &e))? {
        match item {
            Ok(entry) => {
                match &entry {
                    Entry::Event(event) => scan.marks.count_event(event),
                    Entry::Header(header) if !header.hosts.is_empty() => return Err(is_of_several_ranks(path)),
                    _ => {}
                }
                segment.take_entry(entry, &mut scan.steps);
            }
            Err(damage) if damage.torn_tail => {
                scan.torn = reader.offset_behind_line() - damage.offset;
                break;
            }
            Err(damage) => return Err(unreadable_log(path, &damage)),
        }
        scan.length = reader.offset_behind_line();
        scan.next_seq = reader.next_seq();
    }
    if scan.steps.is_empty() {
        return Err(unreadable_log(path, &"it holds no run"));
    }
    Ok(scan)
}

/// A process alone would measure something else than the ranks together.
fn is_of_several_ranks(log: &Path) -> Failure {
    unreadable_log(log, &"it is of a run of several ranks").with_advice("repeat the command with another --out")
}

fn unreadable_log(log: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::bad_workload(format!("the log {} cannot be continued: {why}", escaped_path(log)))
}

/// The segment being read.
#[derive(Debug, Default)]
struct Segment {
    phases: Vec<PhaseKind>,
    before_ns: u64,
    measure_start: Option<u64>,
}

impl Segment {
    fn take_entry(&mut self, entry: Entry, steps: &mut Vec<LoggedStep>) {
        match entry {
            Entry::Header(header) => self.open_step(*header, steps),
            Entry::Interval(interval) => {
                if let Some(logged) = steps.last_mut() {
                    LoggedCommits::add_interval(&mut logged.committed, &logged.first, &interval);
                }
                if self.phases.get(usize::from(interval.phase)) == Some(&PhaseKind::Measure) {
                    let start = *self.measure_start.get_or_insert(interval.start_ns);
                    if let Some(logged) = steps.last_mut() {
                        logged.measured_ns = (self.before_ns + (interval.end_ns - start)).min(logged.planned_ns);
                    }
                }
            }
            Entry::Close(close) => {
                if let Some(logged) = steps.last_mut() {
                    logged.closed = Some(close.reason);
                }
            }
            Entry::Histograms(_) | Entry::Event(_) => {}
        }
    }

    fn open_step(&mut self, header: Header, steps: &mut Vec<LoggedStep>) {
        self.phases = header.phases.iter().map(|phase| phase.kind).collect();
        self.before_ns = header.measured_before_ns;
        self.measure_start = None;
        match steps.last_mut() {
            Some(logged) if header.continues => {
                logged.segments += 1;
                logged.closed = None;
                logged.measured_ns = header.measured_before_ns;
                logged.committed = LoggedCommits::of_header(&header);
            }
            _ => {
                let measured = header.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
                let planned_ns = measured.map(|phase| phase.span_ns).sum();
                let committed = LoggedCommits::of_header(&header);
                steps.push(LoggedStep {
                    first: header,
                    planned_ns,
                    measured_ns: 0,
                    closed: None,
                    segments: 1,
                    committed,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Adjust;

    const SECOND: u64 = 1_000_000_000;

    /// A header with a warm-up of two seconds and ten seconds that are measured.
    fn header() -> Header {
        let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&Adjust::default()).unwrap();
        let phase = |kind, span_ns| assay_record::PhaseHead {
            name: String::new(),
            kind,
            span_ns,
            steady_round_ns: None,
            until_done: false,
        };
        let phases = vec![phase(PhaseKind::WarmUp, 2 * SECOND), phase(PhaseKind::Measure, 10 * SECOND)];
        Header { phases, ..crate::log::header::make_header(&plan, crate::log::header::HeaderFacts::default()) }
    }

    fn interval(phase: u16, from: u64, to: u64) -> Entry {
        let (start_ns, end_ns) = (from * SECOND, to * SECOND);
        Entry::Interval(assay_record::Interval { phase, start_ns, end_ns, ..Default::default() })
    }

    fn close(reason: CloseReason) -> Entry {
        Entry::Close(assay_record::Close {
            reason,
            at_ns: 0,
            text: String::new(),
            intervals: 0,
            issued: 0,
            completed: 0,
            stuck: 0,
        })
    }

    fn written(entries: &[Entry]) -> Vec<u8> {
        let mut writer = assay_record::Writer::new(Vec::new(), 0);
        entries.iter().for_each(|entry| writer.write_entry(entry).unwrap());
        writer.into_inner()
    }

    fn scanned(bytes: &[u8]) -> Result<Scan, Failure> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        std::fs::write(&path, bytes).unwrap();
        scan_log(&File::open(&path).unwrap(), &path)
    }

    #[test]
    fn a_step_holds_what_its_last_segment_measured_and_how_it_ended() {
        let first = |continues, measured_before_ns| {
            Entry::Header(Box::new(Header { continues, measured_before_ns, ..header() }))
        };
        let (interrupted, completed) = (CloseReason::Interrupted, CloseReason::Completed);
        // The warm-up takes no measured time, also where it ends early.
        let begin = vec![first(false, 0), interval(0, 0, 1), interval(1, 1, 4), interval(1, 4, 6)];
        let with = |more: &[Entry]| [begin.clone(), more.to_vec()].concat();
        for (entries, expected) in [
            (vec![first(false, 0), interval(0, 0, 1)], vec![(0, None, 1)]),
            (begin.clone(), vec![(5, None, 1)]),
            (with(&[interval(7, 6, 9)]), vec![(5, None, 1)]),
            (with(&[interval(1, 6, 90)]), vec![(10, None, 1)]),
            (with(&[close(interrupted)]), vec![(5, Some(interrupted), 1)]),
            (with(&[close(interrupted), first(true, 3 * SECOND)]), vec![(3, None, 2)]),
            (
                with(&[
                    close(interrupted),
                    first(true, 3 * SECOND),
                    interval(0, 0, 2),
                    interval(1, 2, 4),
                    close(completed),
                ]),
                vec![(5, Some(completed), 2)],
            ),
            (with(&[first(true, 3 * SECOND), first(true, 2 * SECOND), interval(1, 0, 1)]), vec![(3, None, 3)]),
            (
                with(&[close(completed), first(false, 0), interval(1, 0, 2)]),
                vec![(5, Some(completed), 1), (2, None, 1)],
            ),
        ] {
            let bytes = written(&entries);
            let scan = scanned(&bytes).unwrap();
            let found: Vec<_> = scan.steps.iter().map(|it| (it.measured_ns / SECOND, it.closed, it.segments)).collect();
            assert_eq!(found, expected);
            assert!(scan.steps.iter().all(|it| it.planned_ns == 10 * SECOND));
            assert_eq!((scan.next_seq, scan.length, scan.torn), (entries.len() as u64, bytes.len() as u64, 0));
        }
    }

    #[test]
    fn an_unfinished_line_is_counted_and_damage_is_refused() {
        let bytes = written(&[Entry::Header(Box::new(header())), interval(1, 0, 2), interval(1, 2, 4)]);
        let ends: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'\n').map(|at| at + 1).collect();
        for cut in [1, 7, 40] {
            let scan = scanned(&bytes[..ends[1] + cut]).unwrap();
            assert_eq!((scan.length, scan.torn, scan.next_seq), (ends[1] as u64, cut as u64, 2), "{cut}");
            assert_eq!(scan.steps[0].measured_ns, 2 * SECOND);
        }
        let mut damaged = bytes.clone();
        damaged[ends[0] + 20] ^= 1;
        for bad in [&damaged, &bytes[ends[0]..].to_vec(), &Vec::new(), &bytes[..30].to_vec()] {
            let refused = format!("{:?}", scanned(bad).unwrap_err());
            assert!(refused.contains("cannot be continued"), "{refused}");
        }
    }

    #[test]
    fn only_what_was_cut_short_is_not_over() {
        for (closed, over) in [
            (None, false),
            (Some(CloseReason::Interrupted), false),
            (Some(CloseReason::LogFailed), false),
            (Some(CloseReason::Completed), true),
            (Some(CloseReason::TargetLost), true),
            (Some(CloseReason::DeviceLag), true),
        ] {
            let logged = LoggedStep {
                first: header(),
                planned_ns: 1,
                measured_ns: 0,
                closed,
                segments: 1,
                committed: Vec::new(),
            };
            assert_eq!(logged.is_over(), over, "{closed:?}");
        }
    }

    #[test]
    fn it_goes_on_where_all_windows_begin() {
        let second = 1_000_000_000;
        let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&Adjust::default()).unwrap();
        let header = crate::log::header::make_header(&plan, crate::log::header::HeaderFacts::default());
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
            let logged =
                LoggedStep { first, planned_ns, measured_ns, closed: None, segments: 1, committed: Vec::new() };
            assert_eq!(logged.resume_at_ns(), at * second, "{slice} {windows:?} {measured}");
        }
    }
}
