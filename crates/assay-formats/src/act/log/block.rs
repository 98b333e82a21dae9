//! Blocks of histograms, and the lines other threads of ACT print in between.

use super::items::{BUCKETS, Block, Event, HISTOGRAMS_MAX, Item, LineKind, LogError, Reading};
use super::source::{Source, parse_after_seconds, parse_banner};
use assay_base::{Fault, Span};
use std::io::BufRead;

/// The state of the reader between two lines.
pub(super) struct BlockReader {
    major: u32,
    /// The block being read.
    block: Option<Block>,
    /// The line with its last histogram's name, for messages.
    head_line: (usize, String),
    /// Up to 4.x the names of devices do not contain the direction: it is that of the RAW histogram above them.
    raw: &'static str,
    last: u64,
}

impl BlockReader {
    /// `start` is the time of the block whose first line has been read.
    pub(super) fn new(major: u32, start: Option<u64>) -> BlockReader {
        let block = start.map(empty_block);
        BlockReader { major, block, head_line: (0, String::new()), raw: "-reads", last: start.unwrap_or(0) }
    }

    /// The next item; `None` at the end.
    pub(super) fn next_item<R: BufRead>(
        &mut self,
        source: &mut Source<R>,
        names: &mut Vec<String>,
    ) -> Result<Option<Item>, LogError> {
        while source.advance_line()? {
            if let Some(item) = self.take_line(source, names)? {
                return Ok(Some(item));
            }
        }
        Ok(self.block.take().map(Item::Block))
    }

    fn take_line<R: BufRead>(&mut self, source: &Source<R>, names: &mut Vec<String>) -> Result<Option<Item>, LogError> {
        let line = source.text.as_str();
        if line.is_empty() {
            return self.finish_block(source);
        }
        if let Some(seconds) = parse_after_seconds(line) {
            if seconds <= self.last && self.last > 0 {
                let message = format!("time goes back: {seconds} s after {} s", self.last);
                return Err(source.fault_here(message, "give the log of one run, in order").into());
            }
            self.last = seconds;
            // If another block follows a block without an empty line, the end of the first one is lost.
            return Ok(self.block.replace(empty_block(seconds)).map(Item::Block));
        }
        let Some(block) = &mut self.block else {
            return Ok(Some(Item::Event(parse_event(source))));
        };
        if line.starts_with(" (") {
            return take_buckets(source, block).map(|()| None);
        }
        if let Some((_, queued)) = line.split_once("queued: ") {
            block.queued = queued.parse().ok();
            return Ok(None);
        }
        match parse_histogram_head(line) {
            Some((title, total)) => self.start_reading(source, names, title, total).map(|()| None),
            None => Ok(Some(Item::Event(parse_event(source)))),
        }
    }

    /// Ends a block at its empty line.
    fn finish_block<R: BufRead>(&mut self, source: &Source<R>) -> Result<Option<Item>, LogError> {
        let Some(mut block) = self.block.take() else {
            return Ok(None);
        };
        self.check_total(&block, source)?;
        block.complete = true;
        Ok(Some(Item::Block(block)))
    }

    /// Checks the last histogram read.
    fn check_total<R: BufRead>(&self, block: &Block, source: &Source<R>) -> Result<(), LogError> {
        let Some(reading) = block.readings.last() else {
            return Ok(());
        };
        let sum: u128 = reading.buckets.iter().map(|count| u128::from(*count)).sum();
        if sum == u128::from(reading.total) {
            return Ok(());
        }
        let message = format!("the total says {}, the buckets hold {sum}", reading.total);
        let mut fault = source.fault_here(message, "the log has been changed or cut");
        let (line, text) = &self.head_line;
        (fault.line, fault.source, fault.width) = (*line, text.clone(), text.chars().count().clamp(1, 100));
        Err(fault.into())
    }

