//! The counts of an interval that nobody counted while it lasted: what was scheduled in it, and what was waiting, in
//! flight and stuck at its end. They follow from what has ended and what is open, so that for each flow and interval
//! what was carried in and what was scheduled is what has ended and what is carried out.

use super::book::Counted;
use super::client_loops::ClientLoops;
use super::flows::SequenceFlow;
use assay_record::Interval;

/// What is open at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    /// Of each flow: operations in flight, without the stuck ones.
    pub(super) in_flight: Vec<u64>,
    /// Of each flow: operations that have been in flight for too long.
    pub(super) stuck: Vec<u64>,
    /// Of each sequence of the phase: those that are begun.
    pub(super) sequences: Vec<u64>,
    /// What the clients are at.
    pub(super) loops: ClientLoops,
}

impl Open {
    pub(super) fn nothing(flows: usize, sequences: usize) -> Open {
        Open {
            in_flight: vec![0; flows],
            stuck: vec![0; flows],
            sequences: vec![0; sequences],
            loops: ClientLoops::default(),
        }
    }
}

/// What one flow carried into an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Carried {
    waiting: u64,
    open: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Accounts {
    sequences: Vec<SequenceFlow>,
    carried: Vec<Carried>,
}

impl Accounts {
    pub(super) fn new(flows: usize, sequences: &[SequenceFlow]) -> Accounts {
        Accounts { sequences: sequences.to_vec(), carried: vec![Carried::default(); flows] }
    }

    /// The line of an interval. `open` is what is open at its end besides what was counted; `due` has of each sequence
    /// how many were wanted until then, where a schedule says it.
    pub(super) fn close_interval(&mut self, counted: &Counted, open: &Open, due: Option<&[u64]>) -> Interval {
        let mut interval = counted.frame.interval_line();
        let mut loops = counted.loops;
        loops.add(&open.loops);
        interval.loops = loops.lines();
        let waiting = self.waiting_sequences(counted, open, due);
        for (flow, line) in interval.flows.iter_mut().enumerate() {
            let before = self.carried[flow];
            let (stuck, in_flight) = (open.stuck[flow], open.in_flight[flow] + counted.flows_open[flow]);
            let issued = counted.ended[flow] + stuck + in_flight;
            // A client between two calls has begun a sequence, and none of its operations is in flight.
            let waiting = waiting[flow].max((before.waiting + before.open).saturating_sub(issued));
            (line.in_flight, line.stuck, line.waiting) = (in_flight, stuck, waiting);
            line.issued = issued.saturating_sub(before.open);
            line.scheduled = issued + waiting - before.waiting - before.open;
            self.carried[flow] = Carried { waiting, open: stuck + in_flight };
        }
        interval
    }

    /// Of each flow, the sequences that are due and not begun.
    fn waiting_sequences(&self, counted: &Counted, open: &Open, due: Option<&[u64]>) -> Vec<u64> {
        let mut waiting = vec![0; self.carried.len()];
        for (sequence, due) in due.unwrap_or_default().iter().enumerate() {
            let open = open.sequences[sequence] + counted.sequences_open[sequence];
            let begun = counted.sequences_ended[sequence] + open;
            waiting[self.sequences[sequence].flow] += due.saturating_sub(begun);
        }
        waiting
    }
}

#[cfg(test)]
mod tests {
    use super::super::book::{Book, Period};
    use super::super::finished::{Ending, Finished};
    use super::*;
    use assay_base::{Instant, Span};
    use assay_record::{OperationTimes, Thresholds};

    fn ended(flow: usize, issued: u64, completed: u64) -> Finished {
        let span = Span::from_ns(completed - issued);
        let times = OperationTimes { response: span, service: span, ..OperationTimes::default() };
        let ending = Ending::Done { bytes: 1, entries: 2 };
        Finished { flow: Some(flow), sequence: Some(flow), ending, times, completed: Instant::from_ns(completed) }
    }

    fn sum(line: &assay_record::FlowInterval) -> u64 {
        line.waiting + line.in_flight + line.stuck
    }

    #[test]
    fn an_interval_that_is_made_longer_has_what_completed_in_its_new_part() {
        let first = Period { index: 0, start: Instant::ZERO, end: Instant::from_ns(1000) };
        let mut book = Book::new(Thresholds::new([]), 1, 1, first);
        book.count(ended(0, 900, 1500));
        book.end_period_at(Instant::from_ns(1501));
        let counted = book.end_period(0, Span::from_ns(1000), true);
        assert_eq!((counted.ended, counted.flows_open, counted.sequences_ended), (vec![1], vec![0], vec![1]));
    }

    #[test]
    fn what_is_carried_and_scheduled_is_what_ends_and_is_carried_on() {
        let flows: Vec<SequenceFlow> = [0, 1].map(|flow| SequenceFlow { flow, is_operation: false }).into();
        let mut accounts = Accounts::new(2, &flows);
        let first = Period { index: 0, start: Instant::ZERO, end: Instant::from_ns(1000) };
        let mut book = Book::new(Thresholds::new([]), 2, 2, first);
        [ended(0, 1, 10), ended(0, 20, 999), ended(0, 30, 1000), ended(1, 1001, 1100)]
            .into_iter()
            .for_each(|finished| book.count(finished));
        let open = Open { in_flight: vec![0, 1], stuck: vec![0, 0], sequences: vec![0, 1], ..Open::default() };
        let counted = book.end_period(0, Span::from_ns(1000), false);
        let line = accounts.close_interval(&counted, &open, Some(&[5, 3]));
        assert_eq!((counted.entries[0], line.start_ns, line.end_ns), (4, 0, 1000));
        // Of the first five, two have ended, one is still in flight at the end of the interval, and two wait.
        let shown =
            |at: usize| (line.flows[at].scheduled, line.flows[at].issued, line.flows[at].ok, sum(&line.flows[at]));
        assert_eq!((shown(0), shown(1)), ((5, 3, 2, 3), (3, 1, 0, 3)));
        assert_eq!((line.flows[0].in_flight, line.flows[0].waiting), (1, 2));
        let counted = book.end_period(0, Span::from_ns(1000), false);
        let open = Open { in_flight: vec![0, 0], stuck: vec![1, 1], sequences: vec![1, 1], ..Open::default() };
        let next = accounts.close_interval(&counted, &open, Some(&[5, 3]));
        for (before, line) in line.flows.iter().zip(&next.flows) {
            assert_eq!(sum(before) + line.scheduled, line.ok + sum(line));
        }
        let shown: Vec<_> = next.flows.iter().map(|flow| (flow.scheduled, flow.ok, flow.waiting, flow.stuck)).collect();
        assert_eq!(shown, [(0, 1, 1, 1), (0, 1, 1, 1)]);
    }
}
