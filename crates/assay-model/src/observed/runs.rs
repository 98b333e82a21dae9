//! Sequential runs: requests that begin where an earlier one ended. Several clients that read their files at the same time
//! make runs that take turns, so the ends of the last few runs are kept, and the one that was continued longest ago gives
//! way.

use std::collections::BTreeMap;

/// Number of runs that are followed at a time.
const FOLLOWED: usize = 32;
/// Lengths up to which runs are counted exactly; longer ones by powers of two.
const EXACT: u64 = 16;

/// A run that may go on.
#[derive(Clone, Copy, Debug)]
struct Open {
    end: u64,
    operations: u64,
    /// Number of requests that had been counted when it was continued last.
    touched: u64,
}

/// Runs of one length, or of lengths up to a power of two.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    runs: u64,
    operations: u64,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct RunCounts {
    open: Vec<Open>,
    closed: BTreeMap<u64, Lengths>,
    counted: u64,
    /// Number of requests that continued a run, and how many requests lay between them and those before them in the
    /// run.
    continued: u64,
    between: u64,
}

/// Runs of about one length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LengthShare {
    /// Their mean length in requests.
    pub length: u32,
    /// Their number.
    pub runs: u64,
}

impl RunCounts {
    /// Counts a request; true where it continues a run.
    pub(super) fn add_operation(&mut self, place: u64, bytes: u64) -> bool {
        self.counted += 1;
        let counted = self.counted;
        let end = place.saturating_add(bytes);
        if let Some(run) = self.open.iter_mut().find(|run| run.end == place) {
            self.continued += 1;
            self.between += counted - run.touched;
            *run = Open { end, operations: run.operations + 1, touched: counted };
            return true;
        }
        let new = Open { end, operations: 1, touched: counted };
        if self.open.len() < FOLLOWED {
            self.open.push(new);
        } else if let Some(oldest) = self.open.iter_mut().min_by_key(|run| run.touched) {
            let old = std::mem::replace(oldest, new);
            self.close_run(old.operations);
        }
        false
    }

    fn close_run(&mut self, operations: u64) {
        let bucket = if operations <= EXACT { operations } else { operations.next_power_of_two() };
        let lengths = self.closed.entry(bucket).or_default();
        lengths.runs += 1;
        lengths.operations += operations;
    }

    /// The lengths of all runs, those that may go on included.
    pub(super) fn run_lengths(&self) -> Vec<LengthShare> {
        let mut all = self.clone();
        self.open.iter().for_each(|run| all.close_run(run.operations));
        let mean = |lengths: &Lengths| (lengths.operations as f64 / lengths.runs as f64).round();
        all.closed
            .values()
            .map(|lengths| LengthShare { length: mean(lengths).min(f64::from(u32::MAX)) as u32, runs: lengths.runs })
            .collect()
    }

    /// How many runs take turns, in the mean over the requests that continue one.
    pub(super) fn runs_at_a_time(&self) -> u32 {
        if self.continued == 0 {
            return 1;
        }
        (self.between as f64 / self.continued as f64).round().clamp(1.0, FOLLOWED as f64) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_take_turns_are_told_apart() {
        let mut counts = RunCounts::default();
        let mut continued = 0;
        for round in 0..1000u64 {
            for client in 0..4u64 {
                // Runs of ten requests of 4 KiB.
                let place = (client << 40) + (round / 10 * 1000 + round % 10) * 4096;
                continued += u64::from(counts.add_operation(place, 4096));
            }
        }
        assert_eq!((continued, counts.runs_at_a_time()), (3600, 4));
        assert_eq!(counts.run_lengths(), [LengthShare { length: 10, runs: 400 }]);
    }

    #[test]
    fn what_is_anywhere_has_no_runs_and_what_goes_through_has_one() {
        let (mut anywhere, mut through) = (RunCounts::default(), RunCounts::default());
        (0..1000u64).for_each(|at| {
            anywhere.add_operation(at * 7919 % 1000 * 1_000_000, 4096);
            through.add_operation(at * 4096, 4096);
        });
        assert_eq!((anywhere.run_lengths().len(), anywhere.runs_at_a_time()), (1, 1));
        assert_eq!(through.run_lengths(), [LengthShare { length: 1000, runs: 1 }]);
        assert!(through.add_operation(u64::MAX, 4096) || through.add_operation(u64::MAX, 1), "no overflow");
    }
}
