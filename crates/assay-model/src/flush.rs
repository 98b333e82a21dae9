//! Flushes (`fdatasync`): operations that end when all writes that completed before them are on stable media.
//!
//! They move no bytes and have no place. A stream of flushes has a rate or a number in flight like any other stream, or
//! it belongs to a closed loop and a flush comes after every N writes of the loop.

use serde::{Deserialize, Serialize};

/// What a stream of flushes does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flush {
    direction: Word,
    /// In a loop: after how many writes of a copy a flush comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
}

/// The word that a written plan has in place of the direction `read` or `write`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Flush,
}

impl Flush {
    /// The word for it, in workloads, plans and reports.
    pub const WORD: &str = "flush";

    /// A stream of flushes; in a loop, a flush comes after `every` writes.
    pub const fn new(every: Option<u32>) -> Flush {
        Flush { direction: Word::Flush, every }
    }
}
