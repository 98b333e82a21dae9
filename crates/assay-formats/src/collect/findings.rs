//! What the readers found, each number with its place. Nothing is decided here, but in [`super::assemble`].

use assay_model::observed::{Moments, Observed};
use std::collections::BTreeMap;

/// Upper bound on the remarks that are kept; further ones are counted.
const REMARKS_MAX: usize = 200;
/// Upper bound on the names of one kind (devices, histograms) in all files.
pub(super) const NAMES_MAX: usize = 4096;

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// Index of the file.
    pub file: u16,
    /// Line, counted from 1; 0 for the file as a whole.
    pub line: u64,
}

/// A remark about something that was left out or is unusual.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Its place.
    pub place: Place,
    /// A sentence without its full stop.
    pub text: String,
}

/// A value and its place.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Found<T> {
    /// The value.
    pub value: T,
    /// Its place.
    pub place: Place,
}

/// A file that was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileSeen {
    /// The name given by the user.
    pub name: String,
    /// The machine that it comes from, if the user named it; otherwise empty.
    pub node: String,
    /// Files of one group come from one machine: where directories were named, the files of a directory form a group.
    pub group: String,
    /// The name of the machine in the file.
    pub host: Option<String>,
    /// Number of lines.
    pub lines: u64,
    /// Number of lines that no reader knows, without empty ones.
    pub other: u64,
    /// The first of these.
    pub first_other: Option<(u64, String)>,
    /// The kinds of lines that were recognised, and how often each.
    pub kinds: BTreeMap<&'static str, u64>,
}

/// The unit of the columns of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unit {
    /// Times, in microseconds.
    Microseconds,
    /// Sizes.
    Bytes,
}

/// A histogram as shares over growing thresholds.
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    /// Its namespace; empty where it has none.
    pub namespace: String,
    /// The rest of its name: `device-read-size`, `read` …
    pub name: String,
    /// The unit of the thresholds.
    pub unit: Unit,
    /// Thresholds, each with the percentage over it.
    pub over: Vec<(u64, f64)>,
    /// Operations per second.
    pub rate: Option<f64>,
    /// The line that the shares come from.
    pub place: Place,
    /// The kind of its source; better ones are smaller.
    pub source: Source,
    /// How the numbers were obtained, in words.
    pub how: String,
}

/// The source of a histogram. Tables are means over minutes; `asinfo` shows the last seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// A table of asloglatency.
    Table,
    /// Dumps in the server's log.
    Log,
    /// `asinfo`.
    Info,
}

/// A counter in the server's log, with the rate printed beside it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Counter {
    /// The difference between the counters of two lines, and the seconds between them.
    pub counted: u64,
    /// See `counted`.
    pub seconds: u64,
    /// The rates as printed.
    pub printed: Moments,
    /// The first line.
    pub first: Place,
    /// The last line.
    pub last: Place,
    pub(super) before: Option<(i64, u64)>,
    pub(super) step: i64,
}

impl Counter {
    /// Rate per second: from the counters where two lines are at least a second apart, otherwise as printed.
    pub fn rate_counted_or_printed(&self) -> Option<f64> {
        self.recomputed_rate().or(self.printed.mean())
    }

    /// The rate from the counters alone.
    pub(crate) fn recomputed_rate(&self) -> Option<f64> {
        (self.seconds > 0).then(|| self.counted as f64 / self.seconds as f64)
    }
}

/// The counters of one device of a namespace: `write`, `defrag-read`, `defrag-write`, `direct-frees` …
pub type Blocks = BTreeMap<&'static str, Counter>;

/// A device in iostat.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DriveSeen {
    /// By column, under our own names: `r/s`, `w/s`, `rkB/s`, `wkB/s`, `r_await`, `w_await` …
    pub columns: BTreeMap<&'static str, Moments>,
    /// The first report that is used.
    pub first: Place,
    /// The last report that is used.
    pub last: Place,
    /// Number of reports that contain it, without the dropped one.
    pub reports: u64,
    /// Reads and writes per second over the hours of the day, where the reports have a time.
    pub hours: [Moments; 24],
    pub(super) report: u64,
}

impl DriveSeen {
    /// The mean of a column.
    pub fn column_mean(&self, column: &str) -> Option<f64> {
        self.columns.get(column)?.mean()
    }
}

/// A trace of one device.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Index of the file.
    pub file: u16,
    /// The device's name.
    pub device: String,
    /// The kind of event that is counted: one of blktrace's letters, or nothing.
    pub action: &'static str,
    /// Its requests.
    pub seen: Observed,
    /// Its first line.
    pub first: Place,
    /// Its last line.
    pub last: Place,
}

/// The time that the traces of one file are of. Drives share it: one that did little was traced for as long as the
/// others, so that its rate is over the whole trace, and not over the time between its first and its last operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceClock {
    /// Length in nanoseconds, without jumps of the clock.
    pub covered: u64,
    /// The first time since the clock jumped last.
    pub(super) began: Option<u64>,
    /// The latest time.
    pub(super) now: u64,
}

/// Everything found in the files of a collection.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// The files, in the order in which they were read.
    pub files: Vec<FileSeen>,
    /// Histograms.
    pub histograms: Vec<Histogram>,
    /// Counters of large blocks, by file, namespace and device.
    pub blocks: BTreeMap<(u16, String, String), Blocks>,
    /// Devices of iostat, by file and name.
    pub drives: BTreeMap<(u16, String), DriveSeen>,
    /// Traces; for the output of blkparse there are several, one per kind of event.
    pub traces: Vec<Trace>,
    /// The times of the traces, by file; a file whose traces have no times has none.
    pub clocks: BTreeMap<u16, TraceClock>,
    /// Remarks on lines that were left out or are unusual.
    pub remarks: Vec<Remark>,
    /// Number of remarks that are not kept.
    pub more_remarks: u64,
}

impl Findings {
    /// The time that a trace is of, in nanoseconds; 0 where it has no times.
    pub fn covered_time(&self, trace: &Trace) -> u64 {
        self.clocks.get(&trace.file).map_or(0, |clock| clock.covered)
    }

    /// The index of the file that is being read.
    pub(super) fn current_file(&self) -> u16 {
        u16::try_from(self.files.len().saturating_sub(1)).unwrap_or(u16::MAX)
    }

    /// The file that is being read.
    pub(super) fn current_file_seen(&mut self) -> &mut FileSeen {
        if self.files.is_empty() {
            self.files.push(FileSeen::default());
        }
        let last = self.files.len() - 1;
        &mut self.files[last]
    }

    /// Counts a recognised line.
    pub(super) fn count_line(&mut self, kind: &'static str) {
        *self.current_file_seen().kinds.entry(kind).or_default() += 1;
    }

    /// Adds a remark about something that was left out or is unusual.
    pub(super) fn add_remark(&mut self, place: Place, text: impl Into<String>) {
        if self.remarks.len() < REMARKS_MAX {
            self.remarks.push(Remark { place, text: text.into() });
        } else {
            self.more_remarks += 1;
        }
    }

    /// `file:line`.
    pub fn place_name(&self, place: Place) -> String {
        let name = self.files.get(usize::from(place.file)).map_or("?", |file| file.name.as_str());
        if place.line == 0 { name.to_owned() } else { format!("{name}:{}", place.line) }
    }
}
