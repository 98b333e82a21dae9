//! Reads the recordings that a workload plays.

use crate::failure::{Failure, escaped_path};
use assay_formats::collect::{Played, Recorder};
use assay_model::workload::Workload;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Longest line of a recording.
const LINE_MAX: u64 = 64 << 10;

/// Gives a workload the recordings that it names, which are looked for from here, and then beside the workload file.
pub(crate) fn add_recording(workload: &mut Workload, file: &Path) -> Result<(), Failure> {
    for name in workload.recording_files() {
        let path = path_of_recording(&name, file);
        let Played { lines, notes, .. } = read_recording(&path).map_err(Failure::bad_workload)?;
        workload.play_recording(&name, &lines).map_err(Failure::bad_workload)?;
        workload.notes.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
    }
    Ok(())
}

/// A recording that a job file names, which is looked for as that of a workload is. The error is the reason.
pub(crate) fn of_job(name: &str, file: &Path) -> Result<Played, String> {
    read_recording(&path_of_recording(name, file))
        .map_err(|message| message.lines().next().unwrap_or_default().to_owned())
}

fn path_of_recording(name: &str, file: &Path) -> PathBuf {
    let here = PathBuf::from(name);
    if here.exists() { here } else { file.parent().unwrap_or(Path::new("")).join(name) }
}

fn read_recording(path: &Path) -> Result<Played, String> {
    let mut input = BufReader::new(crate::files::open_named_file(path).map_err(|e| unreadable_recording(path, &e))?);
    let (mut recorder, mut line, mut number) = (Recorder::default(), Vec::new(), 0u64);
    loop {
        line.clear();
        number += 1;
        let length =
            (&mut input).take(LINE_MAX).read_until(b'\n', &mut line).map_err(|e| unreadable_recording(path, &e))?;
        if length == 0 {
            break;
        }
        if length as u64 == LINE_MAX {
            return Err(unreadable_recording(path, &format!("line {number} is longer than any operation's")));
        }
        let text = String::from_utf8_lossy(&line);
        recorder
            .take_line(text.trim_end_matches(['\n', '\r']))
            .map_err(|why| format!("{}:{number}: {why}", escaped_path(path)))?;
    }
    recorder.into_recording().map_err(|why| format!("the recording {}: {why}", escaped_path(path)))
}

fn unreadable_recording(recording: &Path, why: &dyn std::fmt::Display) -> String {
    format!(
        "the recording {} cannot be read: {why}\n  = name a file of blkparse, biosnoop or an iolog of fio, from here or beside the workload",
        escaped_path(recording)
    )
}
