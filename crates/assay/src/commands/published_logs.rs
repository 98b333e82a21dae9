//! The logs of a run, or those of a procedure, read while they grow, for a page or for a terminal: what they come to is published.

use super::follow_procedure::{DEPTH, LOOK, is_worked_in, logs_below};
use assay_live::{GrowingLog, LineTaker, Publisher};
use assay_run::failure::{Failure, escaped_path};
use assay_run::log::growing::GrowingFile;
use assay_run::log::judging::Log;
use assay_run::log::rundir;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Refuses what cannot be followed, before anybody listens or a terminal is taken.
pub(super) fn refuse_what_is_no_log(dir: &Path) -> Result<(), Failure> {
    let path = rundir::log_in(dir);
    if dir.is_dir() && !path.exists() && (is_worked_in(dir) || !fresh_logs(dir, &[]).is_empty()) {
        return Ok(());
    }
    let log = Log::open_log(&path)?;
    if log.is_of_act() {
        return Err(Failure::bad_workload(format!(
            "{} is a log of ACT, and only logs of assay are followed\n  = assay report {0} makes a page of it",
            escaped_path(&path)
        )));
    }
    // Whoever writes a log may have written nothing yet.
    if !log.is_being_written() && log.interval_length()?.is_none() {
        return Err(Failure::bad_workload(format!(
            "{}: not a run log: it does not begin with the header of a run\n  = name the run.jsonl of a run, or its directory",
            escaped_path(&path)
        )));
    }
    Ok(())
}

/// Reads the log of a run, or those of all runs of a procedure one after another, as long as somebody works in the directory.
pub(super) fn follow_all(dir: &Path, publisher: &mut Publisher, also: &mut dyn LineTaker) -> Result<(), Failure> {
    let mut followed: Vec<PathBuf> = Vec::new();
    loop {
        // Asked first: what was begun before the work ended is still there.
        let goes_on = dir.is_dir() && is_worked_in(dir);
        let single = rundir::log_in(dir);
        let fresh = if single.is_file() { vec![single.clone()] } else { fresh_logs(dir, &followed) };
        let fresh: Vec<PathBuf> = fresh.into_iter().filter(|path| !followed.contains(path)).collect();
        match fresh.first() {
            Some(path) if goes_on && has_not_begun(path) => std::thread::park_timeout(LOOK),
            Some(path) => {
                follow_one(dir, path, publisher, also)?;
                followed.push(path.clone());
            }
            // A run has one log only, which was written to its end.
            None if goes_on && !single.is_file() => std::thread::park_timeout(LOOK),
            None => return Ok(()),
        }
    }
}

/// Whether nothing stands in a log yet.
fn has_not_begun(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.len() == 0)
}

/// The logs of a procedure that were not followed yet, in the order of their names, which is that of the runs.
fn fresh_logs(dir: &Path, followed: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    logs_below(dir, DEPTH, &mut found);
    found.retain(|path| !followed.contains(path));
    found.sort();
    found
}

fn follow_one(dir: &Path, path: &Path, publisher: &mut Publisher, also: &mut dyn LineTaker) -> Result<(), Failure> {
    let log = Log::open_log(path)?;
    let name = path.parent().and_then(|run| run.strip_prefix(dir).ok()).map(escaped_path).unwrap_or_default();
    publisher
        .follow_log(&name, GrowingFile::new(&log), &LogOnDisk { log: &log }, also)
        .map_err(|e| Failure::host_unable(format!("the log {} cannot be followed: {e}", escaped_path(path))))
}

/// What the kernel knows of a log.
struct LogOnDisk<'a> {
    log: &'a Log,
}

impl GrowingLog for LogOnDisk<'_> {
    fn length(&self) -> u64 {
        self.log.length()
    }

    fn age(&self) -> Duration {
        self.log.age()
    }
}
