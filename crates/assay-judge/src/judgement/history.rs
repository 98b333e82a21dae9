//! How the log of a step was written: its segments and their end, the clocks of the machine, and what in it contradicts
//! the rest.

use assay_record::{ClockSample, CloseReason};
use serde::{Deserialize, Serialize};

/// How the log of a step was written, from its first segment to its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogHistory {
    /// Segments of the log: 1, and one more for each continuation.
    #[serde(default)]
    pub segments: u64,
    /// The machine's clocks at both ends and what happened to them; absent where no clock was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// Id of the key that signs the result; absent where no key does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signer: Option<String>,
    /// How the last segment ended; absent when it was cut off without a closing line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<CloseReason>,
    /// Places where the log contradicts itself: intervals that do not add up, overlap or disagree with the closing line.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub contradictions: u64,
    /// How often a change of the machine was found: it slept, or its clock source or the queue of a target changed.
    #[serde(default, skip_serializing_if = "crate::judgement::skip::is_zero")]
    pub environment_changes: u64,
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
