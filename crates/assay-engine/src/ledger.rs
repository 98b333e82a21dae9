//! What a run has written where: one word for each unit of each target, shared by all workers.
//!
//! The words are allocated before the run begins, so that nothing is allocated during the run.

use crate::unit::Unit;
use assay_base::Geometry;
use assay_model::Plan;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Upper bound on the units that one operation covers.
pub(crate) fn stride(plan: &Plan, block: u32) -> u64 {
    plan.largest_operation(block).div_ceil(plan.unit(block)) + 1
}

/// What is known about all targets of one run.
#[derive(Debug)]
pub struct Ledger {
    books: Vec<TargetLedger>,
    /// Number of workers that still write.
    writing: AtomicU32,
    /// Set when a worker ended otherwise than at the end of its schedule.
    cut: AtomicBool,
}

/// One target.
#[derive(Debug)]
pub(crate) struct TargetLedger {
    /// Its number in every seal.
    pub mark: u32,
    /// Bytes of a granule.
    pub granule: u32,
    /// Usable bytes.
    size: u64,
    /// Bytes of a unit, as a power of two.
    shift: u32,
    units: Box<[AtomicU64]>,
    /// Bytes of one read of the read-back, and the place where it continues.
    chunk: u64,
    next: AtomicU64,
}

/// One target of a plan that verifies.
#[derive(Clone, Copy, Debug)]
pub struct Verified {
    /// Size and block size.
    pub geometry: Geometry,
    /// Number that identifies it in every seal: the same in later runs on the same target.
    pub mark: u32,
}

impl Ledger {
    /// Bytes of memory that the words of a run on such targets take: those of the targets, and the copies kept for
    /// operations in flight. `None` when the blocks of a target cannot be sealed.
    pub fn bytes(plan: &Plan, targets: &[Geometry]) -> Option<u64> {
        let of = |geometry: &Geometry| {
            plan.granule(geometry.block)?;
            let units = geometry.size.div_ceil(plan.unit(geometry.block));
            let copies = plan.slots().checked_mul(stride(plan, geometry.block))?;
            units.checked_add(copies)?.checked_mul(size_of::<u64>() as u64)
        };
        targets.iter().try_fold(0u64, |sum, geometry| sum.checked_add(of(geometry)?))
    }

    /// The ledger of a run with `workers` workers; `None` as for [`Ledger::bytes`].
    pub fn new(plan: &Plan, targets: &[Verified], workers: u32) -> Option<Ledger> {
        let book = |target: &Verified| {
            let Geometry { size, block } = target.geometry;
            let unit = plan.unit(block);
            Some(TargetLedger {
                mark: target.mark,
                granule: plan.granule(block)? as u32,
                size,
                shift: unit.trailing_zeros(),
                units: (0..size.div_ceil(unit)).map(|_| AtomicU64::new(0)).collect(),
                chunk: plan.largest_operation(block),
                next: AtomicU64::new(0),
            })
        };
        let books = targets.iter().map(book).collect::<Option<_>>()?;
        Some(Ledger { books, writing: AtomicU32::new(workers), cut: AtomicBool::new(false) })
    }

    pub(crate) fn book(&self, target: u16) -> &TargetLedger {
        &self.books[usize::from(target)]
    }

    /// A worker has finished writing and, if not `whole`, left operations in flight or undone. True for the last
    /// worker, when everything can be read back.
    pub(crate) fn written(&self, whole: bool) -> bool {
        if !whole {
            self.cut.store(true, Ordering::Release);
        }
        self.writing.fetch_sub(1, Ordering::AcqRel) == 1 && !self.cut.load(Ordering::Acquire)
    }
}

impl TargetLedger {
    /// Index of the unit that contains byte `offset`.
    #[inline]
    pub(crate) fn index(&self, offset: u64) -> usize {
        (offset >> self.shift) as usize
    }

    /// Indices of the units of an operation.
    #[inline]
    pub(crate) fn indexes(&self, offset: u64, len: u64) -> std::ops::RangeInclusive<usize> {
        self.index(offset)..=self.index(offset + len - 1)
    }

    /// The state of a unit.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Unit {
        Unit::from_word(self.units[index].load(Ordering::Acquire))
    }

    /// Changes a unit, and returns its new state.
    #[inline]
    pub(crate) fn change(&self, index: usize, rule: impl Fn(Unit) -> Unit) -> Unit {
        let word = &self.units[index];
        let mut held = word.load(Ordering::Acquire);
        loop {
            let new = rule(Unit::from_word(held));
            match word.compare_exchange_weak(held, new.word(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return new,
                Err(now) => held = now,
            }
        }
    }

    /// The next range to read back: offset and length. Searches no more than `most` places; `Err(true)` when more
    /// places remain to be searched, `Err(false)` when nothing is left.
    pub(crate) fn next_written(&self, most: u64) -> Result<(u64, u32), bool> {
        for _ in 0..most {
            let offset = self.next.fetch_add(self.chunk, Ordering::Relaxed);
            if offset >= self.size {
                return Err(false);
            }
            let len = self.chunk.min(self.size - offset);
            if self.indexes(offset, len).any(|index| self.get(index).was_written()) {
                return Ok((offset, len as u32));
            }
        }
        Err(true)
    }
}
