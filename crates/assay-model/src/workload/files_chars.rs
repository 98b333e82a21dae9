//! `chars = true`: two more phases behind all others, in which one file is written and read byte by byte, each byte with a
//! call of its own. That tests the processor and the system calls of the kernel, and hardly the storage.

use super::source::Source;
use crate::files::{FilesPhase, Operation, Sequence, Tree, Until};
use assay_base::{Bytes, Fault};
use std::ops::Range;

/// How many bytes are written and read: as many as bonnie++ 2.00a takes for its tests by character.
const SIZE: Bytes = Bytes::from_kib(20 << 10);
/// The names of the phases.
const WRITE: &str = "write-chars";
const READ: &str = "read-chars";

/// Whether the two phases fit behind those of the file.
pub(super) fn check(source: Source<'_>, place: Range<usize>, tree: &Tree, phases: &[FilesPhase]) -> Result<(), Fault> {
    if phases.is_empty() {
        let what = "chars adds phases behind those of the file, and there are none";
        return source.refuse_span(place, what, "write a [[phase]], or remove chars");
    }
    if !tree.empty || tree.files == 0 {
        let what = "chars makes a file, and those of the tree are there already";
        return source.refuse_span(place, what, "write empty = true and files = 1 or more in [tree], or remove chars");
    }
    match phases.iter().find(|phase| [WRITE, READ].contains(&phase.name.as_str())) {
        Some(phase) => {
            let what = format!("chars adds a phase {}, and one has this name", phase.name);
            source.refuse_span(place, what, "give your phase another name, or remove chars")
        }
        None => Ok(()),
    }
}

/// One file written byte by byte, and read byte by byte.
pub(super) fn phases_of_chars() -> [FilesPhase; 2] {
    let write = [Operation::Create, Operation::Write, Operation::Fsync, Operation::Close];
    let write = Sequence { size: Some(SIZE), ..Sequence::new("write-by-byte", &write, 1) };
    let read = Sequence::new("read-by-byte", &[Operation::Open, Operation::Read, Operation::Close], 1);
    [phase_of_bytes(WRITE, write), phase_of_bytes(READ, read)]
}

fn phase_of_bytes(name: &str, sequence: Sequence) -> FilesPhase {
    FilesPhase {
        name: name.to_owned(),
        until: Until::Done,
        files: Some(1),
        sequences: vec![Sequence { io: Some(Bytes::new(1)), ..sequence }],
        ..FilesPhase::default()
    }
}
