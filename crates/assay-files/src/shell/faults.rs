//! What a tree has and should not, or should have and has not.

use assay_base::Code;
use std::collections::BTreeMap;

/// So many faults are named; the others are counted.
const MOST_NAMED: usize = 1000;

/// Something that differs from the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFault {
    /// The path below the run's directory.
    pub path: String,
    /// What it is: lost, foreign, torn, misdirected or corrupt.
    pub kind: Code,
    /// Where in the file, if it is about bytes.
    pub offset: Option<u64>,
    /// What is wrong.
    pub text: String,
}

/// What was found when a tree was compared with its ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Names that were compared.
    pub names: u64,
    /// Bytes that were read and compared.
    pub bytes: u64,
    /// Names that were left out, because a failed call leaves open what they are.
    pub unsure: u64,
    /// How many faults there are of each kind.
    pub counts: BTreeMap<Code, u64>,
    /// The first thousand of them.
    pub faults: Vec<TreeFault>,
}

impl Verification {
    /// Whether nothing differs.
    pub fn is_sound(&self) -> bool {
        self.counts.is_empty()
    }

    pub(super) fn add_fault(&mut self, fault: TreeFault) {
        *self.counts.entry(fault.kind).or_default() += 1;
        if self.faults.len() < MOST_NAMED {
            self.faults.push(fault);
        }
    }

    /// Adds what another worker found.
    pub(super) fn add(&mut self, other: Verification) {
        self.names += other.names;
        self.bytes += other.bytes;
        self.unsure += other.unsure;
        for (kind, number) in other.counts {
            *self.counts.entry(kind).or_default() += number;
        }
        let room = MOST_NAMED.saturating_sub(self.faults.len());
        self.faults.extend(other.faults.into_iter().take(room));
    }
}
