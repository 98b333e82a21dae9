//! Logs of `act_storage` and `act_index`, and of the single `act` before them: versions 3.0 to 6.6, read block by block
//! ([`Log`]), and written in the grammar of 6.6 ([`write`]).
//!
//! A log is cumulative: each block counts since the start. It is read as a stream, one block in memory at a time; lines,
//! names and histograms are capped, every total is checked against its buckets, and time must go forward.
//!
//! Names are those of 6.x. The capitals of 3.0 and 4.0 are translated: READS is `reads`, RAW READS is `device-reads`, a
//! device below it is `DEV-reads`, LARGE BLOCK READS is `large-block-reads`, and so on for writes.

mod block;
mod head;
pub mod write;

use super::lines::{LineFault, Lines};
use crate::fault::Fault;
use assay_base::Span;
use std::fmt;
use std::io::{self, BufRead};

/// Buckets of a histogram: 0 for less than one unit, then one per bit of a 64-bit number.
pub const BUCKETS: usize = 65;
/// More histograms than a log can have: two per device and a handful.
const HISTOGRAMS_MAX: usize = 4096;
/// More lines than can stand before a log's banner, or in its head.
const HEAD_MAX: usize = 10_000;

/// The unit of a log's buckets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Unit {
    /// Bucket 1 is 1 ms up to 2 ms.
    Milliseconds,
    /// Bucket 1 is 1 µs up to 2 µs.
    Microseconds,
}

impl Unit {
    /// One unit.
    pub fn span(self) -> Span {
        match self {
            Unit::Milliseconds => Span::from_ms(1),
            Unit::Microseconds => Span::from_us(1),
        }
    }

    /// The bucket of an operation that took `span`: whole units, then the position of the highest bit.
    pub fn bucket(self, span: Span) -> usize {
        let units = span.as_ns() / self.span().as_ns();
        (u64::BITS - units.leading_zeros()) as usize
    }
}

/// Which program wrote a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Program {
    /// `act`, versions 3 and 4.
    Act,
    /// `act_storage`.
    Storage,
    /// `act_index`.
    Index,
}

/// A device as the log names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeviceLine {
    /// Its path.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Whole large blocks on it (not in a log of `act_index`).
    pub large_blocks: Option<u64>,
    /// Its smallest direct I/O in bytes (from version 4, not in a log of `act_index`).
    pub minimum_io: Option<u64>,
}

/// What stands before the first block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The version as written, such as `6.6`.
    pub version: String,
    /// Its number before the dot.
    pub major: u32,
    /// The program.
    pub program: Program,
    /// Configuration items in order, without the colon.
    pub items: Vec<(String, String)>,
    /// Derived items in order (from version 5).
    pub derived: Vec<(String, String)>,
    /// The devices with their sizes.
    pub devices: Vec<DeviceLine>,
    /// Histogram names as listed (from version 5); 5.x and 6.0 list some that never come.
    pub listed: Vec<String>,
    /// The unit of the buckets.
    pub unit: Unit,
    /// Time from block to block.
    pub interval: Span,
    /// Errors ACT reported before it began to measure.
    pub remarks: Vec<Event>,
}

impl Header {
    /// The histograms ACT's analyzer of that version shows unless told otherwise.
    pub fn default_histograms(&self) -> &'static [&'static str] {
        match (self.major, self.program) {
            (6, _) => &["reads"],
            (5, Program::Index) => &["trans-reads", "device-reads"],
            _ => &["reads", "device-reads"],
        }
    }

    /// The value of a configuration item.
    pub fn item(&self, name: &str) -> Option<&str> {
        self.items.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One histogram at one time, counted since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Index into [`Log::names`].
    pub histogram: usize,
    /// Operations; equals the sum of the buckets in a complete block.
    pub total: u64,
    /// Operations per bucket.
    pub buckets: [u64; BUCKETS],
}

/// All histograms at one time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Time since the start.
    pub after: Span,
    /// In the order of the log.
    pub readings: Vec<Reading>,
    /// Requests in ACT's queues (up to 5.x).
    pub queued: Option<u64>,
    /// False where the log breaks off within the block.
    pub complete: bool,
}

