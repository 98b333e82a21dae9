//! What a command line settles about runs, whatever they carry.

use crate::drive::Manner;
use crate::failure::Failure;
use crate::log::rundir;
use crate::observer::Tell;
use crate::open::prepared::Opener;
use crate::procedure::carrier::CarryRuns;
use crate::procedure::pace::Pace;
use assay_base::Measure;
use std::path::{Path, PathBuf};

/// The settings of runs, whatever they carry.
pub struct Settings<'a> {
    /// Changes to the pace of the workload.
    pub pace: Pace,
    /// Criteria that replace those of the workload, where there are any.
    pub criteria: &'a [String],
    /// The way in which its runs are carried out.
    pub manner: Manner,
    /// The time that all criteria are judged by, instead of the one that each names.
    pub judge_on: Option<Measure>,
    /// The place of the results.
    pub place: ResultsPlace,
    /// Opens the targets.
    pub open: Box<Opener<'a>>,
    /// The ranks that carry each run together; `None` where this process carries it alone.
    pub carrier: Option<&'a dyn CarryRuns>,
    /// Takes messages for the user that belong to no run.
    pub tell: Tell,
}

impl std::fmt::Debug for Settings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Settings { pace, criteria, manner, judge_on, place, .. } = self;
        write!(f, "Settings({pace:?}, {criteria:?}, {manner:?}, {judge_on:?}, {place:?})")
    }
}

/// The place of the results of a command.
#[derive(Clone, Debug, Default)]
pub struct ResultsPlace {
    /// A new directory that the user named.
    pub out: Option<PathBuf>,
    /// The directory of an earlier call that is continued.
    pub resume: Option<PathBuf>,
}

impl ResultsPlace {
    /// The directory for the results of what is called `name`. Refuses one that the user named and that exists, and one
    /// that is continued while another run works in it, before anything else is done.
    pub fn planned_directory(&self, name: &str) -> Result<PathBuf, Failure> {
        rundir::refuse_taken(self.out.as_deref())?;
        self.resume.as_deref().map_or(Ok(()), rundir::refuse_used_directory)?;
        Ok(self.directory_of_another_rank(name))
    }

    /// The same directory for a rank that neither makes nor holds it.
    pub fn directory_of_another_rank(&self, name: &str) -> PathBuf {
        rundir::planned_directory(self.resume.as_deref().or(self.out.as_deref()), name)
    }

    /// Creates a planned directory.
    pub fn create_directory(&self, planned: &Path) -> Result<PathBuf, Failure> {
        rundir::create_run_directory(planned, self.out.is_some())
    }
}
