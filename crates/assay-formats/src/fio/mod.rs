//! fio's job files: read, explained, and lowered to workloads.
//!
//! There are three steps. `text` turns lines into sections, records the place of every word, and handles includes and
//! variables; `number` reads sizes, counts and times; `lower` turns jobs into streams. `keys` lists every key of fio
//! and how it is treated. A value that fio reads differently from what it seems to say, or that cannot be driven here,
//! is refused at its place: nothing is ignored silently. The behaviour of fio was measured with fio 3.33 and read in
//! its manual; nothing here was taken from its source.

mod alike;
mod by_order;
mod class;
mod content;
mod copies;
mod ends;
mod engine_keys;
mod engines;
mod explain;
mod files;
mod flushes;
mod groups;
mod job;
pub mod keys;
mod lower;
mod naming;
mod number;
mod order;
mod pace;
mod page_cache;
mod replay;
mod seals;
mod sizes;
mod steps;
mod table;
mod text;
mod turns;
mod zones;

pub use explain::Line;
pub use files::Choice;
pub use lower::{Lowered, lower_job_file};
pub use text::{JobFile, looks_like, read_job_file};

use crate::collect::Played;

/// The questions that a job file may ask of the machine that reads it.
pub trait Surroundings {
    /// The text of an included file, which is looked for in the working directory, then beside the file called
    /// `beside`. The error is the reason.
    fn read_included(&self, name: &str, beside: &str) -> Result<String, String>;
    /// The operations of a recording, which is looked for as an included file is. The error is the reason.
    fn read_recording(&self, name: &str, beside: &str) -> Result<Played, String>;
    /// The value of an environment variable.
    fn environment_variable(&self, name: &str) -> Option<String>;
    /// The number that a keyword stands for.
    fn keyword_number(&self, keyword: Keyword) -> u64;
    /// The size of a target in bytes; `None` if it does not exist.
    fn size_of(&self, target: &str) -> Option<u64>;
}

/// A word that stands for a property of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `$pagesize`, in bytes.
    PageSize,
    /// `$mb_memory`, in MiB.
    Memory,
    /// `$ncpus`.
    Processors,
}
