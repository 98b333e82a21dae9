//! How the highest load is searched for, where one is.

use assay_base::Multiple;

/// How the highest load that passes is searched for.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Search {
    /// The load to begin with [default: 10x, or --to where that is lower]
    #[arg(long, value_name = "LOAD")]
    pub from: Option<Multiple>,
    /// Never go above this
    #[arg(long, value_name = "LOAD")]
    pub to: Option<Multiple>,
    /// How close to the limit to come
    #[arg(long, value_name = "LOAD", default_value = "1x")]
    pub resolution: Multiple,
}
