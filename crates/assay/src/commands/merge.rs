//! `assay merge`: the log of all ranks once more, from the logs of the ranks alone.

use crate::stdout::print_document;
use assay_base::text::counted_things;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::host::ranks::comparing::{Comparison, merge_and_compare};
use assay_run::host::ranks::merging::merge_logs;
use assay_run::host::ranks::rank_logs::logs_of_ranks;
use assay_run::log::logfile::LogFile;
use std::path::{Path, PathBuf};

/// `assay merge`
#[derive(clap::Args, Debug)]
pub(crate) struct Merge {
    /// The directory of a run with several ranks, whose logs are in `hosts` there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Where to write the log, which must not exist yet [default: run.jsonl in the directory, or merged.jsonl where that exists]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Makes the log of all ranks from theirs, and compares it with the one that the run has left.
pub(crate) fn merge_ranks(args: &Merge) -> Result<u8, Failure> {
    let logs = logs_of_ranks(&args.directory)?;
    let kept = args.directory.join("run.jsonl");
    let has_kept = kept.is_file();
    let usual = if has_kept { args.directory.join("merged.jsonl") } else { kept.clone() };
    let path = args.out.clone().unwrap_or(usual);
    let mut joint = LogFile::create_new(&path)?;
    if !has_kept {
        merge_logs(&logs, &mut joint)?;
        if let Some(why) = joint.write_failure() {
            return Err(Failure::host_unable(format!("{} could not be written: {why}", escaped_path(&path))));
        }
        print_document(&merged_text(&logs, &path));
        return Ok(code::DONE);
    }
    let comparison = merge_and_compare(&logs, joint, &kept)?;
    let compared = comparison_in_words(&comparison, &kept, &path)?;
    print_document(&(merged_text(&logs, &path) + &compared));
    Ok(code::DONE)
}

fn merged_text(logs: &[PathBuf], path: &Path) -> String {
    format!("{} ranks' logs are merged in {}\n", logs.len(), escaped_path(path))
}

/// What the comparison with the log that the run has left shows.
///
/// # Errors
/// The two contradict each other, or the ranks' logs have less than the log of all.
fn comparison_in_words(comparison: &Comparison, kept: &Path, merged: &Path) -> Result<String, Failure> {
    let (kept, merged) = (escaped_path(kept), escaped_path(merged));
    if let Some(why) = comparison.contradiction() {
        return Err(Failure::invalid_result(format!("{kept} and {merged}: {why}")));
    }
    let Comparison { intervals, distributions, only_kept, only_of_ranks, .. } = comparison;
    if *only_kept > 0 {
        return Err(Failure::invalid_result(format!(
            "{kept} has {only_kept} intervals more than the ranks' logs, in which the last of all is interval {}: one of these was cut or replaced; assay judge names it",
            intervals.saturating_sub(1)
        )));
    }
    let more = match only_of_ranks {
        0 => String::new(),
        more => format!(
            "the ranks' logs have {} more, behind which nothing was joined\n",
            counted_things(*more, "interval")
        ),
    };
    Ok(format!("the same as in {kept}: {intervals} intervals, {distributions} lines of distributions\n{more}"))
}
