//! The search for the highest load that still passes: doubling until something fails, then bisecting.
//!
//! A machine that runs nothing: it says which multiple to run next and is told the verdict. All it knows is the list of past
//! observations, so a search that was interrupted goes on from that list.
//!
//! ```
//! use assay_judge::limit::{Multiple, Next, Search};
//! use assay_judge::Verdict;
//!
//! let mut search = Search::start(Multiple::whole(10), Multiple::whole(5));
//! while let Next::RunAt(multiple) = search.next() {
//!     let holds = multiple <= Multiple::whole(65);
//!     search.observe(multiple, if holds { Verdict::Pass } else { Verdict::Fail });
//! }
//! assert_eq!(search.highest_pass(), Some(Multiple::whole(65)));
//! ```

use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A load as a multiple of the model's 1x, in hundredths: `30x`, `1.5x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Multiple {
    hundredths: u64,
}

impl Multiple {
    /// `n` times.
    pub const fn whole(n: u64) -> Multiple {
        Multiple { hundredths: n.saturating_mul(100) }
    }

    /// `n` hundredths.
    pub const fn from_hundredths(n: u64) -> Multiple {
        Multiple { hundredths: n }
    }

    /// Hundredths.
    pub const fn as_hundredths(self) -> u64 {
        self.hundredths
    }
}

impl fmt::Display for Multiple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:02}", self.hundredths / 100, self.hundredths % 100);
        f.pad(&format!("{}x", text.trim_end_matches('0').trim_end_matches('.')))
    }
}

impl FromStr for Multiple {
    type Err = String;
    fn from_str(text: &str) -> Result<Multiple, String> {
        let fault = || format!("\"{}\" is not a multiple; write it like 30x or 1.5x", text.escape_debug());
        let number = text.trim().strip_suffix('x').ok_or_else(fault)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 2 {
            return Err(fault());
        }
        let whole: u64 = whole.parse().map_err(|_| fault())?;
        let part: u64 = format!("{fraction:0<2}").parse().map_err(|_| fault())?;
        let hundredths = whole.checked_mul(100).and_then(|whole| whole.checked_add(part)).ok_or_else(fault)?;
        if hundredths == 0 { Err(fault()) } else { Ok(Multiple { hundredths }) }
    }
}

impl TryFrom<String> for Multiple {
    type Error = String;
    fn try_from(text: String) -> Result<Multiple, String> {
        text.parse()
    }
}

impl From<Multiple> for String {
    fn from(multiple: Multiple) -> String {
        multiple.to_string()
    }
}

/// One run of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// At which load.
    pub multiple: Multiple,
    /// What came out.
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
    /// Everything up to the highest load that may be tried passed.
    NeverFailed {
        /// Passed.
        passes: Multiple,
    },
    /// Already the lowest load fails.
    NeverPassed {
        /// Failed.
        fails: Multiple,
    },
    /// A run proved nothing (INVALID twice, or INCOMPLETE); what had passed by then stands.
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
    lowest: Multiple,
    resolution: Multiple,
    highest: Multiple,
    path: Vec<Observation>,
}

impl Search {
    /// Begins at `lowest`; ends when pass and fail are no further than `resolution` apart. Both are taken as at least 0.01x.
    pub fn start(lowest: Multiple, resolution: Multiple) -> Search {
        let least = |multiple: Multiple| Multiple { hundredths: multiple.hundredths.max(1) };
        let highest = Multiple { hundredths: u64::MAX };
        Search { lowest: least(lowest), resolution: least(resolution), highest, path: Vec::new() }
    }

    /// Never goes above `highest`.
    pub fn up_to(self, highest: Multiple) -> Search {
        Search { highest: highest.max(self.lowest), ..self }
    }

    /// Goes on from past observations. One that was cut short is run again.
    pub fn resume(self, path: impl IntoIterator<Item = Observation>) -> Search {
        let kept = path.into_iter().filter(|seen| seen.verdict != Verdict::Incomplete).collect();
        Search { path: kept, ..self }
    }

