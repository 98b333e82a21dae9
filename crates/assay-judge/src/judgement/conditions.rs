//! Under which conditions the run was made: its intervals, interruptions, the clocks of the machine and the generator's own cost.

use assay_record::ClockSample;
use serde::{Deserialize, Serialize};

/// Intervals of the measured phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intervals {
    /// As many as the planned time holds.
    pub planned: u64,
    /// As many as the log holds.
    pub present: u64,
    /// As many as stand in slices that are complete and prove something.
    #[serde(default)]
    pub valid: u64,
}

/// The machine's clocks over a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clocks {
    /// Before the first interval.
    pub start: ClockSample,
    /// With the last.
    pub end: ClockSample,
    /// Between them, the first 100.
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

/// An interruption that was continued.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Where in measured time.
    pub at_ns: u64,
    /// How the segment before ended.
    pub before: String,
    /// Wall clock when the next segment began.
    pub resumed: String,
}
