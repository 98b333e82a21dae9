//! All tests of the room through its public interface, as one program: it is linked once.

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