    /// Takes in the verdict of a run at `multiple`.
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
    pub fn lowest_fail(&self) -> Option<Multiple> {
        self.path.iter().filter(|seen| seen.verdict == Verdict::Fail).map(|seen| seen.multiple).min()
    }

    /// What to do next; the same answer until something is observed.
    #[allow(clippy::should_implement_trait, reason = "it does not advance: only an observation does")]
    pub fn next(&self) -> Next {
        if let Some(next) = self.after_nothing_proven() {
            return next;
        }
        match (self.highest_pass(), self.lowest_fail()) {
            (None, None) => Next::RunAt(self.lowest),
            (None, Some(fails)) if fails > self.lowest => Next::RunAt(self.lowest),
            (None, Some(fails)) => Next::Done(Outcome::NeverPassed { fails }),
            (Some(passes), None) if passes >= self.highest => Next::Done(Outcome::NeverFailed { passes }),
            (Some(passes), None) => {
                Next::RunAt(Multiple { hundredths: passes.hundredths.saturating_mul(2) }.min(self.highest))
            }
            (Some(passes), Some(fails)) => self.between(passes, fails),
        }
    }

    /// INVALID is tried once more at the same load, then it stands; INCOMPLETE stands at once.
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

    /// Bisects, in steps of the resolution above what passed.
    fn between(&self, passes: Multiple, fails: Multiple) -> Next {
        let gap = fails.hundredths - passes.hundredths;
        if gap <= self.resolution.hundredths {
            return Next::Done(Outcome::Between { passes, fails });
        }
        let steps = (gap / 2 / self.resolution.hundredths).max(1);
        Next::RunAt(Multiple { hundredths: passes.hundredths + steps * self.resolution.hundredths })
    }

    /// The path as a table, one run a line.
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

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Between { passes, fails } => write!(f, "holds {passes}, fails at {fails}"),
            Outcome::NeverFailed { passes } => write!(f, "holds {passes}, the highest that was to be tried"),
            Outcome::NeverPassed { fails } => write!(f, "fails already at {fails}, the lowest that was to be tried"),
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

    fn search(limit: u64, lowest: u64, resolution: u64) -> Search {
        let mut search = Search::start(Multiple::from_hundredths(lowest), Multiple::from_hundredths(resolution))
            .up_to(Multiple::whole(1_000_000));
        while let Next::RunAt(multiple) = search.next() {
            assert!(search.path().len() < 100, "it ends: {:?}", search.path());
            search.observe(multiple, if multiple.as_hundredths() <= limit { Pass } else { Fail });
        }
        search
    }

    #[test]
    fn the_limit_is_found_within_the_resolution() {
        for lowest in [1, 100, 700, 3000] {
            for resolution in [1, 7, 100, 500] {
                for limit in [0, 1, 99, 100, 101, 3000, 6500, 6501, 12_345, 99_999_999, u64::MAX] {
                    let search = search(limit, lowest, resolution);
                    match search.next() {
                        Next::Done(Outcome::Between { passes, fails }) => {
                            let (low, high) = (passes.as_hundredths(), fails.as_hundredths());
                            assert!(
                                low <= limit && limit < high && high - low <= resolution,
                                "{lowest} {resolution} {limit}"
                            );
                        }
                        Next::Done(Outcome::NeverPassed { .. }) => assert!(limit < lowest),
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
    fn multiples_as_text() {
        for (text, hundredths, shown) in
            [("30x", 3000, "30x"), ("1.5x", 150, "1.5x"), ("0.25x", 25, "0.25x"), ("7.50x", 750, "7.5x")]
        {
            let multiple: Multiple = text.parse().unwrap();
            assert_eq!((multiple.as_hundredths(), multiple.to_string().as_str()), (hundredths, shown));
        }
        for bad in
            ["30", "x", "-1x", "0x", "1.234x", "1e3x", ".5x", "1.x", "999999999999999999999x", "184467440737095517x"]
        {
            assert!(bad.parse::<Multiple>().is_err(), "{bad}");
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
