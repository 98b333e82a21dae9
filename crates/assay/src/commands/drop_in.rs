//! `assay as TOOL`: acts as another tool, with that tool's arguments.

use crate::tools;
use assay_run::failure::Failure;

/// `assay as`
#[derive(clap::Args, Debug)]
pub(crate) struct As {
    /// Name of the tool (act_storage, act_index, act_prep, act_latency, pblio, seekmark or bonnie++), then its own arguments
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "TOOL [ARGS]")]
    pub words: Vec<String>,
}

/// Does what the tool does.
pub(crate) fn drop_in(args: &As) -> Result<u8, Failure> {
    tools::run_tool(&args.words)
}
