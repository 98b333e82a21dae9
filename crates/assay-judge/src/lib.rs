//! From a run log to a verdict: slices, criteria, the rules of proof, and the text of the result.
//!
//! Pure, and it knows neither engine nor model: it sees only the log. One pass over the log (`fold`), rules over the
//! sums (`rules`), plain data as the result ([`Judgement`]), renderers for it. The search for the highest load (`limit`)
//! and the fit to production (`fit`) are state machines of their own, which get what the runs came to.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod finding;
mod fold;
mod rules;

pub mod cache_curve;
pub mod compare;
pub mod curve;
mod decisive;
pub mod fit;
mod judge;
pub mod judgement;
pub mod limit;
pub mod matrix;
mod options;
pub mod procedure;
pub mod render;
mod same_run;
pub mod sessions;
pub mod sizing;
pub mod suite;
mod verdict;
mod words;

pub use assay_base::text::printable_char;
pub use fold::rank_verdicts::details_of_rank;
pub use judge::{Fold, JudgeError, SoFar, judge_log};
pub use judgement::{Judgement, is_too_blank};
pub use options::Options;
pub use verdict::Verdict;
pub use words::for_a_shell;
