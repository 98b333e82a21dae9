//! Prints SeekMark's lines during the run, from the entries of the run log.

use crate::act::common::{error_number, print_flushed};
use crate::screen::print_to_stderr;
use assay_base::Span;
use assay_formats::seekmark::{self as text, Asked, Thread, Total};
use assay_judge::is_too_blank;
use assay_record::{Close, CloseReason, Entry, Event, EventKind, Header, Histograms, Interval, Times};
use assay_run::failure::code;
use assay_run::host::signals::StopCell;
use assay_run::log::logfile::Listen;
use std::cell::Cell;
use std::rc::Rc;

/// Exit code if the test proves nothing, because this machine failed.
const INVALID: u8 = 11;

/// The end of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeekMarkEnd {
    /// The exit code.
    pub code: u8,
    /// Of all threads together; zero before the end.
    pub seeks_per_second: f64,
}

/// Prints the lines, and determines the exit code.
#[derive(Debug)]
pub(super) struct Printer {
    request: Asked,
    threads: Vec<ThreadSoFar>,
    /// The beginning of the run, and the time that it has reached.
    begin_ns: u64,
    reached_ns: u64,
    /// Threads that have ended and were not printed yet, in the order of their ends.
    ended: Vec<usize>,
    service: Service,
    stop: StopCell,
    ended_as: Rc<Cell<SeekMarkEnd>>,
}

/// The part of the log about one thread.
#[derive(Clone, Debug, Default)]
struct ThreadSoFar {
    seeks: u64,
    failed: u64,
    service_ns: u64,
    /// When its last operation completed, and its number of operations.
    done: Option<(u64, u64)>,
    is_printed: bool,
}

/// Times of all operations.
#[derive(Debug, Default)]
struct Service {
    times: Times,
    max_ns: u64,
    failures_told: u64,
    /// Reads whose data were examined, and those of them that found a block that was never written.
    sampled: u64,
    blank: u64,
    /// The kind of the target.
    kind: String,
}

impl Printer {
    /// A printer, and the cell in which it stores how the run ended.
    pub(super) fn new(request: Asked, stop: &StopCell) -> (Printer, Rc<Cell<SeekMarkEnd>>) {
        let ended_as = Rc::new(Cell::new(SeekMarkEnd { code: code::BUG, seeks_per_second: 0.0 }));
        let printer = Printer {
            threads: vec![ThreadSoFar::default(); request.threads as usize],
            request,
            begin_ns: 0,
            reached_ns: 0,
            ended: Vec::new(),
            service: Service::default(),
            stop: stop.clone(),
            ended_as: ended_as.clone(),
        };
        (printer, ended_as)
    }

    fn print_header(&mut self, header: &Header) {
        let size = header.targets.first().map_or(0, |target| target.size_bytes);
        self.service.kind = header.targets.first().map_or_else(String::new, |target| target.kind.clone());
        let used = self.request.limit.unwrap_or(size);
        let warning = if self.request.seeks.is_none() { text::endless_warning() } else { "" };
        self.print_text(
            &(warning.to_owned() + &text::begin_lines(&self.request, used) + &text::spawning_lines(&self.request)),
        );
    }

    fn take_interval(&mut self, interval: &Interval) {
        if interval.index == 0 {
            self.begin_ns = interval.start_ns;
        }
        self.reached_ns = interval.end_ns;
        for (thread, flow) in self.threads.iter_mut().zip(&interval.flows) {
            thread.seeks += flow.ok;
            thread.failed += flow.failed_operations() + flow.short;
            thread.service_ns = thread.service_ns.saturating_add(flow.service.sum_ns);
            self.service.max_ns = self.service.max_ns.max(flow.service.max_ns);
            self.service.sampled += flow.sampled;
            self.service.blank += flow.blank;
        }
        self.tell_ended();
        if self.request.seeks.is_none() {
            print_to_stderr(&progress_line(interval, self.reached_ns.saturating_sub(self.begin_ns)));
        }
    }

