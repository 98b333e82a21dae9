//! `--detach`: runs the same command in the background, where closing the terminal does not end it.

use assay_judge::for_a_shell;
use assay_run::failure::{Failure, escaped_path};
use assay_run::files;
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Time between two checks whether the run has begun.
const LOOK: Duration = Duration::from_millis(50);

/// Upper bound on the output of a program that ended this early.
const SAID_AT_MOST: u64 = 64 << 20;

/// Starts this program again with the same arguments except `--detach`, waits until its run has begun, and says, as
/// JSON if asked, how to follow it. `dir` is its run directory; one that was `chosen` here is added to the arguments.
/// The exit code is 0 once it runs, and the program's own if it ended before that.
/// program's own when it ended before that.
pub(crate) fn start_detached(dir: &Path, chosen: bool, json: bool) -> Result<u8, Failure> {
    // Only a run that is continued has earlier output and already has its directory.
    let fresh = !dir.exists();
    let said = if fresh { output_file(dir) } else { dir.join("said.txt") };
    let spoken = said.symlink_metadata().ok().map(|meta| meta.len());
    // The log of a run that is continued already exists.
    let before = logged_bytes(dir);
    let mut child = start_again(dir, chosen, &said, fresh)?;
    loop {
        let ended = child.try_wait().map_err(|e| Failure::host_unable(format!("the run cannot be waited for: {e}")))?;
        if logged_bytes(dir) > before && ended.is_none() {
            break;
        }
        if let Some(status) = ended {
            return report_early_end(status, &said, spoken);
        }
        std::thread::park_timeout(LOOK);
    }
    let pid = child.id();
    if json {
        crate::stdout::print_json(&serde_json::json!({ "dir": dir, "process": pid, "said": said }))?;
        return Ok(assay_run::failure::code::DONE);
    }
    let look = format!("assay watch {}", for_a_shell(&dir.to_string_lossy()));
    let (dir, said) = (escaped_path(dir), escaped_path(&said));
    crate::stdout::print_document(&format!(
        "running in {dir} as process {pid}; its messages go to {said}\n  {look}   shows its progress, and its result at the end\n  kill {pid}   ends it, and keeps all results\n"
    ));
    Ok(assay_run::failure::code::DONE)
}

/// Bytes in the log of a run, or in those that a search or a curve has written so far, each in a directory of its own.
fn logged_bytes(dir: &Path) -> u64 {
    let inside = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| length_of_log(&entry.path()));
    length_of_log(dir) + inside.sum::<u64>()
}

fn length_of_log(dir: &Path) -> u64 {
    dir.join("run.jsonl").metadata().map_or(0, |log| log.len())
}

/// The file for the output of a new run: beside its run directory, which the run creates itself.
fn output_file(dir: &Path) -> PathBuf {
    let mut name = dir.as_os_str().to_owned();
    name.push(".txt");
    PathBuf::from(name)
}

fn start_again(dir: &Path, chosen: bool, said: &Path, fresh: bool) -> Result<Child, Failure> {
    let file = open_output(said, fresh).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists if fresh => Failure::bad_usage(format!(
            "{} exists already, and the messages of the run would be written there; give another --out: {e}",
            escaped_path(said)
        )),
        _ => Failure::host_unable(format!("{} cannot be made: {e}", escaped_path(said))),
    })?;
    let mut args: Vec<OsString> = std::env::args_os().skip(1).filter(|arg| arg != "--detach").collect();
    if chosen {
        args.extend(["--out".into(), dir.as_os_str().to_owned()]);
    }
    let program = std::env::current_exe().map_err(background_failure)?;
    let errors = file.try_clone().map_err(background_failure)?;
    // A process group of its own: a hang-up of the terminal and its Ctrl-C go to the foreground group only.
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(file).stderr(errors).process_group(0);
    command.spawn().map_err(background_failure)
}

fn background_failure(why: std::io::Error) -> Failure {
    Failure::host_unable(format!("the run cannot be started in the background: {why}"))
}

/// Opens the file for the output of a run, with the directory that it is in.
fn open_output(file: &Path, fresh: bool) -> std::io::Result<File> {
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent)?;
    }
    match file.symlink_metadata() {
        Ok(_) if !fresh => files::open_to_append(file),
        _ => files::begin_file(file),
    }
}

/// The run ended before it began, or too early to be followed. Output that had been `spoken` before is not its own.
fn report_early_end(status: ExitStatus, said: &Path, spoken: Option<u64>) -> Result<u8, Failure> {
    let bytes = files::read_file(said, SAID_AT_MOST).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes.get(spoken.unwrap_or(0) as usize..).unwrap_or_default());
    if spoken.is_none() {
        let _ = std::fs::remove_file(said);
    }
    crate::screen::print_to_stderr(text.trim_end());
    match status.code() {
        Some(code) => Ok(code as u8),
        None => Err(Failure::host_unable(format!("the run in the background was ended: {status}"))),
    }
}
