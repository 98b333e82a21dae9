//! Prints pblio's lines during the run and writes its statistics file, from the entries of the run log.

use crate::act::common::say;
use crate::screen::tell;
use assay_formats::pblio::{self as text, Asked, Data, Period};
use assay_record::{CacheCounters, CloseReason, Entry, Event, EventKind, Header, Interval};
use assay_run::failure::shown;
use assay_run::files;
use assay_run::host::signals::StopCell;
use assay_run::log::logfile::Listen;
use std::path::PathBuf;

/// Prints the lines and writes the statistics file.
#[derive(Debug)]
pub(super) struct Printer {
    request: Asked,
    /// The bytes of each ASU that are used.
    used: [u64; 3],
    header: Option<Box<Header>>,
    data: Option<Data>,
    /// The counters of the cache since the beginning of the run.
    cache: CacheCounters,
    file: Lines,
    stop: StopCell,
}

/// The statistics file. The whole file is written again after a new line, but only when it has grown by a tenth, so
/// that a long one is not rewritten for every line.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    text: String,
    written: usize,
    failed: bool,
}

impl Lines {
    fn add(&mut self, line: &str) {
        self.text += line;
        if self.text.len() >= self.written + self.written / 10 {
            self.write();
        }
    }

    /// Writes the file. A failure is reported only once and does not end the run, because the run log has everything,
    /// and `assay export` can make the file from it.
    fn write(&mut self) {
        self.written = self.text.len();
        match files::replace(&self.path, self.text.as_bytes()) {
            Ok(()) => {}
            Err(_) if self.failed => {}
            Err(e) => {
                self.failed = true;
                tell(&format!(
                    "assay: the statistics file {} cannot be written: {e}\n  = `assay export RUN --to pblio-data` makes it of the run log",
                    shown(&self.path)
                ));
            }
        }
    }
}

impl Printer {
    /// A printer for a run that uses this many bytes of each ASU.
    pub(super) fn new(request: &Asked, used: [u64; 3], stop: &StopCell) -> Printer {
        let file = Lines { path: PathBuf::from(&request.data), text: String::new(), written: 0, failed: false };
        Printer {
            request: request.clone(),
            used,
            header: None,
            data: None,
            cache: CacheCounters::default(),
            file,
            stop: stop.clone(),
        }
    }

    fn header(&mut self, header: &Header) {
        let version = format!("assay {}", env!("CARGO_PKG_VERSION"));
        self.print(&text::banner(&version, header.cache.as_ref(), self.used, self.request.bsu, self.request.runlen));
        let started = header.created.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_second);
        self.data = Data::new(header, started, self.request.dataperiod).ok();
        self.header = Some(Box::new(header.clone()));
        // This empties a file that an earlier run left there.
        self.file.write();
    }

    fn interval(&mut self, interval: &Interval) {
        if let Some(counted) = &interval.cache {
            self.cache.add(counted);
        }
        let Some((data, header)) = self.data.as_mut().zip(self.header.as_deref()) else { return };
        if let Some((line, Period { ios, seconds, sum_ns })) = data.add(interval, header) {
            self.file.add(&line);
            self.print(&text::period(ios, seconds, sum_ns));
        }
    }

    fn close(&mut self) {
        let Some(data) = &mut self.data else { return };
        if let Some((line, _)) = data.line() {
            self.file.text += &line;
        }
        let Period { ios, seconds, sum_ns } = data.total();
        self.file.write();
        self.print(&text::average(ios, seconds, sum_ns));
        if self.header.as_ref().is_some_and(|header| header.cache.is_some()) {
            self.print(&text::cache(&self.cache));
        }
    }

    fn event(event: &Event) {
        use EventKind::{IoError, ShortIo, Stuck, TargetLost, Warning};
        if matches!(event.what, IoError | ShortIo | Stuck | TargetLost | Warning) {
            tell(&format!("assay: {}", event.text));
        }
    }

    /// Prints. If standard output is closed, the run ends, because nobody reads the result.
    fn print(&self, words: &str) {
        if !say(words) {
            self.stop.ask(CloseReason::LogFailed);
        }
    }
}

impl Listen for Printer {
    fn hear(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.header(header),
            Entry::Interval(interval) => self.interval(interval),
            Entry::Event(event) => Self::event(event),
            Entry::Close(_) => self.close(),
            Entry::Histograms(_) => {}
        }
    }
}
