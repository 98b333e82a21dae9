//! All tests of the room through its public interface, as one program: it is linked once.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "helpers of tests, which make files of their own")]

mod common;
mod conf;
mod fio;
mod fio_keys;
mod fio_kinds;
mod hostile;
mod import;
mod iometer;
mod latency;
mod log;
mod sizing;
