//! The search for the highest load that still passes: doubling while it passes, halving while it fails, then bisecting.
//!
//! A state machine that runs nothing: it says which multiple to run next and gets what the run showed. Its state is the
//! [`Attempts`] so far, so a search that was interrupted continues from the runs that an earlier call made. They also say
//! which run may be repeated; this file decides only which load follows from what is proven.
//!
//! ```
//! use assay_base::Multiple;
//! use assay_judge::limit::{Next, Search};
//! use assay_judge::Verdict;
//!
//! let mut search = Search::start(Multiple::from_whole(10), Multiple::from_whole(5));
//! while let Next::RunAt(multiple) = search.next() {
//!     let holds = multiple <= Multiple::from_whole(65);
//!     search.add_run(multiple, if holds { Verdict::Pass } else { Verdict::Fail });
//! }
//! assert_eq!(search.highest_pass(), Some(Multiple::from_whole(65)));
//! ```

mod page;
mod tile_figures;
mod tiles;
mod trail;

pub use page::write_html;
pub use tile_figures::{TilesFound, WorkloadRate};
pub use tiles::GAIN_IN_WORDS;
pub use trail::{Run, SCHEMA, Trail};

use crate::procedure::{AfterFailure, Aside, Attempts, Evidence, Halt, Standing};
use crate::verdict::Verdict;
use assay_base::Multiple;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Run at this load and observe.
    RunAt(Multiple),
    /// Nothing more to learn.
    Done(Outcome),
}

/// How the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The highest load that passes lies between these two, no further apart than the resolution.
    Between {
        /// Passed.
        passes: Multiple,
        /// Failed.
        fails: Multiple,
    },
    /// Everything up to the highest allowed load passed.
    NeverFailed {
        /// Passed.
        passes: Multiple,
    },
    /// Every load fails, down to one below which the resolution cannot distinguish loads.
    NeverPassed {
        /// Failed.
        fails: Multiple,
    },
    /// The search did not end: a run proved nothing (INVALID twice), or the search was cut short (INCOMPLETE); what had passed
    /// by then remains valid.
    Stopped {
        /// At this load.
        at: Multiple,
        /// With this verdict.
        verdict: Verdict,
        /// The highest that had passed.
        passes: Option<Multiple>,
    },
    /// Something failed that no load excuses, such as an operation. No limit follows from such a run.
    TargetFailed {
        /// At this load; absent where it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<Multiple>,
        /// The highest that had passed.
        passes: Option<Multiple>,
    },
}

impl Outcome {
    /// The highest load that is known to pass.
    pub fn highest_passing(&self) -> Option<Multiple> {
        match *self {
            Outcome::Between { passes, .. } | Outcome::NeverFailed { passes } => Some(passes),
            Outcome::Stopped { passes, .. } | Outcome::TargetFailed { passes, .. } => passes,
            Outcome::NeverPassed { .. } => None,
        }
    }

    /// The lowest load that does not pass, where the search found the limit.
    pub fn lowest_failing(&self) -> Option<Multiple> {
        match *self {
            Outcome::Between { fails, .. } | Outcome::NeverPassed { fails } => Some(fails),
            Outcome::NeverFailed { .. } | Outcome::Stopped { .. } | Outcome::TargetFailed { .. } => None,
        }
    }

    /// The highest load that passes, where the search came to its end.
    pub fn limit(&self) -> Option<Multiple> {
        match *self {
            Outcome::Between { passes, .. } | Outcome::NeverFailed { passes } => Some(passes),
            Outcome::NeverPassed { .. } | Outcome::Stopped { .. } | Outcome::TargetFailed { .. } => None,
        }
    }

    /// What the search proves: PASS where it found a load that passes, FAIL where none does or something failed.
    pub fn verdict(&self) -> Verdict {
        match *self {
            Outcome::Between { .. } | Outcome::NeverFailed { .. } => Verdict::Pass,
            Outcome::NeverPassed { .. } | Outcome::TargetFailed { .. } => Verdict::Fail,
            Outcome::Stopped { verdict, .. } => verdict,
        }
    }
}

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    start: Multiple,
    resolution: Multiple,
    highest: Multiple,
    /// The highest load that passes is run once more, and holds if it passes again.
    repeats: bool,
    attempts: Attempts<Multiple>,
}

impl Search {
    /// Begins at `start`; ends when pass and fail are no further apart than `resolution`.
    pub fn start(start: Multiple, resolution: Multiple) -> Search {
        let attempts = Attempts::new(AfterFailure::End);
        Search { start, resolution, highest: Multiple::from_whole(u64::MAX), repeats: false, attempts }
    }

