//! The documents from which several runs are continued, and the pages that show them: each is written whole or not at
//! all, and the documents are read back with care.

use crate::failure::{Failure, escaped_path};
use crate::files;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::Path;

/// Upper bound on the size of such a document.
const LARGEST: u64 = 256 << 20;

/// Writes a document completely or not at all.
pub fn write_document<T: Serialize>(file: &Path, document: &T) -> Result<(), Failure> {
    let written = serde_json::to_vec_pretty(document).map_err(std::io::Error::from);
    written
        .and_then(|bytes| files::replace_file(file, &bytes))
        .map_err(|e| Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(file))))
}

/// Writes a page or another text completely or not at all; `draw` makes it.
pub fn write_page(file: &Path, draw: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> Result<(), Failure> {
    let mut text = String::new();
    draw(&mut text).map_err(|_| Failure::internal_bug(format!("{} cannot be drawn", escaped_path(file))))?;
    files::replace_file(file, text.as_bytes())
        .map_err(|e| Failure::host_unable(format!("{} cannot be written: {e}", escaped_path(file))))
}

/// The directory of a run as documents in `dir` name it: relative to them, so that they can be moved together.
pub fn relative_to(dir: &Path, run: &Path) -> String {
    run.strip_prefix(dir).unwrap_or(run).to_string_lossy().into_owned()
}

/// Reads what an earlier call stored; `same` says whether it belongs to the same task.
pub fn read_document<T: DeserializeOwned>(file: &Path, same: impl Fn(&T) -> bool) -> Result<T, Failure> {
    files::check_replaceable(file).map_err(|e| unusable_file(file, &e))?;
    let text = files::read_text(file, LARGEST).map_err(|e| unusable_file(file, &e))?;
    let kept: T = serde_json::from_str(&text).map_err(|e| unusable_file(file, &e))?;
    if !same(&kept) {
        let why = "it is of another workload, other targets or criteria, another length or seed; repeat the command it was started with";
        return Err(unusable_file(file, &why));
    }
    Ok(kept)
}

fn unusable_file(file: &Path, why: &dyn fmt::Display) -> Failure {
    Failure::bad_usage(format!("{} cannot be continued: {why}", escaped_path(file)))
}
