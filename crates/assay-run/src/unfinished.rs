//! A log that is to be continued.

use crate::failure::{Failure, shown};
use crate::logfile::{LogFile, mark_as_written};
use crate::resume::{self, Held, Scan};
use crate::{files, reading};
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
    pub fn open(path: &Path) -> Result<Unfinished, Failure> {
        // Checked by its own name, because a log that is continued is appended to.
        files::check(path).map_err(|e| cannot_go_on(path, &e))?;
        // A file that is not a log is refused with the same message as by every reader.
        reading::open(path)?;
        let locked = || {
            let file = files::go_on(path)?;
            match mark_as_written(&file) {
                true => Ok(file),
                false => Err(io::Error::other("another run is writing it")),
            }
        };
        let file = locked().map_err(|e| cannot_go_on(path, &e))?;
        let scan = resume::scan(&file, path)?;
        Ok(Unfinished { path: path.to_path_buf(), file, scan })
    }

    /// Its content.
    pub fn steps(&self) -> &[Held] {
        &self.scan.steps
    }

    /// The log, continued after its last complete line; an incomplete one is cut off.
    pub fn go_on(self) -> Result<LogFile, Failure> {
        let Unfinished { path, file, scan } = self;
        if scan.torn > 0 {
            file.set_len(scan.length).map_err(|e| cannot_go_on(&path, &e))?;
        }
        let mut log = LogFile::behind(&path, file, scan.next_seq);
        if scan.torn > 0 {
            let text = format!("{} bytes of an unfinished line were given up", scan.torn);
            log.write(&Entry::Event(Event { at_ns: 0, what: EventKind::TornTail, text, details: Default::default() }));
        }
        Ok(log)
    }
}

fn cannot_go_on(path: &Path, why: &io::Error) -> Failure {
    Failure::host(format!("the run log {} cannot be continued: {why}", shown(path)))
}
