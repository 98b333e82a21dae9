//! Whether the machine stayed the same: its clocks, and the changes that the run recorded.

use crate::finding::flaw::Flaw;
use crate::fold::clocks::ClockFold;

/// Observes one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// What happened to the machine's time.
    pub(crate) clocks: ClockFold,
    /// How often a change of the machine was found.
    pub(crate) changes: u64,
    /// The latest change, until the windows are informed.
    latest: Option<Flaw>,
}

impl Environment {
    /// Notes a change of the machine: the interval in which it was found, whose line follows, proves nothing.
    pub(crate) fn note_change(&mut self, how: Flaw) {
        self.changes += 1;
        self.latest.get_or_insert(how);
    }

    /// The change that the open windows are not informed of yet.
    pub(crate) fn take_change(&mut self) -> Option<Flaw> {
        self.latest.take()
    }
}
