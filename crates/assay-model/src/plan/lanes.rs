//! Streams that have slots of their own on each target.

use super::Plan;
use super::load::PlannedLoad;
use serde::{Deserialize, Serialize};

/// Streams whose operations have slots of their own on each target: operations that a device holds for long do not
/// occupy the slots of others, as if they had threads of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The names of the streams.
    pub streams: Vec<String>,
    /// Upper bound on their operations in flight on one target, in addition to the plan's bound for the streams without
    /// a lane of their own.
    pub in_flight_bound: u32,
}

impl Lane {
    /// A lane for one stream.
    pub fn for_stream(stream: &str, in_flight_bound: u32) -> Lane {
        Lane { streams: vec![stream.to_owned()], in_flight_bound }
    }
}

impl PlannedLoad {
    /// The lane of a stream, by its index: 0 is the one that all share who have none of their own, and 1 is the first of `lanes`.
    pub fn lane_of(&self, stream: u16) -> usize {
        let name = &self.streams[usize::from(stream)].name;
        self.lanes.iter().position(|lane| lane.streams.contains(name)).map_or(0, |own| own + 1)
    }

    /// For each target, the bounds of its lanes, in the order of [`PlannedLoad::lane_of`]; 0 where no stream of a lane goes to the
    /// target, so that a load of many targets needs memory only for what it can have in flight.
    pub fn lane_bounds(&self) -> Vec<Vec<u32>> {
        let lanes: Vec<usize> = (0..self.streams.len() as u16).map(|stream| self.lane_of(stream)).collect();
        let mut bounds = vec![vec![0; 1 + self.lanes.len()]; usize::from(self.targets)];
        for (stream, target) in self.stream_targets() {
            let lane = lanes[usize::from(stream)];
            let own = lane.checked_sub(1).map_or(self.in_flight_bound, |own| self.lanes[own].in_flight_bound);
            bounds[usize::from(target)][lane] = own;
        }
        bounds
    }

    /// The lanes in words, to follow the bound in a sentence: `, beside them 32 of large-block-reads`.
    pub fn lanes_in_words(&self) -> String {
        let lanes = self.lanes.iter().map(|lane| format!("{} of {}", lane.in_flight_bound, lane.streams.join(" and ")));
        let lanes: Vec<String> = lanes.collect();
        if lanes.is_empty() { String::new() } else { format!(", beside them {}", lanes.join(", ")) }
    }
}

impl Plan {
    /// The same plan for a worker that carries one operation at a time: it has only one slot.
    pub fn in_one_lane(&self) -> Plan {
        Plan { load: PlannedLoad { lanes: Vec::new(), ..self.load.clone() }, ..self.clone() }
    }
}
