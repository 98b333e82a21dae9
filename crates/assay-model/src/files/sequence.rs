//! One kind of thing that clients do: operations one after another, and on which files.

use super::misfit::Misfit;
use super::operation::Operation;
use assay_base::Bytes;
use serde::{Deserialize, Serialize};

/// The word in logs for what a stream counts that consists of several calls, each kind of which has a stream too.
pub(super) const SEQUENCE: &str = "sequence";

/// A sequence of operations, which is a stream of the log, as each of its operations is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sequence {
    /// Its name.
    pub name: String,
    /// The operations. Those of one inner list are on the same file.
    pub steps: Vec<Vec<Operation>>,
    /// How often it is done, relative to the other sequences of the mix.
    pub share: u64,
    /// Whose files it is on.
    #[serde(default)]
    pub pick: Pick,
    /// Which kind of files it is on.
    #[serde(default)]
    pub on: SequenceFiles,
    /// Bytes of one read or write, where they are not those of the workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<Bytes>,
    /// How large files become that it writes as a whole, where that is not the size that the tree gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// Where in a file it reads and writes, where that is not what the operation usually does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Place>,
    /// In a phase that takes every file once: in an order drawn at random instead of by number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub random_order: bool,
}

/// Whose files a sequence is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pick {
    /// The client's own.
    #[default]
    Own,
    /// Those of the next client, so that no cache of the client can have them.
    Next,
    /// Any.
    Any,
}

/// Which kind of files a sequence is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SequenceFiles {
    /// Files of the tree, each of which has one owner.
    #[default]
    Tree,
    /// Shared files, each record of which has one owner.
    Shared,
}

/// Where in a file an operation reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// The whole file, in order.
    Whole,
    /// One read or write, at a multiple of its length that is drawn.
    Random,
}

impl Place {
    /// Where an operation reads and writes if nobody says otherwise.
    pub fn usual(operation: Operation) -> Place {
        match operation {
            Operation::Overwrite | Operation::Rmw | Operation::MmapWrite | Operation::Punch => Place::Random,
            _ => Place::Whole,
        }
    }
}

impl Sequence {
    /// A sequence on one own file of the tree, which has this share.
    pub fn new(name: &str, steps: &[Operation], share: u64) -> Sequence {
        Sequence {
            name: name.to_owned(),
            steps: vec![steps.to_vec()],
            share,
            pick: Pick::Own,
            on: SequenceFiles::Tree,
            io: None,
            size: None,
            at: None,
            random_order: false,
        }
    }

    /// One that has no operations of its own: what it consists of is said elsewhere.
    pub fn without_steps(name: &str) -> Sequence {
        Sequence { steps: Vec::new(), ..Sequence::new(name, &[], 1) }
    }

    /// All its operations, in order.
    pub fn operations(&self) -> impl Iterator<Item = Operation> + '_ {
        self.steps.iter().flatten().copied()
    }

    /// Whether it has this operation.
    pub fn has(&self, wanted: Operation) -> bool {
        self.operations().any(|operation| operation == wanted)
    }

    /// Whether a name that was there may be gone when it has been carried out.
    pub fn removes_names(&self) -> bool {
        self.operations().any(Operation::removes_names)
    }

    /// Whether its operations can follow each other: whether each has the file that it needs, and whether no file stays
    /// open.
    pub fn check(&self) -> Result<(), Misfit> {
        if self.steps.iter().any(Vec::is_empty) || self.steps.is_empty() {
            return Err(Misfit::new("a sequence without steps does nothing", "write for example steps = [\"stat\"]"));
        }
        for steps in &self.steps {
            super::steps::check(steps)?;
        }
        self.check_owner()?;
        match self.on {
            SequenceFiles::Tree => Ok(()),
            SequenceFiles::Shared => self.check_shared(),
        }
    }

    /// Others' files are only read.
    fn check_owner(&self) -> Result<(), Misfit> {
        let changing = self.operations().find(|operation| operation.changes_something());
        match changing.filter(|_| self.pick != Pick::Own) {
            Some(operation) => Err(Misfit::new(
                format!("{operation} changes a file, and only its owner does that"),
                "write pick = \"own\", or only steps that read",
            )),
            None => Ok(()),
        }
    }

    /// Shared files are there as long as the run.
    fn check_shared(&self) -> Result<(), Misfit> {
        use Operation::{Access, Close, Fdatasync, Fstat, Fsync, Lock, MmapRead, MmapWrite, Msync, Open};
        use Operation::{Append, Overwrite, Read, Rmw, Stat, Unlock, Write};
        let possible = [
            Access, Append, Close, Fdatasync, Fstat, Fsync, Lock, MmapRead, MmapWrite, Msync, Open, Overwrite, Read,
            Rmw, Stat, Unlock, Write,
        ];
        match self.operations().find(|operation| !possible.contains(operation)) {
            Some(operation) => Err(Misfit::new(
                format!("{operation} is not possible on a file that all clients share"),
                "write on = \"tree\", or steps that read and write records",
            )),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_files_are_only_read() {
        let next = Sequence { pick: Pick::Next, ..Sequence::new("s", &[Operation::Stat], 1) };
        assert_eq!((next.check(), next.removes_names()), (Ok(()), false));
        for operation in [Operation::Unlink, Operation::Chmod, Operation::Rename] {
            let sequence = Sequence { pick: Pick::Any, ..Sequence::new("s", &[operation], 1) };
            let fault = sequence.check().unwrap_err();
            assert!(fault.what.ends_with("changes a file, and only its owner does that"), "{fault:?}");
        }
    }

    #[test]
    fn shared_files_are_not_removed() {
        let shared = |steps: &[Operation]| {
            Sequence { on: SequenceFiles::Shared, ..Sequence::new("s", steps, 1) }.check().map_err(|fault| fault.what)
        };
        assert_eq!(shared(&[Operation::Write]), Ok(()));
        assert_eq!(shared(&[Operation::Open, Operation::Read, Operation::Close]), Ok(()));
        let expected = "unlink is not possible on a file that all clients share".to_owned();
        assert_eq!(shared(&[Operation::Unlink]), Err(expected));
    }
}
