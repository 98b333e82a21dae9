//! The end of every run on the terminal: its result, and where the files are.

use crate::args::Output;
use crate::progress::Progress;
use crate::screen::{self, print_to_stderr};
use crate::stdout::{print_json, show_text};
use assay_judge::render::{Following, text_for, text_with};
use assay_judge::{Judgement, for_a_shell};
use assay_run::certificate::signing::Signer;
use assay_run::failure::{Failure, escaped_path};
use assay_run::log::judging::Log;
use assay_run::log::results::{directory_now, render_text, write_results};
use assay_run::observer::Observer;
use std::path::Path;

/// Judges the log in `dir`, writes verdict.json and report.html, signs where that was asked for, and prints the result.
/// The exit code is that of the verdict, also where the results cannot be written, because the log decides.
pub(crate) fn judge_and_report(
    dir: &Path,
    output: &Output,
    progress: &Progress,
    signer: Option<&Signer>,
    again: &str,
) -> Result<u8, Failure> {
    let (judgement, left) = write_results(dir, output.judge_on, print_to_stderr)?;
    if let Some(signer) = signer.filter(|_| left) {
        signer.sign_certificate(&dir.join("verdict.json"), &judgement)?;
    }
    if output.json {
        print_json(&judgement)?;
    } else {
        let following = Following { log: &dir.to_string_lossy(), again: Some(again) };
        show_text(&render_text(|out| text_with(&judgement, &following, screen::reader_kind(), out))?);
        if left {
            progress.say_line(&format!(
                "results in {}: run.jsonl, verdict.json, report.html",
                escaped_path(&directory_now(dir))
            ));
        }
    }
    Ok(judgement.verdict.exit_code())
}

/// Opens a log to be judged, and says so if its run is still going on, because such a log looks like one that was cut
/// short.
pub(crate) fn open_log(path: &Path) -> Result<Log, Failure> {
    let log = Log::open_log(path)?;
    if log.is_being_written() {
        let dir = for_a_shell(&path.parent().unwrap_or(path).to_string_lossy());
        print_to_stderr(&format!(
            "note: this run goes on; what follows is made of what it has measured so far (assay watch {dir} follows it)"
        ));
    }
    Ok(log)
}

/// The judgement as text.
pub(crate) fn judgement_text(judgement: &Judgement, log: &str) -> Result<String, Failure> {
    render_text(|out| text_for(judgement, log, screen::reader_kind(), out))
}
