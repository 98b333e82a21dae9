//! The content of an ACT log: its head, blocks of histograms, and lines that are not measurements.

use assay_base::Fault;
use assay_base::Span;
use std::fmt;
use std::io;

/// Buckets of a histogram: 0 for less than one unit, then one per bit of a 64-bit number.
pub(crate) const BUCKETS: usize = 65;
/// More histograms than a log can have: two per device and a handful.
pub(super) const HISTOGRAMS_MAX: usize = 4096;
/// More lines than can precede a log's banner, or be in its head.
pub(super) const HEAD_MAX: usize = 10_000;

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
    pub fn one_unit(self) -> Span {
        match self {
            Unit::Milliseconds => Span::from_ms(1),
            Unit::Microseconds => Span::from_us(1),
        }
    }

    /// The bucket of an operation that took `span`: whole units, then the position of the highest bit.
    pub fn bucket_of_span(self, span: Span) -> usize {
        let units = span.as_ns() / self.one_unit().as_ns();
        (u64::BITS - units.leading_zeros()) as usize
    }
}

/// The program that wrote a log.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Program {
    /// `act`, versions 3 and 4.
    Act,
    /// `act_storage`.
    Storage,
    /// `act_index`.
    Index,
}

/// A device in the log.
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

/// The head of a log: everything before the first block.
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
    /// Histogram names as listed (from version 5); 5.x and 6.0 list some that never appear.
    pub listed: Vec<String>,
    /// The unit of the buckets.
    pub unit: Unit,
    /// Time between two blocks.
    pub interval: Span,
    /// Errors ACT reported before it began to measure.
    pub remarks: Vec<Event>,
}

impl Header {
    /// The histograms that ACT's analyzer of that version shows by default.
    pub fn default_histograms(&self) -> &'static [&'static str] {
        match (self.major, self.program) {
            (6, _) => &["reads"],
            (5, Program::Index) => &["trans-reads", "device-reads"],
            _ => &["reads", "device-reads"],
        }
    }

    /// The value of a configuration item.
    pub fn item_value(&self, name: &str) -> Option<&str> {
        self.items.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// One histogram at one time, counted since the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Index into [`Log::names`](super::Log::names).
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

/// The meaning of a line that is not a measurement.
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
    /// Another run begins in the same file; the log is read up to this line.
    SecondRun,
    /// Anything else.
    Other,
}

/// A line between or within blocks that is not a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its line in the log.
    pub line: usize,
    /// Its meaning.
    pub kind: LineKind,
    /// The line, cut to 200 characters.
    pub text: String,
}

/// An item of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    /// A block of histograms.
    Block(Block),
    /// A remark.
    Event(Event),
}

/// Why reading a log failed.
#[derive(Debug)]
pub enum LogError {
    /// The reader failed.
    Io(io::Error),
    /// The text is not a valid log.
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
