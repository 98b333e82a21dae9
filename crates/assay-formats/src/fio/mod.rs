//! fio's job files: read, explained, and lowered to workloads.
//!
//! Three steps, each in its files. `text` makes sections of lines, with the place of every word, and knows includes and
//! variables; `number` reads sizes, counts and times; `lower` makes streams of jobs. `keys` has every key of fio with what becomes of it.
//! What fio reads otherwise than it looks, and what cannot be driven here, is refused at its place: nothing is ignored silently.
//! What fio does was measured with fio 3.33 and read in its manual; nothing here was taken from its source.

mod class;
mod ends;
mod explain;
mod files;
mod flushes;
mod job;
pub mod keys;
mod lower;
mod number;
mod order;
mod pace;
mod replay;
mod sizes;
mod table;
mod text;
mod turns;

pub use explain::Line;
pub use files::Choice;
pub use lower::{Lowered, lower};
pub use text::{JobFile, looks_like, read};

use crate::collect::Played;

/// What a job file may ask of the machine that reads it.
pub trait Surroundings {
    /// The text of an included file: looked for from here, then beside the file called `beside`. The error is the reason.
    fn include(&self, name: &str, beside: &str) -> Result<String, String>;
    /// The operations of a recording: looked for as an included file is. The error is the reason.
    fn recording(&self, name: &str, beside: &str) -> Result<Played, String>;
    /// A variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;
    /// What a keyword stands for.
    fn number(&self, keyword: Keyword) -> u64;
    /// Size of a target in bytes; `None` where there is none.
    fn size_of(&self, target: &str) -> Option<u64>;
}

/// A word that stands for a number of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// `$pagesize`, in bytes.
    PageSize,
    /// `$mb_memory`, in MiB.
    Memory,
    /// `$ncpus`.
    Processors,
}
