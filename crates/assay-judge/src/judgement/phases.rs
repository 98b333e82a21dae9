//! The figures of the phases of a run whose load changes.

use super::TimesSummary;
use serde::{Deserialize, Serialize};

/// The figures of one measured phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// Its name.
    pub name: String,
    /// Planned length.
    pub planned_ns: u64,
    /// The part of it that the log contains.
    pub measured_ns: u64,
    /// Number of listed slices that begin in it.
    pub slices: u64,
    /// Number of those in which no criterion is broken.
    pub slices_within: u64,
    /// Each stream over all its targets.
    pub streams: Vec<PhaseStream>,
}

/// One stream in one phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseStream {
    /// Stream name.
    pub name: String,
    /// Completed operations per second; absent when no time was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_achieved: Option<f64>,
    /// Failed and short operations.
    pub failed: u64,
    /// Completed − intended, of the operations that completed in it. No percentiles where a run has too many phases and streams.
    pub response: TimesSummary,
}
