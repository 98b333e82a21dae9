//! A configuration of IOmeter as it is meant: specifications, workers, and how long the test lasts.

use assay_base::{Bytes, Span};

/// A configuration in which every value was checked to be possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version of IOmeter that wrote it.
    pub version: String,
    /// The description that its author wrote; may be empty.
    pub description: String,
    /// The measured time; zero where IOmeter runs until a person stops it.
    pub run_time: Span,
    /// The warm-up before the measured time.
    pub ramp_up: Span,
    /// The numbers of outstanding I/Os that the test tries one after another, in place of those of the workers; empty
    /// if it uses those of the workers.
    pub depths: Vec<u32>,
    /// The access specifications.
    pub specs: Vec<Spec>,
    /// The workers of all managers.
    pub workers: Vec<Worker>,
}

/// An access specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// Its lines, whose shares add up to 100 %.
    pub lines: Vec<Line>,
}

/// A line of an access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The size of an operation.
    pub size: Bytes,
    /// Its share of the bursts, in percent.
    pub share: u64,
    /// The share of its operations that read, in percent.
    pub reads: u64,
    /// The share of its operations that go to a random place, in percent.
    pub random: u64,
    /// How long nothing is issued before each burst.
    pub delay: Span,
    /// The number of operations in a burst.
    pub burst: u32,
    /// Offsets are multiples of this; 512 bytes if the file says 0.
    pub align: Bytes,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// How it uses its targets.
    pub settings: Settings,
    /// The specification that it runs in each step, as an index into [`Config::specs`]; `None` if it is idle in that
    /// step.
    pub specs: Vec<Option<usize>>,
    /// The names of its targets.
    pub targets: Vec<String>,
}

/// How a worker uses its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Outstanding I/Os on each target.
    pub in_flight: u32,
    /// The beginning of its part of a target.
    pub start: Bytes,
    /// The length of that part; zero if it reaches to the end of the target.
    pub length: Bytes,
    /// The pattern of written data: 0 repeating bytes, 1 the same random bytes again and again, 2 random bytes. `None` if
    /// the file does not say, as files of older versions do not.
    pub pattern: Option<u64>,
    /// The seed of its random numbers, if the file fixes it.
    pub seed: Option<u64>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { in_flight: 1, start: Bytes::default(), length: Bytes::default(), pattern: None, seed: None }
    }
}

impl Spec {
    /// Whether any of its operations writes.
    pub fn has_writes(&self) -> bool {
        self.lines.iter().any(|line| line.reads < 100)
    }
}
