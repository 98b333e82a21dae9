//! From a run log to a verdict: slices, criteria, the rules of proof, and the text that says so.
//!
//! Pure, and it knows neither engine nor model: a log is all it sees. One pass over the log (`fold`), rules over what was
//! folded (`rules`), plain data out ([`Judgement`]), renderers over that. The search for the highest load (`limit`) is a
//! machine of its own that is told verdicts.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod finding;
mod fold;
mod rules;

pub mod compare;
pub mod curve;
mod decisive;
mod judge;
pub mod judgement;
pub mod limit;
mod options;
pub mod render;
mod verdict;
mod words;

pub use assay_base::text::printable;
pub use judge::{Fold, JudgeError, judge};
pub use judgement::Judgement;
pub use options::Options;
pub use verdict::Verdict;
pub use words::for_a_shell;
