//! All tests of the room through its public interface, as one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests, which make files of their own")]

mod bed;
mod campaign;
mod client_bed;
mod client_cache;
mod client_faults;
mod client_killed;
mod client_runs;
mod client_traced;
mod faults;
mod memory_tree;
mod mixes;
mod own_dir_cleaned;
mod own_dir_killed;
mod own_dir_known;
mod own_dir_made;
mod own_dir_raced;
mod phases;
mod schedule;
mod service_bed;
mod service_bounds;
mod service_groups;
mod service_order;
mod service_runs;
mod service_sizes;
mod service_streams;
mod shipped;
mod survey;
