//! The end of every run on the terminal: its result, and where the files are.

use crate::again;
use crate::args::Output;
use crate::progress::Progress;
use crate::screen::{self, tell};
use crate::stdout::{print_json, show};
use assay_judge::render::{Following, text_for, text_with};
use assay_judge::{Judgement, for_a_shell};
use assay_run::certificate::signing::Signer;
use assay_run::failure::{Failure, shown};
use assay_run::log::judging::Log;
use assay_run::log::results::{directory_now, rendered, write_results};
use assay_run::observer::Observer;
use std::path::Path;

/// Judges the log in `dir`, writes verdict.json and report.html, signs where that was asked for, and prints the result.
/// The exit code is that of the verdict, also where the results cannot be written, because the log decides.
pub(crate) fn finish(dir: &Path, output: &Output, progress: &Progress, signer: Option<&Signer>) -> Result<u8, Failure> {
    let (judgement, left) = write_results(dir, output.judge_on, tell)?;
    if let Some(signer) = signer.filter(|_| left) {
        signer.sign(&dir.join("verdict.json"), &judgement)?;
    }
    if output.json {
        print_json(&judgement)?;
    } else {
        let again = again::command(dir);
        let following = Following { log: &dir.to_string_lossy(), again: Some(&again) };
        show(&rendered(|out| text_with(&judgement, &following, screen::reader(), out))?);
        if left {
            progress.say(&format!("results in {}: run.jsonl, verdict.json, report.html", shown(&directory_now(dir))));
        }
    }
    Ok(judgement.verdict.exit_code())
}

/// Opens a log to be judged, and says so if its run is still going on, because such a log looks like one that was cut
/// short.
pub(crate) fn open(path: &Path) -> Result<Log, Failure> {
    let log = Log::open(path)?;
    if log.is_being_written() {
        let dir = for_a_shell(&path.parent().unwrap_or(path).to_string_lossy());
        tell(&format!(
            "note: this run goes on; what follows is made of what it has measured so far (assay watch {dir} follows it)"
        ));
    }
    Ok(log)
}

/// The judgement as text.
pub(crate) fn text(judgement: &Judgement, log: &str) -> Result<String, Failure> {
    rendered(|out| text_for(judgement, log, screen::reader(), out))
}
