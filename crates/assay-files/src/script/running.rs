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
#[derive(Clone, Debug)]
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
    /// A sequence of the phase on a file.
    pub(super) fn on_file(sequence: usize, bound: Bound) -> Running {
        Running { sequence: Some(sequence), bound: Some(bound), ..Running::closing_kept() }
    }

    /// Closes what the client kept open.
    pub(super) fn closing_kept() -> Running {
        Running {
            sequence: None,
            list: 0,
            step: 0,
            progress: 0,
            bound: None,
            range: None,
            mapped: 0..0,
            source: None,
            open: Vec::new(),
            is_abandoned: false,
            call: None,
        }
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
