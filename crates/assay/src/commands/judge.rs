//! `assay judge`: the verdict from a log alone.

use super::result;
use crate::stdout::{print_document, show_text};
use assay_base::{Measure, Span};
use assay_judge::Options;
use assay_run::failure::Failure;
use assay_run::log::judging::Log;
use assay_run::log::{results, rundir};
use std::path::PathBuf;

/// `assay judge`
#[derive(clap::Args, Debug)]
pub(crate) struct Judge {
    /// A run log, its run directory, or a log written by ACT 3.0 to 6.6
    pub log: PathBuf,
    /// Length of the windows that are judged one by one, such as 1h [default: as in the log]
    #[arg(long, value_name = "TIME")]
    pub slice: Option<Span>,
    /// Judge all criteria by this time: response (from the scheduled time to completion) or service (from issue to completion)
    /// [default: the time that each criterion names]
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
    /// Print the complete table of slices
    #[arg(long)]
    pub table: bool,
    /// Print the judgement as JSON
    #[arg(long)]
    pub json: bool,
}

/// Judges a log and prints the judgement; the exit code is the verdict's.
pub(crate) fn judge_log(args: &Judge) -> Result<u8, Failure> {
    let options = Options { judge_on: args.judge_on, slice: args.slice, ..Options::default() };
    if args.slice.is_some_and(Span::is_zero) {
        return Err(Failure::bad_usage("a slice of 0s holds nothing to judge; give --slice a time such as 60s"));
    }
    let log = result::open_log(&rundir::log_in(&args.log))?;
    if let Some(slice) = args.slice {
        check_slice_fits(slice, &log)?;
    }
    let judgement = log.judge_log(options)?;
    match (args.json, args.table) {
        (true, _) => print_document(&results::judgement_json(&judgement)?),
        (false, true) => show_text(&results::slices_table(&judgement)?),
        (false, false) => show_text(&result::judgement_text(&judgement, &args.log.to_string_lossy())?),
    }
    Ok(judgement.verdict.exit_code())
}

/// An interval belongs completely to the slice it begins in, so slices must consist of whole intervals. For a log of
/// ACT the length is rounded, as ACT does.
fn check_slice_fits(slice: Span, log: &Log) -> Result<(), Failure> {
    if log.is_of_act() {
        return Ok(());
    }
    // A file that is not a log is reported when it is judged.
    let Some(interval) = log.interval_length()? else { return Ok(()) };
    if slice.as_ns().is_multiple_of(interval.as_ns().max(1)) {
        Ok(())
    } else {
        Err(Failure::bad_usage(format!(
            "a slice of {slice} is not a multiple of the log's interval, {interval}; give --slice such a multiple"
        )))
    }
}
