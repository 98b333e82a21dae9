//! `assay judge`: the verdict from a log alone.

use super::{print, result};
use crate::cli;
use crate::failure::Failure;
use crate::rundir;

/// Judges a log and prints the judgement; the exit code is the verdict's.
pub fn judge(args: &cli::Judge) -> Result<u8, Failure> {
    let judgement = result::judge(&rundir::log_in(&args.log), args.judge_on)?;
    let document = match (args.json, args.table) {
        (true, _) => result::json(&judgement)?,
        (false, true) => result::table(&judgement)?,
        (false, false) => result::text(&judgement, &args.log.display().to_string())?,
    };
    print(&document);
    Ok(judgement.verdict.exit_code())
}
