//! How many operations each lane of a target may have in flight.

use super::load::PlannedLoad;

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
