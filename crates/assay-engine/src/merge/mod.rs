//! What several workers recorded becomes one account of the run.
//!
//! [`coordinator`] hears the workers and says what follows from their reports, with the [`merger`] of their intervals;
//! [`settle`] decides when a warm-up that waits may end; [`account`] keeps what the log contains, with the
//! [`stream_events`] of all workers as one.

pub(crate) mod account;
pub(crate) mod coordinator;
pub(crate) mod merger;
pub(crate) mod settle;
mod stream_events;
