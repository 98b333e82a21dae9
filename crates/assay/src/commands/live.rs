//! `assay live`: serves what the log of a run says, while it is written or later, as a page for browsers and as metrics.

#[cfg(feature = "live")]
mod serving;

use crate::args::{ListenAddress, Serving};
use assay_base::Measure;
use assay_run::failure::Failure;
use std::path::PathBuf;

/// `assay live`
#[derive(clap::Args, Debug)]
pub(crate) struct Live {
    /// The directory of a run, of a limit, curve, matrix, fit or size; or the run.jsonl of a run
    pub dir: PathBuf,
    /// Where to serve it: an address and a port, or a port of 127.0.0.1 [default: 127.0.0.1 and a free port, which is printed]
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", hide_default_value = true)]
    pub listen: ListenAddress,
    #[command(flatten)]
    pub serving: Serving,
    /// Judge all criteria by this time: response or service [default: the time that each criterion names]
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
    /// Listen with standard input, as the process wants it that starts this one
    #[arg(long, hide = true)]
    pub inherited: bool,
}

/// Serves until some time behind the end of what is followed.
#[cfg(feature = "live")]
pub(crate) fn serve_log(args: &Live) -> Result<u8, Failure> {
    serving::serve_log(args)
}

/// Says that this program cannot.
#[cfg(not(feature = "live"))]
pub(crate) fn serve_log(_: &Live) -> Result<u8, Failure> {
    Err(Failure::host_unable(crate::live_page::NOT_IN_THIS_PROGRAM))
}
