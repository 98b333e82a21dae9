//! What to run, and on which targets.

use super::{Jobs, Lookaside};
use crate::candidates;
use assay_base::Span;
use assay_model::workload::Workload;
use assay_run::failure::Failure;
use assay_run::procedure::settings::Settings;
use assay_run::procedure::several::Several;
use assay_run::workloads;
use clap_complete::engine::ArgValueCompleter;

/// One workload, and the targets it runs on.
#[derive(clap::Args, Debug)]
pub(crate) struct Subject {
    /// A workload file, a fio job file, or the name of a workload that comes with the program (`assay workloads` lists them)
    #[arg(add = ArgValueCompleter::new(candidates::workload_candidates))]
    pub workload: String,
    /// Where to run it: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE; for the workload tpcc a database
    /// that assay prep has loaded, such as sqlite:FILE
    #[arg(add = ArgValueCompleter::new(candidates::target_candidates))]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub jobs: Jobs,
    #[command(flatten)]
    pub lookaside: Lookaside,
}

impl Subject {
    /// Opens the targets for several runs of the workload.
    pub(crate) fn open_several<'a>(&self, verb: &'static str, settings: Settings<'a>) -> Result<Several<'a>, Failure> {
        Several::open_for_verb(verb, self.workload_for_verb(verb, settings.pace.measure)?, &self.targets, settings)
    }

    /// The workload for a verb, with the cache that is asked for; `measure` is how long it is measured if that is said.
    pub(crate) fn workload_for_verb(&self, verb: &'static str, measure: Option<Span>) -> Result<Workload, Failure> {
        let reading = self.jobs.reading_for_verb(verb, &self.targets, measure)?;
        let found = workloads::read_all(&[&self.workload], &reading)?;
        let mut workload = found.into_iter().map(|found| found.workload).next().expect("each name is one workload");
        self.lookaside.apply_to_workload(&mut workload)?;
        Ok(workload)
    }
}
