//! The end of every run: judge the log, leave verdict and report beside it, print the result.

use crate::act;
use crate::args::Output;
use crate::certificate;
use crate::failure::{Failure, shown};
use crate::files;
use crate::logfile;
use crate::progress::Progress;
use crate::screen::{self, tell};
use crate::signing::Signer;
use crate::stdout::{print_json, show};
use assay_base::Measure;
use assay_judge::{Judgement, Options, for_a_shell};
use std::path::Path;

/// Judges the log in `dir`, writes verdict.json and report.html, signs where that was asked for, prints the result; the exit
/// code is the verdict's, also where the results cannot be left: the log is what counts.
pub fn finish(dir: &Path, output: &Output, progress: &Progress, signer: Option<&Signer>) -> Result<u8, Failure> {
    let (judgement, left) = leave(dir, output.judge_on)?;
    if let Some(signer) = signer.filter(|_| left) {
        signer.sign(&dir.join("verdict.json"), &judgement)?;
    }
    if output.json {
        print_json(&judgement)?;
    } else {
        show(&text(&judgement, &dir.to_string_lossy())?);
        if left {
            progress.say(&format!("results in {}: run.jsonl, verdict.json, report.html", shown(dir)));
        }
    }
    Ok(judgement.verdict.exit_code())
}

/// What the end of a run leaves in its directory, beside the log.
const LEFT: [&str; 3] = ["verdict.json", "verdict.json.minisig", "report.html"];

/// Refuses a directory in which the end of the run could not leave its files, before the run goes on.
pub fn may_be_left(dir: &Path) -> Result<(), Failure> {
    replaceable(dir, &LEFT)
}

/// Refuses a directory in which one of these files of ours could not be written.
pub fn replaceable(dir: &Path, names: &[&str]) -> Result<(), Failure> {
    names.iter().map(|name| dir.join(name)).try_for_each(|path| {
        files::check(&path).map_err(|e| Failure::host(format!("{} cannot be written: {e}", shown(&path))))
    })
}

/// Judges the log in `dir` and leaves verdict.json and report.html beside it; false where they could not be written, which is
/// said. Those of an interrupted run are replaced when it was continued: they are made of the log, which is only ever
/// appended to.
pub fn leave(dir: &Path, judge_on: Option<Measure>) -> Result<(Judgement, bool), Failure> {
    let judgement = judge(&dir.join("run.jsonl"), judge_on)?;
    // A signature of what stood here before is none of this.
    let signature = crate::signing::beside(&dir.join("verdict.json"));
    let unsigned = files::remove(&signature);
    if let Err(e) = &unsigned {
        tell(&format!("error: {} cannot be removed: {e}", shown(&signature)));
    }
    let verdict = leave_one(dir, "verdict.json", &json(&judgement)?);
    let report = leave_one(dir, "report.html", &html(&judgement)?);
    Ok((judgement, unsigned.is_ok() && verdict && report))
}

/// A result is there whole or not at all: neither half of it nor that of an earlier part of the run is taken for it.
fn leave_one(dir: &Path, name: &str, text: &str) -> bool {
    let path = dir.join(name);
    let Err(e) = files::replace(&path, text.as_bytes()) else { return true };
    let _ = files::remove(&path);
    let typed = for_a_shell(&dir.to_string_lossy());
    tell(&format!(
        "error: {} cannot be written: {e}\n  = the run log holds all of it; with room on its disk: assay judge {typed}, assay report {typed}",
        shown(&path)
    ));
    false
}

/// Judges a log.
pub fn judge(log: &Path, judge_on: Option<Measure>) -> Result<Judgement, Failure> {
    judge_with(log, Options { judge_on, ..Options::default() })
}

/// Judges a log of ours, or one that ACT wrote.
pub fn judge_with(log: &Path, options: Options) -> Result<Judgement, Failure> {
    if act::judge::is_one(log) {
        return act::judge::judge(log, options);
    }
    let judged = certificate::judge(logfile::open(log)?, &options);
    Ok(judged.map_err(|e| Failure::workload(format!("{}: {e}", shown(log))))?.judgement)
}

/// Says of a log that is to be judged that its run goes on, if so: it looks like one that was cut short.
pub fn tell_if_it_goes_on(log: &Path) {
    if logfile::open(log).is_ok_and(|file| logfile::is_being_written(&file)) {
        let dir = for_a_shell(&log.parent().unwrap_or(log).to_string_lossy());
        tell(&format!(
            "note: this run goes on; what follows is made of what it has measured so far (assay watch {dir} follows it)"
        ));
    }
}

/// Writes a document to a new file. What is there is never overwritten, and nothing that is cut stays.
pub fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::host(format!("{} cannot be written: {why}", shown(path)));
    files::create(path, text.as_bytes()).map_err(|e| failed(&e))
}

/// The judgement as text.
pub fn text(judgement: &Judgement, log: &str) -> Result<String, Failure> {
    rendered(|out| assay_judge::render::text_for(judgement, log, screen::reader(), out))
}

/// The table of all slices.
pub fn table(judgement: &Judgement) -> Result<String, Failure> {
    rendered(|out| assay_judge::render::table(judgement, out))
}

/// The judgement as one HTML file.
pub fn html(judgement: &Judgement) -> Result<String, Failure> {
    rendered(|out| assay_judge::render::html(judgement, out))
}

/// The judgement as JSON.
pub fn json(judgement: &Judgement) -> Result<String, Failure> {
    rendered(|out| assay_judge::render::json(judgement, out))
}

fn rendered(render: impl FnOnce(&mut String) -> std::fmt::Result) -> Result<String, Failure> {
    let mut text = String::new();
    render(&mut text).map_err(|_| Failure::bug("a judgement that cannot be rendered"))?;
    Ok(text)
}
