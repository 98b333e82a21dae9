//! What clients did in a phase, by operation: a second account beside the intervals, which also has the calls that are
//! in no stream.

use super::finished::Ending;
use crate::script::{Call, Target};
use assay_base::Code;
use assay_model::files::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// What became of the calls of one operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationTotals {
    /// Calls that were made.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// Entries listed.
    pub entries: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct ClientTotals {
    /// In the order of [`Operation::ALL`].
    operations: [OperationTotals; Operation::ALL.len()],
    calls: u64,
    /// Numbers of names that a failed call may have made or removed.
    doubtful: BTreeSet<u32>,
    /// What closing the files said that a stopped phase left open.
    pub(super) close_error: Option<Code>,
}

impl Default for ClientTotals {
    fn default() -> ClientTotals {
        let operations = [OperationTotals::default(); Operation::ALL.len()];
        ClientTotals { operations, calls: 0, doubtful: BTreeSet::new(), close_error: None }
    }
}

impl ClientTotals {
    /// Calls made so far.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    pub(super) fn count(&mut self, call: &Call, ending: Ending) {
        self.calls += 1;
        let totals = &mut self.operations[call.operation as usize];
        totals.calls += 1;
        match ending {
            Ending::Done { bytes, entries } => {
                totals.bytes += bytes;
                totals.entries += entries;
            }
            Ending::Short => {}
            Ending::Failed(_) => {
                totals.failed += 1;
                if let Target::Numbered(number) = call.target {
                    self.doubtful.insert(number);
                }
                self.doubtful.extend(call.other);
            }
        }
    }

    /// Adds what another client did.
    pub(super) fn add(&mut self, other: ClientTotals) {
        for (totals, more) in self.operations.iter_mut().zip(other.operations) {
            totals.calls += more.calls;
            totals.failed += more.failed;
            totals.bytes += more.bytes;
            totals.entries += more.entries;
        }
        self.calls += other.calls;
        self.doubtful.extend(other.doubtful);
        self.close_error = self.close_error.or(other.close_error);
    }

    /// What was counted, and the doubtful numbers.
    pub(super) fn into_parts(self) -> (BTreeMap<Operation, OperationTotals>, BTreeSet<u32>) {
        let operations = Operation::ALL.into_iter().zip(self.operations).filter(|(_, totals)| totals.calls > 0);
        (operations.collect(), self.doubtful)
    }
}
