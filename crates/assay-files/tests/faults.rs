//! Errors that are put into the calls of a script: before a call has done anything, after it has, or in the middle of it.

use crate::memory_tree::MemoryTree;
use assay_base::{Code, Prng};
use assay_files::script::{Call, Payload};
use assay_model::files::Operation;

/// One of so many calls fails.
const EVERY: u64 = 60;
/// EPERM, ENOENT, EIO, ENOMEM, EACCES, EEXIST, ENFILE, EMFILE, ENOSPC, EROFS, EMLINK, ENODATA, ETIMEDOUT, ESTALE, EDQUOT.
const CODES: [i32; 15] = [1, 2, 5, 12, 13, 17, 23, 24, 28, 30, 31, 61, 110, 116, 122];

/// Draws which calls fail, and how.
pub(crate) struct Faults {
    prng: Prng,
    /// Only the first call of this kind fails, and nothing of it is done.
    first: Option<Operation>,
    every: u64,
}

/// How a call fails.
pub(crate) enum Fault {
    /// Nothing was done.
    Before(Code),
    /// It was done, and the answer was lost.
    After(Code),
    /// So many bytes were moved.
    Short(u64),
}

impl Faults {
    pub(crate) fn new(seed: u64) -> Faults {
        Faults { prng: Prng::for_path(seed, &[7]), first: None, every: EVERY }
    }

    /// The first open fails, and nothing else.
    pub(crate) fn at_first_open() -> Faults {
        Faults { first: Some(Operation::Open), every: u64::MAX, ..Faults::new(1) }
    }

    /// What happens to a call; `None` where it goes well.
    pub(crate) fn draw_fault(&mut self, call: &Call) -> Option<Fault> {
        if self.first == Some(call.operation) {
            self.first = None;
            return Some(Fault::Before(Code::EIO));
        }
        if self.prng.uniform_below(self.every) > 0 {
            return None;
        }
        let code = Code(CODES[self.prng.uniform_below(CODES.len() as u64) as usize]);
        let may_be_short = call.operation.moves_bytes() && !matches!(call.payload, Payload::Record(_));
        match self.prng.uniform_below(3) {
            0 if may_be_short && call.length > 0 => Some(Fault::Short(self.prng.uniform_below(call.length))),
            // What is not there cannot have been worked on, and what is there already was not made.
            1 if !matches!(code, Code::ENOENT | Code::EEXIST) && !is_record(call) => Some(Fault::After(code)),
            _ => Some(Fault::Before(code)),
        }
    }
}

fn is_record(call: &Call) -> bool {
    matches!(call.payload, Payload::Record(_))
}

impl Fault {
    /// Carries out as much of a call as the fault says.
    pub(crate) fn apply(self, tree: &mut MemoryTree, client: u32, call: &Call) -> Result<u64, Code> {
        match self {
            Fault::Short(length) => tree.call(client, &Call { length, ..call.clone() }),
            Fault::After(code) if call.operation == Operation::Open => Err(code),
            Fault::After(code) => {
                tree.call(client, call)?;
                if call.operation == Operation::Create {
                    tree.forget_slot(client, call.slot);
                }
                Err(code)
            }
            // A descriptor is gone after close, whatever it says.
            Fault::Before(code) => {
                if call.operation == Operation::Close {
                    tree.call(client, call)?;
                }
                Err(code)
            }
        }
    }
}
