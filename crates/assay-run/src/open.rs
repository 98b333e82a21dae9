//! Before a run: its targets are opened through the safety gate, the way to them and its seed are chosen, and what a
//! person has consented to is known.

pub mod consents;
pub(crate) mod engine;
pub mod prepared;
pub mod schedulers;
pub mod seed;
pub mod targets;
