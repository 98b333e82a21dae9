//! Opening logs for reading.

use crate::failure::{Failure, shown};
use crate::files;
use assay_record::Reader;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// Whether another process is writing this log.
pub fn is_being_written(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let held = flock(file, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK);
    let _ = flock(file, FlockOperation::Unlock);
    held
}

/// Bytes of a log that are read at once: they are still in the processor's cache when they are hashed and parsed.
pub(crate) const READ_AT_ONCE: usize = 128 << 10;

/// Opens a log for reading.
pub fn read(path: &Path) -> Result<Reader<BufReader<File>>, Failure> {
    Ok(reader(open(path)?))
}

/// Reads a log from where `input` is.
pub fn reader<R: io::Read>(input: R) -> Reader<BufReader<R>> {
    Reader::new(BufReader::with_capacity(READ_AT_ONCE, input))
}

/// Opens the file of a log.
pub fn open(path: &Path) -> Result<File, Failure> {
    let unreadable = |why: &dyn std::fmt::Display| {
        // The given directory contains no log.
        let within = path.parent().filter(|_| path.ends_with("run.jsonl")).and_then(|dir| runs_in(dir).pop());
        let advice = within.map_or("name a run directory or the run.jsonl in it".to_owned(), |run| {
            format!("a search or a curve has a log for each of its runs; name one: {}", shown(&run))
        });
        Failure::workload(format!("the log {} cannot be read: {why}", shown(path))).advised(&advice)
    };
    let file = files::open(path).map_err(|e| unreadable(&e))?;
    match file.metadata() {
        // The log is read more than once, and its lock is tested; a pipe allows neither.
        Ok(meta) if !meta.is_file() => Err(unreadable(&"it is not a regular file but a pipe")),
        _ => Ok(file),
    }
}

/// The directories of the runs of a search or a curve, by name, if `dir` is its directory.
pub(crate) fn runs_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut runs: Vec<_> = entries.map(|entry| entry.path()).filter(|run| run.join("run.jsonl").is_file()).collect();
    runs.sort();
    runs
}
