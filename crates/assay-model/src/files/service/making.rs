//! How the files of a server are made, and how they are open.

use serde::{Deserialize, Serialize};

/// How a file is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadeBy {
    /// It is empty, and grows.
    Nothing,
    /// By fallocate(2) with mode 0: it has its size, and its blocks are unwritten.
    Fallocate,
    /// By fallocate(2) with FALLOC_FL_KEEP_SIZE: its blocks are there, and its size grows with each write.
    FallocateKeepSize,
    /// Zeros are written to all of it.
    Zeros,
    /// All of it was written: a database.
    Written,
    /// By ftruncate(2): it has its size, and no blocks.
    Truncate,
}

/// How a file is open for writing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// Through the page cache.
    #[default]
    Buffered,
    /// With O_DIRECT.
    Direct,
    /// With O_DSYNC.
    Dsync,
    /// With both.
    DirectDsync,
}

impl FileAccess {
    /// Whether writes pass the page cache.
    pub fn is_direct(self) -> bool {
        matches!(self, FileAccess::Direct | FileAccess::DirectDsync)
    }

    /// Whether each write is durable when it returns.
    pub fn is_dsync(self) -> bool {
        matches!(self, FileAccess::Dsync | FileAccess::DirectDsync)
    }
}
