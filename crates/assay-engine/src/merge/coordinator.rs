//! Which of several workers has reported what, and what follows from it: when a run may begin, which interval is
//! complete, which workers must end, when the run is over and how it ended.
//!
//! It has no thread, channel, clock or file: a shell passes on the workers' reports with their times, and does what the
//! coordinator answers. A worker may be a thread or another host.

use crate::merge::account::Ending;
use crate::merge::merger::{Merged, Merger};
use crate::rules::Totals;
use assay_base::Instant;
use assay_record::{CloseReason, Event, EventKind, Frame};
use std::collections::BTreeMap;

/// A report of a worker to the coordinator.
#[derive(Debug)]
pub enum Report {
    /// The worker has its engine and waits for the start.
    Ready,
    /// The counters of the worker's next interval.
    Frame(Frame),
    /// The worker has finished: no more frames follow.
    Finished {
        /// The reason of its end.
        reason: CloseReason,
        /// The numbers of operations that it carried.
        totals: Totals,
        /// The time at which it ended.
        at: Instant,
    },
    /// The worker ended because of a bug, and its totals are lost.
    Died {
        /// The panic message.
        words: String,
        /// The time at which this became known.
        at: Instant,
    },
}

/// The progress of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkerProgress {
    Preparing,
    Running,
    Over,
}

/// The coordinator of one run.
#[derive(Debug)]
pub struct Coordinator {
    workers: Vec<WorkerProgress>,
    merger: Merger,
    /// The first reason other than the end of the plan.
    reason: CloseReason,
    totals: Totals,
    end: Instant,
    /// The message of the first death.
    death: Option<String>,
    /// Why the workers that still run must end; the first reason stays.
    stop: Option<CloseReason>,
}

impl Coordinator {
    /// A coordinator of this many workers, none of which has reported yet.
    pub fn new(workers: usize) -> Coordinator {
        Coordinator {
            workers: vec![WorkerProgress::Preparing; workers],
            merger: Merger::new(workers),
            reason: CloseReason::Completed,
            totals: Totals::default(),
            end: Instant::ZERO,
            death: None,
            stop: None,
        }
    }

    /// Takes a report; returns the event for the log, if there is one.
    pub fn receive_report(&mut self, worker: usize, report: Report) -> Option<Event> {
        // A worker that is over does not report any more.
        if self.workers[worker] == WorkerProgress::Over {
            return None;
        }
        match report {
            Report::Ready => self.workers[worker] = WorkerProgress::Running,
            Report::Frame(frame) => self.merger.push_frame(worker, frame),
            Report::Finished { reason, totals, at } => {
                self.merger.finish_worker(worker);
                self.totals += totals;
                self.note_early_end(worker, reason, at);
            }
            Report::Died { words, at } => return Some(self.note_death(worker, &words, at)),
        }
        None
    }

    /// The worker does not finish: what the others do without its part is not the planned load, and gives no complete
    /// interval.
    fn note_death(&mut self, worker: usize, words: &str, at: Instant) -> Event {
        let text = format!("worker {worker} died, which is a bug in assay: {words}");
        self.note_early_end(worker, CloseReason::EngineFailed, at);
        self.death.get_or_insert_with(|| text.clone());
        Event { at_ns: at.as_ns(), what: EventKind::EngineFailed, text, details: BTreeMap::new() }
    }

    /// A single worker is not the whole load: where it ends before the plan does, the others must end too.
    fn note_early_end(&mut self, worker: usize, reason: CloseReason, at: Instant) {
        self.workers[worker] = WorkerProgress::Over;
        self.end = self.end.max(at);
        if reason != CloseReason::Completed {
            self.request_stop(reason);
            if self.reason == CloseReason::Completed {
                self.reason = reason;
            }
        }
    }

    fn request_stop(&mut self, reason: CloseReason) {
        self.stop.get_or_insert(reason);
    }