    /// Runs the highest load that passes once more before it ends. If it fails then, the search goes on below it.
    #[must_use]
    pub fn with_repetition(self) -> Search {
        Search { repeats: true, ..self }
    }

    /// Never goes above `highest`.
    pub fn up_to(self, highest: Multiple) -> Search {
        Search { highest: highest.max(self.start), ..self }
    }

    /// Takes over a run that an earlier call made, at this load where it is known.
    pub fn add_earlier_run(&mut self, multiple: Option<Multiple>, evidence: impl Into<Evidence>) {
        self.attempts.add_earlier_run(multiple, evidence.into());
    }

    /// Takes what a run at `multiple` showed.
    pub fn add_run(&mut self, multiple: Multiple, evidence: impl Into<Evidence>) {
        self.attempts.add_run(multiple, evidence.into());
    }

    /// The runs so far, in their order: load and verdict.
    pub fn runs_so_far(&self) -> impl Iterator<Item = (Multiple, Verdict)> {
        self.attempts.runs_so_far().map(|(multiple, verdict)| (*multiple, verdict))
    }

    /// What failed, and which runs were repeated.
    pub fn failed_and_repeated_runs(&self) -> Aside {
        let mut aside = self.attempts.failed_and_repeated_runs();
        // The repetition that was asked for is part of the result.
        aside.repeated.retain(|run| !(self.repeats && self.attempts.is_passed_repetition(run)));
        aside
    }

    /// The highest load that passed below the lowest that failed.
    pub fn highest_pass(&self) -> Option<Multiple> {
        let fails = self.lowest_fail();
        self.loads_with_verdict(Verdict::Pass).filter(|passed| fails.is_none_or(|fails| *passed < fails)).max()
    }

    /// The lowest load that failed.
    pub(crate) fn lowest_fail(&self) -> Option<Multiple> {
        self.loads_with_verdict(Verdict::Fail).min()
    }

    /// The loads that are proven to have this verdict.
    fn loads_with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = Multiple> {
        self.attempts.proven_places().filter(move |(_, proven)| *proven == verdict).map(|(multiple, _)| *multiple)
    }

    /// What to do next; the same answer until something is observed.
    #[allow(clippy::should_implement_trait, reason = "it does not advance: only an observation does")]
    pub fn next(&self) -> Next {
        if let Some(halt) = self.attempts.reason_to_halt() {
            return Next::Done(self.outcome_of_halt(halt));
        }
        let next = self.step_after_proven_loads();
        let multiple = match next {
            Next::RunAt(multiple) => multiple,
            Next::Done(outcome) => return self.repetition_before(outcome),
        };
        match self.attempts.standing_at(&multiple) {
            Standing::GivenUp(verdict) => Next::Done(self.stopped_outcome(multiple, verdict)),
            Standing::Open | Standing::Proven(_) => next,
        }
    }

    /// What follows from the loads that are proven. It is never one of them: it lies between the highest that passed and the
    /// lowest that failed.
    fn step_after_proven_loads(&self) -> Next {
        match (self.highest_pass(), self.lowest_fail()) {
            (None, None) => Next::RunAt(self.start),
            (None, Some(fails)) => self.load_below(fails),
            (Some(passes), None) if passes >= self.highest => Next::Done(Outcome::NeverFailed { passes }),
            (Some(passes), None) => {
                Next::RunAt(at_least_a_millionth(passes.as_millionths().saturating_mul(2)).min(self.highest))
            }
            (Some(passes), Some(fails)) => self.load_between(passes, fails),
        }
    }

    /// The repetition of the highest load that passes, where it is asked for and was not made; otherwise the outcome.
    fn repetition_before(&self, outcome: Outcome) -> Next {
        let Some(passes) = outcome.limit().filter(|passes| self.repeats && self.attempts.count_passes(passes) < 2)
        else {
            return Next::Done(outcome);
        };
        match self.attempts.failed_repetition(&passes) {
            Some(verdict) => Next::Done(self.stopped_outcome(passes, verdict)),
            None => Next::RunAt(passes),
        }
    }

    /// How a search ended that makes no further run.
    fn outcome_of_halt(&self, halt: Halt) -> Outcome {
        let at = self.attempts.last_place().copied().unwrap_or(self.start);
        match halt {
            Halt::Failure => {
                Outcome::TargetFailed { at: self.attempts.failed_at().copied(), passes: self.highest_pass() }
            }
            Halt::CutShort => self.stopped_outcome(at, Verdict::Incomplete),
            Halt::LastRun => self.stopped_outcome(at, Verdict::Invalid),
        }
    }

