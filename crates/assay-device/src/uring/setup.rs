//! Sets up a ring: with everything that the kernel grants, and with a note for everything that it refuses.
//!
//! Flags of the first choice: one issuing thread, and completions delivered only when that thread asks
//! (`DEFER_TASKRUN`, Linux 6.1), so that no completion interrupts the work on another; `TASKRUN_FLAG` shows without a
//! system call that one is waiting. The ring starts disabled and belongs to the thread that uses it first, so that it
//! can be created in one thread and moved.

use crate::arena::Arena;
use crate::facts::EngineError;
use crate::open::Target;
use assay_base::{Code, Ticket};
use io_uring::{Builder, IoUring};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io;
use std::os::fd::AsRawFd;

/// Upper bound on the operations in flight: the kernel's limit of submission entries.
pub(super) const SLOTS_MOST: u32 = 32_768;

/// The kernel's limit for one registered buffer, in bytes.
const BUFFER_MOST: usize = 1 << 30;

/// The features that were granted in addition to the ring itself.
pub(super) struct Granted {
    /// Names of the set-up flags.
    pub flags: Vec<&'static str>,
    /// The ring is disabled until its thread enables it.
    pub starts_disabled: bool,
    /// Targets are registered.
    pub files: bool,
    /// `log2` of the slots per registered buffer; `None`: not registered.
    pub slots_per_buffer: Option<u32>,
    /// The features that were refused.
    pub notes: Vec<String>,
}

/// A set of flags to try.
struct Flags {
    names: &'static [&'static str],
    set: fn(&mut Builder),
    starts_disabled: bool,
}

/// Best first. The kernel answers EINVAL to a flag it does not know.
const CHOICES: [Flags; 3] = [
    Flags {
        names: &["SINGLE_ISSUER", "DEFER_TASKRUN", "TASKRUN_FLAG", "R_DISABLED", "SUBMIT_ALL"],
        set: |b| {
            b.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag().setup_r_disabled().setup_submit_all();
        },
        starts_disabled: true,
    },
    Flags {
        names: &["COOP_TASKRUN", "TASKRUN_FLAG", "SUBMIT_ALL"],
        set: |b| {
            b.setup_coop_taskrun().setup_taskrun_flag().setup_submit_all();
        },
        starts_disabled: false,
    },
    Flags { names: &[], set: |_| {}, starts_disabled: false },
];

/// Creates a ring for `arena.slots().count` operations in flight, with two entries for each where durable writes are
/// followed by a flush, and registers targets and memory with it.
pub(super) fn create_ring(targets: &[Target], arena: &Arena) -> Result<(IoUring, Granted), EngineError> {
    let count = arena.slot_layout().count;
    let flushes = targets.iter().any(|target| target.is_writable() && target.durable_requests().flushes_after());
    let most = if flushes { SLOTS_MOST / 2 } else { SLOTS_MOST };
    if count == 0 || count > most {
        return Err(EngineError::Slots { engine: "io_uring", asked: count, most });
    }
    let (ring, choice) = first_granted(if flushes { 2 * count } else { count })?;
    if !ring.params().is_feature_ext_arg() || !ring.params().is_feature_nodrop() {
        return Err(EngineError::Lacking { feature: "waiting with a timeout (EXT_ARG, Linux 5.11)" });
    }
    let mut notes = Vec::new();
    if choice.names != CHOICES[0].names {
        notes.push(
            "this kernel grants no deferred completions (Linux 6.1): they may interrupt the generator".to_owned(),
        );
    }
    let files = register_files(&ring, targets, &mut notes);
    let slots_per_buffer = register_buffers(&ring, arena, &mut notes);
    if flushes {
        flush_side_by_side(&ring, count, &mut notes);
    }
    let granted = Granted {
        flags: choice.names.to_vec(),
        starts_disabled: choice.starts_disabled,
        files,
        slots_per_buffer,
        notes,
    };
    Ok((ring, granted))
}

