//! What a worker is made of, the rules of its run, and what it says of itself.

use crate::ledger::Ledger;
use assay_base::{Instant, Span};
use assay_model::arrival::Part;
use assay_record::Thresholds;
use std::sync::Arc;

/// When the rules of the run strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest wait for what is in flight at the end.
    pub drain: Span,
    /// An operation in flight for longer is stuck.
    pub stuck: Span,
    /// So many failures in a row on one target end the run: the target is gone.
    pub failures_in_a_row: u32,
    /// Events written for single failures; beyond that they are only counted.
    pub failure_events: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { drain: Span::from_secs(30), stuck: Span::from_secs(30), failures_in_a_row: 1000, failure_events: 1000 }
    }
}

/// What a worker is made of besides its device, its sources and its payload.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Which share of the load is its.
    pub part: Part,
    /// Boundaries of the exact counters.
    pub thresholds: Thresholds,
    /// Operations in flight at most on each target, of all streams that have no lane of their own.
    pub bound: u32,
    /// When the run begins on the time line.
    pub start: Instant,
    /// Number that marks this run's data.
    pub run: u32,
    /// The rules.
    pub limits: Limits,
    /// What all workers have written, for a plan that verifies.
    pub ledger: Option<Arc<Ledger>>,
}

/// What a worker wants after a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// It has nothing to do before this, unless an operation completes.
    pub wake: Instant,
    /// Nothing is issued before this, whatever completes; the beginning of time where that is not known.
    pub quiet: Instant,
    /// Something was issued, which [`Worker::send`](crate::Worker::send) hands over.
    pub issued: bool,
    /// All is over.
    pub done: bool,
}

/// What a worker carried over its whole life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Handed over.
    pub issued: u64,
    /// Came back: in full, short or failed.
    pub completed: u64,
    /// Never came back.
    pub stuck: u64,
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Totals) {
        self.issued += other.issued;
        self.completed += other.completed;
        self.stuck += other.stuck;
    }
}
