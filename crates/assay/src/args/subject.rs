//! What is run, and on what.

use crate::candidates;
use clap_complete::engine::ArgValueCompleter;

/// One workload, and the targets it runs on.
#[derive(clap::Args, Debug)]
pub(crate) struct Subject {
    /// A workload file, or the name of a shipped one
    #[arg(add = ArgValueCompleter::new(candidates::workloads))]
    pub workload: String,
    /// What to run it on
    #[arg(add = ArgValueCompleter::new(candidates::targets))]
    pub targets: Vec<String>,
}