/// Tries the flags in order. Both queues have space for all slots, so that neither can overflow.
fn first_granted(count: u32) -> Result<(IoUring, &'static Flags), EngineError> {
    let entries = count.next_power_of_two();
    let mut last = Code(libc::EINVAL);
    for choice in &CHOICES {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_cqsize(entries.max(2));
        (choice.set)(&mut builder);
        let outcome = match builder.build(entries) {
            Err(e) if lacks_memory(&e) && raise_memlock() => builder.build(entries),
            outcome => outcome,
        };
        match outcome {
            Ok(ring) => return Ok((ring, choice)),
            Err(e) => last = error_number(&e),
        }
        if last.0 != libc::EINVAL {
            break;
        }
    }
    Err(EngineError::Refused { engine: "io_uring", call: "io_uring_setup", errno: last })
}

/// The error number of a failed system call.
pub(super) fn error_number(error: &io::Error) -> Code {
    Code(error.raw_os_error().unwrap_or(libc::EIO))
}

fn lacks_memory(error: &io::Error) -> bool {
    error_number(error) == Code(libc::ENOMEM)
}

/// A flush occupies a kernel thread, of which a ring has four per processor unless configured otherwise (Linux 5.15):
/// with as many threads as slots no flush waits for another, as none does in the threads engine.
fn flush_side_by_side(ring: &IoUring, count: u32, notes: &mut Vec<String>) {
    if let Err(e) = ring.submitter().register_iowq_max_workers(&mut [count, 0]) {
        let why = error_number(&e);
        notes.push(format!("the flushes behind durable writes may wait for each other: {why} (Linux 5.15)"));
    }
}

fn register_files(ring: &IoUring, targets: &[Target], notes: &mut Vec<String>) -> bool {
    let fds: Vec<_> = targets.iter().map(|target| target.borrow_fd().as_raw_fd()).collect();
    match ring.submitter().register_files(&fds) {
        Ok(()) => true,
        Err(e) => {
            notes.push(format!("targets are not registered with the ring: {} (ulimit -n)", error_number(&e)));
            false
        }
    }
}

/// Registers the arena; if necessary, raises the limit of locked memory as far as allowed.
fn register_buffers(ring: &IoUring, arena: &Arena, notes: &mut Vec<String>) -> Option<u32> {
    let per_buffer = slots_per_buffer(arena.slot_stride());
    let slots = arena.slot_layout();
    let pieces: Vec<libc::iovec> = (0..slots.count)
        .step_by(1 << per_buffer)
        .map(|first| libc::iovec {
            iov_base: arena.slot_start(Ticket(first)).cast(),
            iov_len: arena.slot_stride() * (slots.count - first).min(1 << per_buffer) as usize,
        })
        .collect();
    // SAFETY: the pieces are in the arena, which the engine keeps for as long as the kernel may use it (see its
    // `Drop`).
    let register = || unsafe { ring.submitter().register_buffers(&pieces) };
    let outcome = match register() {
        Err(e) if lacks_memory(&e) && raise_memlock() => register(),
        outcome => outcome,
    };
    match outcome {
        Ok(()) => Some(per_buffer),
        Err(e) => {
            let bytes = arena.slot_stride() as u64 * u64::from(slots.count);
            let why = error_number(&e);
            notes.push(format!(
                "buffers are not registered with the ring: {why} for {bytes} bytes (ulimit -l); each operation pins its memory anew"
            ));
            None
        }
    }
}

/// `log2` of how many slots of `stride` bytes fit into one registered buffer: a power of two, so that the buffer of a
/// slot is found by a shift.
fn slots_per_buffer(stride: usize) -> u32 {
    (BUFFER_MOST / stride).max(1).ilog2()
}

/// Raises the soft limit of locked memory to the hard one; false when it cannot be raised.
fn raise_memlock() -> bool {
    let limit = getrlimit(Resource::Memlock);
    let gain = limit.current.is_some() && limit.current != limit.maximum;
    gain && setrlimit(Resource::Memlock, rustix::process::Rlimit { current: limit.maximum, ..limit }).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_registered_buffer_never_exceeds_the_kernels_limit() {
        for stride in [4096, 8192, 12288, 131_072, 1 << 30] {
            let slots = 1_usize << slots_per_buffer(stride);
            assert!(slots * stride <= BUFFER_MOST && slots * stride * 2 > BUFFER_MOST / 2, "{stride}");
        }
    }
}
