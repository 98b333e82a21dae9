//! Under which conditions the run was made: its intervals, interruptions, the clocks of the machine and the generator's own cost.

use assay_record::ClockSample;
use serde::{Deserialize, Serialize};

/// Intervals of the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// Number of intervals in the planned time.
    pub planned: u64,
    /// Number of intervals in the log.
    pub present: u64,
    /// Number of intervals in slices that are complete and valid.
    #[serde(default)]
    pub valid: u64,
}

/// The machine's clocks over a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// The reading before the first interval.
    pub start: ClockSample,
    /// The reading at the last interval.
    pub end: ClockSample,
    /// Events between them, the first 100.
    pub events: Vec<ClockEvent>,
}

/// Something that happened to a clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockEvent {
    /// In measured time.
    pub at_ns: u64,
    /// `slept` or `wall-clock-set`.
    pub what: String,
    /// For how long, or how far forward.
    pub by_ns: i64,
}

/// The generator's own cost over the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeneratorCost {
    /// CPU time of all workers.
    pub cpu_ns: u64,
    /// Time runnable but not running.
    pub run_queue_ns: u64,
    /// Time stolen by the hypervisor.
    pub steal_ns: u64,
    /// Largest resident memory, bytes.
    pub resident_bytes_max: u64,
    /// Wall time of the intervals that were sampled.
    pub sampled_ns: u64,
}

/// An interruption after which the run continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Where in measured time.
    pub at_ns: u64,
    /// How the previous segment ended.
    pub before: String,
    /// Wall clock when the next segment began.
    pub resumed: String,
}
