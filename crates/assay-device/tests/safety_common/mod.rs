//! What the safety tests share.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a helper that cannot go on ends its test")]

pub mod live;
pub mod offer;
pub mod tree;
