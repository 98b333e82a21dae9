//! What clients do in one run: a workload at the load of a plan, and which of its phases the run is. Its streams are the
//! sequences, and the operations of which they consist.

use super::operation::Operation;
use super::sequence::{SEQUENCE, Sequence};
use super::service::Service;
use super::workload::{FilesPace, FilesPhase, FilesWorkload, Spacing, Until};
use crate::life::Life;
use crate::plan::{Arrival, Stream, Work};
use assay_base::{Counted, Multiple};
use serde::{Deserialize, Serialize};

/// What clients do in the run of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannedFiles {
    /// The workload, at the load of the plan.
    pub workload: FilesWorkload,
    /// Which of its phases the run is, counted from 0.
    pub phase: u32,
    /// Whether the tree is compared with what was written, when the last phase is over.
    pub verify: bool,
    /// What 1x of its load stands for, such as 20 streams, where its users count in something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for: Option<Counted>,
}

/// The places of a phase's streams in its plan.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StreamPlaces {
    /// The place of each sequence.
    pub sequences: Vec<usize>,
    /// The place of each kind of operation that the phase has. A sequence of a single operation with the name of that
    /// operation shares a stream with it.
    pub operations: Vec<(Operation, usize)>,
}

impl StreamPlaces {
    /// The place of an operation's stream; `None` for one that the phase does not have.
    pub fn place_of(&self, operation: Operation) -> Option<usize> {
        self.operations.iter().find(|(known, _)| *known == operation).map(|(_, place)| *place)
    }
}

impl PlannedFiles {
    /// The phase that is run.
    pub fn current_phase(&self) -> FilesPhase {
        let mut phases = self.workload.all_phases();
        let last = phases.len() - 1;
        phases.swap_remove(last.min(self.phase as usize))
    }

    /// Whether no phase follows it.
    pub fn is_last_phase(&self) -> bool {
        self.phase as usize + 1 >= self.workload.all_phases().len()
    }

    /// The same at a multiple of its rate; `None` if that does not fit.
    pub(crate) fn scaled_by(&self, load: Multiple) -> Option<PlannedFiles> {
        Some(PlannedFiles { workload: self.workload.scaled(load)?, ..self.clone() })
    }

    /// The streams of its phase: each sequence, and each kind of operation. `None` if a rate does not fit.
    pub fn phase_streams(&self) -> Option<Vec<Stream>> {
        if let Some(service) = &self.workload.service {
            return self.streams_of_service(service);
        }
        let phase = self.current_phase();
        let mut streams = Vec::new();
        for sequence in &phase.sequences {
            let operation = sole_operation(sequence).map_or(SEQUENCE, Operation::name);
            streams.push(stream(&sequence.name, operation, self.arrival_of(&phase, sequence)?));
        }
        for (operation, place) in phase.stream_places().operations {
            if place == streams.len() {
                streams.push(stream(operation.name(), operation.name(), Arrival::InSequence));
            }
        }
        Some(streams)
    }

    /// The commits have the schedule; everything else follows from them and from timers.
    fn streams_of_service(&self, service: &Service) -> Option<Vec<Stream>> {
        let phase = self.current_phase();
        let mut streams = Vec::new();
        for (place, described) in service.streams().into_iter().enumerate() {
            let arrival = match phase.sequences.get(place) {
                Some(commits) => self.arrival_of(&phase, commits)?,
                None => Arrival::InSequence,
            };
            streams.push(stream(&described.name, described.operation, arrival));
        }
        Some(streams)
    }

    fn arrival_of(&self, phase: &FilesPhase, sequence: &Sequence) -> Option<Arrival> {
        let FilesPace::Open { rate, arrival } = self.workload.pace else {
            return Some(Arrival::Closed { in_flight: self.workload.clients });
        };
        let rate = match phase.until {
            Until::Time => rate.scaled_by(sequence.share, phase.sequences.iter().map(|other| other.share).sum())?,
            // Its sequences follow each other, each at the whole rate.
            Until::Done | Until::Stonewall => rate,
        };
        Some(match arrival {
            Spacing::Steady => Arrival::Steady { rate },
            Spacing::Poisson => Arrival::Poisson { rate },
        })
    }
}

impl FilesPhase {
    /// Where each client begins a sequence when it has done the last one: the places of the streams that take all the
    /// time of the clients together. First those of the calls; then those of the sequences, unless one of them shares its
    /// stream with an operation, which other sequences may have too.
    pub fn streams_of_client_time(&self) -> Vec<Vec<usize>> {
        let StreamPlaces { sequences, operations } = self.stream_places();
        let calls: Vec<usize> = operations.iter().map(|(_, place)| *place).collect();
        let is_shared = sequences.iter().any(|place| calls.contains(place));
        if is_shared { vec![calls] } else { vec![calls, sequences] }
    }

