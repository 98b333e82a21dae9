//! `assay watch` of a procedure of several runs: `limit`, `curve`, `matrix`, `fit`, `size` and `suite` leave the log of each of their
//! runs in a directory of its own. Each run is shown while it goes on, and at the end the result, which is in a document.

use super::following::follow_log;
use super::limit;
use crate::progress::Progress;
use crate::stdout::{show_lines, show_text};
use assay_judge::Verdict;
use assay_run::databases::by_sessions;
use assay_run::failure::{Failure, escaped_path};
use assay_run::files;
use assay_run::log::judging::Log;
use assay_run::log::results::render_text;
use assay_run::log::rundir;
use assay_run::observer::Observer;
use assay_run::procedure::kept::read_document;
use assay_run::procedure::{curving, fitting, matrix, mounts, searching, sizing};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time between two looks for the next run.
pub(in crate::commands) const LOOK: Duration = Duration::from_millis(200);
/// The depth of logs below the directory: `size` makes a directory for each candidate, and in it one for its search.
pub(in crate::commands) const DEPTH: u32 = 4;

/// Follows the runs in a directory until nobody works in it. Those that ended before are not shown; the result has them.
pub(super) fn watch_procedure(dir: &Path) -> Result<(), Failure> {
    let mut followed = ended_logs(dir);
    let mut progress = Progress::new(false);
    loop {
        // Asked first: what was begun before the work ended is still there.
        let goes_on = is_worked_in(dir);
        match next_log(dir, &followed) {
            Some(path) => {
                let name =
                    path.parent().and_then(|run| run.strip_prefix(dir).ok()).map(escaped_path).unwrap_or_default();
                progress.begin_part(&name);
                follow_log(&Log::open_log(&path)?, &path, &mut progress)?;
                followed.push(path);
            }
            None if goes_on => std::thread::park_timeout(LOOK),
            None => break,
        }
    }
    progress.finish_part();
    Ok(())
}

/// The logs that nobody writes any more.
fn ended_logs(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    logs_below(dir, DEPTH, &mut found);
    found.retain(|path| Log::open_log(path).is_ok_and(|log| !log.is_being_written()));
    found
}

/// The first log in the directory or below it, in the order of the runs, that was not followed yet and has begun.
fn next_log(dir: &Path, followed: &[PathBuf]) -> Option<PathBuf> {
    let single = rundir::log_in(dir);
    let mut found = Vec::new();
    if single.is_file() {
        found.push(single)
    } else {
        logs_below(dir, DEPTH, &mut found)
    }
    found.retain(|path| !followed.contains(path) && path.metadata().is_ok_and(|meta| meta.len() > 0));
    found.sort();
    found.into_iter().next()
}

/// Whether a process works in the directory.
pub(in crate::commands) fn is_worked_in(dir: &Path) -> bool {
    files::hold_directory(dir).is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

pub(in crate::commands) fn logs_below(dir: &Path, depth: u32, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        // Links are not followed: they may lead in a circle.
        if depth == 0 || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let log = path.join("run.jsonl");
        if log.is_file() { found.push(log) } else { logs_below(&path, depth - 1, found) }
    }
}

/// Prints the result that a procedure has left.
pub(super) fn print_result(dir: &Path) -> Result<u8, Failure> {
    let verdict = if let Some(path) = file_in(dir, searching::FILE) {
        limit::show_kept(&read_document(&path, |_| true)?)?
    } else if let Some(path) = file_in(dir, curving::FILE) {
        let curve: assay_judge::curve::Curve = read_document(&path, |_| true)?;
        show_text(&render_text(|out| assay_judge::curve::write_text(&curve, out))?);
        curve.verdict()
    } else if let Some(path) = file_in(dir, by_sessions::FILE) {
        let curve: assay_judge::sessions::SessionsCurve = read_document(&path, |_| true)?;
        show_text(&render_text(|out| assay_judge::sessions::write_text(&curve, out))?);
        curve.verdict()
    } else if let Some(path) = file_in(dir, fitting::FILE) {
        let trail: assay_judge::fit::Trail = read_document(&path, |_| true)?;
        show_text(&render_text(|out| assay_judge::fit::write_text(&trail, out))?);
        trail.outcome.as_ref().map_or(Verdict::Incomplete, |outcome| outcome.verdict())
    } else if let Some(path) = file_in(dir, sizing::FILE) {
        let sizing: assay_judge::sizing::Sizing = read_document(&path, |_| true)?;
        show_text(&render_text(|out| assay_judge::sizing::write_text(&sizing, out))?);
        sizing.verdict()
    } else if let Some(path) = file_in(dir, matrix::FILE) {
        let matrix: assay_judge::matrix::Matrix = read_document(&path, |_| true)?;
        show_lines(&render_text(|out| assay_judge::matrix::write_text(&matrix, out))?);
        matrix.verdict()
    } else if let Some(path) = file_in(dir, mounts::FILE) {
        let suite: assay_judge::suite::Suite = read_document(&path, |_| true)?;
        show_text(&render_text(|out| assay_judge::suite::write_text(&suite, out))?);
        suite.verdict()
    } else {
        // Whoever opens logs says what is in the directory instead.
        Log::open_log(&rundir::log_in(dir))?;
        Verdict::Incomplete
    };
    Ok(verdict.exit_code())
}

/// The path of a file in the directory, if it is there.
fn file_in(dir: &Path, name: &str) -> Option<PathBuf> {
    Some(dir.join(name)).filter(|path| path.is_file())
}
