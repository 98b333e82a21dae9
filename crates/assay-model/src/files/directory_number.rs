//! How the directories of a tree are numbered.

use serde::{Deserialize, Serialize};

/// A directory of a tree: 0 is our own directory, and the directories of all levels are numbered on from there, level by
/// level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DirectoryNumber(pub u64);
