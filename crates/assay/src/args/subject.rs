//! What to run, and on which targets.

use super::tiles::without_tiles;
use super::{Jobs, Lookaside};
use crate::candidates;
use assay_base::Span;
use assay_model::workload::Workload;
use assay_run::failure::{Failure, one_line};
use assay_run::procedure::searching::Bounds;
use assay_run::procedure::settings::Settings;
use assay_run::procedure::several::Several;
use assay_run::procedure::tiles::TilesToSearch;
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
        let workload = self.workload_for_verb(verb, settings.pace.measure)?;
        if workload.tiles().is_some() {
            return Err(Failure::bad_usage(format!(
                "{} is a file of tiles: add --tiles to search how many hold",
                one_line(&workload.name)
            )));
        }
        Several::open_for_verb(verb, workload, &self.targets, settings)
    }

    /// Opens the targets for a search of the number of tiles.
    pub(crate) fn open_tiles<'a>(&self, settings: Settings<'a>, bounds: Bounds) -> Result<TilesToSearch<'a>, Failure> {
        let workload = self.workload_for_verb("limit", settings.pace.measure)?;
        if workload.tiles().is_none() {
            return Err(without_tiles(&workload));
        }
        TilesToSearch::open_targets(workload, &self.targets, settings, bounds)
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
