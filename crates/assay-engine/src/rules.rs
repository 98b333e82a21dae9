//! The parts that a worker is made from, the rules of its run, and its reports.

use crate::verify::ledger::Ledger;
use assay_base::{Instant, Span};
use assay_model::arrival::Part;
use assay_model::source::Gates;
use assay_record::Thresholds;
use std::sync::Arc;

/// The limits at which the rules of the run take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest wait for operations in flight at the end.
    pub drain: Span,
    /// An operation that is in flight for longer is stuck.
    pub stuck: Span,
    /// This many consecutive failures on one target end the run: the target is lost.
    pub failures_in_a_row: u32,
    /// Number of events written for single failures; further ones are only counted.
    pub failure_events: u32,
    /// The longest time between two checks for completions while operations are in flight. The engine cannot tell a
    /// wait that ended on time from a thread that was woken late. A wait is therefore never longer than the lateness
    /// that is too small to report.
    pub look: Span,
}

impl Default for Limits {
    fn default() -> Limits {
        let (drain, stuck, look) = (Span::from_secs(30), Span::from_secs(30), Span::from_ms(1));
        Limits { drain, stuck, failures_in_a_row: 1000, failure_events: 1000, look }
    }
}

/// The parts of a worker besides its device, its sources and its payload.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The share of the load that this worker carries.
    pub part: Part,
    /// Boundaries of the exact counters.
    pub thresholds: Thresholds,
    /// Upper bound on operations in flight per target, of all streams without a lane of their own.
    pub bound: u32,
    /// The time at which the run begins, on the run's time line.
    pub start: Instant,
    /// Number that marks the data of this run.
    pub run: u32,
    /// The rules.
    pub limits: Limits,
    /// The record of what all workers have written, for a plan that verifies.
    pub ledger: Option<Arc<Ledger>>,
    /// The ends of streams that other streams wait for, shared by all workers. A single worker makes its own.
    pub gates: Option<Arc<Gates>>,
}

/// The result of a step of a worker: when it must be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The worker has nothing to do before this time, unless an operation completes.
    pub wake: Instant,
    /// A request was issued, which [`Worker::send_issued`](crate::Worker::send_issued) hands over.
    pub issued: bool,
    /// The run is over.
    pub done: bool,
}

/// The numbers of operations that a worker carried over its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Operations that were handed over to the device.
    pub issued: u64,
    /// Operations that completed: in full, short or failed.
    pub completed: u64,
    /// Operations that never completed.
    pub stuck: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.issued += other.issued;
        self.completed += other.completed;
        self.stuck += other.stuck;
    }
}
