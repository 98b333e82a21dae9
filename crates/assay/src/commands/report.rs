//! `assay report`: one self-contained HTML file from a log.

use super::{print, result, write_new};
use crate::cli;
use crate::failure::{Failure, code};
use crate::rundir;

/// Writes the report.
pub fn report(args: &cli::Report) -> Result<u8, Failure> {
    let judgement = result::judge(&rundir::log_in(&args.log), args.judge_on)?;
    let html = result::html(&judgement)?;
    match &args.out {
        Some(path) => write_new(path, &html)?,
        None => print(&html),
    }
    Ok(code::DONE)
}
