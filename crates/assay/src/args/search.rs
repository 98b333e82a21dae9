//! Options of the search for the highest load that passes.

use assay_base::Multiple;
use assay_run::procedure::searching::Bounds;

/// How the highest load that passes is searched for.
#[derive(clap::Args, Debug, Clone, Copy)]
pub(crate) struct Search {
    /// Load of the first run, such as 10x [default: 10x, of a mail store or of files 1x; --to if that is lower]
    #[arg(long, value_name = "LOAD")]
    pub from: Option<Multiple>,
    /// Highest load to try, such as 100x [default: no limit]
    #[arg(long, value_name = "LOAD")]
    pub to: Option<Multiple>,
    /// How exactly to find the limit: the search ends when the loads that pass and fail are this close [default: 1x, of a mail store or of files 0.05x]
    #[arg(long, value_name = "LOAD")]
    pub resolution: Option<Multiple>,
}

impl Search {
    pub(crate) fn search_bounds(self) -> Bounds {
        Bounds { from: self.from, to: self.to, resolution: self.resolution }
    }
}
