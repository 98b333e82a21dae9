//! Counts what all clients of a phase have finished, interval by interval: what has ended belongs to the interval in
//! which it completed, whenever it is handed over.

use super::client_loops::ClientLoops;
use super::finished::{Ending, Finished};
use assay_base::{Instant, Span};
use assay_record::{Failure, Frame, Recorder, Thresholds};

/// An interval while it lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub(super) index: u64,
    pub(super) start: Instant,
    /// Exclusive.
    pub(super) end: Instant,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Book {
    recorder: Recorder,
    period: Period,
    /// What completed behind the end of the interval.
    early: Vec<Finished>,
    /// Of each flow, what has ended in this interval; entries listed; and of each sequence, what has ended in the phase.
    ended: Vec<u64>,
    entries: Vec<u64>,
    sequences_ended: Vec<u64>,
    /// The time of what ended and is in no stream.
    unlisted: ClientLoops,
}

/// An interval that is over.
pub(super) struct Counted {
    pub(super) frame: Frame,
    /// Of each flow, what ended in it, and how many entries of directories were listed.
    pub(super) ended: Vec<u64>,
    pub(super) entries: Vec<u64>,
    /// Of each sequence, what has ended since the phase began.
    pub(super) sequences_ended: Vec<u64>,
    /// Of each flow, and of each sequence: what was issued in it and ended behind it.
    pub(super) flows_open: Vec<u64>,
    pub(super) sequences_open: Vec<u64>,
    /// What is known here of the time of the clients: of what is in no stream, and of what was open.
    pub(super) loops: ClientLoops,
}

impl Book {
    pub(super) fn new(thresholds: Thresholds, flows: usize, sequences: usize, first: Period) -> Book {
        Book {
            recorder: Recorder::new(thresholds, flows),
            period: first,
            early: Vec::new(),
            ended: vec![0; flows],
            entries: vec![0; flows],
            sequences_ended: vec![0; sequences],
            unlisted: ClientLoops::default(),
        }
    }

    pub(super) fn period(&self) -> Period {
        self.period
    }

    /// Moves the end of the interval, which lasts until what is in course has ended.
    pub(super) fn end_period_at(&mut self, end: Instant) {
        self.period.end = end;
        self.count_early();
    }

    /// Counts what completed behind the end of an interval, as far as it belongs to the one that lasts now.
    fn count_early(&mut self) {
        for early in std::mem::take(&mut self.early) {
            self.count(early);
        }
    }

    pub(super) fn count(&mut self, finished: Finished) {
        if finished.completed >= self.period.end {
            return self.early.push(finished);
        }
        if let Some(sequence) = finished.sequence {
            self.sequences_ended[sequence] += 1;
        }
        let Some(flow) = finished.flow else { return self.unlisted.add_unlisted(&finished) };
        self.ended[flow] += 1;
        let times = finished.times;
        let failure = Failure { part: 0, response: times.response };
        match finished.ending {
            Ending::Done { bytes, entries } => {
                let small = u32::try_from(bytes).unwrap_or(u32::MAX);
                self.recorder.count_completed(flow, small, times);
                self.recorder.flow_counters_mut(flow).bytes += bytes - u64::from(small);
                self.entries[flow] += entries;
            }
            Ending::Short => {
                self.recorder.fell_short(flow, &times);
                self.recorder.count_short(flow, failure);
            }
            Ending::Failed(code) => {
                self.recorder.fell_short(flow, &times);
                self.recorder.count_failed(flow, code.symbolic_name(), failure);
            }
        }
    }

    /// Ends the interval, and begins the next one, which lasts `length`. Everything that completed in it was counted.
    pub(super) fn end_period(&mut self, phase: u16, length: Span, closes_group: bool) -> Counted {
        let Period { index, start, end } = self.period;
        let frame = self.recorder.take_frame(index, start.as_ns(), end.as_ns(), phase, closes_group);
        let flows = self.ended.len();
        let (mut flows_open, mut sequences_open) = (vec![0; flows], vec![0; self.sequences_ended.len()]);
        let mut loops = std::mem::take(&mut self.unlisted);
        self.early.iter().for_each(|early| loops.add_early(early, end));
        for early in self.early.iter().filter(|early| early.issued() < end) {
            if let Some(flow) = early.flow {
                flows_open[flow] += 1;
            }
            if let Some(sequence) = early.sequence {
                sequences_open[sequence] += 1;
            }
        }
        let ended = std::mem::replace(&mut self.ended, vec![0; flows]);
        let entries = std::mem::replace(&mut self.entries, vec![0; flows]);
        let sequences_ended = self.sequences_ended.clone();
        self.period = Period { index: index + 1, start: end, end: end + length };
        self.count_early();
        Counted { frame, ended, entries, sequences_ended, flows_open, sequences_open, loops }
    }

    /// Gives the memory of an interval back.
    pub(super) fn give_back(&mut self, frame: Frame) {
        self.recorder.recycle_frame(frame);
    }
}
