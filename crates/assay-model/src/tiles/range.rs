//! The range of a target that a tile has.

use assay_base::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A range of each target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TileRange {
    /// Its first byte.
    pub begin: Bytes,
    /// Its length.
    pub size: Bytes,
}

impl fmt::Display for TileRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {} on", self.size, self.begin)
    }
}
