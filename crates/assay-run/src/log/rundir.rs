//! The run directory: created once, never overwritten.

use crate::failure::{Failure, escaped_path};
use crate::files::{self, HeldDirectory};
use crate::workloads::meant::did_you_mean;
use assay_device::clock;
use std::path::{Path, PathBuf};

/// The current time as RFC 3339 in UTC.
pub fn current_timestamp() -> String {
    jiff::Timestamp::try_from(clock::wall_time()).map_or_else(|_| "unknown".into(), to_rfc3339)
}

/// A time in nanoseconds since the beginning of 1970, as RFC 3339 in UTC.
pub fn format_moment(real_ns: u64) -> String {
    jiff::Timestamp::from_nanosecond(real_ns.into()).map_or_else(|_| "unknown".into(), to_rfc3339)
}

fn to_rfc3339(moment: jiff::Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The directory in which a run called `name` will store its results, unless `out` gives one.
pub fn planned_directory(out: Option<&Path>, name: &str) -> PathBuf {
    let safe = safe_file_name(name);
    let now = jiff::Zoned::try_from(clock::wall_time())
        .map_or_else(|_| "now".into(), |now| now.strftime("%Y%m%d-%H%M%S").to_string());
    out.map_or_else(|| PathBuf::from("assay-runs").join(format!("{safe}-{now}")), Path::to_path_buf)
}

/// A name with nothing in it that a shell or a path takes for its own.
pub fn safe_file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}

/// Refuses a directory that the user named and that exists, before anything else is done.
pub fn refuse_taken(out: Option<&Path>) -> Result<(), Failure> {
    out.filter(|path| path.symlink_metadata().is_ok()).map_or(Ok(()), |path| Err(exists_already(path)))
}

fn exists_already(path: &Path) -> Failure {
    Failure::bad_usage(format!(
        "{} exists already and is never overwritten; give another directory with --out",
        escaped_path(path)
    ))
}

/// Creates the directory, and holds it until the process ends. If it exists, a name chosen by us gets a number; one that
/// the user gave is refused.
pub fn create_run_directory(planned: &Path, given: bool) -> Result<PathBuf, Failure> {
    let (path, held) = create_held(planned, given)?;
    held.until_the_end();
    Ok(path)
}

/// As [`create_run_directory`], but the directory is held only as long as the second value exists: one of several runs has files of its
/// own open only while it goes on.
pub fn create_held(planned: &Path, given: bool) -> Result<(PathBuf, HeldDirectory), Failure> {
    if let Some(parent) = planned.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        files::make_directories(parent).map_err(|e| cannot_be_made(parent, e))?;
    }
    for attempt in 1..1000 {
        let path = if attempt == 1 { planned.to_path_buf() } else { numbered_name(planned, attempt) };
        match files::make_directory(&path) {
            Ok(held) => return Ok((path, held)),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists && !given => {}
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => return Err(exists_already(&path)),
            Err(e) => return Err(cannot_be_made(&path, e)),
        }
    }
    Err(Failure::host_unable(format!(
        "{} and a thousand similar names exist already; give another directory with --out",
        escaped_path(planned)
    )))
}

/// Holds the directory of an earlier call, which is continued, until the process ends. One in which another run works is
/// refused.
pub fn refuse_used_directory(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) {
        return Err(Failure::bad_usage(format!(
            "there is no run directory {} to continue{}\n  = give the one that the earlier call named at its end, or leave out --resume to begin",
            escaped_path(path),
            did_you_mean(path)
        )));
    }
    match files::hold_directory(path) {
        Ok(held) => held.until_the_end(),
        Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
            return Err(Failure::host_unable(format!(
                "{} cannot be continued: another run is writing it",
                escaped_path(path)
            )));
        }
        // Whoever reads what is in it says what is wrong.
        Err(_) => {}
    }
    Ok(())
}

/// `name-2`, whatever bytes the name consists of.
fn numbered_name(planned: &Path, number: u32) -> PathBuf {
    let mut name = planned.as_os_str().to_owned();
    name.push(format!("-{number}"));
    PathBuf::from(name)
}

/// The log for a path that is a log or a run directory.
pub fn log_in(path: &Path) -> PathBuf {
    if path.is_dir() { path.join("run.jsonl") } else { path.to_path_buf() }
}

fn cannot_be_made(path: &Path, why: std::io::Error) -> Failure {
    Failure::host_unable(format!("the run directory {} cannot be made: {why}", escaped_path(path)))
}
