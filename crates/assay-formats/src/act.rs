//! ACT, Aerospike's certification tool: its config files ([`conf`]) and its analyzer done over ([`latency`]).
//!
//! Rules and texts follow what ACT 6.6 was observed to do; older versions are read where people still have their files.

pub mod conf;
pub mod latency;
mod number;
