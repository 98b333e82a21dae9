//! `assay report`: one self-contained HTML file from a log.

use super::{print, result, write_new};
use crate::cli;
use crate::failure::{Failure, code};
use crate::rundir;

/// Writes the report.
pub fn report(args: &cli::Report) -> Result<u8, Failure> {
    let log = rundir::log_in(&args.log);
    result::tell_if_it_goes_on(&log);
    let judgement = result::judge(&log, args.judge_on)?;
    let html = result::html(&judgement)?;
    match &args.out {
        Some(path) => write_new(path, &html)?,
        None => print(&html),
    }
    Ok(code::DONE)
}
