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
    /// The flow of each operation, in the order of [`Operation::ALL`].
    operations: Vec<Option<usize>>,
    /// Of each phase, the flows of its sequences.
    phases: Vec<Vec<SequenceFlow>>,
}

impl FlowMap {
    /// The flows of a workload, in the order of [`FilesWorkload::stream_names`].
    pub fn new(workload: &FilesWorkload) -> FlowMap {
        let names = workload.stream_names();
        let place = |name: &str| names.iter().position(|known| known == name);
        let operations = Operation::ALL.into_iter().map(|operation| place(operation.name())).collect();
        let mut phases = Vec::new();
        for phase in workload.all_phases() {
            let mut flows = Vec::new();
            for sequence in &phase.sequences {
                let flow = place(&sequence.name).expect("every sequence is a stream");
                let is_operation = Operation::from_name(&sequence.name).is_some();
                flows.push(SequenceFlow { flow, is_operation });
            }
            phases.push(flows);
        }
        FlowMap { names, operations, phases }
    }

    /// The names of the flows, in their order.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The flow of an operation; `None` for one that no sequence names: of a file that stays open, its opening.
    pub fn of_operation(&self, operation: Operation) -> Option<usize> {
        self.operations.get(operation as usize).copied().flatten()
    }

    /// The flows of the sequences of a phase.
    pub(super) fn of_phase(&self, phase: usize) -> &[SequenceFlow] {
        &self.phases[phase]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_stand_where_their_list_says() {
        for (at, operation) in Operation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, at, "{operation}");
        }
    }
}
