//! What a phase of clients is told at its beginning, and what it says at its end.

use super::desk::OpenCall;
use super::overdue::Patience;
use super::still_time::StillTime;
use super::totals::OperationTotals;
use super::watch::Disturbance;
use crate::script::Wall;
use assay_base::{Instant, Span};
use assay_model::files::Operation;
use assay_record::Thresholds;
use std::collections::BTreeMap;

/// How the clients of a run are driven and recorded.
#[derive(Clone, Debug)]
pub struct Settings<C> {
    /// The present on the time line of the run.
    pub clock: C,
    /// The recording step.
    pub interval: Span,
    /// How many intervals a line of distributions covers.
    pub group: u64,
    /// The boundaries of the exact counts.
    pub thresholds: Thresholds,
    /// How long a call may take.
    pub patience: Patience,
    /// How long a phase lasts that does not say it.
    pub usual: Span,
    /// When the whole process did not run.
    pub still: StillTime,
}

/// Why a phase ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PhaseEnd {
    /// It was over.
    Whole,
    /// Its rate schedules nothing.
    Nothing,
    /// It was told to stop.
    Stopped,
    /// A call did not return. It may still be open, and so may others.
    GivenUp {
        /// The client; `None` where it is the look at the place that each second is taken.
        client: Option<usize>,
        /// Its call.
        call: OpenCall,
    },
    /// What must stay free was used up, or the path leads to something else.
    Disturbed(Disturbance),
}

/// A phase that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseReport {
    /// When it began.
    pub begun: Instant,
    /// When its last client had no more to do.
    pub ended: Instant,
    /// Why it ended.
    pub end: PhaseEnd,
    /// When the first client had no more to do, and what all had done by then, where each takes every file once.
    pub wall: Option<Wall>,
    /// Sequences that each client has done.
    pub done: Vec<u64>,
    /// What became of the calls, by operation.
    pub operations: BTreeMap<Operation, OperationTotals>,
}

impl PhaseReport {
    pub(super) fn without_work(at: Instant) -> PhaseReport {
        let (wall, done, operations) = (None, Vec::new(), BTreeMap::new());
        PhaseReport { begun: at, ended: at, end: PhaseEnd::Nothing, wall, done, operations }
    }
}