    /// The places of its streams: first the sequences, then the operations in the order in which they first occur.
    pub fn stream_places(&self) -> StreamPlaces {
        let mut places = StreamPlaces { sequences: (0..self.sequences.len()).collect(), operations: Vec::new() };
        for (place, sequence) in self.sequences.iter().enumerate() {
            if let Some(operation) = sole_operation(sequence) {
                places.operations.push((operation, place));
            }
        }
        let mut next = self.sequences.len();
        for operation in self.sequences.iter().flat_map(Sequence::operations) {
            if places.place_of(operation).is_none() {
                places.operations.push((operation, next));
                next += 1;
            }
        }
        places
    }
}

/// The operation that a sequence consists of and is named after.
fn sole_operation(sequence: &Sequence) -> Option<Operation> {
    let mut operations = sequence.operations();
    let first = operations.next().filter(|operation| operation.name() == sequence.name)?;
    operations.next().is_none().then_some(first)
}

fn stream(name: &str, operation: &str, arrival: Arrival) -> Stream {
    Stream {
        name: name.to_owned(),
        work: Work::Other { operation: operation.to_owned() },
        arrival,
        per_target: false,
        targets: Vec::new(),
        life: Life::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CachePolicy, FileSize, Tree};
    use super::*;
    use assay_base::{Bytes, Rate};

    fn planned(pace: FilesPace) -> PlannedFiles {
        let tree = Tree::flat(100, FileSize::Fixed(Bytes::from_kib(4)));
        let sequences = vec![
            Sequence::new("deliver", &[Operation::Create, Operation::Write, Operation::Close], 3),
            Sequence::new("stat", &[Operation::Stat], 1),
            Sequence::new("look", &[Operation::Stat, Operation::Open, Operation::Close], 4),
        ];
        let workload = FilesWorkload {
            clients: 4,
            pace,
            cache: CachePolicy::Warm,
            durable: None,
            io: Bytes::from_kib(4),
            tree,
            sequences,
            phases: Vec::new(),
            service: None,
        };
        PlannedFiles { workload, phase: 0, verify: true, stands_for: None }
    }

    #[test]
    fn sequences_share_the_rate_and_operations_follow_from_them() {
        let pace = FilesPace::Open { rate: Rate::per_second(800), arrival: Spacing::Steady };
        let streams = planned(pace).phase_streams().unwrap();
        let shown: Vec<(&str, &str, Option<Rate>)> = streams
            .iter()
            .map(|stream| (stream.name.as_str(), stream.operation_name().unwrap(), stream.arrival.mean_rate()))
            .collect();
        let rate = |n| Some(Rate::per_second(n));
        let expected = [
            ("deliver", "sequence", rate(300)),
            ("stat", "stat", rate(100)),
            ("look", "sequence", rate(400)),
            ("create", "create", None),
            ("write", "write", None),
            ("close", "close", None),
            ("open", "open", None),
        ];
        assert_eq!(shown, expected);
        let huge = FilesPace::Open { rate: Rate::per_second(u64::MAX), arrival: Spacing::Steady };
        assert_eq!(planned(huge).phase_streams(), None);
    }

    #[test]
    fn calls_take_all_the_time_and_so_do_sequences_that_have_streams_of_their_own() {
        let mut planned = planned(FilesPace::Closed);
        assert_eq!(planned.current_phase().streams_of_client_time(), [[1, 3, 4, 5, 6]]);
        planned.workload.sequences.remove(1);
        assert_eq!(planned.current_phase().streams_of_client_time(), [vec![2, 3, 4, 5, 6], vec![0, 1]]);
    }

    #[test]
    fn each_operation_has_one_place_and_a_closed_loop_has_its_clients() {
        let planned = planned(FilesPace::Closed);
        let places = planned.current_phase().stream_places();
        let streams = planned.phase_streams().unwrap();
        assert_eq!(places.sequences, [0, 1, 2]);
        for (operation, place) in &places.operations {
            assert_eq!(streams[*place].operation_name(), Some(operation.name()));
        }
        assert_eq!(places.place_of(Operation::Stat), Some(1), "the sequence that is a stat alone");
        assert_eq!(places.place_of(Operation::Unlink), None);
        assert_eq!(streams[0].arrival, Arrival::Closed { in_flight: 4 });
        assert!(planned.is_last_phase());
    }
}
