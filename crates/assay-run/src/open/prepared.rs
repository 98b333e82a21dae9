//! What a verb has opened before its first run: the targets, the signals that end its runs, and the scheduler of the devices.

use crate::failure::Failure;
use crate::host::signals::{self, StopCell};
use crate::observer::Tell;
use crate::open::schedulers::Schedulers;
use crate::open::targets::{Named, TargetNeeds, Targets};

/// Opens targets through the safety gate, with the consents that were given.
pub type Opener<'a> = dyn Fn(&[(String, Named)], TargetNeeds<'_>) -> Result<Targets, Failure> + 'a;

/// Targets that are open for runs, with what lasts as long as they do. The fields are dropped in this order.
#[derive(Debug)]
pub struct Prepared {
    /// The targets, after every safety rule was evaluated.
    pub targets: Targets,
    /// Ends the runs early.
    pub stop: StopCell,
    // Restored after everything else: setting a scheduler waits for operations in flight, for ever where a disk hangs.
    scheduler: Option<Schedulers>,
}

impl Prepared {
    /// Opens the named targets. From then on signals end the runs regularly.
    pub fn open_named(
        named: &[(String, Named)],
        needs: TargetNeeds<'_>,
        open_targets: &Opener<'_>,
    ) -> Result<Prepared, Failure> {
        let targets = open_targets(named, needs)?;
        Ok(Prepared::from_opened(targets, signals::stop_on_signals()?))
    }

    /// Takes over targets that were opened while signals were already noted in `stop`, for work that may take long before its
    /// first run.
    pub fn from_opened(targets: Targets, stop: StopCell) -> Prepared {
        Prepared { targets, stop, scheduler: None }
    }

    /// Gives the devices the scheduler `wanted` until this is dropped; returns what was done, for the log.
    pub fn set_scheduler(&mut self, wanted: Option<&str>, tell: Tell) -> Result<Vec<String>, Failure> {
        let scheduler = Schedulers::set_all(wanted, &self.targets, tell)?;
        let notes = scheduler.log_notes();
        self.scheduler = Some(scheduler);
        Ok(notes)
    }
}
