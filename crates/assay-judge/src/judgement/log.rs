//! The log that was judged: its checksum, and the places where it is damaged.

use serde::{Deserialize, Serialize};

/// What ties a judgement to the bytes of its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSum {
    /// Length of the file.
    pub bytes: u64,
    /// BLAKE3 of the file's bytes, in hexadecimal.
    pub blake3: String,
}

/// A damaged place of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damaged {
    /// 1-based line.
    pub line: u64,
    /// Byte offset.
    pub offset: u64,
    /// True for the incomplete last line, as a kill leaves it.
    pub torn_tail: bool,
    /// What is wrong.
    pub what: String,
}
