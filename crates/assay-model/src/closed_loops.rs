//! The closed loops of a plan, as somebody sees them who counts: which flows share how many slots.
//!
//! Each slot carries one operation after the other, so that rate × mean response of the flows is the number of slots, but
//! for the time in which slots pause (Little's law). The engine counts by these loops, the log lists them, and the judge
//! holds them against the law.

use crate::files::{FilesPace, PlannedFiles};
use crate::plan::{Arrival, Plan};
use crate::tpcc::load::Pace;

/// One closed loop: on one target, or on all targets that it goes to in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedLoop {
    /// Indices of its flows.
    pub flows: Vec<usize>,
    /// How many operations it has in flight, over all workers.
    pub slots: u32,
}

impl Plan {
    /// The closed loops of the plan. The read-back is none of them, because it is not judged; nor are terminals, which do
    /// not wait for all of their transactions. What is drawn as one sequence follows a schedule. Clients on
    /// files are a loop of their calls, and one of their sequences: both take all their time.
    pub fn closed_loops(&self) -> Vec<ClosedLoop> {
        if self.caches.simulated.is_some() || self.load.oltp().is_some() {
            return Vec::new();
        }
        let flows: Vec<(u16, u16)> = self.load.stream_targets().collect();
        if let Some(files) = self.load.files() {
            return loops_of_clients(files, &flows);
        }
        if let Some(load) = self.load.tpcc() {
            if load.pace != Pace::Closed {
                return Vec::new();
            }
            let slots = load.session_count();
            let all = (0..self.load.targets).map(|target| flows_where(&flows, |(_, on)| on == target));
            return all.map(|flows| ClosedLoop { flows, slots }).collect();
        }
        let mut loops: Vec<ClosedLoop> = Vec::new();
        for (flow, (stream, target)) in flows.iter().enumerate() {
            let described = &self.load.streams[usize::from(*stream)];
            if let Some(slots) = described.arrival.slots_per_target().filter(|_| !described.reads_back()) {
                loops.push(ClosedLoop { flows: vec![flow], slots });
            }
            if let Some(looped) = self.load.loop_of(*stream) {
                let all = flows_where(&flows, |(stream, on)| {
                    self.is_of(stream, &looped.name) && (looped.turns.is_some() || on == *target)
                });
                if all.first() == Some(&flow) {
                    loops.push(ClosedLoop { flows: all, slots: looped.slot_count() });
                }
            }
        }
        loops
    }

    fn is_of(&self, stream: u16, looped: &str) -> bool {
        matches!(&self.load.streams[usize::from(stream)].arrival, Arrival::Looped { looped: name, .. } if name == looped)
    }
}

/// The loops of clients on files: those of their calls, and those of their sequences.
fn loops_of_clients(files: &PlannedFiles, flows: &[(u16, u16)]) -> Vec<ClosedLoop> {
    if files.workload.pace != FilesPace::Closed {
        return Vec::new();
    }
    let mut loops = Vec::new();
    for streams in files.current_phase().streams_of_client_time() {
        let own = flows_where(flows, |(stream, _)| streams.contains(&usize::from(stream)));
        loops.push(ClosedLoop { flows: own, slots: files.workload.clients });
    }
    loops
}

/// The indices of the flows for which something holds.
fn flows_where(flows: &[(u16, u16)], holds: impl Fn((u16, u16)) -> bool) -> Vec<usize> {
    flows.iter().enumerate().filter(|(_, flow)| holds(**flow)).map(|(index, _)| index).collect()
}

#[cfg(test)]
mod tests {
    use crate::workload::{Adjust, read_workload};

    fn loops(file: &str, targets: u16) -> Vec<(Vec<usize>, u32)> {
        let plan = read_workload("t", file).unwrap().make_plan(&Adjust { targets, ..Adjust::default() }).unwrap();
        plan.closed_loops().into_iter().map(|it| (it.flows, it.slots)).collect()
    }

    fn stream(name: &str, direction: &str, keys: &str) -> String {
        format!("[[stream]]\nname = \"{name}\"\ndirection = \"{direction}\"\nsize = \"4KiB\"\n{keys}\n")
    }

    #[test]
    fn flows_that_share_slots_are_one_loop() {
        let head = "model = \"streams\"\n";
        let open = stream("open", "read", "rate = \"5/s\"");
        let (closed, paced) =
            (stream("c", "read", "in_flight = 7"), stream("p", "read", "in_flight = 1\npause = \"1ms\""));
        let mix = |loop_keys: &str| {
            format!("[[loop]]\nname = \"mix\"\nin_flight = 4\ncopies = 3\n{loop_keys}")
                + &stream("a", "read", "loop = \"mix\"")
                + &stream("b", "write", "loop = \"mix\"")
        };
        for (file, targets, expected) in [
            (open.clone(), 2, vec![]),
            (open.clone() + &closed, 2, vec![(vec![2], 7), (vec![3], 7)]),
            (closed.clone() + &paced, 1, vec![(vec![0], 7), (vec![1], 1)]),
            (mix(""), 2, vec![(vec![0, 2], 12), (vec![1, 3], 12)]),
            (mix("targets = \"in-turn\"\n"), 2, vec![(vec![0, 1, 2, 3], 12)]),
            // What reads back is no loop of the load.
            (format!("verify = true\n{}", stream("w", "write", "in_flight = 2")), 1, vec![(vec![0], 2)]),
        ] {
            assert_eq!(loops(&format!("{head}{file}"), targets), expected, "{file}");
        }
    }

    #[test]
    fn sessions_are_a_loop_and_terminals_are_none() {
        let file = |pace: &str| format!("model = \"tpcc\"\n{pace}\nduration = \"9s\"");
        let sessions = loops(&file("sessions = 6"), 2);
        assert_eq!(sessions, [(vec![0, 2, 4, 6, 8], 6), (vec![1, 3, 5, 7, 9], 6)]);
        assert_eq!(loops(&file("pacing = \"keyed\""), 1), []);
        assert_eq!(loops(&file("rate = \"20/s\"\nsessions = 9"), 1), []);
    }
}
