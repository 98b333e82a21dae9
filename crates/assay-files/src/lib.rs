//! File systems: a directory of our own, a tree of files in it, and clients that work on them.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod own_dir;
mod trouble;

pub use trouble::{Kind, Trouble};
