//! What an engine gets, what it reports about itself for the log, and why it may fail to start: plain data shared by
//! all engines.

use assay_base::Code;
use std::fmt;

/// How many operations may be in flight at once, and the largest of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slots {
    /// Tickets are `0..count`.
    pub count: u32,
    /// How many further tickets there are, where the engine can make use of them: for requests that are prepared.
    pub spare: u32,
    /// Bytes of each slot's buffer; a longer operation is refused with EINVAL.
    pub bytes: u32,
}

/// The facts that the log states about the engine that carried a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EngineFacts {
    /// `io_uring`, `threads` or `null`.
    pub name: &'static str,
    /// The kernel's names of the ring's set-up flags that were granted.
    pub flags: Vec<&'static str>,
    /// Targets are registered with the ring.
    pub registered_files: bool,
    /// The slots' memory is pinned and registered with the ring.
    pub registered_buffers: bool,
    /// Threads that make system calls for the engine, besides the worker itself.
    pub threads: u32,
    /// Slots and their size.
    pub slots: Slots,
    /// The clock the stamps come from.
    pub clock: &'static str,
    /// What a reader of the result should know: what was refused and what was used instead.
    pub notes: Vec<String>,
}

/// The troubles between the engine and the kernel so far. All zero in a run without problems.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Health {
    /// Submissions the kernel asked to repeat (EAGAIN, EBUSY, EINTR, ENOMEM).
    pub submit_retries: u64,
    /// Operations that were handed over but that the kernel never processed.
    pub submissions_dropped: u32,
    /// Completions that the kernel had no space for.
    pub completions_overflowed: u32,
    /// Set when the kernel refused submissions permanently: from then on every operation completes with this error.
    pub refused: Option<Code>,
}

/// Why an engine could not be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EngineError {
    /// The kernel does not let us use the engine.
    Refused {
        /// The engine's name.
        engine: &'static str,
        /// The system call that failed.
        call: &'static str,
        /// Its error.
        errno: Code,
    },
    /// The kernel is too old for the engine.
    Lacking {
        /// The feature that is missing, with the kernel version that has it.
        feature: &'static str,
    },
    /// More operations in flight than the engine can hold.
    Slots {
        /// The engine's name.
        engine: &'static str,
        /// Number of slots asked for.
        asked: u32,
        /// Number of slots it can hold.
        most: u32,
    },
    /// No memory for the buffers.
    Memory {
        /// How many bytes were asked for.
        bytes: u64,
        /// The kernel's error.
        errno: Code,
    },
    /// The process may not have that many threads.
    Threads {
        /// How many were started before the refusal.
        started: u32,
        /// How many are needed.
        wanted: u32,
        /// The kernel's error.
        errno: Code,
    },
    /// The usual engine was refused, and the one to be used instead cannot carry the load either.
    Instead {
        /// Why the usual engine was refused.
        refused: Box<EngineError>,
        /// Why the other one is not possible.
        other: Box<EngineError>,
    },
}

impl EngineError {
    /// How many operations in flight the engine holds, where there are too many of them.
    pub fn slots_most(&self) -> Option<u32> {
        match self {
            EngineError::Slots { most, .. } => Some(*most),
            EngineError::Instead { other, .. } => other.slots_most(),
            _ => None,
        }
    }

    /// True when the kernel may have what is missing in a moment: the memory of rings that were closed is given back later.
    pub(crate) fn may_pass(&self) -> bool {
        matches!(self, EngineError::Refused { errno: Code(libc::ENOMEM | libc::EAGAIN), .. })
    }

    /// True when another engine may still work.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, EngineError::Refused { .. } | EngineError::Lacking { .. })
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Refused { engine, call, errno } => {
                write!(f, "{engine} is refused: {call} gave {errno}; {}", setup_advice(*errno))
            }
            EngineError::Lacking { feature } => {
                write!(f, "io_uring of this kernel lacks {feature}; use --engine threads")
            }
            EngineError::Slots { engine, asked, most } => {
                write!(
                    f,
                    "{asked} operations in flight are more than the engine {engine} holds; ask for {most} or fewer per worker"
                )
            }
            EngineError::Memory { bytes, errno } => {
                write!(
                    f,
                    "no memory for {bytes} bytes of buffers ({errno}); lower the operations in flight or their size"
                )
            }
            EngineError::Threads { started, wanted, errno } => write!(
                f,
                "only {started} of {wanted} threads could be started ({errno}); raise ulimit -u or the pids limit of the control group, or lower the operations in flight"
            ),
            EngineError::Instead { refused, other } => {
                write!(f, "{refused}\n  = the engine threads, which is used instead, is not possible either: {other}")
            }
        }
    }
}

impl std::error::Error for EngineError {}

/// The remedy for a refused `io_uring_setup`.
fn setup_advice(errno: Code) -> &'static str {
    match errno.0 {
        libc::EPERM => {
            "set sysctl kernel.io_uring_disabled=0, allow it in the container's seccomp profile, or use --engine threads"
        }
        libc::ENOSYS => "the kernel or the container's seccomp profile has none; use --engine threads",
        libc::ENOMEM => "raise ulimit -l, or use --engine threads",
        libc::EMFILE | libc::ENFILE => "raise ulimit -n, or use --engine threads",
        _ => "use --engine threads",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_says_what_and_what_to_do() {
        for (error, what, remedy) in [
            (
                EngineError::Refused { engine: "io_uring", call: "io_uring_setup", errno: Code(1) },
                "EPERM",
                "io_uring_disabled=0",
            ),
            (
                EngineError::Refused { engine: "io_uring", call: "io_uring_setup", errno: Code(38) },
                "ENOSYS",
                "--engine threads",
            ),
            (EngineError::Lacking { feature: "EXT_ARG (Linux 5.11)" }, "EXT_ARG", "--engine threads"),
            (EngineError::Slots { engine: "threads", asked: 5000, most: 1024 }, "5000", "1024 or fewer"),
            (EngineError::Memory { bytes: 1 << 40, errno: Code(12) }, "ENOMEM", "lower"),
            (EngineError::Threads { started: 3, wanted: 64, errno: Code(11) }, "3 of 64", "ulimit -u"),
            (
                EngineError::Instead {
                    refused: Box::new(EngineError::Refused {
                        engine: "io_uring",
                        call: "io_uring_setup",
                        errno: Code(12),
                    }),
                    other: Box::new(EngineError::Slots { engine: "threads", asked: 5000, most: 1024 }),
                },
                "io_uring is refused: io_uring_setup gave ENOMEM",
                "1024 or fewer",
            ),
        ] {
            let text = error.to_string();
            assert!(text.contains(what) && text.contains(remedy), "{text}");
        }
    }
}
