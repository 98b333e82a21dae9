//! The fit: changes the knobs of a profile until the drive under test does what production's drive did, by
//! iostat's own figures: r/s, w/s, rkB/s and wkB/s.
//!
//! The fit is a state machine and runs nothing itself: it returns the knobs for the next run and receives what was
//! counted. Its only state is the list of past rounds, so an interrupted fit continues from that list. It does not know
//! the profile either: a [`Load`] returns the expected figures for each setting of the knobs.
//!
//! *Steering.* What is expected follows exactly from the plan. What the device counts differs from that where requests
//! are split, merged or joined by requests of others; the ratio of counted to issued requests is known in each round
//! without any noise. The knobs are then solved for, each direction by itself, such that as many figures as possible
//! agree and the larger difference is the smallest possible ([`solve`]).
//!
//! What production has counted binds a fit: where its log has the large blocks, they stay as they are, and what the drive
//! did beyond all counts is offered as other operations.
//!
//! *Noise.* Arrivals are independent (Poisson), so a round of T seconds counts N operations with a standard deviation
//! of √N, and bytes with √(T · Σ rate · E[size²]) (a compound Poisson process). Two of those, as a share of what is
//! expected, are allowed in addition to the tolerance. A difference within this noise is not corrected: it would be
//! gone in the next round.

mod figures;
mod machine;
mod outcome;
mod render;
mod solve;
mod trail;
mod why;

pub use figures::{Compared, Expected, Figure, Figures, Load, Measured};
pub use machine::{DEVIATIONS, Fit, Goal, Next};
pub use outcome::Outcome;
pub(crate) use render::ending_in_words;
pub use render::{moved_knobs_text, write_text};
pub use trail::{Round, SCHEMA, Trail};
pub use why::{Short, Why};

#[cfg(test)]
mod tests;
