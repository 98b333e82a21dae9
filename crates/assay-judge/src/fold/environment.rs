//! Whether the machine stayed what it was: its clocks, and what the run was told of changes.

use crate::finding::flaw::Flaw;
use crate::fold::clocks::ClockFold;

/// Watches over one step.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// What happened to the machine's time.
    pub(crate) clocks: ClockFold,
    /// Times the machine was found changed.
    pub(crate) changes: u64,
    /// The latest change, until the windows know of it.
    latest: Option<Flaw>,
}

impl Environment {
    /// The machine is not what it was: the interval in which that was found, whose line follows, proves nothing.
    pub(crate) fn change(&mut self, how: Flaw) {
        self.changes += 1;
        self.latest.get_or_insert(how);
    }

    /// What the open windows do not know yet.
    pub(crate) fn take(&mut self) -> Option<Flaw> {
        self.latest.take()
    }
}
