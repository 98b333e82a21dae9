//! The flows of the log: one for each sequence and one for each operation, by the names of the workload's streams.

use assay_model::files::{FilesWorkload, Operation};

/// The flow of a sequence, and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SequenceFlow {
    /// The index of the flow.
    pub(super) flow: usize,
    /// A sequence of one operation that has its name: the operation is counted, and the sequence is the same.
    pub(super) is_operation: bool,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct FlowMap {
    names: Vec<String>,
    phases: Vec<PhaseFlows>,
}

/// The flows of a phase.
#[derive(Clone, Debug)]
pub(super) struct PhaseFlows {
    /// Of its sequences.
    pub(super) sequences: Vec<SequenceFlow>,
    /// Of each operation, in the order of [`Operation::ALL`]. One that none of the phase's sequences names has none, such as
    /// the opening of a file that stays open: it would be counted in a stream that the phase does not have.
    pub(super) operations: Vec<Option<usize>>,
}

impl FlowMap {
    /// The flows of a workload, in the order of [`FilesWorkload::stream_names`].
    pub fn new(workload: &FilesWorkload) -> FlowMap {
        let names = workload.stream_names();
        let place = |name: &str| names.iter().position(|known| known == name);
        let mut phases = Vec::new();
        for phase in workload.all_phases() {
            let mut flows = PhaseFlows { sequences: Vec::new(), operations: vec![None; Operation::ALL.len()] };
            for sequence in &phase.sequences {
                let flow = place(&sequence.name).expect("every sequence is a stream");
                let is_operation = Operation::from_name(&sequence.name).is_some();
                flows.sequences.push(SequenceFlow { flow, is_operation });
                for operation in sequence.operations() {
                    flows.operations[operation as usize] = place(operation.name());
                }
            }
            phases.push(flows);
        }
        FlowMap { names, phases }
    }

    /// The names of the flows, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The flow of an operation in a phase; `None` for one that no sequence of the phase names.
    pub fn of_operation(&self, phase: usize, operation: Operation) -> Option<usize> {
        self.phases[phase].operations[operation as usize]
    }

    /// The flows of a phase.
    pub(super) fn of_phase(&self, phase: usize) -> &PhaseFlows {
        &self.phases[phase]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In another stream of the log it would be counted, and the time of the clients would not add up.
    #[test]
    fn a_call_that_only_another_phase_names_is_in_no_stream() {
        let text = "model = \"files\"\nclosed = true\n[tree]\nfiles = 4\nsize = \"4KiB\"\n[[phase]]\nname = \"whole\"\n[[phase.do]]\n\
            name = \"look\"\nsteps = [\"open\", \"read\", \"close\"]\n[[phase]]\nname = \"kept\"\n[[phase.do]]\n\
            name = \"ask\"\nsteps = [\"read\"]\n";
        let workload = assay_model::workload::read_workload("w.toml", text).unwrap();
        let flows = FlowMap::new(&workload.load.as_files().unwrap().workload);
        let names = |phase| {
            let found = Operation::ALL.into_iter().filter_map(|operation| flows.of_operation(phase, operation));
            found.map(|flow| flows.names()[flow].as_str()).collect::<Vec<_>>()
        };
        assert_eq!((names(0), names(1)), (vec!["open", "close", "read"], vec!["read"]));
    }

    #[test]
    fn operations_stand_where_their_list_says() {
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, at, "{operation}");
        }
    }
}
