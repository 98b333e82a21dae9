//! One call that a client makes: all that the shell must know to make it.

use crate::extents::Version;
use crate::ledger::Kind;
use crate::records::Record;
use assay_base::Instant;
use assay_model::files::{DirectoryNumber, Operation};

/// What a call is about.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Target {
    /// A name with a number, in the directory that the tree gives it.
    Numbered(u32),
    /// A shared file, by its index.
    Shared(u32),
    /// A directory of the tree.
    Directory(DirectoryNumber),
}

/// The descriptor of a client on which a call works; `create` and `open` fill it, `close` empties it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Slot {
    /// The file of the steps.
    Own,
    /// The file that bytes are copied from.
    Source,
    /// A file that stays open from one sequence to the next.
    Kept(u32),
}

/// What a call writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload {
    /// Nothing.
    Nothing,
    /// The bytes that this version has at the offset of the call.
    Version(Version),
    /// A record of a file that all clients append to.
    Record(Record),
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// What is done.
    pub operation: Operation,
    /// To what.
    pub target: Target,
    /// What the target's name stands for, or will.
    pub kind: Kind,
    /// How many names the file has at most: of an own file, whose names nobody else changes.
    pub names: Option<u16>,
    /// The descriptor, for operations that work on an open file.
    pub slot: Slot,
    /// The other name: the new one of rename and link, the one that a symbolic link leads to, the source of a copy.
    pub other: Option<u32>,
    /// Where in the file: of a truncation the new size, of a lock its beginning.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
    /// What is written.
    pub payload: Payload,
    /// Of `open` and `create`: whether the file is also written to, and whether every write goes to its end.
    pub writes: bool,
    /// See `writes`.
    pub appends: bool,
}

impl Call {
    pub(super) fn new(operation: Operation, target: Target, slot: Slot) -> Call {
        let (other, offset, length, payload) = (None, 0, 0, Payload::Nothing);
        let (kind, names) = (Kind::File, None);
        Call { operation, target, kind, names, slot, other, offset, length, payload, writes: false, appends: false }
    }
}

/// A sequence that a client is to carry out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assignment {
    /// The number in the schedule, counted through the phase.
    pub number: u64,
    /// The index of the sequence in the phase; `None` for closing what the client kept open.
    pub sequence: Option<usize>,
    /// When it was wanted.
    pub intended: Instant,
    /// When the client may issue it: not before it was wanted, and not before the client was free. What it is issued
    /// later is our own lag; what lies between `intended` and this is the target's, all of whose clients were busy.
    pub may_issue: Instant,
}

/// What a client does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// This, when its time has come.
    Sequence(Assignment),
    /// Nothing more in this phase.
    Over,
}
