//! The search for the highest load that still passes: doubling while it passes, halving while it fails, then bisecting.
//!
//! A state machine that runs nothing: it says which multiple to run next and gets the verdict. Its state is the list of
//! past observations, so a search that was interrupted continues from that list.
//!
//! ```
//! use assay_base::Multiple;
//! use assay_judge::limit::{Next, Search};
//! use assay_judge::Verdict;
//!
//! let mut search = Search::start(Multiple::whole(10), Multiple::whole(5));
//! while let Next::RunAt(multiple) = search.next() {
//!     let holds = multiple <= Multiple::whole(65);
//!     search.observe(multiple, if holds { Verdict::Pass } else { Verdict::Fail });
//! }
//! assert_eq!(search.highest_pass(), Some(Multiple::whole(65)));
//! ```

mod page;
mod trail;

pub use page::html;
pub use trail::{Run, SCHEMA, Trail};

use crate::verdict::Verdict;
use assay_base::Multiple;
use serde::{Deserialize, Serialize};
use std::fmt;

/// One run of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// The load.
    pub multiple: Multiple,
    /// The verdict.
    pub verdict: Verdict,
}

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
    /// A run proved nothing (INVALID twice, or INCOMPLETE); what had passed by then remains valid.
    Stopped {
        /// At this load.
        at: Multiple,
        /// With this verdict.
        verdict: Verdict,
        /// The highest that had passed.
        passes: Option<Multiple>,
    },
}

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    start: Multiple,
    resolution: Multiple,
    highest: Multiple,
    path: Vec<Observation>,
}

impl Search {
    /// Begins at `start`; ends when pass and fail are no further apart than `resolution`.
    pub fn start(start: Multiple, resolution: Multiple) -> Search {
        Search { start, resolution, highest: Multiple::whole(u64::MAX), path: Vec::new() }
    }

    /// Never goes above `highest`.
    pub fn up_to(self, highest: Multiple) -> Search {
        Search { highest: highest.max(self.start), ..self }
    }

    /// Continues from past observations. A run that was cut short is repeated.
    pub fn resume(self, path: impl IntoIterator<Item = Observation>) -> Search {
        let kept = path.into_iter().filter(|seen| seen.verdict != Verdict::Incomplete).collect();
        Search { path: kept, ..self }
    }

    /// Takes the verdict of a run at `multiple`.
    pub fn observe(&mut self, multiple: Multiple, verdict: Verdict) {
        self.path.push(Observation { multiple, verdict });
    }

    /// The runs so far, in their order.
    pub fn path(&self) -> &[Observation] {
        &self.path
    }

    /// The highest load that passed below the lowest that failed.
    pub fn highest_pass(&self) -> Option<Multiple> {
        let fails = self.lowest_fail();
        let passed = self.path.iter().filter(|seen| seen.verdict == Verdict::Pass).map(|seen| seen.multiple);
        passed.filter(|passed| fails.is_none_or(|fails| *passed < fails)).max()
    }

    /// The lowest load that failed.
    pub(crate) fn lowest_fail(&self) -> Option<Multiple> {
        self.path.iter().filter(|seen| seen.verdict == Verdict::Fail).map(|seen| seen.multiple).min()
    }

    /// What to do next; the same answer until something is observed.
    #[allow(clippy::should_implement_trait, reason = "it does not advance: only an observation does")]
    pub fn next(&self) -> Next {
        if let Some(next) = self.after_nothing_proven() {
            return next;
        }
        match (self.highest_pass(), self.lowest_fail()) {
            (None, None) => Next::RunAt(self.start),
            (None, Some(fails)) => self.below(fails),
            (Some(passes), None) if passes >= self.highest => Next::Done(Outcome::NeverFailed { passes }),
            (Some(passes), None) => Next::RunAt(counted(passes.as_millionths().saturating_mul(2)).min(self.highest)),
            (Some(passes), Some(fails)) => self.between(passes, fails),
        }
    }

    /// After INVALID the same load is run once more, and the second answer counts; INCOMPLETE ends the search
    /// immediately.
    fn after_nothing_proven(&self) -> Option<Next> {
        let last = self.path.last()?;
        let stopped = Outcome::Stopped { at: last.multiple, verdict: last.verdict, passes: self.highest_pass() };
        match last.verdict {
            Verdict::Pass | Verdict::Fail => None,
            Verdict::Incomplete => Some(Next::Done(stopped)),
            Verdict::Invalid => {
                let before = self.path.iter().rev().nth(1);
                let again = before.is_some_and(|before| before == last);
                Some(if again { Next::Done(stopped) } else { Next::RunAt(last.multiple) })
            }
        }
    }