/// What a line that is no measurement says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LineKind {
    /// `ERROR: reading …` or `writing`: one operation failed and was left out of the histograms.
    IoError,
    /// Something could not keep up; ACT stops the test after this.
    Lag,
    /// `… - test stopped`.
    Stopped,
    /// `SIG… received`: ACT crashed.
    Crashed,
    /// Another run begins in the same file; the log is read up to here.
    SecondRun,
    /// Anything else.
    Other,
}

/// A line between or within blocks that is no measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its line in the log.
    pub line: usize,
    /// What it says.
    pub kind: LineKind,
    /// The line, cut to 200 characters.
    pub text: String,
}

/// What a log holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A block of histograms.
    Block(Block),
    /// A remark.
    Event(Event),
}

/// Why a log cannot be read on.
#[derive(Debug)]
pub enum LogError {
    /// The reader failed.
    Io(io::Error),
    /// The text is not what a log must be.
    Fault(Fault),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogError::Io(error) => write!(f, "reading the log: {error}"),
            LogError::Fault(fault) => write!(f, "{fault}"),
        }
    }
}

impl std::error::Error for LogError {}

impl From<Fault> for LogError {
    fn from(fault: Fault) -> LogError {
        LogError::Fault(fault)
    }
}

/// A log being read: its head, then an iterator over its items. After an error it ends.
pub struct Log<R> {
    source: Source<R>,
    header: Header,
    names: Vec<String>,
    reader: block::BlockReader,
    ended: bool,
}

impl<R: BufRead> Log<R> {
    /// Reads the head of a log. `file_name` is for messages.
    pub fn open(file_name: &str, reader: R) -> Result<Log<R>, LogError> {
        let mut source = Source { file: file_name.to_owned(), lines: Lines::new(reader), line: 0, text: String::new() };
        let (header, start) = head::read(&mut source)?;
        let reader = block::BlockReader::new(header.major, start);
        Ok(Log { source, header, names: Vec::new(), reader, ended: false })
    }

    /// What stood before the first block.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Names of the histograms met so far, in order of appearance; [`Reading::histogram`] is an index into it.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A fault at the line last read.
    pub fn fault_here(&self, message: impl Into<String>, advice: impl Into<String>) -> LogError {
        self.source.fault(message, advice).into()
    }
}

impl<R: BufRead> Iterator for Log<R> {
    type Item = Result<Item, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let item = self.reader.next_item(&mut self.source, &mut self.names);
        let last = matches!(&item, Err(_) | Ok(None | Some(Item::Event(Event { kind: LineKind::SecondRun, .. }))));
        self.ended |= last;
        item.transpose()
    }
}

/// The lines of a log with their numbers.
struct Source<R> {
    file: String,
    lines: Lines<R>,
    line: usize,
    /// The current line, without its end.
    text: String,
}

impl<R: BufRead> Source<R> {
    /// Goes to the next line; false at the end.
    fn advance(&mut self) -> Result<bool, LogError> {
        self.line += 1;
        let problem = match self.lines.next() {
            Ok("") => return Ok(false),
            Ok(line) => {
                self.text.clear();
                self.text.push_str(line.strip_suffix('\n').unwrap_or(line));
                return Ok(true);
            }
            Err(LineFault::Io(error)) => return Err(LogError::Io(error)),
            Err(LineFault::TooLong) => "the line is longer than a MiB",
            Err(LineFault::NotText) => "this is not UTF-8 text",
        };
        self.text.clear();
        Err(self.fault(problem, "give the output of act_storage or act_index, unchanged").into())
    }

    /// A fault at the current line.
    fn fault(&self, message: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault::at(&self.file, self.line, &self.text, 0, self.text.len()).because(message, advice)
    }
}

/// The number in `after N sec:`, in the capitals of any version.
fn after(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("after ").or_else(|| line.strip_prefix("After "))?;
    rest.strip_suffix(" sec:")?.parse().ok()
}

/// The version in a banner line.
fn banner(line: &str) -> Option<(&str, bool)> {
    match line.strip_prefix("ACT version ") {
        Some(version) => Some((version.trim(), false)),
        None => line.strip_prefix("Aerospike act version ")?.split(' ').next().map(|version| (version, true)),
    }
}
