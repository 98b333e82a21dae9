//! Many hosts that measure together: what they say to each other, and what they know of each other's clocks.
//!
//! Each process is a rank, numbered from 0. What decides is pure: a state machine gets the time and the messages that have
//! arrived, and gives messages to a [`Link`]. There are two links: [`exchange`] joins ranks of one process, or of a simulated
//! network; [`mpi`] is the only file that knows of the library which joins processes of several hosts.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files of their own"))]

pub mod clock;
pub mod examination;
pub mod exchange;
pub mod joint_log;
pub mod link;
pub mod mpi;

pub use link::{Collective, Link, LinkError, Message};
