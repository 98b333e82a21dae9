//! The course of a step: what happened along its measured time.

use crate::judgement::marked::PartFigures;
use crate::judgement::series::{Change, Series, Steadiness};
use assay_record::Event;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What happened along the measured time of a step: interruptions, events, changes of level, and the data of the charts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Interruptions after which the run continued.
    pub gaps: Vec<Gap>,
    /// Events at a moment; the first 1000.
    pub events: Vec<Event>,
    /// Number of further events.
    pub events_left_out: u64,
    /// The parts into which marks divide it; empty where none do, and no criterion names parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartFigures>,
    /// Whether it was steady and where its level changed, for each stream over all targets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steadiness: Vec<Steadiness>,
    /// Data of the charts.
    pub series: Series,
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

impl Course {
    /// Whether there is a part of the run of which no criterion asks anything.
    pub(crate) fn has_unasked_part(&self) -> bool {
        self.parts.iter().any(|part| !part.is_asked_of() && part.measured_ns > 0)
    }

    /// The largest change of level within a period of measured time, and the stream it belongs to.
    pub(crate) fn largest_change(&self, within: Range<u64>) -> Option<(&Steadiness, &Change)> {
        let changes =
            self.steadiness.iter().flat_map(|steadiness| steadiness.changes.iter().map(move |at| (steadiness, at)));
        changes
            .filter(|(_, at)| within.contains(&at.at_ns))
            .max_by(|a, b| a.1.relative_size().total_cmp(&b.1.relative_size()))
    }
}