    /// The log cannot be written: continuing the load is useless.
    pub fn log_failed(&mut self) {
        self.request_stop(CloseReason::LogFailed);
    }

    /// Whether all workers are ready, so that the load may begin.
    pub fn may_begin(&self) -> bool {
        self.workers.iter().all(|worker| *worker == WorkerProgress::Running)
    }

    /// The next complete interval, with the frames that go back to their workers.
    pub fn next_interval(&mut self) -> Option<Merged> {
        self.merger.pop_interval()
    }

    /// The reason for which the running workers must end, if they must.
    pub fn stop_reason(&self) -> Option<CloseReason> {
        self.stop
    }

    /// The message of the first death.
    pub fn death_message(&self) -> Option<&str> {
        self.death.as_deref()
    }

    /// Whether every worker has ended.
    pub fn is_over(&self) -> bool {
        self.workers.iter().all(|worker| *worker == WorkerProgress::Over)
    }

    /// Whether the plan ran to its end and every operation completed.
    pub fn ended_well(&self) -> bool {
        self.is_over() && self.reason == CloseReason::Completed && self.totals.stuck == 0
    }

    /// How the run ended. `why` is the reason why somebody outside requested the end.
    pub fn run_ending(&self, why: Option<&str>) -> Ending {
        Ending {
            reason: self.reason,
            why: self.death_message().or(why).map(str::to_owned),
            at: self.end,
            // It is not known what a worker did that died, nor what the others did after that.
            totals: self.death.is_none().then_some(self.totals),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{Recorder, Thresholds};

    fn at(ms: u64) -> Instant {
        Instant::from_ns(ms * 1_000_000)
    }

    fn totals(n: u64) -> Totals {
        Totals { issued: n, completed: n, stuck: 0 }
    }

    fn finished(reason: CloseReason, n: u64, ms: u64) -> Report {
        Report::Finished { reason, totals: totals(n), at: at(ms) }
    }

    fn died(ms: u64) -> Report {
        Report::Died { words: "on purpose".into(), at: at(ms) }
    }

    /// Two workers that are ready, and a function for the frame of an interval with `ok` operations.
    fn running() -> (Coordinator, impl FnMut(u64, u64) -> Report) {
        let mut coordinator = Coordinator::new(2);
        assert!(!coordinator.may_begin());
        assert!(coordinator.receive_report(1, Report::Ready).is_none() && !coordinator.may_begin());
        assert!(coordinator.receive_report(0, Report::Ready).is_none() && coordinator.may_begin());
        let mut recorder = Recorder::new(Thresholds::new([]), 1);
        let frame = move |index: u64, ok: u64| {
            recorder.flow_counters_mut(0).ok = ok;
            Report::Frame(recorder.take_frame(index, index, index + 1, 0, false))
        };
        (coordinator, frame)
    }

    #[test]
    fn a_run_that_ends_as_planned() {
        let (mut run, mut frame) = running();
        run.receive_report(0, frame(0, 3));
        assert!(run.next_interval().is_none(), "the other's part is still to come");
        run.receive_report(1, frame(0, 4));
        let merged = run.next_interval().unwrap();
        assert_eq!(
            (merged.frame.flow_counters(0).ok, merged.owner, merged.spent[0].0),
            (7, 0, 1),
            "each gets its frame back"
        );
        run.receive_report(1, finished(CloseReason::Completed, 4, 1500));
        assert!(!run.is_over() && run.stop_reason().is_none(), "one that is done hurries nobody");
        run.receive_report(0, frame(1, 5));
        assert_eq!(run.next_interval().unwrap().frame.flow_counters(0).ok, 5, "those that drain longer go on alone");
        run.receive_report(0, finished(CloseReason::Completed, 8, 1200));
        assert!(run.is_over() && run.ended_well());
        let ending = Ending { reason: CloseReason::Completed, why: None, at: at(1500), totals: Some(totals(12)) };
        assert_eq!(run.run_ending(None), ending, "the last end is the run's");
    }

    #[test]
    fn operations_that_never_came_back_are_no_good_end() {
        let (mut run, _) = running();
        run.receive_report(0, finished(CloseReason::Completed, 1, 1));
        let totals = Totals { issued: 2, completed: 1, stuck: 1 };
        run.receive_report(1, Report::Finished { reason: CloseReason::Completed, totals, at: at(2) });
        assert!(run.is_over() && !run.ended_well());
        assert_eq!(run.run_ending(None).totals.unwrap().stuck, 1);
    }

    #[test]
    fn where_one_ends_early_the_others_are_asked_to_and_the_first_reason_stands() {
        let (mut run, _) = running();
        run.receive_report(1, finished(CloseReason::DeviceLag, 5, 2000));
        assert_eq!((run.stop_reason(), run.is_over()), (Some(CloseReason::DeviceLag), false));
        run.log_failed();
        assert_eq!(run.stop_reason(), Some(CloseReason::DeviceLag));
        run.receive_report(0, finished(CloseReason::GeneratorLag, 6, 2100));
        let ending = run.run_ending(Some("somebody asked"));
        assert_eq!((ending.reason, ending.at, ending.totals), (CloseReason::DeviceLag, at(2100), Some(totals(11))));
    }

    #[test]
    fn a_log_that_cannot_be_kept_ends_the_run_by_its_workers() {
        let (mut run, _) = running();
        run.log_failed();
        assert_eq!((run.stop_reason(), run.is_over()), (Some(CloseReason::LogFailed), false));
        run.receive_report(0, finished(CloseReason::LogFailed, 1, 10));
        run.receive_report(1, finished(CloseReason::LogFailed, 1, 10));
        assert_eq!(run.run_ending(None).reason, CloseReason::LogFailed);
        assert!(!run.ended_well());
    }

    #[test]
    fn a_worker_that_dies_ends_the_run_and_the_intervals_are_all_there_is() {
        let (mut run, mut frame) = running();
        run.receive_report(0, frame(0, 3));
        let event = run.receive_report(1, died(700)).unwrap();
        assert_eq!((event.what.clone(), event.at_ns), (EventKind::EngineFailed, 700_000_000));
        assert_eq!(event.text, "worker 1 died, which is a bug in assay: on purpose");
        assert_eq!(run.stop_reason(), Some(CloseReason::EngineFailed));
        assert!(run.receive_report(1, died(800)).is_none(), "it dies once");
        run.receive_report(0, frame(1, 9));
        assert!(run.next_interval().is_none(), "what the other does alone is not the load");
        assert!(run.receive_report(0, finished(CloseReason::EngineFailed, 12, 900)).is_none() && run.is_over());
        let ending = run.run_ending(Some("a signal"));
        assert_eq!((ending.reason, ending.totals, ending.at), (CloseReason::EngineFailed, None, at(900)));
        assert_eq!(ending.why.as_deref(), Some(event.text.as_str()), "its death comes before every other reason");
    }

    #[test]
    fn a_death_after_another_end_is_told_and_changes_no_reason() {
        let (mut run, _) = running();
        run.receive_report(0, finished(CloseReason::Interrupted, 1, 10));
        assert!(run.receive_report(1, died(20)).is_some());
        assert_eq!(
            (run.run_ending(None).reason, run.stop_reason()),
            (CloseReason::Interrupted, Some(CloseReason::Interrupted))
        );
        assert!(run.receive_report(0, finished(CloseReason::Completed, 1, 30)).is_none());
        assert_eq!(run.run_ending(None).at, at(20), "what is over says nothing any more");
    }

    #[test]
    fn one_that_dies_before_it_is_ready_keeps_the_load_from_beginning() {
        let mut run = Coordinator::new(2);
        run.receive_report(0, Report::Ready);
        assert!(run.receive_report(1, died(0)).is_some());
        assert!(!run.may_begin() && run.death_message().unwrap().contains("worker 1 died"));
    }
}
