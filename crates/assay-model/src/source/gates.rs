//! Gates open when the streams have ended that other streams wait for; all workers of a run share them.

use crate::plan::Plan;
use assay_base::Instant;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The gates of a run, which all its workers share.
#[derive(Debug)]
pub struct Gates {
    /// A gate for each set of streams that others wait for; the streams of a loop are one of it.
    by_streams: Vec<(Vec<u16>, Arc<Gate>)>,
}

impl Gates {
    /// The gates of `plan` for this number of workers.
    pub fn new(plan: &Plan, workers: u64) -> Arc<Gates> {
        let mut by_streams: Vec<(Vec<u16>, Arc<Gate>)> = Vec::new();
        for stream in 0..plan.load.streams.len() as u16 {
            let streams = plan.load.waited_for_by(stream);
            if !streams.is_empty() && by_streams.iter().all(|(known, _)| *known != streams) {
                by_streams.push((streams, Arc::new(Gate::new(workers))));
            }
        }
        Arc::new(Gates { by_streams })
    }

    /// The gate that opens when these streams have ended.
    pub(super) fn gate_after(&self, streams: &[u16]) -> Option<Arc<Gate>> {
        self.by_streams.iter().find(|(known, _)| known == streams).map(|(_, gate)| Arc::clone(gate))
    }

    /// The gates that cannot open before a stream has ended.
    pub(super) fn opened_by(&self, stream: u16) -> Vec<Arc<Gate>> {
        self.by_streams.iter().filter(|(known, _)| known.contains(&stream)).map(|(_, gate)| Arc::clone(gate)).collect()
    }

    /// Notes that a worker has entered all its sources. Each gate holds one count for each worker until then, so that
    /// it cannot open too early.
    pub fn finish_entering(&self) {
        self.by_streams.iter().for_each(|(_, gate)| gate.note_source_end(Instant::ZERO));
    }
}

/// Opens when every source of its streams is over, in all workers.
#[derive(Debug)]
pub(super) struct Gate {
    /// The number of sources that are not over, plus the number of workers that have not entered all of theirs.
    left: AtomicU64,
    /// The latest end so far, in nanoseconds.
    last_ns: AtomicU64,
}

impl Gate {
    fn new(workers: u64) -> Gate {
        Gate { left: AtomicU64::new(workers.max(1)), last_ns: AtomicU64::new(0) }
    }

    /// Adds a source.
    pub(super) fn add_source(&self) {
        self.left.fetch_add(1, Ordering::AcqRel);
    }

    /// Notes that a source was over at `at`.
    pub(super) fn note_source_end(&self, at: Instant) {
        self.last_ns.fetch_max(at.as_ns(), Ordering::AcqRel);
        self.left.fetch_sub(1, Ordering::AcqRel);
    }

    /// When the last source was over; `None` until all of them are.
    pub(super) fn opened_at(&self) -> Option<Instant> {
        let open = self.left.load(Ordering::Acquire) == 0;
        open.then(|| Instant::from_ns(self.last_ns.load(Ordering::Acquire)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_opens_when_all_sources_of_all_workers_are_over() {
        let gate = Gate::new(2);
        gate.add_source();
        gate.note_source_end(Instant::from_ns(7));
        gate.note_source_end(Instant::ZERO);
        assert_eq!(gate.opened_at(), None, "the other worker has not counted its sources");
        gate.add_source();
        gate.note_source_end(Instant::ZERO);
        assert_eq!(gate.opened_at(), None);
        gate.note_source_end(Instant::from_ns(5));
        assert_eq!(gate.opened_at(), Some(Instant::from_ns(7)), "the last end counts");
    }
}
