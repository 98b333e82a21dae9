//! The own log of a rank while it is written: each line also goes to the thread that joins the logs, and what somebody does to the file
//! meanwhile is told to all.

use crate::failure::escaped_path;
use crate::files::{self, Rescue};
use crate::log::logfile::Listen;
use assay_record::{Entry, Event, EventKind};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::SyncSender;

/// The copy of a rank's log that has lost its name.
const RESCUED: &str = "run-rescued.jsonl";

/// Sends each line of a log to the thread that joins them.
#[derive(Debug)]
pub(super) struct SendLines {
    lines: SyncSender<Entry>,
    path: PathBuf,
    /// The largest length of the file so far.
    longest: u64,
    was_cut: bool,
}

impl SendLines {
    /// Of the log at this path, which this process has begun.
    pub(super) fn of_log(path: PathBuf, lines: SyncSender<Entry>) -> SendLines {
        SendLines { lines, path, longest: 0, was_cut: false }
    }

    fn send_line(&self, entry: Entry) {
        // Where nobody joins the logs any more, each rank still has its own.
        let _ = self.lines.send(entry);
    }

    /// A log only grows.
    fn look_at_length(&mut self) {
        let length = files::length_of_begun(&self.path).unwrap_or(0);
        self.was_cut |= length < self.longest;
        self.longest = self.longest.max(length);
    }

    /// What somebody has done to the file, in words.
    fn what_was_done(&self) -> Option<String> {
        let path = escaped_path(&self.path);
        let directory = self.path.parent().and_then(files::moved_directory);
        if let Some(now) = directory {
            let place = if now.as_os_str().is_empty() { "nowhere".to_owned() } else { escaped_path(&now) };
            return Some(format!(
                "the own log of this rank, {path}, was moved away while the run went on: its directory is {place} now"
            ));
        }
        match files::rescue_if_moved(&self.path, RESCUED) {
            Ok(Rescue::NotNeeded) => {
                self.was_cut.then(|| format!("the own log of this rank, {path}, was cut while the run went on"))
            }
            Ok(Rescue::Copied) => Some(format!(
                "the own log of this rank, {path}, was moved, replaced or deleted while the run went on: {RESCUED} beside it holds what was written"
            )),
            Err(why) => Some(format!(
                "the own log of this rank, {path}, was moved, replaced or deleted while the run went on, and no copy of it can be written: {why}"
            )),
        }
    }
}

impl Listen for SendLines {
    fn hear_entry(&mut self, entry: &Entry) {
        self.look_at_length();
        if let Entry::Close(close) = entry
            && let Some(text) = self.what_was_done()
        {
            let (what, details) = (EventKind::Warning, BTreeMap::new());
            self.send_line(Entry::Event(Event { at_ns: close.at_ns, what, text, details }));
        }
        self.send_line(entry.clone());
    }
}
