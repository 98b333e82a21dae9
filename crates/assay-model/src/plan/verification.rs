//! Which data a run compares with what was written.

/// Which data a run compares with what was written, and when.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlannedVerification {
    /// Whether everything that is written is sealed, and everything that is read is compared with what was written.
    pub verify: bool,
    /// Whether nothing is read back at the end: sealed data are left for a later run to compare.
    pub leave_sealed: bool,
    /// The names of the streams whose places are all read back at the end, also those that the run has not written.
    pub check_all: Vec<String>,
}

impl PlannedVerification {
    /// Whether what was written is read back at the end of the run.
    pub fn reads_back(&self) -> bool {
        self.verify && !self.leave_sealed
    }
}
