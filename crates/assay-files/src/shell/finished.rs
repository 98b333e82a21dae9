//! A call or a sequence that has ended, before it is counted.

use assay_base::{Code, Instant};
use assay_record::OperationTimes;

/// What something that has ended came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Done {
        bytes: u64,
        entries: u64,
    },
    /// Fewer bytes than were asked for.
    Short,
    Failed(Code),
}

/// A call or a sequence that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finished {
    /// Its flow, where it has one.
    pub(super) flow: Option<usize>,
    /// The index of the sequence, where it is one.
    pub(super) sequence: Option<usize>,
    pub(super) ending: Ending,
    pub(super) times: OperationTimes,
    pub(super) completed: Instant,
}

impl Finished {
    pub(super) fn issued(&self) -> Instant {
        self.completed - self.times.service
    }
}
