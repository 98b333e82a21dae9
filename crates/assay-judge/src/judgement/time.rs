//! The measured time of a step: how much was planned, and how much the log contains.

use serde::{Deserialize, Serialize};

/// The planned time, what the log contains of it, and the slices that it is judged in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredTime {
    /// Planned length of the measured phase.
    pub planned_ns: u64,
    /// The part of it that the log contains, without gaps.
    pub measured_ns: u64,
    /// Length of a slice.
    pub slice_ns: u64,
    /// How many intervals there should be, and how many there are.
    #[serde(default)]
    pub intervals: Intervals,
}

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