    fn stopped_outcome(&self, at: Multiple, verdict: Verdict) -> Outcome {
        Outcome::Stopped { at, verdict, passes: self.highest_pass() }
    }

    /// Half of the load that failed, in whole steps of the resolution, at least one step.
    fn load_below(&self, fails: Multiple) -> Next {
        let resolution = self.resolution.as_millionths().max(1);
        if fails.as_millionths() <= resolution {
            return Next::Done(Outcome::NeverPassed { fails });
        }
        let steps = (fails.as_millionths() / 2 / resolution).max(1);
        Next::RunAt(at_least_a_millionth(steps * resolution))
    }

    /// Bisects, in steps of the resolution above the load that passed.
    fn load_between(&self, passes: Multiple, fails: Multiple) -> Next {
        let gap = fails.as_millionths() - passes.as_millionths();
        let resolution = self.resolution.as_millionths().max(1);
        if gap <= resolution {
            return Next::Done(Outcome::Between { passes, fails });
        }
        let steps = (gap / 2 / resolution).max(1);
        Next::RunAt(at_least_a_millionth(passes.as_millionths() + steps * resolution))
    }

    /// The path as a table, one run per line.
    pub fn write_table(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "run       load  verdict")?;
        for (index, (multiple, verdict)) in self.runs_so_far().enumerate() {
            writeln!(out, "{:>3}  {:>9}  {verdict}", index + 1, multiple.to_string())?;
        }
        match self.next() {
            Next::RunAt(multiple) => writeln!(out, "next {multiple:>9}"),
            Next::Done(outcome) => writeln!(out, "{outcome}"),
        }
    }
}

/// A load of this many millionths, which is never 0: a search counts upwards from a load.
fn at_least_a_millionth(millionths: u64) -> Multiple {
    Multiple::from_millionths(millionths.max(1)).expect("not zero, and its lowest terms fit")
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Between { passes, fails } => write!(f, "holds {passes}, fails at {fails}"),
            Outcome::NeverFailed { passes } => write!(f, "holds {passes}, the highest that was to be tried"),
            Outcome::NeverPassed { fails } => {
                write!(f, "fails already at {fails}; a finer --resolution searches below it")
            }
            Outcome::Stopped { at, verdict, passes } => {
                write_passed(f, *passes)?;
                match verdict {
                    Verdict::Incomplete => write!(f, "the search was cut short at {at}")?,
                    _ => write!(f, "the run at {at} was {verdict}")?,
                }
                f.write_str(if passes.is_some() { ", so nothing above is known" } else { "" })
            }
            Outcome::TargetFailed { at, passes } => {
                write_passed(f, *passes)?;
                match at {
                    Some(at) => write!(f, "the target failed at {at}")?,
                    None => f.write_str("the target failed")?,
                }
                f.write_str(", which no load excuses, so no limit is known")
            }
        }
    }
}

