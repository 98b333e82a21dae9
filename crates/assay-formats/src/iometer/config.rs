//! A configuration of IOmeter as it is meant: specifications, workers, and how long the test lasts.

use assay_base::{Bytes, Span};

/// A configuration whose every value is known to be possible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version of IOmeter that wrote it.
    pub version: String,
    /// What its author wrote about it; may be empty.
    pub description: String,
    /// The measured time; zero where IOmeter runs until a person stops it.
    pub run_time: Span,
    /// The time before that.
    pub ramp_up: Span,
    /// The numbers of outstanding I/Os that are tried one after another, in place of those of the workers; empty where they are not.
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
    /// Its lines, whose shares make 100.
    pub lines: Vec<Line>,
}

/// A line of an access specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Bytes of an operation.
    pub size: Bytes,
    /// How many percent of the bursts.
    pub share: u64,
    /// How many percent of its operations read.
    pub reads: u64,
    /// How many percent of its operations go to a random place.
    pub random: u64,
    /// Before a burst nothing is issued for so long.
    pub delay: Span,
    /// Operations of a burst.
    pub burst: u32,
    /// What offsets are multiples of; 512 bytes where the file says 0.
    pub align: Bytes,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// How it uses its targets.
    pub settings: Settings,
    /// What it does in each step, by the place in [`Config::specs`]; `None` where it does nothing.
    pub specs: Vec<Option<usize>>,
    /// The names of its targets.
    pub targets: Vec<String>,
}

/// How a worker uses its targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Outstanding I/Os on each target.
    pub in_flight: u32,
    /// Where its part of a target begins.
    pub start: Bytes,
    /// How long that part is; zero to the target's end.
    pub length: Bytes,
    /// What is written: 0 repeating bytes, 1 the same random bytes again and again, 2 random bytes. Older versions do not say.
    pub pattern: Option<u64>,
    /// The seed of its draws, where it is fixed.
    pub seed: Option<u64>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { in_flight: 1, start: Bytes::default(), length: Bytes::default(), pattern: None, seed: None }
    }
}

impl Spec {
    /// Whether any of its operations writes.
    pub fn writes(&self) -> bool {
        self.lines.iter().any(|line| line.reads < 100)
    }
}
