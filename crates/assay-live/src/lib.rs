//! What a run log says while it grows, for people and for programs: a web page, a view on a terminal, and metrics for Prometheus and
//! for receivers of OpenTelemetry.
//!
//! It reads the log and nothing else, so that it can be attached to a run at any time, and to a finished one, and it cannot disturb a
//! run. Its parts know nothing of the next ones. [`view`] takes the lines of a log one by one and says what they come
//! to at the newest of them; what is judged in it comes from the judge's own fold. [`follow`] reads a log to its end and publishes that
//! whenever it has read all that is there. [`server`] answers requests with what was published last: it keeps nothing for anybody, so
//! that a slow reader gets what is newest. [`terminal`] draws it, and [`push`] sends it.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod follow;
mod metrics;
mod page;
mod published;
pub mod push;
pub mod server;
pub mod terminal;
pub mod view;

pub use follow::{GrowingLog, LineTaker, NoTaker, Publisher};
pub use published::{FollowedRun, Published};
pub use server::access::Rules;
