//! `assay judge`: the verdict from a log alone.

use super::{print, result, show};
use crate::failure::Failure;
use crate::{act, cli, logfile, rundir};
use assay_base::Span;
use assay_judge::Options;
use assay_record::Entry;
use std::path::Path;

/// Judges a log and prints the judgement; the exit code is the verdict's.
pub fn judge(args: &cli::Judge) -> Result<u8, Failure> {
    let options = Options { judge_on: args.judge_on, slice: args.slice, ..Options::default() };
    let log = rundir::log_in(&args.log);
    result::tell_if_it_goes_on(&log);
    if let Some(slice) = args.slice {
        fits(slice, &log)?;
    }
    let judgement = result::judge_with(&log, options)?;
    match (args.json, args.table) {
        (true, _) => print(&result::json(&judgement)?),
        (false, true) => show(&result::table(&judgement)?),
        (false, false) => show(&result::text(&judgement, &args.log.to_string_lossy())?),
    }
    Ok(judgement.verdict.exit_code())
}

/// An interval goes whole to the slice it begins in, so slices are made of whole ones. A log of ACT is rounded, as ACT does.
fn fits(slice: Span, log: &Path) -> Result<(), Failure> {
    if slice.is_zero() {
        return Err(Failure::usage("a slice of 0s holds nothing to judge"));
    }
    if act::judge::is_one(log) {
        return Ok(());
    }
    // What is no log is told when it is judged.
    let Ok(Some(Ok(Entry::Header(header)))) = logfile::read(log)?.next_entry() else { return Ok(()) };
    let interval = Span::from_ns(header.interval_ns);
    match slice.as_ns().is_multiple_of(header.interval_ns.max(1)) {
        true => Ok(()),
        false => Err(Failure::usage(format!("a slice of {slice} is no multiple of the log's interval, {interval}"))),
    }
}
