//! `assay live`: serves what the log of a run says, while it is written or later, as a page for browsers and as metrics.

#[cfg(feature = "live")]
mod serving;
#[cfg(feature = "live")]
mod table;

use crate::args::LiveLog;
use assay_run::failure::Failure;

/// Serves until some time behind the end of what is followed.
#[cfg(feature = "live")]
pub(crate) fn serve_log(args: &LiveLog) -> Result<u8, Failure> {
    serving::serve_log(args)
}

/// Says that this program cannot.
#[cfg(not(feature = "live"))]
pub(crate) fn serve_log(_: &LiveLog) -> Result<u8, Failure> {
    Err(Failure::host_unable(crate::live_page::NOT_IN_THIS_PROGRAM))
}
