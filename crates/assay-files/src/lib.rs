//! File systems: a directory of our own, a tree of files in it, and clients that work on them.
//!
//! What decides is pure: [`script`] says which operation a client does next, [`ledger`] what exists, [`contents`] which
//! bytes are where; [`service`] says what the threads of a server do. They make no call and read no clock. [`shell`] makes the calls, and tells it what came of them.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod contents;
pub mod extents;
pub mod ledger;
pub mod own_dir;
pub mod records;
pub mod script;
pub mod semaphores;
pub mod service;
pub mod shell;
pub mod source;
pub mod survey;
mod trouble;

pub use trouble::{Kind, Trouble, error_in_words};
