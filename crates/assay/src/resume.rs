//! What an interrupted log already holds, so that a run can go on where it stopped.
//!
//! Whole slices count; the one that was cut is measured afresh. The gap is marked by a new segment that says how much of the
//! step stands before it.

use crate::failure::Failure;
use crate::logfile;
use assay_record::{CloseReason, Entry, Header, PhaseKind, TargetHead};
use std::fs::File;
use std::path::Path;

/// One step as far as a log holds it.
#[derive(Clone, Debug)]
pub struct Held {
    /// Header of its first segment.
    pub first: Header,
    /// Measured time planned for the whole step, nanoseconds.
    pub planned_ns: u64,
    /// Measured time that counts: whole slices, nanoseconds.
    pub measured_ns: u64,
    /// How its last segment ended; `None` when it was cut off.
    pub closed: Option<CloseReason>,
    /// Segments so far.
    pub segments: u64,
}

impl Held {
    /// True when nothing of it is left to run: it was completed, or ended by a verdict that more time cannot change.
    pub fn is_over(&self) -> bool {
        !matches!(self.closed, None | Some(CloseReason::Interrupted | CloseReason::LogFailed))
    }

    /// Where it goes on: at the beginning of a slice, with at least one slice to run.
    pub fn resume_at_ns(&self) -> u64 {
        let slice = self.first.slice_ns.max(1);
        let whole = self.measured_ns / slice * slice;
        if whole >= self.planned_ns { self.planned_ns.saturating_sub(1) / slice * slice } else { whole }
    }
}

/// What a log holds.
#[derive(Clone, Debug, Default)]
pub struct Scan {
    /// Its steps in order; a plain run is one.
    pub steps: Vec<Held>,
    /// Number of the line that would follow.
    pub next_seq: u64,
    /// Bytes up to the end of the last whole line.
    pub length: u64,
    /// Bytes of an unfinished last line, which are given up.
    pub torn: u64,
}

/// What tells the target that a log was made on from the one that is there now, in words; `None` where they are the same. A
/// device is known by what it says of itself, whatever its name is today; a file, which has only its disk's words, and what says
/// nothing by its place.
pub fn other_target(was: &TargetHead, is: &TargetHead) -> Option<String> {
    const ABSENT: &str = "absent";
    let told = |head: &TargetHead, name: &str| head.facts.get(name).cloned().unwrap_or_else(|| ABSENT.to_owned());
    let is_told = |head: &TargetHead| ["serial", "wwid"].iter().any(|name| told(head, name) != ABSENT);
    let speaks = [was, is].iter().any(|head| head.kind == "block device" && is_told(head));
    let place =
        |head: &TargetHead| if head.facts.contains_key("path") { told(head, "path") } else { head.name.clone() };
    let facts = |head: &TargetHead| {
        [
            ("kind", head.kind.clone()),
            ("size", format!("{} bytes", head.size_bytes)),
            ("block size", format!("{} bytes", head.block_bytes)),
            ("serial", told(head, "serial")),
            ("wwid", told(head, "wwid")),
            ("place", if speaks { String::new() } else { place(head) }),
        ]
    };
    let ((what, before), (_, now)) = facts(was).into_iter().zip(facts(is)).find(|(before, now)| before != now)?;
    Some(format!("the {what} of its target {} is {before}, that of {} is {now}", was.name, is.name))
}

/// Reads through a log that was opened at `path` and not yet read. Damage in its middle cannot be continued.
pub fn scan(file: &File, path: &Path) -> Result<Scan, Failure> {
    let mut reader = logfile::reader(file);
    let mut scan = Scan::default();
    let unreadable =
        |e: &dyn std::fmt::Display| Failure::workload(format!("the log {} cannot be continued: {e}", path.display()));
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

/// The segment that is being read.
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

    fn target(name: &str, facts: &[(&str, &str)]) -> TargetHead {
        let facts = facts.iter().map(|(name, fact)| ((*name).to_owned(), (*fact).to_owned())).collect();
        let (name, kind) = (name.to_owned(), "block device".to_owned());
        TargetHead { name, kind, size_bytes: 1 << 30, block_bytes: 512, facts, prepared: None }
    }

    #[test]
    fn targets_are_told_apart_by_what_they_say_of_themselves() {
        let sda = target("sda", &[("path", "/dev/sda"), ("serial", "A1"), ("wwid", "absent")]);
        let loop0 = target("/dev/loop0", &[("path", "/dev/loop0"), ("serial", "absent"), ("wwid", "absent")]);
        let sim = target("sim:flash", &[]);
        let moved = target("sdb", &[("path", "/dev/sdb"), ("serial", "A1"), ("wwid", "absent")]);
        let other = target("sda", &[("path", "/dev/sda"), ("serial", "B2"), ("wwid", "absent")]);
        let silent = target("sda", &[("path", "/dev/sda"), ("serial", "absent"), ("wwid", "absent")]);
        let linked = target("disk", &[("path", "/dev/loop0"), ("serial", "absent"), ("wwid", "absent")]);
        let loop1 = target("/dev/loop0", &[("path", "/dev/loop1"), ("serial", "absent"), ("wwid", "absent")]);
        let file = TargetHead { kind: "file".into(), ..sda.clone() };
        let elsewhere = TargetHead { kind: "file".into(), ..moved.clone() };
        for (was, is, differs) in [
            (&file, elsewhere, Some("place")),
            (&sda, sda.clone(), None),
            (&sda, moved, None),
            (&sda, other, Some("serial")),
            (&sda, silent, Some("serial")),
            (&sda, TargetHead { size_bytes: 2 << 30, ..sda.clone() }, Some("size")),
            (&sda, TargetHead { block_bytes: 4096, ..sda.clone() }, Some("block size")),
            (&sda, TargetHead { kind: "file".into(), ..sda.clone() }, Some("kind")),
            (&loop0, linked, None),
            (&loop0, loop1, Some("place")),
            (&sim, target("sim:flash?seed=2", &[]), Some("place")),
        ] {
            let told = other_target(was, &is);
            assert_eq!(told.is_some(), differs.is_some(), "{told:?}");
            let (told, differs) =
                (told.unwrap_or_default(), differs.map_or(String::new(), |it| format!("the {it} of its target")));
            assert!(told.starts_with(&differs), "{told}");
        }
    }
}
