//! `assay report`: writes one self-contained HTML file from a log, beside the log unless the user names another place.

use super::result;
use crate::stdout::{print_document, show_text};
use assay_base::Measure;
use assay_judge::Options;
use assay_run::failure::{Failure, code, escaped_path};
use assay_run::files;
use assay_run::log::{results, rundir};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `assay report`
#[derive(clap::Args, Debug)]
pub(crate) struct Report {
    /// A run log, or its run directory
    pub log: PathBuf,
    /// File to write, which must not exist yet; - for standard output [default: report.html in the run directory, replacing an
    /// older one; for a log NAME of another name, NAME.html next to it]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Judge all criteria by this time: response (from the scheduled time to completion) or service (from issue to completion)
    /// [default: the time that each criterion names]
    #[arg(long = "judge", value_name = "MEASURE")]
    pub judge_on: Option<Measure>,
}

/// Name of the log in a run directory.
const LOG: &str = "run.jsonl";

/// Writes the report and names its path.
pub(crate) fn write_report(args: &Report) -> Result<u8, Failure> {
    let log = rundir::log_in(&args.log);
    let judgement = result::open_log(&log)?.judge_log(Options { judge_on: args.judge_on, ..Options::default() })?;
    let html = results::html_report(&judgement)?;
    let path = match &args.out {
        Some(out) if out.as_os_str() == "-" => {
            print_document(&html);
            return Ok(code::DONE);
        }
        Some(out) => {
            results::write_new(out, &html)?;
            out.clone()
        }
        None => page_path(&log, args.judge_on, &html)?,
    };
    show_text(&format!("{}\n", escaped_path(&path)));
    Ok(code::DONE)
}

/// The report of a run directory depends only on its log, so an older report is replaced. A file beside a log with
/// another name may belong to anybody.
fn page_path(log: &Path, judge_on: Option<Measure>, html: &str) -> Result<PathBuf, Failure> {
    let advice = "name another file: --out FILE, or --out - for standard output";
    // With another measure it is another report than the run's own.
    let judged = judge_on.map(|measure| format!("-{measure}")).unwrap_or_default();
    if log.file_name().is_some_and(|name| name == LOG) {
        let path = log.with_file_name(format!("report{judged}.html"));
        return match files::replace_file(&path, html.as_bytes()) {
            Ok(()) => Ok(path),
            Err(e) => {
                Err(Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(&path))).with_advice(advice))
            }
        };
    }
    let mut name: OsString = log.file_name().unwrap_or_default().to_owned();
    name.push(format!("{judged}.html"));
    let path = log.with_file_name(name);
    results::write_new(&path, html).map_err(|failure| failure.with_advice(advice)).map(|()| path)
}
