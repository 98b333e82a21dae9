//! A log that is to be continued.

use crate::failure::{Failure, escaped_path};
use crate::files;
use crate::log::lock::mark_as_written;
use crate::log::logfile::LogFile;
use crate::log::reading;
use crate::log::resume::{self, LoggedStep, Scan};
use assay_record::{Entry, Event, EventKind};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A log to be continued. It was locked before it was read, so that nothing can be added after what was read; nothing
/// in it has changed yet.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    file: File,
    scan: Scan,
}

impl Unfinished {
    /// Opens and reads it, unless another run is writing it.
    pub fn open_unless_running(path: &Path) -> Result<Unfinished, Failure> {
        // Checked by its own name, because a log that is continued is appended to.
        files::check_replaceable(path).map_err(|e| cannot_go_on(path, &e))?;
        // A file that is not a log is refused with the same message as by every reader.
        reading::open_log_file(path)?;
        let file = open_locked(path).map_err(|e| cannot_go_on(path, &e))?;
        let scan = resume::scan_log(&file, path)?;
        Ok(Unfinished { path: path.to_path_buf(), file, scan })
    }

    /// Its content.
    pub fn logged_steps(&self) -> &[LoggedStep] {
        &self.scan.steps
    }

    /// The log, continued after its last complete line; an incomplete one is cut off.
    pub fn continue_log(self) -> Result<LogFile, Failure> {
        let Unfinished { path, file, scan } = self;
        file.set_len(scan.length).map_err(|e| cannot_go_on(&path, &e))?;
        let mut log = LogFile::continue_behind(&path, file, scan.next_seq, scan.marks);
        if scan.torn > 0 {
            let text = format!("{} bytes of an unfinished line were given up", scan.torn);
            log.write_entry(&Entry::Event(Event {
                at_ns: 0,
                what: EventKind::TornTail,
                text,
                details: Default::default(),
            }));
        }
        if let Some(said) = log.give_up_leftover_mark() {
            let text = format!("a mark was given up that the run had not taken when it was interrupted: \"{said}\"");
            let (what, details) = (EventKind::Warning, Default::default());
            log.write_entry(&Entry::Event(Event { at_ns: 0, what, text, details }));
        }
        Ok(log)
    }
}

fn cannot_go_on(path: &Path, why: &io::Error) -> Failure {
    Failure::host_unable(format!("the run log {} cannot be continued: {why}", escaped_path(path)))
}

fn open_locked(log: &Path) -> io::Result<File> {
    let file = files::open_to_append(log)?;
    if mark_as_written(&file) { Ok(file) } else { Err(io::Error::other("another run is writing it")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::workload::Adjust;
    use assay_record::{Interval, Reader};

    #[test]
    fn an_unfinished_line_is_cut_off_and_told_and_whole_lines_stay() {
        let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&Adjust::default()).unwrap();
        let header =
            Entry::Header(Box::new(crate::log::header::make_header(&plan, crate::log::header::HeaderFacts::default())));
        let mut writer = assay_record::Writer::new(Vec::new(), 0);
        writer.write_entry(&header).unwrap();
        writer.write_entry(&Entry::Interval(Interval::default())).unwrap();
        let whole = writer.into_inner();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        for torn in ["", "{", "half a line"] {
            std::fs::write(&path, [whole.as_slice(), torn.as_bytes()].concat()).unwrap();
            let unfinished = Unfinished::open_unless_running(&path).unwrap();
            assert_eq!(unfinished.logged_steps().len(), 1);
            assert!(Unfinished::open_unless_running(&path).is_err(), "only one run goes on with it");
            let mut log = unfinished.continue_log().unwrap();
            log.write_entry(&Entry::Interval(Interval { index: 1, ..Interval::default() }));
            assert_eq!(log.write_failure(), None);
            drop(log);
            let bytes = std::fs::read(&path).unwrap();
            assert!(bytes.starts_with(&whole), "what was whole stays");
            let (mut reader, mut told) = (Reader::new(bytes.as_slice()), Vec::new());
            while let Some(entry) = reader.next_entry().unwrap() {
                if let Entry::Event(event) = entry.unwrap() {
                    told.push(event.text);
                }
            }
            let expected = format!("{} bytes of an unfinished line were given up", torn.len());
            assert_eq!(told, if torn.is_empty() { vec![] } else { vec![expected] });
            assert_eq!(reader.next_seq(), if torn.is_empty() { 3 } else { 4 });
        }
    }
}
