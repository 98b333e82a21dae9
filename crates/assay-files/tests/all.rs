//! What clients do to a tree, shown on a tree in memory: no call that the ledger did not expect, and the contents at the
//! end.
#![allow(clippy::unwrap_used, reason = "a test panics to fail")]

mod memory_tree;
mod mixes;
mod phases;
mod schedule;
