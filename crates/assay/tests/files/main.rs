//! Every verb × every file it makes × everything that can be in its place: nothing outside changes, and the message
//! names the obstacle. And every verb that reads a file × everything that is not a regular file: refused immediately,
//! without waiting.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests drive real processes and lay obstacles"
)]

#[path = "../program/bed.rs"]
#[allow(dead_code, reason = "the tests of the program use more of it")]
mod bed;
#[path = "../../../assay-device/tests/safety_common/live.rs"]
#[allow(dead_code, reason = "the gate's own tests use more of it")]
mod live;

mod reading;
mod stacks;
mod writing;
