//! A late generator neither makes a good device fail nor a bad one pass. Devices with known rules, each with a punctual
//! twin run, in virtual time, through the real engine, log and judge.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test reads its scale and tells its figures"
)]
#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod campaign;
mod devices;
mod neighbours;
mod rig;
mod rows;
