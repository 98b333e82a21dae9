//! What carries operations: the real engines (io_uring, a thread pool), the null and the simulated device, and the only
//! clock. Also what must be known before anything is carried: what the host is (`probe`) and whether a target may be
//! written at all (`safety`).
//!
//! It is the only library crate that asks the operating system about storage. It knows no workload and no verdict.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod arena;
mod call;
pub mod clock;
pub mod doctor;
pub mod durable;
pub mod facts;
pub mod ignored;
pub mod inline;
pub mod null;
pub mod open;
pub mod page_cache;
pub mod paths;
pub mod probe;
mod run_delay;
pub mod safety;
pub mod select;
pub mod sim;
pub mod threads;
pub mod uring;
pub mod usage;

#[cfg(test)]
#[path = "../tests/safety_common/losetup.rs"]
#[allow(unreachable_pub, reason = "the tests of this crate and of others share it")]
mod losetup;
#[cfg(test)]
mod requests_tests;
#[cfg(test)]
mod testbed;
#[cfg(test)]
mod tests;
