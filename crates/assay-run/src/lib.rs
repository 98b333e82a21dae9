//! Carries a run out, from a plan to a closed log: opens its targets through the safety gate, chooses the engine,
//! starts the workers, collects what they record into the log, continues what was interrupted, and makes certificates
//! of logs.
//!
//! It prints nothing and never ends the process: it returns values and failures, and reports progress to an
//! [`observer::Observer`]. The caller reads the command line and decides what is shown of a run.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

mod act_log;
mod benchmark;
mod blank;
mod caching;
mod carry;
pub mod certainty;
pub mod certificate;
pub mod certifying;
pub mod consents;
pub mod curving;
pub mod databases;
pub mod drive;
mod engine;
pub mod failure;
pub mod files;
mod fio_job;
pub mod fitting;
pub mod header;
mod host;
pub mod integrity;
pub mod judging;
pub mod kept;
mod lock;
pub mod logfile;
mod lookaside;
pub mod matrix;
mod meant;
pub mod meter;
mod mistaken;
pub mod observer;
pub mod pace;
mod page_cache;
mod partners;
pub mod prepare;
pub mod procedure;
pub mod production;
mod pulse;
pub mod reading;
mod reading_ahead;
mod recordings;
pub mod records;
mod remembered;
pub mod rest;
pub mod results;
pub mod resume;
pub mod rundir;
mod runner;
pub mod schedulers;
pub mod searching;
pub mod seed;
pub mod settings;
pub mod several;
pub mod signals;
pub mod signing;
pub mod sizing;
pub mod steps;
pub mod sum;
pub mod targets;
pub mod threads;
pub mod tool;
pub mod unfinished;
mod watch;
pub mod workloads;

pub use lookaside::with_cache;
