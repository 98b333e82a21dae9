//! `assay report`: one self-contained HTML file from a log.

use super::{print, result};
use crate::cli;
use crate::failure::{Failure, code};
use crate::rundir;

/// Writes the report.
pub fn report(args: &cli::Report) -> Result<u8, Failure> {
    let judgement = result::judge(&rundir::log_in(&args.log), args.judge_on)?;
    let html = result::html(&judgement)?;
    match &args.out {
        Some(path) => {
            let file = std::fs::File::options().write(true).create_new(true).open(path);
            let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, html.as_bytes()));
            written.map_err(|e| {
                Failure::host(format!(
                    "the report {} cannot be written: {e}; existing files are never overwritten",
                    path.display()
                ))
            })?;
        }
        None => print(&html),
    }
    Ok(code::DONE)
}