    fn start_reading<R: BufRead>(
        &mut self,
        source: &Source<R>,
        names: &mut Vec<String>,
        title: &str,
        total: u64,
    ) -> Result<(), LogError> {
        if let Some(block) = &self.block {
            self.check_total(block, source)?;
        }
        let name = if self.major < 5 { self.translate_title(title) } else { title.to_owned() };
        let histogram = names.iter().position(|known| *known == name).unwrap_or(names.len());
        if histogram == names.len() {
            if names.len() == HISTOGRAMS_MAX {
                return Err(source.fault_here("the log has too many histograms", "is it an ACT log?").into());
            }
            names.push(name);
        }
        let readings = &mut self.block.get_or_insert_with(|| empty_block(0)).readings;
        if readings.iter().any(|reading| reading.histogram == histogram) {
            return Err(source
                .fault_here("the histogram stands twice in one block", "the log has been changed")
                .into());
        }
        readings.push(Reading { histogram, total, buckets: [0; BUCKETS] });
        self.head_line = (source.line, source.text.chars().take(100).collect());
        Ok(())
    }

    /// The present name for a title of 3.0 or 4.0.
    fn translate_title(&mut self, title: &str) -> String {
        match title {
            "RAW READS" => self.raw = "-reads",
            "RAW WRITES" => self.raw = "-writes",
            _ => {}
        }
        match title {
            "READS" => "reads".to_owned(),
            "WRITES" => "writes".to_owned(),
            "RAW READS" => "device-reads".to_owned(),
            "RAW WRITES" => "device-writes".to_owned(),
            "LARGE BLOCK READS" => "large-block-reads".to_owned(),
            "LARGE BLOCK WRITES" => "large-block-writes".to_owned(),
            device => format!("{device}{}", self.raw),
        }
    }
}

fn empty_block(seconds: u64) -> Block {
    Block { after: seconds_span(seconds), readings: Vec::new(), queued: None, complete: false }
}

/// Seconds as a span; a value that does not fit becomes the largest span.
fn seconds_span(seconds: u64) -> Span {
    Span::from_ns(seconds.saturating_mul(1_000_000_000))
}

/// `NAME (TOTAL total)`.
fn parse_histogram_head(line: &str) -> Option<(&str, u64)> {
    let (title, rest) = line.strip_suffix(" total)")?.rsplit_once('(')?;
    Some((title.trim_end(), rest.parse().ok()?))
}

/// ` (BB: CCCCCCCCCC)`, several per line.
fn take_buckets<R: BufRead>(source: &Source<R>, block: &mut Block) -> Result<(), LogError> {
    let reading = block.readings.last_mut().ok_or_else(|| no_buckets(source))?;
    for cell in source.text.split(')') {
        if cell.is_empty() {
            continue;
        }
        let (bucket, count) =
            cell.strip_prefix(" (").and_then(|cell| cell.split_once(": ")).ok_or_else(|| no_buckets(source))?;
        let bucket: usize = bucket.parse().map_err(|_| no_buckets(source))?;
        let counted = reading.buckets.get_mut(bucket).ok_or_else(|| no_buckets(source))?;
        *counted = count.parse().map_err(|_| no_buckets(source))?;
    }
    Ok(())
}

fn no_buckets<R: BufRead>(source: &Source<R>) -> Fault {
    source.fault_here("this is not a line of buckets such as \" (00: 0000000007)\"", "the log has been changed")
}

/// A line that is not a measurement.
pub(super) fn parse_event<R: BufRead>(source: &Source<R>) -> Event {
    let line = source.text.as_str();
    let kind = if parse_banner(line).is_some() {
        LineKind::SecondRun
    } else if line.starts_with("ERROR: reading ") || line.starts_with("ERROR: writing ") {
        LineKind::IoError
    } else if line.starts_with("ERROR: ") && (line.ends_with("can't keep up") || line.ends_with("requests queued")) {
        LineKind::Lag
    } else if line.ends_with("test stopped") {
        LineKind::Stopped
    } else if line.starts_with("SIG") && line.ends_with(" received") || line.starts_with("Signal ") {
        LineKind::Crashed
    } else {
        LineKind::Other
    };
    Event { line: source.line, kind, text: line.chars().take(200).collect() }
}
