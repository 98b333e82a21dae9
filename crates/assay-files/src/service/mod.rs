//! What the threads of a server do: which group of commits its writer takes, when its tasks begin, and which calls they
//! consist of.
//!
//! The shell asks [`ServiceScript::begin`] what a thread does, waits if it says so, asks [`ServiceScript::next_call`] for
//! one call after another, and hands each result to [`ServiceScript::finish_call`]. All threads share one script; between
//! these questions it needs nobody, makes no call and reads no clock.

mod call;
mod expand;
mod files;
mod prepared;
mod reader;
mod run;
mod script;
mod tasks;

pub use call::{CallFailure, CallTimes, CommitGroup, FileCall, ServiceNext, SpanDone};
pub use files::{FileState, ServiceFiles};
pub use script::ServiceScript;
