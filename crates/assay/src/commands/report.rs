//! `assay report`: one self-contained HTML file from a log, beside the log unless another place is named.

use super::{print, result, show, write_new};
use crate::cli;
use crate::failure::{Failure, code, shown};
use crate::{files, rundir};
use assay_base::Measure;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How the log of a run directory is called.
const LOG: &str = "run.jsonl";

/// Writes the report and names its path.
pub fn report(args: &cli::Report) -> Result<u8, Failure> {
    let log = rundir::log_in(&args.log);
    result::tell_if_it_goes_on(&log);
    let judgement = result::judge(&log, args.judge_on)?;
    let html = result::html(&judgement)?;
    let path = match &args.out {
        Some(out) if out.as_os_str() == "-" => {
            print(&html);
            return Ok(code::DONE);
        }
        Some(out) => {
            write_new(out, &html)?;
            out.clone()
        }
        None => beside(&log, args.judge_on, &html)?,
    };
    show(&format!("{}\n", shown(&path)));
    Ok(code::DONE)
}

/// The report of a run directory is made of its log alone, so that an older one is replaced. What stands beside a log of another
/// name may be anybody's.
fn beside(log: &Path, judge_on: Option<Measure>, html: &str) -> Result<PathBuf, Failure> {
    let advice = "name another file: --out FILE, or --out - for standard output";
    // Judged otherwise it is another report than the run's own.
    let judged = judge_on.map(|measure| format!("-{measure}")).unwrap_or_default();
    if log.file_name().is_some_and(|name| name == LOG) {
        let path = log.with_file_name(format!("report{judged}.html"));
        let failed = |e| Failure::host(format!("{} cannot be written: {e}", shown(&path))).advised(advice);
        return files::replace(&path, html.as_bytes()).map_err(failed).map(|()| path.clone());
    }
    let mut name: OsString = log.file_name().unwrap_or_default().to_owned();
    name.push(format!("{judged}.html"));
    let path = log.with_file_name(name);
    write_new(&path, html).map_err(|failure| failure.advised(advice)).map(|()| path)
}
