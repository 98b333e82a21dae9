//! What to run, and on which targets.

use super::Jobs;
use crate::candidates;
use clap_complete::engine::ArgValueCompleter;

/// One workload, and the targets it runs on.
#[derive(clap::Args, Debug)]
pub(crate) struct Subject {
    /// A workload file, a fio job file, or the name of a workload that comes with the program (`assay workloads` lists them)
    #[arg(add = ArgValueCompleter::new(candidates::workloads))]
    pub workload: String,
    /// Where to run it: block devices, files, sim:flash, sim:flash-worn, sim:disk or null:SIZE
    #[arg(add = ArgValueCompleter::new(candidates::targets))]
    pub targets: Vec<String>,
    #[command(flatten)]
    pub jobs: Jobs,
}
