//! The files that the end of a run leaves in its directory beside the log, and documents made from a judgement.

use crate::failure::{Failure, shown};
use crate::files::Rescue;
use crate::judging::Log;
use crate::observer::Tell;
use crate::{files, remembered, signing};
use assay_base::Measure;
use assay_judge::{Judgement, Options, for_a_shell};
use std::path::{Path, PathBuf};

/// The files that the end of a run leaves in its directory, beside the log.
const LEFT: [&str; 3] = ["verdict.json", "verdict.json.minisig", "report.html"];

/// The copy of a log that has lost its name.
const RESCUED: &str = "run-rescued.jsonl";

/// Refuses a directory in which the end of the run could not write its files, before the run continues.
pub fn may_be_left(dir: &Path) -> Result<(), Failure> {
    replaceable(dir, &LEFT)
}

/// Refuses a directory in which one of these files of ours could not be written.
pub fn replaceable(dir: &Path, names: &[&str]) -> Result<(), Failure> {
    names.iter().map(|name| dir.join(name)).try_for_each(|path| {
        files::check(&path).map_err(|e| Failure::host(format!("{} cannot be written: {e}", shown(&path))))
    })
}

/// Judges the log in `dir` and writes verdict.json and report.html beside it; false where they could not be written,
/// which `tell` gets a message about. Those of an interrupted run are replaced when it was continued: they are computed
/// from the log, which is only ever appended to.
pub fn leave(dir: &Path, judge_on: Option<Measure>, notify: Tell) -> Result<(Judgement, bool), Failure> {
    let path = dir.join("run.jsonl");
    let judgement = remembered::compare(&path, judge(&path, judge_on), notify)?;
    tell_where(dir, &path, notify);
    // A signature of the previous file does not apply to the new one.
    let signature = signing::signature_path(&dir.join("verdict.json"));
    let unsigned = files::remove(&signature);
    if let Err(e) = &unsigned {
        notify(&format!("error: {} cannot be removed: {e}", shown(&signature)));
    }
    let verdict = leave_one(dir, "verdict.json", &json(&judgement)?, notify);
    let report = leave_one(dir, "report.html", &html(&judgement)?, notify);
    Ok((judgement, unsigned.is_ok() && verdict && report))
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
            notify(&format!("error: {} was deleted while the run went on, and its results cannot be kept", shown(dir)));
        }
        Some(now) => {
            let now = shown(&now);
            notify(&format!(
                "error: {} was moved or replaced while the run went on: its results are in {now}",
                shown(dir)
            ));
        }
    }
    match files::rescue(log, RESCUED) {
        Ok(Rescue::NotNeeded) => {}
        Ok(Rescue::Copied) => notify(&format!(
            "error: {} was moved, replaced or deleted while the run went on: {RESCUED} beside it holds what this run wrote",
            shown(log)
        )),
        Err(e) => notify(&format!(
            "error: {} was moved, replaced or deleted while the run went on, and no copy of it can be written: {e}",
            shown(log)
        )),
    }
}

/// Writes a result completely or not at all: neither a partial file nor that of an earlier part of the run may be
/// mistaken for it.
fn leave_one(dir: &Path, name: &str, text: &str, notify: Tell) -> bool {
    let path = dir.join(name);
    let Err(e) = files::replace(&path, text.as_bytes()) else { return true };
    let _ = files::remove(&path);
    let typed = for_a_shell(&dir.to_string_lossy());
    notify(&format!(
        "error: {} cannot be written: {e}\n  = the run log holds all of it; with room on its disk: assay judge {typed}, assay report {typed}",
        shown(&path)
    ));
    false
}

/// Judges the log at `path`.
pub fn judge(path: &Path, judge_on: Option<Measure>) -> Result<Judgement, Failure> {
    Log::open(path)?.judge(Options { judge_on, ..Options::default() })
}

/// Refuses a file that is to be written later and could not be: something has its name, or its directory is not there.
pub fn free(path: &Path) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::host(format!("{} cannot be written: {why}", shown(path)));
    files::check(path).map_err(|e| failed(&e))?;
    match path.symlink_metadata() {
        Ok(_) => Err(failed(&"it exists already, and nothing is overwritten; name another file")),
        Err(_) => Ok(()),
    }
}

/// Writes a document to a new file. An existing file is never overwritten, and no partial file stays.
pub fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::host(format!("{} cannot be written: {why}", shown(path)));
    files::create(path, text.as_bytes()).map_err(|e| failed(&e))
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

/// The text that a renderer writes.
pub fn rendered(render: impl FnOnce(&mut String) -> std::fmt::Result) -> Result<String, Failure> {
    let mut text = String::new();
    render(&mut text).map_err(|_| Failure::bug("a judgement that cannot be rendered"))?;
    Ok(text)
}
