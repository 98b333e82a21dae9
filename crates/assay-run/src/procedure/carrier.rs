//! Who carries the runs of a procedure: this process alone, unless the procedure is given ranks that carry each run together.

use crate::drive::Drive;
use crate::failure::Failure;
use crate::host::signals::StopCell;
use crate::log::logfile::LogFile;
use crate::observer::Observer;
use crate::open::prepared::Opener;
use crate::open::targets::{Named, TargetNeeds, Targets};
use crate::procedure::steps::Task;
use assay_model::Plan;
use std::path::Path;

/// One run of a procedure.
#[derive(Debug)]
pub struct RunToCarry<'a> {
    /// What it consists of.
    pub tasks: &'a [Task],
    /// Where its results go.
    pub directory: &'a Path,
}

/// What a process has opened for all runs of a procedure.
#[derive(Clone, Copy, Debug)]
pub struct OpenedForRuns<'a> {
    /// The targets.
    pub targets: &'a Targets,
    /// The way in which each run is carried out.
    pub how: &'a Drive,
    /// Ends them early.
    pub stop: &'a StopCell,
}

/// Several ranks that carry the runs of a procedure.
pub trait CarryRuns: std::fmt::Debug {
    /// Whether this process is the first rank, which decides.
    fn is_first_rank(&self) -> bool;

    /// Opens the targets on all ranks, for runs like that of `plan`; `open` opens them on this one.
    ///
    /// # Errors
    /// This rank, or another one, cannot open them, or cannot carry such runs. Then none does.
    fn open_targets(
        &self,
        plan: &Plan,
        named: &[(String, Named)],
        needs: TargetNeeds<'_>,
        open: &Opener<'_>,
    ) -> Result<Targets, Failure>;

    /// Carries a run, as the first rank; its log is written into `log`.
    fn carry_run(
        &self,
        run: &RunToCarry<'_>,
        opened: OpenedForRuns<'_>,
        log: &mut LogFile,
        observer: &mut dyn Observer,
    ) -> Result<(), Failure>;

    /// Carries this rank's share of each run, as another rank than the first, until that one says that none follows.
    fn follow_first_rank(&self, opened: OpenedForRuns<'_>) -> Result<(), Failure>;
}