    /// Half of the load that failed, in whole steps of the resolution, at least one step.
    fn below(&self, fails: Multiple) -> Next {
        let resolution = self.resolution.as_millionths().max(1);
        if fails.as_millionths() <= resolution {
            return Next::Done(Outcome::NeverPassed { fails });
        }
        let steps = (fails.as_millionths() / 2 / resolution).max(1);
        Next::RunAt(counted(steps * resolution))
    }

    /// Bisects, in steps of the resolution above the load that passed.
    fn between(&self, passes: Multiple, fails: Multiple) -> Next {
        let gap = fails.as_millionths() - passes.as_millionths();
        let resolution = self.resolution.as_millionths().max(1);
        if gap <= resolution {
            return Next::Done(Outcome::Between { passes, fails });
        }
        let steps = (gap / 2 / resolution).max(1);
        Next::RunAt(counted(passes.as_millionths() + steps * resolution))
    }

    /// The path as a table, one run per line.
    pub fn table(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        writeln!(out, "run       load  verdict")?;
        for (index, seen) in self.path.iter().enumerate() {
            writeln!(out, "{:>3}  {:>9}  {}", index + 1, seen.multiple.to_string(), seen.verdict)?;
        }
        match self.next() {
            Next::RunAt(multiple) => writeln!(out, "next {multiple:>9}"),
            Next::Done(outcome) => writeln!(out, "{outcome}"),
        }
    }
}

/// A load of this many millionths, which is never 0: a search counts upwards from a load.
fn counted(millionths: u64) -> Multiple {
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
            Outcome::Stopped { at, verdict, passes: Some(passes) } => {
                write!(f, "holds {passes}; the run at {at} was {verdict}, so nothing above is known")
            }
            Outcome::Stopped { at, verdict, passes: None } => {
                write!(f, "nothing is known: the run at {at} was {verdict}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::*;

    fn hundredths(n: u64) -> Multiple {
        Multiple::ratio(n, 100).unwrap()
    }

    fn search(limit: u64, lowest: u64, resolution: u64) -> Search {
        let mut search = Search::start(hundredths(lowest), hundredths(resolution)).up_to(Multiple::whole(1_000_000));
        while let Next::RunAt(multiple) = search.next() {
            assert!(search.path().len() < 100, "it ends: {:?}", search.path());
            search.observe(multiple, if multiple <= hundredths(limit) { Pass } else { Fail });
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
                            assert!(limit >= 100_000_000 && passes == Multiple::whole(1_000_000))
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
            let path: Vec<u64> = search.path().iter().map(|seen| seen.multiple.as_millionths() / 10_000).collect();
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
        let at = Multiple::whole(30);
        let fresh = || Search::start(at, Multiple::whole(5));
        let mut search = fresh();
        search.observe(at, Invalid);
        assert_eq!(search.next(), Next::RunAt(at));
        search.observe(at, Pass);
        assert_eq!(search.next(), Next::RunAt(Multiple::whole(60)));
        search.observe(Multiple::whole(60), Invalid);
        search.observe(Multiple::whole(60), Invalid);
        let stopped = Outcome::Stopped { at: Multiple::whole(60), verdict: Invalid, passes: Some(at) };
        assert_eq!(search.next(), Next::Done(stopped));
        let mut cut = fresh();
        cut.observe(at, Incomplete);
        assert!(matches!(cut.next(), Next::Done(Outcome::Stopped { verdict: Incomplete, .. })));
        assert_eq!(fresh().resume(cut.path().to_vec()).next(), Next::RunAt(at), "a cut run is run again");
    }

    #[test]
    fn resuming_anywhere_takes_the_same_path() {
        let whole = search(6500, 1000, 500);
        for kept in 0..whole.path().len() {
            let resumed = Search::start(Multiple::whole(10), Multiple::whole(5)).resume(whole.path()[..kept].to_vec());
            assert_eq!(resumed.next(), Next::RunAt(whole.path()[kept].multiple));
        }
    }

    #[test]
    fn the_table_tells_the_path() {
        let mut text = String::new();
        search(6500, 3000, 1000).table(&mut text).unwrap();
        let expected = "run       load  verdict\n  1        30x  PASS\n  2        60x  PASS\n  3       120x  FAIL\n  \
                        4        90x  FAIL\n  5        70x  FAIL\nholds 60x, fails at 70x\n";
        assert_eq!(text, expected);
    }
}
