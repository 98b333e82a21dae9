//! When clients wait until data are durable: after each file, at the end of a phase, or never.

use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durable {
    /// Each sequence that writes waits for what it has written.
    Each,
    /// Each phase that writes ends with an fsync of every file, and its time with the last of them.
    End,
    /// Nobody waits.
    None,
}

impl fmt::Display for Durable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Durable::Each => "each",
            Durable::End => "end",
            Durable::None => "none",
        })
    }
}
