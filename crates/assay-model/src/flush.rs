//! Flushes: operations that end when all writes that completed before them are on stable media (fdatasync).
//!
//! They move no bytes and have no place. A stream of them has a rate or a number in flight as any other, or belongs to a closed
//! loop and comes after every so many of its writes.

use serde::{Deserialize, Serialize};

/// What a stream of flushes does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flush {
    direction: Word,
    /// In a loop: it comes after every so many writes of a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<u32>,
}

/// What a written plan says in place of a direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Flush,
}

impl Flush {
    /// The word for it, in workloads, plans and reports.
    pub const WORD: &str = "flush";

    /// Flushes, in a loop after `every` writes.
    pub const fn new(every: Option<u32>) -> Flush {
        Flush { direction: Word::Flush, every }
    }
}
