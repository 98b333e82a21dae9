//! The memory that operations read into and write from: one page-aligned mapping, divided into equal slots.
//!
//! It is one mapping, because the kernel pins few, large pieces when such a mapping is registered. It is faulted in at
//! the start, because a page fault during a run would be counted as the device's time.

use crate::facts::{EngineError, Slots};
use crate::probe::available_memory;
use crate::safety::Roots;
use assay_base::{Code, Ticket};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::{self, NonNull};

/// Slots begin on multiples of this: the largest alignment that direct I/O requires anywhere (4 KiB logical blocks).
const ALIGN: usize = 4096;

/// Up to this many bytes are mapped without a check how much memory is available.
const LARGE: u64 = 64 << 20;

/// The slots' memory. The code that hands out access guarantees that only one side uses a slot at a time.
pub(crate) struct Arena {
    start: NonNull<u8>,
    slots: Slots,
    stride: usize,
}

// SAFETY: the mapping belongs only to this value and is not tied to a thread; access follows the slot rule above.
unsafe impl Send for Arena {}
// SAFETY: as above; `Arena` itself only returns addresses.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps memory for `slots`. Fails if there is not enough: the kernel would grant more than it has, and later end
    /// this program or another one.
    pub(crate) fn new(slots: Slots) -> Result<Arena, EngineError> {
        let stride = (slots.bytes as usize).next_multiple_of(ALIGN).max(ALIGN);
        let len = stride.saturating_mul(slots.count.max(1) as usize);
        let fault = |e: rustix::io::Errno| EngineError::Memory { bytes: len as u64, errno: Code(e.raw_os_error()) };
        let has = if len as u64 > LARGE { available_memory(&Roots::of_machine()) } else { None };
        if has.is_some_and(|has| len as u64 > has) {
            return Err(fault(rustix::io::Errno::NOMEM));
        }
        // SAFETY: a new private mapping at an address that the kernel chooses affects no existing memory.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }
                .map_err(fault)?;
        let arena =
            Arena { start: NonNull::new(start.cast()).ok_or_else(|| fault(rustix::io::Errno::NOMEM))?, slots, stride };
        // SAFETY: both hints concern our own new mapping; huge pages are only requested, and a refusal costs only
        // speed.
        unsafe {
            let _ = madvise(start, len, Advice::LinuxHugepage);
            match madvise(start, len, Advice::LinuxPopulateWrite) {
                Err(e) if e == rustix::io::Errno::NOMEM => return Err(fault(e)),
                _ => {}
            }
        }
        Ok(arena)
    }

    /// Number and size of the slots.
    pub(crate) fn slot_layout(&self) -> Slots {
        self.slots
    }

    /// Distance between the beginnings of two slots, in bytes.
    pub(crate) fn slot_stride(&self) -> usize {
        self.stride
    }

    /// The beginning of the slot of `ticket`; valid for `slots.bytes` bytes as long as the arena lives.
    #[inline]
    pub(crate) fn slot_start(&self, ticket: Ticket) -> *mut u8 {
        assert!(ticket.0 < self.slots.count, "tickets are dense: 0..slots");
        // SAFETY: the slot lies within the mapping, as just asserted.
        unsafe { self.start.as_ptr().add(ticket.0 as usize * self.stride) }
    }

    /// The slot's memory, through the exclusive borrow of its owner.
    pub(crate) fn slot_bytes(&mut self, ticket: Ticket) -> &mut [u8] {
        // SAFETY: the range is mapped, initialised by the kernel with zeros, and borrowed through `&mut self`.
        unsafe { std::slice::from_raw_parts_mut(self.slot_start(ticket), self.slots.bytes as usize) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let len = self.stride * self.slots.count.max(1) as usize;
        // SAFETY: `new` made the mapping with this length, and no slot is in use any more. A failure would only leave
        // the memory mapped until the process ends.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), len) };
    }
}
