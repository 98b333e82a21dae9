//! A sequence while a client carries it out: which file its steps are on, and which call each step makes next.

use super::call::{Call, Slot, Target};
use std::ops::Range;

/// What the steps of one list are on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bound {
    pub(super) target: Target,
    /// The record of a shared file: whose it is, and its number.
    pub(super) record: Option<(u32, u64)>,
    pub(super) slot: Slot,
    /// A file that stays open has to be opened first.
    pub(super) opens_first: bool,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Running {
    /// The index of the sequence in the phase; none where the client only closes what it kept open.
    pub(super) sequence: Option<usize>,
    /// The list of steps, the step in it, and how far that step has come: in bytes, or in calls.
    pub(super) list: usize,
    pub(super) step: usize,
    pub(super) progress: u64,
    pub(super) bound: Option<Bound>,
    /// The range that a step on the whole file began with, or the one that was drawn.
    pub(super) range: Option<Range<u64>>,
    /// What was mapped last.
    pub(super) mapped: Range<u64>,
    /// The source of a copy.
    pub(super) source: Option<u32>,
    /// Descriptors that are open and are closed when a call fails.
    pub(super) open: Vec<Slot>,
    pub(super) is_abandoned: bool,
    pub(super) call: Option<Call>,
}

impl Running {
    /// Begins another sequence in the room of the one before: on a file, or, without one, to close what the client kept
    /// open. The list of what is open stays as long as it was, so that nothing is allocated for each sequence.
    pub(super) fn start(&mut self, sequence: Option<usize>, bound: Option<Bound>) {
        let mut open = std::mem::take(&mut self.open);
        open.clear();
        *self = Running { sequence, bound, open, ..Running::default() };
    }

    pub(super) fn next_step(&mut self) {
        self.step += 1;
        (self.progress, self.range) = (0, None);
    }

    pub(super) fn next_list(&mut self) {
        self.list += 1;
        (self.step, self.progress, self.range, self.mapped) = (0, 0, None, 0..0);
        (self.bound, self.source) = (None, None);
    }
}
