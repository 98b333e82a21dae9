//! Adds up the frames that several workers recorded for the same interval, in order.

use assay_record::Frame;
use std::collections::VecDeque;

/// Collects the frames of all workers and returns complete intervals, the oldest first. Workers that drain longer than
/// others continue alone once the others have finished.
#[derive(Debug)]
pub(crate) struct Merger {
    queues: Vec<VecDeque<Frame>>,
    finished: Vec<bool>,
}

/// One interval of all workers: the sum, and the frames of the other workers, which go back to them.
#[derive(Debug)]
pub struct Merged {
    /// The sum, which is also the frame of worker `owner`.
    pub frame: Frame,
    /// The worker whose memory the sum uses.
    pub owner: usize,
    /// The other workers' frames.
    pub spent: Vec<(usize, Frame)>,
}

impl Merger {
    /// Creates a merger of the frames of `workers` workers.
    pub(crate) fn new(workers: usize) -> Merger {
        Merger { queues: (0..workers).map(|_| VecDeque::new()).collect(), finished: vec![false; workers] }
    }

    /// Takes a worker's next frame.
    pub(crate) fn push_frame(&mut self, worker: usize, frame: Frame) {
        self.queues[worker].push_back(frame);
    }

    /// Notes that a worker sends no more frames.
    pub(crate) fn finish_worker(&mut self, worker: usize) {
        self.finished[worker] = true;
    }

    /// True when every worker has finished and all frames were returned.
    #[cfg(test)]
    pub(crate) fn is_over(&self) -> bool {
        self.finished.iter().all(|finished| *finished) && self.queues.iter().all(VecDeque::is_empty)
    }

    /// The next interval, once every worker that still runs has sent its frame for it.
    pub(crate) fn pop_interval(&mut self) -> Option<Merged> {
        let complete = self.queues.iter().zip(&self.finished).all(|(queue, finished)| *finished || !queue.is_empty());
        if !complete {
            return None;
        }
        let (owner, mut frame) =
            self.queues.iter_mut().enumerate().find_map(|(worker, queue)| Some((worker, queue.pop_front()?)))?;
        let mut spent = Vec::new();
        for (worker, queue) in self.queues.iter_mut().enumerate().skip(owner + 1) {
            if let Some(mut other) = queue.pop_front() {
                frame.add(&mut other);
                spent.push((worker, other));
            }
        }
        Some(Merged { frame, owner, spent })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{Recorder, Thresholds};

    fn frame(recorder: &mut Recorder, index: u64, ok: u64) -> Frame {
        recorder.flow_counters_mut(0).ok = ok;
        recorder.take_frame(index, index, index + 1, 0, false)
    }

    #[test]
    fn waits_for_every_running_worker_and_goes_on_without_finished_ones() {
        let mut recorder = Recorder::new(Thresholds::new([]), 1);
        let mut merger = Merger::new(2);
        merger.push_frame(0, frame(&mut recorder, 0, 1));
        assert!(merger.pop_interval().is_none(), "worker 1 is still to come");
        merger.push_frame(1, frame(&mut recorder, 0, 2));
        let merged = merger.pop_interval().unwrap();
        assert_eq!((merged.frame.flow_counters(0).ok, merged.owner, merged.spent.len()), (3, 0, 1));
        merger.push_frame(1, frame(&mut recorder, 1, 5));
        assert!(merger.pop_interval().is_none());
        merger.finish_worker(0);
        let merged = merger.pop_interval().unwrap();
        assert_eq!((merged.frame.flow_counters(0).ok, merged.owner), (5, 1));
        assert!(!merger.is_over());
        merger.finish_worker(1);
        assert!(merger.pop_interval().is_none() && merger.is_over());
    }
}
