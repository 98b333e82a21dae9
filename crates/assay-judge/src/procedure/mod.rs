//! The rules of every procedure that is made of several runs: a search, a curve, a matrix, a fit, the steps of a
//! certification. **What proves nothing may be repeated; what failed is never repeated and never replaced.**
//!
//! A procedure asks for runs at *places*: the loads of a search, the points of a curve, the rounds of a fit. What a run
//! showed is its [`Evidence`]; [`Attempts`] has the evidence of all runs, also of those that an earlier call made before it
//! was killed, and answers what no procedure decides by itself:
//!
//! - Which run decides at a place: one that failed, or else one that passed, or else the latest that was not cut short.
//! - Whether a place may be measured (once more): only while all of its runs are INVALID or INCOMPLETE, and nothing failed
//!   in them. One call makes two attempts; a continued procedure makes two more.
//! - When no further run is made: when one was cut short, when its targets can carry no other one, and, in procedures
//!   whose next step follows from verdicts, when something failed.
//! - What the result is not made of and says nevertheless: what failed, and what was repeated ([`Aside`]).
//!
//! A *failure* is what no load excuses: an operation that failed, was short or never came back, damaged data, a lost
//! target, a lost commit, a broken condition. A bound that is broken is none: for a search it is a load above the limit.
//! Either is a verdict FAIL, which is never measured again.
//!
//! Nothing here runs, waits or reads anything: the evidence comes from judgements, and the shell around it makes the
//! runs.

mod aside;
mod attempts;
mod ending;
mod evidence;

pub use aside::Aside;
pub use attempts::{AfterFailure, Attempts, Halt, Standing};
pub use ending::Ending;
pub use evidence::Evidence;

use crate::verdict::Verdict;

/// The verdict of a procedure that has a result for each place of a list: FAIL as soon as one of them failed, INCOMPLETE while one
/// is missing, otherwise the worst verdict.
pub(crate) fn verdict_of_points(points: impl IntoIterator<Item = Verdict>, missing: bool, aside: &Aside) -> Verdict {
    let worst = points.into_iter().max().unwrap_or(Verdict::Incomplete);
    match (aside.failures.is_empty(), worst) {
        (false, _) | (_, Verdict::Fail) => Verdict::Fail,
        _ if missing => Verdict::Incomplete,
        _ => worst,
    }
}

#[cfg(test)]
mod tests;