/// The beginning of the sentence about a search that found no limit.
fn write_passed(f: &mut fmt::Formatter<'_>, passes: Option<Multiple>) -> fmt::Result {
    match passes {
        Some(passes) => write!(f, "holds {passes}; "),
        None => f.write_str("nothing is known: "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::procedure::Ending;
    use Verdict::*;

    fn hundredths(n: u64) -> Multiple {
        Multiple::from_ratio(n, 100).unwrap()
    }

    fn search(limit: u64, lowest: u64, resolution: u64) -> Search {
        let mut search =
            Search::start(hundredths(lowest), hundredths(resolution)).up_to(Multiple::from_whole(1_000_000));
        while let Next::RunAt(multiple) = search.next() {
            assert!(search.runs_so_far().count() < 100, "it ends: {:?}", search.runs_so_far().collect::<Vec<_>>());
            search.add_run(multiple, if multiple <= hundredths(limit) { Pass } else { Fail });
        }
        search
    }

    #[test]
    fn the_limit_is_found_within_the_resolution() {
        for lowest in [1, 100, 700, 3000] {
            for resolution in [1, 7, 100, 500] {
                for limit in [1, 99, 100, 101, 3000, 6500, 6501, 12_345, 99_999_999, u64::MAX] {
                    let search = search(limit, lowest, resolution);
                    match search.next() {
                        Next::Done(Outcome::Between { passes, fails }) => {
                            let apart = fails.as_millionths() - passes.as_millionths();
                            let limit = hundredths(limit);
                            assert!(
                                passes <= limit && limit < fails && apart <= resolution * 10_000,
                                "{lowest} {resolution} {limit}"
                            );
                        }
                        Next::Done(Outcome::NeverPassed { fails }) => assert!(
                            limit < resolution
                                && hundredths(limit) < fails
                                && fails <= hundredths(resolution.max(lowest))
                                && fails.as_millionths() <= resolution * 10_000,
                            "{lowest} {resolution} {limit} {fails}"
                        ),
                        Next::Done(Outcome::NeverFailed { passes }) => {
                            assert!(limit >= 100_000_000 && passes == Multiple::from_whole(1_000_000))
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_start_that_fails_is_searched_below() {
        let below = |limit, start, resolution| {
            let search = search(limit, start, resolution);
            let path: Vec<u64> = search.runs_so_far().map(|(multiple, _)| multiple.as_millionths() / 10_000).collect();
            (path, search.next())
        };
        let between =
            |passes, fails| Next::Done(Outcome::Between { passes: hundredths(passes), fails: hundredths(fails) });
        assert_eq!(below(650, 1000, 100), (vec![1000, 500, 700, 600], between(600, 700)));
        assert_eq!(below(100, 1000, 100), (vec![1000, 500, 200, 100], between(100, 200)));
        assert_eq!(below(25, 1000, 10), (vec![1000, 500, 250, 120, 60, 30, 10, 20], between(20, 30)));
        let never = Next::Done(Outcome::NeverPassed { fails: hundredths(100) });
        assert_eq!(below(99, 1000, 100), (vec![1000, 500, 200, 100], never));
        let never = Next::Done(Outcome::NeverPassed { fails: hundredths(30) });
        assert_eq!(
            below(1, 30, 100),
            (vec![30], never),
            "a start below the resolution is the only load there is to try"
        );
    }

    #[test]
    fn a_run_that_proves_nothing_is_tried_once_more() {
        let at = Multiple::from_whole(30);
        let fresh = || Search::start(at, Multiple::from_whole(5));
        let cut = || Evidence { ending: Ending::CutShort, ..Evidence::from(Incomplete) };
        let mut search = fresh();
        search.add_run(at, Invalid);
        assert_eq!(search.next(), Next::RunAt(at));
        search.add_run(at, Pass);
        assert_eq!(search.next(), Next::RunAt(Multiple::from_whole(60)));
        search.add_run(Multiple::from_whole(60), Invalid);
        search.add_run(Multiple::from_whole(60), Invalid);
        let stopped = Outcome::Stopped { at: Multiple::from_whole(60), verdict: Invalid, passes: Some(at) };
        assert_eq!(search.next(), Next::Done(stopped));
        let mut search = fresh();
        search.add_run(at, cut());
        assert!(matches!(search.next(), Next::Done(Outcome::Stopped { verdict: Incomplete, .. })));
        let mut resumed = fresh();
        resumed.add_earlier_run(Some(at), cut());
        assert_eq!(resumed.next(), Next::RunAt(at), "a cut run is run again");
        let mut resumed = fresh();
        (0..2).for_each(|_| resumed.add_earlier_run(Some(at), Invalid));
        assert_eq!(resumed.next(), Next::RunAt(at), "and so is what an earlier call gave up");
    }

    #[test]
    fn what_no_load_excuses_ends_the_search_wherever_it_was_seen() {
        let (at, above) = (Multiple::from_whole(30), Multiple::from_whole(60));
        let failed = || Evidence::from(Incomplete).with_failure("3 EIO".to_owned());
        let mut search = Search::start(at, Multiple::from_whole(5));
        search.add_run(at, Pass);
        search.add_run(above, failed());
        let expected = Next::Done(Outcome::TargetFailed { at: Some(above), passes: Some(at) });
        assert_eq!(search.next(), expected);
        search.add_run(above, Pass);
        assert_eq!(search.next(), expected, "no later run makes it undone");
        let mut resumed = Search::start(at, Multiple::from_whole(5));
        resumed.add_earlier_run(None, failed());
        assert_eq!(resumed.next(), Next::Done(Outcome::TargetFailed { at: None, passes: None }));
    }

    #[test]
    fn a_load_that_failed_when_it_was_cut_is_above_the_limit() {
        let at = Multiple::from_whole(30);
        let cut = || Evidence { ending: Ending::CutShort, ..Evidence::from(Fail) };
        let mut search = Search::start(at, Multiple::from_whole(5));
        search.add_run(at, cut());
        let stopped = Outcome::Stopped { at, verdict: Incomplete, passes: None };
        assert_eq!(search.next(), Next::Done(stopped), "this call ends, because it was cut short");
        let mut resumed = Search::start(at, Multiple::from_whole(5));
        resumed.add_earlier_run(Some(at), cut());
        assert_eq!(resumed.next(), Next::RunAt(Multiple::from_whole(15)));
        resumed.add_earlier_run(Some(at), Pass);
        assert_eq!(resumed.next(), Next::RunAt(Multiple::from_whole(15)), "a later PASS at that load changes nothing");
    }

    #[test]
    fn resuming_anywhere_takes_the_same_path() {
        let whole: Vec<(Multiple, Verdict)> = search(6500, 1000, 500).runs_so_far().collect();
        for kept in 0..whole.len() {
            let mut resumed = Search::start(Multiple::from_whole(10), Multiple::from_whole(5));
            whole[..kept].iter().for_each(|(at, verdict)| resumed.add_earlier_run(Some(*at), *verdict));
            assert_eq!(resumed.next(), Next::RunAt(whole[kept].0));
        }
    }

    #[test]
    fn the_table_tells_the_path() {
        let mut text = String::new();
        search(6500, 3000, 1000).write_table(&mut text).unwrap();
        let expected = "run       load  verdict\n  1        30x  PASS\n  2        60x  PASS\n  3       120x  FAIL\n  \
                        4        90x  FAIL\n  5        70x  FAIL\nholds 60x, fails at 70x\n";
        assert_eq!(text, expected);
    }

    /// A search that repeats, whose runs have these verdicts in their order; the loads that it ran, and how it ended.
    fn repeating(verdicts: &[(u64, Verdict)]) -> (Vec<u64>, Next) {
        let mut search = Search::start(Multiple::ONE, Multiple::ONE).up_to(Multiple::from_whole(8)).with_repetition();
        for (load, verdict) in verdicts {
            assert_eq!(search.next(), Next::RunAt(Multiple::from_whole(*load)), "{verdicts:?}");
            search.add_run(Multiple::from_whole(*load), *verdict);
        }
        let loads = search.runs_so_far().map(|(load, _)| load.as_millionths() / 1_000_000).collect();
        (loads, search.next())
    }

    #[test]
    fn the_highest_load_that_passes_is_run_once_more() {
        let of = Multiple::from_whole;
        let found = |passes, fails| Next::Done(Outcome::Between { passes: of(passes), fails: of(fails) });
        let to_three = [(1, Pass), (2, Pass), (4, Fail), (3, Pass)];
        let then = |more: &[(u64, Verdict)]| repeating(&[&to_three, more].concat()).1;
        assert_eq!(then(&[(3, Pass)]), found(3, 4));
        // A repetition that fails shows that the load does not hold, and the one below is repeated.
        assert_eq!(then(&[(3, Fail), (2, Pass)]), found(2, 3));
        assert_eq!(then(&[(3, Fail), (2, Fail), (1, Pass)]), found(1, 2));
        assert_eq!(then(&[(3, Fail), (2, Fail), (1, Fail)]), Next::Done(Outcome::NeverPassed { fails: of(1) }));
        // What proves nothing is made once more, and then nothing above is known.
        let stopped = |verdict| Next::Done(Outcome::Stopped { at: of(3), verdict, passes: Some(of(3)) });
        assert_eq!(then(&[(3, Invalid), (3, Pass)]), found(3, 4));
        assert_eq!(then(&[(3, Invalid), (3, Invalid)]), stopped(Invalid));
        let all = [(1, Pass), (2, Pass), (4, Pass), (8, Pass), (8, Pass)];
        assert_eq!(repeating(&all), (vec![1, 2, 4, 8, 8], Next::Done(Outcome::NeverFailed { passes: of(8) })));
        assert_eq!(repeating(&[(1, Fail)]).1, Next::Done(Outcome::NeverPassed { fails: of(1) }));
    }

    /// A continued search knows whether the repetition was made, and names it nowhere as a run that was replaced.
    #[test]
    fn an_earlier_repetition_counts() {
        let evidence = |name: &str, verdict| Evidence { directory: name.to_owned(), ..Evidence::from(verdict) };
        let of = Multiple::from_whole;
        for (repeated, next) in [
            (None, Next::RunAt(of(1))),
            (Some(Pass), Next::Done(Outcome::Between { passes: of(1), fails: of(2) })),
            (Some(Invalid), Next::RunAt(of(1))),
        ] {
            let mut search = Search::start(of(1), of(1)).with_repetition();
            search.add_earlier_run(Some(of(1)), evidence("01", Pass));
            search.add_earlier_run(Some(of(2)), evidence("02", Fail));
            repeated.into_iter().for_each(|verdict| search.add_earlier_run(Some(of(1)), evidence("03", verdict)));
            assert_eq!(search.next(), next, "{repeated:?}");
            let aside = search.failed_and_repeated_runs();
            assert_eq!(aside.repeated.len(), usize::from(repeated == Some(Invalid)), "{aside:?}");
        }
    }
}
