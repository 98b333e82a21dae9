//! All tests of the room through its public interface, as one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests, which make files of their own")]

mod beneath_trees;
mod engine_public;
mod safety_common;
mod safety_content;
mod safety_files;
mod safety_identity;
mod safety_in_use;
mod safety_partitions;
mod safety_scratch;
mod safety_trees;
mod sim_bank;
mod sim_common;
mod sim_disk;
mod sim_faults;
mod sim_flash;
mod sim_spec;
mod sim_speed;
