//! What `act_storage` and `act_index` print while they run, computed from the lines of our own log.

use super::common::try_to_say;
use crate::screen::print_to_stderr;
use assay_base::Direction;
use assay_formats::act::conf::{Conf, Kind};
use assay_formats::act::export::Histograms;
use assay_formats::act::log::write::{self, Stop};
use assay_formats::act::log::{DeviceLine, Unit};
use assay_record::{Close, CloseReason, Entry, Event, EventKind, Header, Interval};
use assay_run::failure::code;
use assay_run::host::signals::StopCell;
use assay_run::log::logfile::Listen;
use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;

/// Prints, and determines how the run ended.
#[derive(Debug)]
pub(super) struct Printer {
    conf: Conf,
    /// Seconds between two reports, and of the whole test.
    every: u64,
    planned: u64,
    header: Option<Box<Header>>,
    histograms: Option<Histograms>,
    start_ns: u64,
    reached: u64,
    failed: u64,
    named: u64,
    stop: StopCell,
    /// Output that could not be written yet.
    unsaid: String,
    ended: Rc<Cell<u8>>,
}

impl Printer {
    /// For a test of `planned` seconds. The exit code is stored in the cell.
    pub(super) fn new(conf: &Conf, planned: u64, stop: &StopCell) -> (Printer, Rc<Cell<u8>>) {
        let ended = Rc::new(Cell::new(code::BUG));
        let printer = Printer {
            conf: conf.clone(),
            every: (conf.report_interval.as_ns() / 1_000_000_000).max(1),
            planned,
            header: None,
            histograms: None,
            start_ns: 0,
            reached: 0,
            failed: 0,
            named: 0,
            stop: stop.clone(),
            unsaid: String::new(),
            ended: ended.clone(),
        };
        (printer, ended)
    }

    /// Tries once more to write what could not be written, and says what is missing.
    fn finish_output(&mut self) {
        self.print_text("");
        if !self.unsaid.is_empty() {
            print_to_stderr(&format!(
                "assay: {} bytes of the output are missing, because they could not be written",
                self.unsaid.len()
            ));
        }
    }

    /// Prints devices and names, once the targets are open.
    fn print_header(&mut self, header: &Header) {
        let unit = if self.conf.microsecond_histograms { Unit::Microseconds } else { Unit::Milliseconds };
        let storage = self.conf.kind == Kind::Storage;
        let mut text = String::new();
        for target in &header.targets {
            let line = DeviceLine {
                name: target.name.clone(),
                size: target.size_bytes,
                large_blocks: storage.then_some(target.size_bytes / self.conf.large_block.get().max(1)),
                minimum_io: storage.then_some(target.block_bytes.into()),
            };
            let _ = write::write_device(&line, &mut text);
        }
        let histograms = Histograms::new(header, unit, &write::histogram_names(&self.conf));
        let _ = write::write_histogram_names(histograms.histogram_names(), &mut text);
        self.histograms = Some(histograms);
        self.header = Some(Box::new(header.clone()));
        self.print_text(&text);
    }

    fn take_interval(&mut self, interval: &Interval) {
        if interval.index == 0 {
            self.start_ns = interval.start_ns;
        }
        self.failed += interval.flows.iter().map(|flow| flow.failed_operations() + flow.short).sum::<u64>();
        if interval.start_ns.saturating_sub(self.start_ns) / 1_000_000_000 >= self.planned {
            // Operations in flight at the end are in no report of ACT's either.
            return;
        }
        if let Some(histograms) = &mut self.histograms {
            // Our own counts always fit our own buckets.
            let _ = histograms.add_interval(interval);
        }
        self.reached = interval.end_ns.saturating_sub(self.start_ns) / 1_000_000_000;
        let second = interval.index + 1;
        if second <= self.planned && second.is_multiple_of(self.every) && self.reached >= second {
            self.print_block(second);
        }
    }

    fn print_block(&mut self, second: u64) {
        let mut text = String::new();
        if let Some(histograms) = &self.histograms {
            let _ = histograms.write_block(second, &mut text);
        }
        self.print_text(&text);
    }

