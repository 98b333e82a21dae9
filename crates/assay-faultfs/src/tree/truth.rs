//! The account of a tree: which calls came, which of them failed, and which lies were told.

use super::operation::TreeOperation;
use std::collections::BTreeMap;
use std::fmt;

/// How something that was stored was falsified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Lie {
    /// A write was acknowledged and not stored.
    Lost,
    /// A write was stored in part.
    Torn,
    /// A block was stored as zeros.
    Zeroed,
    /// An unlink was acknowledged, and the file stayed or came back.
    Undeleted,
    /// The contents of two files were swapped.
    Swapped,
    /// A file was cut.
    Cut,
    /// A file lost its name.
    Vanished,
}

impl Lie {
    /// Its word in the account.
    pub fn name(self) -> &'static str {
        match self {
            Lie::Lost => "lost",
            Lie::Torn => "torn",
            Lie::Zeroed => "zeroed",
            Lie::Undeleted => "undeleted",
            Lie::Swapped => "swapped",
            Lie::Cut => "cut",
            Lie::Vanished => "vanished",
        }
    }
}

/// Counts since the last reset.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TreeTruth {
    /// Calls that came, by kind.
    pub calls: BTreeMap<TreeOperation, u64>,
    /// Calls that failed, by kind and error number, those that had to fail among them (ENOENT of a lookup).
    pub failed: BTreeMap<(TreeOperation, i32), u64>,
    /// Each lie with the path that the file had then, relative to the root.
    pub lies: Vec<(Lie, String)>,
    /// Calls that are not answered yet.
    pub held: u64,
}

impl TreeTruth {
    /// How many calls of a kind came.
    pub fn calls_of(&self, operation: TreeOperation) -> u64 {
        self.calls.get(&operation).copied().unwrap_or(0)
    }

    /// How many calls of a kind failed with an error.
    pub fn failed_with(&self, operation: TreeOperation, errno: i32) -> u64 {
        self.failed.get(&(operation, errno)).copied().unwrap_or(0)
    }

    /// The paths that a lie was told about.
    pub fn paths_of(&self, wanted: Lie) -> Vec<&str> {
        self.lies.iter().filter(|(lie, _)| *lie == wanted).map(|(_, path)| path.as_str()).collect()
    }
}

impl fmt::Display for TreeTruth {
    /// One `key value` per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (operation, count) in &self.calls {
            writeln!(f, "{operation} {count}")?;
        }
        for ((operation, errno), count) in &self.failed {
            writeln!(f, "{operation}_errno_{errno} {count}")?;
        }
        for (lie, path) in &self.lies {
            writeln!(f, "{} {path}", lie.name())?;
        }
        writeln!(f, "held {}", self.held)
    }
}
