//! All tests of the room through its public interface, as one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests, which make files of their own")]

mod ahead;
mod behind;
mod ending;
mod even;
mod grids;
mod lag;
mod lanes;
mod little;
mod lives;
mod loops;
mod mail;
mod memory;
mod short;
mod stocks;
mod told;
mod verify;
