//! The fit: moves the four knobs of a profile until the drive under test does what production's drive did, by iostat's own
//! figures: r/s, w/s, rkB/s and wkB/s.
//!
//! A machine that runs nothing: it says with which knobs to run next and is told what was counted. All it knows is the list of
//! past rounds, so a fit that was interrupted goes on from that list. It knows no profile either: a [`Load`] tells it what is
//! to be expected at each setting of the knobs.
//!
//! *Steering.* What is expected follows from the plan alone, exactly. What the device counts differs from it where requests are
//! split, merged or joined by others; how much it counts of what it is handed is read in each round, without any noise. Knobs are then solved for, each
//! direction by itself, such that as many figures as can be agree and the larger difference is the smallest ([`solve`]).
//!
//! *Noise.* Arrivals are independent (Poisson), so a round of T seconds counts N operations with a standard deviation of √N,
//! and bytes with √(T · Σ rate · E[size²]) (a compound Poisson process). Two of those, as a share of what is expected, are
//! allowed beside the tolerance, and what counting explains is not followed: it would be gone in the next round.

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
pub(crate) use render::ended;
pub use render::{moved, text};
pub use trail::{Round, SCHEMA, Trail};
pub use why::{Short, Why};

#[cfg(test)]
mod tests;
