//! The files that the end of a run leaves in its directory beside the log, and documents made from a judgement.

use crate::certificate::signing;
use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::files::Rescue;
use crate::log::judging::Log;
use crate::log::remembered::{self, Judged};
use crate::observer::Tell;
use assay_base::Measure;
use assay_judge::{Judgement, Options, for_a_shell};
use assay_model::Phase;
use std::path::{Path, PathBuf};

/// The files that the end of a run leaves in its directory, beside the log.
const LEFT: [&str; 3] = ["verdict.json", "verdict.json.minisig", "report.html"];

/// The copy of a log that has lost its name.
const RESCUED: &str = "run-rescued.jsonl";

/// Refuses a directory in which the end of the run could not write its files, before the run continues.
pub fn refuse_unwritable_results(dir: &Path) -> Result<(), Failure> {
    check_replaceable(dir, &LEFT)
}

/// Refuses a directory in which one of these files of ours could not be written.
pub fn check_replaceable(dir: &Path, names: &[&str]) -> Result<(), Failure> {
    names.iter().map(|name| dir.join(name)).try_for_each(|path| {
        files::check_replaceable(&path)
            .map_err(|e| Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(&path))))
    })
}

/// Judges the log in `dir` and writes verdict.json and report.html beside it; false where they could not be written,
/// which `tell` gets a message about. Those of an interrupted run are replaced when it was continued: they are computed
/// from the log, which is only ever appended to.
pub fn write_results(dir: &Path, judge_on: Option<Measure>, notify: Tell) -> Result<(Judgement, bool), Failure> {
    let (judged, written) = write_judged_results(dir, judge_on, &[], notify)?;
    Ok((judged.whole, written))
}

/// The same, with the judgements of these phases of the run, each by itself. What any procedure says of a run that it made
/// comes from here, so that all have it from memory where the log cannot be read back.
pub(crate) fn write_judged_results(
    dir: &Path,
    judge_on: Option<Measure>,
    phases: &[Phase],
    notify: Tell,
) -> Result<(Judged, bool), Failure> {
    let path = dir.join("run.jsonl");
    let judged =
        remembered::compare_with_remembered(&path, judge_with_phases(&path, judge_on, phases), phases, notify)?;
    let judgement = &judged.whole;
    tell_where(dir, &path, notify);
    // A signature of the previous file does not apply to the new one.
    let signature = signing::signature_path(&dir.join("verdict.json"));
    let unsigned = files::remove_file(&signature);
    if let Err(e) = &unsigned {
        notify(&format!("error: {} cannot be removed: {e}", escaped_path(&signature)));
    }
    let is_in_log = judgement.log.is_some();
    let verdict = write_result(dir, "verdict.json", &judgement_json(judgement)?, is_in_log, notify);
    let report = write_result(dir, "report.html", &html_report(judgement)?, is_in_log, notify);
    Ok((judged, unsigned.is_ok() && verdict && report))
}

/// The directory of the results of a run that was made in `dir`, wherever it has been moved meanwhile.
pub fn directory_now(dir: &Path) -> PathBuf {
    files::moved_directory(dir).unwrap_or_else(|| dir.to_owned())
}

/// Tells the user where the results are if the names of the directory or of its log do not lead to them any more.
fn tell_where(dir: &Path, log: &Path, notify: Tell) {
    match files::moved_directory(dir) {
        None => {}
        Some(now) if now.as_os_str().is_empty() => {
            notify(&format!(
                "error: {} was deleted while the run went on, and its results cannot be kept",
                escaped_path(dir)
            ));
        }
        Some(now) => {
            let now = escaped_path(&now);
            notify(&format!(
                "error: {} was moved or replaced while the run went on: its results are in {now}",
                escaped_path(dir)
            ));
        }
    }
    match files::rescue_if_moved(log, RESCUED) {
        Ok(Rescue::NotNeeded) => {}
        Ok(Rescue::Copied) => notify(&format!(
            "error: {} was moved, replaced or deleted while the run went on: {RESCUED} beside it holds what this run wrote",
            escaped_path(log)
        )),
        Err(e) => notify(&format!(
            "error: {} was moved, replaced or deleted while the run went on, and no copy of it can be written: {e}",
            escaped_path(log)
        )),
    }
}

/// Writes a result completely or not at all: neither a partial file nor that of an earlier part of the run may be
/// mistaken for it. Where the log does not hold what was measured, nothing can be made of it later.
fn write_result(dir: &Path, name: &str, text: &str, is_in_log: bool, notify: Tell) -> bool {
    let path = dir.join(name);
    let Err(e) = files::replace_file(&path, text.as_bytes()) else { return true };
    let _ = files::remove_file(&path);
    let typed = for_a_shell(&dir.to_string_lossy());
    let advice = if is_in_log {
        format!("\n  = the run log holds all of it; with room on its disk: assay judge {typed}, assay report {typed}")
    } else {
        String::new()
    };
    notify(&format!("error: {} cannot be written: {e}{advice}", escaped_path(&path)));
    false
}

/// Judges the log at `path`.
pub fn judge_file(path: &Path, judge_on: Option<Measure>) -> Result<Judgement, Failure> {
    Log::open_log(path)?.judge_log(Options { judge_on, ..Options::default() })
}

fn judge_with_phases(path: &Path, judge_on: Option<Measure>, phases: &[Phase]) -> Result<Judged, Failure> {
    let whole = judge_file(path, judge_on)?;
    let phases = if phases.is_empty() { Vec::new() } else { Log::open_log(path)?.judge_phases(judge_on, phases)? };
    Ok(Judged { whole, phases })
}

/// Refuses a file that is to be written later and could not be: something has its name, or its directory is not there.
pub fn refuse_taken_path(path: &Path) -> Result<(), Failure> {
    files::check_replaceable(path).map_err(|e| cannot_be_written(path, &e))?;
    match path.symlink_metadata() {
        Ok(_) => Err(cannot_be_written(path, &"it exists already, and nothing is overwritten; name another file")),
        Err(_) => Ok(()),
    }
}

/// Writes a document to a new file. An existing file is never overwritten, and no partial file stays.
pub fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    files::create_file(path, text.as_bytes()).map_err(|e| cannot_be_written(path, &e))
}

fn cannot_be_written(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    Failure::host_unable(format!("{} cannot be written: {why}", escaped_path(path)))
}

/// The table of all slices.
pub fn slices_table(judgement: &Judgement) -> Result<String, Failure> {
    render_text(|out| assay_judge::render::write_slice_tables(judgement, out))
}

/// The judgement as one HTML file.
pub fn html_report(judgement: &Judgement) -> Result<String, Failure> {
    render_text(|out| assay_judge::render::write_html(judgement, out))
}

/// The judgement as JSON.
pub fn judgement_json(judgement: &Judgement) -> Result<String, Failure> {
    render_text(|out| assay_judge::render::write_json(judgement, out))
}

/// The text that a renderer writes.
pub fn render_text(render: impl FnOnce(&mut String) -> std::fmt::Result) -> Result<String, Failure> {
    let mut text = String::new();
    render(&mut text).map_err(|_| Failure::internal_bug("a judgement that cannot be rendered"))?;
    Ok(text)
}
