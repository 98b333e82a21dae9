//! `assay merge`: the log of all ranks once more, from the logs of the ranks alone.

use crate::stdout::print_document;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::host::ranks::merging::{compare_logs, logs_of_ranks, merge_logs};
use assay_run::log::logfile::LogFile;
use std::path::PathBuf;

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
    merge_logs(&logs, &mut joint)?;
    if let Some(why) = joint.write_failure() {
        return Err(Failure::host_unable(format!("{} could not be written: {why}", escaped_path(&path))));
    }
    drop(joint);
    let mut text = format!("{} ranks' logs are merged in {}\n", logs.len(), escaped_path(&path));
    if has_kept {
        let same = compare_logs(&kept, &path)?;
        text += &format!(
            "the same as in {}: {} intervals, {} lines of distributions\n",
            escaped_path(&kept),
            same.intervals,
            same.distributions
        );
    }
    print_document(&text);
    Ok(code::DONE)
}
