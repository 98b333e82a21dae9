//! `assay judge`: the verdict from a log alone.

use super::{print, result, show};
use crate::cli;
use crate::failure::Failure;
use crate::rundir;
use assay_judge::Options;

/// Judges a log and prints the judgement; the exit code is the verdict's.
pub fn judge(args: &cli::Judge) -> Result<u8, Failure> {
    let options = Options { judge_on: args.judge_on, slice: args.slice, ..Options::default() };
    let log = rundir::log_in(&args.log);
    result::tell_if_it_goes_on(&log);
    let judgement = result::judge_with(&log, options)?;
    match (args.json, args.table) {
        (true, _) => print(&result::json(&judgement)?),
        (false, true) => show(&result::table(&judgement)?),
        (false, false) => show(&result::text(&judgement, &args.log.display().to_string())?),
    }
    Ok(judgement.verdict.exit_code())
}
