//! In place of [`live_page`](self) where the program is built without it (`--no-default-features`).

use crate::args::BesideRun;
use assay_base::Measure;
use assay_run::failure::Failure;
use std::path::Path;

/// What is said to whoever asks for it.
pub(crate) const NOT_IN_THIS_PROGRAM: &str =
    "this program was built without the live page; build it with --features live";

/// A page beside a run: there is none.
#[derive(Debug)]
pub(crate) enum PageBesideRun {}

/// A process that serves it: there is none.
#[derive(Debug)]
pub(crate) enum ServingProcess {}

impl PageBesideRun {
    /// Refuses, if the options ask for a page.
    pub(crate) fn listen_if_asked(options: &BesideRun, _: Option<Measure>) -> Result<Option<PageBesideRun>, Failure> {
        match options.live {
            Some(_) => Err(Failure::host_unable(NOT_IN_THIS_PROGRAM)),
            None => Ok(None),
        }
    }

    /// Never called.
    pub(crate) fn serve_directory(self, _: &Path) -> Option<ServingProcess> {
        match self {}
    }
}