    /// When nobody reads the output, the test is useless: it ends. When the output cannot be written, because its disk is
    /// full or its terminal has gone, the test goes on like ACT's, and what was not written is kept for the next time.
    fn print_text(&mut self, text: &str) {
        let said =
            if self.unsaid.is_empty() { try_to_say(text) } else { try_to_say(&format!("{}{text}", self.unsaid)) };
        match said {
            Ok(()) => self.unsaid.clear(),
            Err(failure) if failure.error.kind() == ErrorKind::BrokenPipe => {
                self.stop.request_stop(CloseReason::LogFailed)
            }
            Err(failure) => {
                if self.unsaid.is_empty() {
                    print_to_stderr(&format!(
                        "assay: the output cannot be written: {}; the test goes on",
                        failure.error
                    ));
                }
                self.unsaid = failure.rest;
            }
        }
    }

    fn print_event(&mut self, event: &Event) {
        let Some(header) = &self.header else { return };
        let flow = number_in(event, "flow").and_then(|flow| header.flows.get(flow));
        let stream = flow.and_then(|flow| header.streams.get(usize::from(flow.stream)));
        let device = flow.and_then(|flow| header.targets.get(usize::from(flow.target)));
        let (Some(stream), Some(device)) = (stream, device) else { return };
        let write = stream.direction == Some(Direction::Write);
        let text = match event.what {
            EventKind::IoError => {
                let errno = number_in(event, "errno").unwrap_or(0) as i32;
                let (_, text) = super::common::error_number(&std::io::Error::from_raw_os_error(errno));
                self.named += 1;
                write::io_failed(write, &device.name, errno, &text)
            }
            EventKind::ShortIo => {
                self.named += 1;
                let verb = if write { "writing" } else { "reading" };
                format!("ERROR: {verb} {}: {}\n", device.name, event.text)
            }
            EventKind::LagStop => stop_for_lag(self.conf.kind, &stream.name).printed_text().to_owned(),
            _ => return,
        };
        self.print_text(&text);
    }

    fn print_close(&mut self, close: &Close) {
        match close.reason {
            CloseReason::Completed | CloseReason::Interrupted | CloseReason::LogFailed => {}
            _ => self.print_block((self.reached + 1).div_ceil(self.every) * self.every),
        }
        if close.reason != CloseReason::Completed {
            print_to_stderr(&format!("assay: {}", close.text));
        }
        if self.failed > 0 {
            print_to_stderr(&format!(
                "assay: {} operations failed, {} of them are named above",
                self.failed, self.named
            ));
        }
        if close.stuck > 0 {
            print_to_stderr(&format!("assay: {} operations never came back", close.stuck));
        }
        self.finish_output();
        let broken = self.failed > 0 || close.stuck > 0;
        self.ended.set(match close.reason {
            _ if broken => code::FAILED,
            CloseReason::Completed if !self.unsaid.is_empty() => code::INCOMPLETE,
            CloseReason::Completed => code::DONE,
            CloseReason::DeviceLag | CloseReason::TargetLost => code::FAILED,
            CloseReason::GeneratorLag | CloseReason::EngineFailed => code::INVALID,
            CloseReason::Interrupted | CloseReason::LogFailed => code::INCOMPLETE,
        });
    }
}

impl Listen for Printer {
    fn hear_entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.print_header(header),
            Entry::Interval(interval) => self.take_interval(interval),
            Entry::Event(event) => self.print_event(event),
            Entry::Close(close) => self.print_close(close),
            Entry::Histograms(_) => {}
        }
    }
}

/// ACT's words for a stream that falls behind.
fn stop_for_lag(kind: Kind, stream: &str) -> Stop {
    match (kind, stream) {
        (Kind::Storage, "large-block-reads" | "tomb-raider-reads") => Stop::LargeBlockReads,
        (Kind::Storage, "large-block-writes") => Stop::LargeBlockWrites,
        (Kind::Storage, _) => Stop::Service,
        (Kind::Index, "reads") => Stop::Generator,
        (Kind::Index, _) => Stop::Cache,
    }
}

/// The number that an event has under this key.
fn number_in(event: &Event, key: &str) -> Option<usize> {
    event.details.get(key).and_then(|text| text.parse().ok())
}
