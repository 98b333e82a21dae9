//! Counts the windows of a criterion by their outcome.

use crate::judgement::Outcome;

/// Counts windows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Judged windows.
    pub(crate) windows: u64,
    /// Windows in which it was broken.
    pub(crate) broken: u64,
    /// Complete windows.
    pub(crate) complete: u64,
    /// Windows that proved nothing.
    pub(crate) unproven: u64,
    /// Windows in which it held before it was broken for the first time.
    pub(crate) held_before: u64,
}

impl Tally {
    /// Counts the last window as broken.
    pub(crate) fn count_broken(&mut self) {
        self.broken += 1;
        if self.broken == 1 && self.unproven == 0 {
            self.held_before = self.windows - 1;
        }
    }

    /// The outcome over `planned` windows.
    pub(crate) fn outcome_over_windows(&self, planned: u64) -> Outcome {
        if self.broken > 0 {
            Outcome::Fail
        } else if self.unproven > 0 {
            Outcome::Invalid
        } else if self.complete < planned {
            Outcome::Incomplete
        } else if self.windows == 0 {
            Outcome::Invalid
        } else {
            Outcome::Pass
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_broken_outweighs_what_proves_nothing_which_outweighs_what_is_missing() {
        for (broken, unproven, complete, windows, expected) in [
            (1, 1, 1, 3, Outcome::Fail),
            (0, 1, 1, 2, Outcome::Invalid),
            (0, 0, 2, 2, Outcome::Incomplete),
            (0, 0, 3, 0, Outcome::Invalid),
            (0, 0, 3, 3, Outcome::Pass),
        ] {
            let tally = Tally { windows, broken, complete, unproven, held_before: 0 };
            assert_eq!(tally.outcome_over_windows(3), expected, "{tally:?}");
        }
    }

    #[test]
    fn it_held_before_only_where_every_window_before_proves_it() {
        for (unproven, held_before) in [(0, 4), (1, 0)] {
            let mut tally = Tally { windows: 5, unproven, ..Tally::default() };
            tally.count_broken();
            tally.windows += 1;
            tally.count_broken();
            assert_eq!((tally.broken, tally.held_before), (2, held_before));
        }
    }
}