    /// Prints the threads whose last operation has been counted.
    fn tell_ended(&mut self) {
        let threads = &self.threads;
        let (ready, later): (Vec<usize>, Vec<usize>) = self.ended.iter().partition(|thread| {
            let seen = &threads[**thread];
            seen.done.is_some_and(|(_, operations)| seen.seeks + seen.failed >= operations)
        });
        self.ended = later;
        ready.into_iter().for_each(|thread| self.end_thread(thread));
    }

    fn end_thread(&mut self, number: usize) {
        let until = self.end_of(number);
        let seen = &mut self.threads[number];
        seen.is_printed = true;
        let done = Thread {
            seeks: seen.seeks,
            time: Span::from_ns(until.saturating_sub(self.begin_ns)),
            service_ns: seen.service_ns,
        };
        if !self.request.quiet {
            self.print_text(&text::thread_line(number, &done));
        }
    }

    /// When a thread ended or, if it has not, the time that the run has reached.
    fn end_of(&self, thread: usize) -> u64 {
        self.threads[thread].done.map_or(self.reached_ns, |(at_ns, _)| at_ns)
    }

    fn print_event(&mut self, event: &Event) {
        match event.what {
            EventKind::StreamEnd => {
                let Some(thread) =
                    number_in(event, "flow").map(|flow| flow as usize).filter(|thread| *thread < self.threads.len())
                else {
                    return;
                };
                self.threads[thread].done = number_in(event, "completed_ns").zip(number_in(event, "operations"));
                self.ended.push(thread);
            }
            EventKind::IoError | EventKind::ShortIo => {
                let reason = match number_in(event, "errno").filter(|_| event.what == EventKind::IoError) {
                    Some(errno_) => error_number(&std::io::Error::from_raw_os_error(errno_ as i32)).1,
                    None => event.text.clone(),
                };
                self.service.failures_told += 1;
                print_to_stderr(&text::failed_line(self.request.mode, detail_of(event, "offset"), &reason));
            }
            EventKind::Warning | EventKind::Stuck | EventKind::TargetLost => {
                print_to_stderr(&format!("assay: {}", event.text))
            }
            _ => {}
        }
    }

    fn take_histograms(&mut self, line: &Histograms) {
        for flow in &line.flows {
            // Histograms that this run wrote are always readable.
            if let Ok([_, service, _]) = flow.decode_times() {
                self.service.times.add(&service);
            }
        }
    }

    fn print_close(&mut self, close: &Close) {
        let left: Vec<usize> = (0..self.threads.len()).filter(|thread| !self.threads[*thread].is_printed).collect();
        left.into_iter().for_each(|thread| self.end_thread(thread));
        let end = (0..self.threads.len()).map(|thread| self.end_of(thread)).max().unwrap_or(self.reached_ns);
        let total = Total {
            seeks: self.threads.iter().map(|thread| thread.seeks).sum(),
            time: Span::from_ns(end.saturating_sub(self.begin_ns)),
            threads: self.request.threads,
        };
        self.print_text(&text::total_lines(self.request.mode, &total));
        self.service.print_times();
        if close.reason != CloseReason::Completed {
            print_to_stderr(&format!("assay: {}", close.text));
        }
        let failed: u64 = self.threads.iter().map(|thread| thread.failed).sum();
        if failed > 0 {
            let is_printed = self.service.failures_told;
            print_to_stderr(&format!(
                "assay: {failed} operations failed and do not count as seeks; {is_printed} of them are named above"
            ));
        }
        if close.stuck > 0 {
            print_to_stderr(&format!("assay: {} operations never came back", close.stuck));
        }
        let seconds = total.time.as_secs_f64();
        let seeks_per_second = if seconds > 0.0 { total.seeks as f64 / seconds } else { 0.0 };
        self.ended_as.set(SeekMarkEnd { code: self.exit_code(close, failed), seeks_per_second });
    }

