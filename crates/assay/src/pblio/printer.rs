//! Prints pblio's lines during the run and writes its statistics file, from the entries of the run log.

use crate::act::common::print_flushed;
use crate::screen::print_to_stderr;
use assay_formats::pblio::{self as text, Asked, Data, Period};
use assay_record::{CacheCounters, CloseReason, Entry, Event, EventKind, Header, Interval};
use assay_run::failure::escaped_path;
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
    file: StatisticsFile,
    stop: StopCell,
}

/// The statistics file. The whole file is written again after a new line, but only when it has grown by a tenth, so
/// that a long one is not rewritten for every line.
#[derive(Debug)]
struct StatisticsFile {
    path: PathBuf,
    text: String,
    written: usize,
    failed: bool,
}

impl StatisticsFile {
    fn add_line(&mut self, line: &str) {
        self.text += line;
        if self.text.len() >= self.written + self.written / 10 {
            self.write_file();
        }
    }

    /// Writes the file. A failure is reported only once and does not end the run, because the run log has everything,
    /// and `assay export` can make the file from it.
    fn write_file(&mut self) {
        self.written = self.text.len();
        match files::replace_file(&self.path, self.text.as_bytes()) {
            Ok(()) => {}
            Err(_) if self.failed => {}
            Err(e) => {
                self.failed = true;
                print_to_stderr(&format!(
                    "assay: the statistics file {} cannot be written: {e}\n  = `assay export RUN --to pblio-data` makes it of the run log",
                    escaped_path(&self.path)
                ));
            }
        }
    }
}

impl Printer {
    /// A printer for a run that uses this many bytes of each ASU.
    pub(super) fn new(request: &Asked, used: [u64; 3], stop: &StopCell) -> Printer {
        let file =
            StatisticsFile { path: PathBuf::from(&request.data), text: String::new(), written: 0, failed: false };
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

    fn print_header(&mut self, header: &Header) {
        let version = format!("assay {}", env!("CARGO_PKG_VERSION"));
        self.print_words(&text::banner_lines(
            &version,
            header.cache.as_ref(),
            self.used,
            self.request.bsu,
            self.request.runlen,
        ));
        let started = header.created.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_second);
        self.data = Data::new(header, started, self.request.dataperiod).ok();
        self.header = Some(Box::new(header.clone()));
        // This empties a file that an earlier run left there.
        self.file.write_file();
    }

    fn print_interval(&mut self, interval: &Interval) {
        if let Some(counted) = &interval.cache {
            self.cache.add(counted);
        }
        let Some((data, header)) = self.data.as_mut().zip(self.header.as_deref()) else { return };
        if let Some((line, Period { ios, seconds, sum_ns })) = data.add_interval(interval, header) {
            self.file.add_line(&line);
            self.print_words(&text::period_line(ios, seconds, sum_ns));
        }
    }

    fn print_close(&mut self) {
        let Some(data) = &mut self.data else { return };
        if let Some((line, _)) = data.line_since_last() {
            self.file.text += &line;
        }
        let Period { ios, seconds, sum_ns } = data.total_figures();
        self.file.write_file();
        self.print_words(&text::average_line(ios, seconds, sum_ns));
        if self.header.as_ref().is_some_and(|header| header.cache.is_some()) {
            self.print_words(&text::cache_lines(&self.cache));
        }
    }

    fn print_event(event: &Event) {
        use EventKind::{IoError, ShortIo, Stuck, TargetLost, Warning};
        if matches!(event.what, IoError | ShortIo | Stuck | TargetLost | Warning) {
            print_to_stderr(&format!("assay: {}", event.text));
        }
    }

    /// Prints. If standard output is closed, the run ends, because nobody reads the result.
    fn print_words(&self, words: &str) {
        if !print_flushed(words) {
            self.stop.request_stop(CloseReason::LogFailed);
        }
    }
}

impl Listen for Printer {
    fn hear_entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.print_header(header),
            Entry::Interval(interval) => self.print_interval(interval),
            Entry::Event(event) => Self::print_event(event),
            Entry::Close(_) => self.print_close(),
            Entry::Histograms(_) => {}
        }
    }
}
