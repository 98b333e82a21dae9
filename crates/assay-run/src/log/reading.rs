//! Opening logs for reading.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::log::lock::mark_as_written;
use crate::workloads::meant::similar_file;
use assay_record::Reader;
use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub use crate::log::lock::is_being_written;

/// Bytes of a log that are read at once: they are still in the processor's cache when they are hashed and parsed.
pub(crate) const READ_AT_ONCE: usize = 128 << 10;

/// Opens a log for reading.
pub fn open_reader(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    Ok(reader_from(open_log_file(path)?))
}

/// Reads a log from where `input` is.
pub fn reader_from<R: io::Read>(input: R) -> Reader<BufReader<R>> {
    Reader::new(BufReader::with_capacity(READ_AT_ONCE, input))
}

/// Opens the file of a log.
pub fn open_log_file(path: &Path) -> Result<File, Failure> {
    let file = files::open_named_file(path).map_err(|e| unreadable_log(path, &e))?;
    release_room(path, &file);
    match file.metadata() {
        // The log is read more than once, and its lock is tested; a pipe allows neither.
        Ok(meta) if !meta.is_file() => Err(unreadable_log(path, &"it is not a regular file but a pipe")),
        _ => Ok(file),
    }
}

/// The refusal of a log that cannot be read, with what was probably meant.
fn unreadable_log(path: &Path, why: &dyn std::fmt::Display) -> Failure {
    // The given directory contains no log.
    let within = path.parent().filter(|_| path.ends_with("run.jsonl")).and_then(|dir| runs_in(dir).pop());
    let advice = if let Some(run) = within {
        format!("a search or a curve has a log for each of its runs; name one: {}", escaped_path(&run))
    } else if let Some(meant) = similar_file(path) {
        format!("did you mean {}?", escaped_path(&meant))
    } else {
        "name a run directory or the run.jsonl in it".to_owned()
    };
    Failure::bad_workload(format!("the log {} cannot be read: {why}", escaped_path(path))).with_advice(&advice)
}

/// More than this many bytes of a file that are reserved and not used were left by a run that was killed.
const LEFT_RESERVED: u64 = 1 << 20;

/// Gives back what a run that was killed had reserved for its log, which no listing of the directory shows. The content stays as
/// it is. Where this process may not do it, the space stays reserved.
fn release_room(path: &Path, file: &File) {
    let Ok(found) = file.metadata() else { return };
    let is_reserved = found.is_file() && found.blocks().saturating_mul(512) > found.len().saturating_add(LEFT_RESERVED);
    if !is_reserved || path.file_name().is_none_or(|name| name != "run.jsonl") || is_being_written(file) {
        return;
    }
    if let Ok(writable) = files::open_existing(path) {
        // Only as long as it is the file that was examined, and nobody writes it.
        let is_same = writable.metadata().is_ok_and(|now| (now.dev(), now.ino()) == (found.dev(), found.ino()));
        if is_same && mark_as_written(&writable) {
            let _ = writable.metadata().and_then(|now| writable.set_len(now.len()));
        }
    }
}

/// The directories of the runs of a search or a curve, by name, if `dir` is its directory.
pub(crate) fn runs_in(dir: &Path) -> Vec<PathBuf> {
    files::directories_with(dir, "run.jsonl").into_iter().map(|run| dir.join(run)).collect()
}
