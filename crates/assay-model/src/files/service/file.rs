//! The files of a server: how they are made, how they are open, and what follows when one is full.

use super::making::{FileAccess, MadeBy};
use super::step::ServiceStep;
use assay_base::Bytes;
use serde::{Deserialize, Serialize};

/// A kind of file that the server has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ServiceFile {
    /// Its name, by which steps mean it.
    pub name: String,
    /// How many of them are used at the same time, one after another.
    pub number: u32,
    /// How large one is, or may become before it is full.
    pub size: Bytes,
    /// How one is made.
    pub made_by: MadeBy,
    /// Bytes of one write of zeros where it is made of them.
    pub piece: Bytes,
    /// Writes are whole blocks of so many bytes: the last block is written again by what follows in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    /// How it is open for writing.
    #[serde(default)]
    pub access: FileAccess,
    /// So many bytes of it were written before the run begins.
    #[serde(default)]
    pub begins_with: Bytes,
    /// What follows when it is full.
    #[serde(default)]
    pub when_full: WhenFull,
    /// How many are made beforehand, to be the next ones.
    #[serde(default)]
    pub ready: u32,
    /// How many full ones stay when a step removes old ones.
    #[serde(default)]
    pub keep: u32,
    /// What the writer does to have a next one, where none was made beforehand; `make` is a step of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub make: Vec<ServiceStep>,
    /// What the writer does when it moves on to the next one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next: Vec<ServiceStep>,
}

/// What follows when a file is full.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// Another file.
    #[default]
    Next,
    /// Its beginning is written over: a ring.
    Start,
}

impl ServiceFile {
    /// Whether a group that does not fit into the rest of a file is divided there. Otherwise the file becomes a little
    /// larger than its size.
    pub fn divides_groups(&self) -> bool {
        self.block.is_some() || self.when_full == WhenFull::Start
    }

    /// Whether its whole size is taken as soon as it is made.
    pub fn is_allocated(&self) -> bool {
        match self.made_by {
            MadeBy::Fallocate | MadeBy::FallocateKeepSize | MadeBy::Zeros | MadeBy::Written => true,
            MadeBy::Nothing | MadeBy::Truncate => false,
        }
    }

    /// In words, for `explain`.
    pub fn made_in_words(&self) -> &'static str {
        match self.made_by {
            MadeBy::Nothing => "it grows",
            MadeBy::Fallocate => "made by fallocate, its blocks unwritten",
            MadeBy::FallocateKeepSize => "made by fallocate with KEEP_SIZE: its size grows with each write",
            MadeBy::Zeros => "filled with zeros",
            MadeBy::Written => "written as a whole before the run",
            MadeBy::Truncate => "made by ftruncate, without blocks",
        }
    }
}
