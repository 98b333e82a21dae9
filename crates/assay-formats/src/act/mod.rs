//! ACT, Aerospike's certification tool: its config files ([`conf`]), the logs that its programs write ([`log`]), the
//! latency table by time slices ([`slices`]) and a reimplementation of its analyzer ([`latency`]). A config becomes a
//! workload ([`lower`]), a log of ACT becomes entries of ours ([`import`]), and one of ours a log of ACT ([`export`]).
//!
//! Rules and texts follow the observed behaviour of ACT 6.6; older versions are read because users still have their
//! files.

pub mod conf;
pub mod export;
pub mod import;
pub mod latency;
mod lines;
pub mod log;
pub mod lower;
mod number;
pub mod prep;
mod production;
pub mod slices;
mod unrunnable;
