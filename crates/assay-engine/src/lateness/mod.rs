//! Who caused a lag: the time for which an operation waited while the queue was full, or while a hand-over blocked, is
//! the device's; the rest of `issued − intended` is the generator's own. `docs/decisions/0005-whose-lag.md` and
//! `0075-closed-loops-obey-littles-law.md` have the reasons.
//!
//! [`arrivals`] is what a worker knows about its lateness; the other files are the state machines that it consists of.

pub(crate) mod arrivals;
#[cfg(test)]
mod blame_tests;
pub(crate) mod held_back;
pub(crate) mod peers;
pub(crate) mod queue_full;
pub(crate) mod shift;
pub(crate) mod stretches;
pub(crate) mod watch;