    fn exit_code(&self, close: &Close, failed: u64) -> u8 {
        let whole = self.request.seeks.is_none() || self.threads.iter().all(|thread| thread.done.is_some());
        match close.reason {
            _ if failed > 0 || close.stuck > 0 => code::FAILED,
            // A device answers reads of blocks that were never written without its medium.
            _ if self.service.is_too_blank() => INVALID,
            CloseReason::Completed if whole => code::DONE,
            // An endless run can only be interrupted, so this is its normal end.
            CloseReason::Interrupted if self.request.seeks.is_none() => code::DONE,
            CloseReason::Completed | CloseReason::Interrupted | CloseReason::LogFailed => code::INCOMPLETE,
            CloseReason::DeviceLag | CloseReason::TargetLost => code::FAILED,
            CloseReason::GeneratorLag | CloseReason::EngineFailed => INVALID,
        }
    }

    /// Prints a text. If standard output is closed, the run ends, because nobody reads the result.
    fn print_text(&self, text: &str) {
        if !print_flushed(text) {
            self.stop.request_stop(CloseReason::LogFailed);
        }
    }
}

impl Service {
    fn print_times(&self) {
        let quantiles = self.times.quantiles([0.5, 0.9, 0.99, 0.999]);
        let names = ["p50", "p90", "p99", "p99.9"];
        // A quantile is the upper bound of its bucket, which may exceed the maximum.
        let most = Span::from_ns(self.max_ns);
        let known = names
            .iter()
            .zip(quantiles)
            .filter_map(|(name, time)| Some(format!("{name} {}", time?.min(most).human_text())));
        let known: Vec<String> = known.collect();
        if !known.is_empty() {
            print_to_stderr(&format!("assay: service {}, max {}", known.join(", "), most.human_text()));
        }
        if self.blank > 0 {
            let proof = if self.is_too_blank() { ", and the figures prove nothing" } else { "" };
            print_to_stderr(&format!(
                "assay: {} of {} reads that were looked at found blocks that were never written: the device may not have read its medium{proof}; \
                 `assay prep` writes all of it",
                self.blank, self.sampled
            ));
        }
    }

    fn is_too_blank(&self) -> bool {
        is_too_blank(&self.kind, self.blank, self.sampled)
    }
}

/// The progress line of one second.
fn progress_line(interval: &Interval, reached_ns: u64) -> String {
    let (mut seeks, mut failed, mut sum_ns, mut max_ns) = (0, 0, 0, 0);
    for flow in &interval.flows {
        seeks += flow.ok;
        failed += flow.failed_operations() + flow.short;
        sum_ns += flow.service.sum_ns;
        max_ns = max_ns.max(flow.service.max_ns);
    }
    let length = Span::from_ns(interval.end_ns.saturating_sub(interval.start_ns)).as_secs_f64();
    let rate = if length > 0.0 { seeks as f64 / length } else { 0.0 };
    let mean = Span::from_ns(sum_ns.checked_div(seeks).unwrap_or(0));
    let at = Span::from_ns(reached_ns).as_secs_f64();
    format!(
        "assay: {at:.0} s: {rate:.0} seeks/sec, service {} mean, {} max, {failed} failed",
        mean.human_text(),
        Span::from_ns(max_ns).human_text()
    )
}

impl Listen for Printer {
    fn hear_entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Header(header) => self.print_header(header),
            Entry::Interval(interval) => self.take_interval(interval),
            Entry::Event(event) => self.print_event(event),
            Entry::Histograms(histograms) => self.take_histograms(histograms),
            Entry::Close(close) => self.print_close(close),
        }
    }
}

/// The text that an event has under this key; empty where it has none.
fn detail_of<'a>(event: &'a Event, key: &str) -> &'a str {
    event.details.get(key).map_or("", String::as_str)
}

fn number_in(event: &Event, key: &str) -> Option<u64> {
    detail_of(event, key).parse().ok()
}
