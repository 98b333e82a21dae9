//! What a run has written where: one word for each unit of each target, shared by all workers.
//!
//! The words are allocated before the run begins, so that nothing is allocated during the run.

use crate::verify::unit::Unit;
use assay_base::Geometry;
use assay_model::Plan;
use assay_model::regions::Region;
use assay_model::source::{NextWritten, WrittenPlaces};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Upper bound on the units that one operation covers: those of the smallest unit, and one more at each border.
fn units_per_operation(plan: &Plan, block: u32, regions: &[Region]) -> u64 {
    let smallest = regions.iter().map(|region| region.unit).min().unwrap_or(1);
    plan.largest_operation(block).div_ceil(smallest) + regions.len() as u64
}

/// A region of a target, and the number of the first of its units.
#[derive(Clone, Copy, Debug)]
struct NumberedRegion {
    region: Region,
    first: usize,
    /// Bytes of a unit, as a power of two.
    shift: u32,
}

impl NumberedRegion {
    /// Where the unit with this number begins.
    fn offset_of(&self, unit: usize) -> u64 {
        self.region.begin + ((unit - self.first) as u64) * self.region.unit
    }
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
    /// One behind the other, from the first byte to the last.
    regions: Box<[NumberedRegion]>,
    units: Box<[AtomicU64]>,
    /// Upper bound on the units that one operation covers.
    stride: u64,
    /// Most bytes of one read of the read-back, and the unit where it continues.
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
    pub fn memory_bytes(plan: &Plan, targets: &[Geometry]) -> Option<u64> {
        let mut sum = 0u64;
        for ((target, geometry), bounds) in (0..).zip(targets).zip(plan.load.lane_bounds()) {
            plan.load.common_granule(geometry.block)?;
            let regions = plan.target_regions(target, *geometry);
            let units: u64 = regions.iter().map(Region::unit_count).sum();
            let slots: u64 = bounds.into_iter().map(u64::from).sum();
            let copies = slots.checked_mul(units_per_operation(plan, geometry.block, &regions))?;
            sum = sum.checked_add(units.checked_add(copies)?.checked_mul(size_of::<u64>() as u64)?)?;
        }
        Some(sum)
    }

    /// The ledger of a run with `workers` workers; `None` as for [`Ledger::memory_bytes`].
    pub fn new(plan: &Plan, targets: &[Verified], workers: u32) -> Option<Ledger> {
        let all = (0..).zip(targets);
        let books = all.map(|(index, target)| TargetLedger::new(plan, index, target)).collect::<Option<_>>()?;
        Some(Ledger { books, writing: AtomicU32::new(workers), cut: AtomicBool::new(false) })
    }

    /// Upper bound on the units that one operation covers, on any target.
    pub(crate) fn units_per_operation(&self) -> usize {
        self.books.iter().map(|book| book.stride).max().unwrap_or(1) as usize
    }

    pub(crate) fn target_ledger(&self, target: u16) -> &TargetLedger {
        &self.books[usize::from(target)]
    }

    /// A worker has finished writing and, if not `whole`, left operations in flight or undone. True for the last
    /// worker, when everything can be read back.
    pub(crate) fn note_writer_finished(&self, whole: bool) -> bool {
        if !whole {
            self.cut.store(true, Ordering::Release);
        }
        self.writing.fetch_sub(1, Ordering::AcqRel) == 1 && !self.cut.load(Ordering::Acquire)
    }
}

impl WrittenPlaces for Ledger {
    fn next_written(&self, target: u16, most: u64) -> NextWritten {
        self.target_ledger(target).next_written(most)
    }
}

impl TargetLedger {
    /// The ledger of target number `index`, with nothing written; `None` if its blocks cannot be sealed.
    fn new(plan: &Plan, index: u16, target: &Verified) -> Option<TargetLedger> {
        let block = target.geometry.block;
        let regions = plan.target_regions(index, target.geometry);
        let (mut numbered, mut first) = (Vec::with_capacity(regions.len()), 0);
        for region in &regions {
            numbered.push(NumberedRegion { region: *region, first, shift: region.unit.trailing_zeros() });
            first += region.unit_count() as usize;
        }
        Some(TargetLedger {
            mark: target.mark,
            granule: plan.load.common_granule(block)? as u32,
            regions: numbered.into(),
            units: (0..first).map(|_| AtomicU64::new(0)).collect(),
            stride: units_per_operation(plan, block, &regions),
            chunk: plan.largest_operation(block),
            next: AtomicU64::new(0),
        })
    }

    /// Index of the unit that contains byte `offset`.
    #[inline]
    pub(crate) fn unit_index(&self, offset: u64) -> usize {
        let here = self.region_at(offset);
        here.first + ((offset - here.region.begin) >> here.shift) as usize
    }

    /// The region that contains byte `offset`.
    #[inline]
    fn region_at(&self, offset: u64) -> &NumberedRegion {
        // Most targets have one region, and the others a few.
        let last = self.regions.len() - 1;
        self.regions[..last].iter().find(|numbered| offset < numbered.region.end).unwrap_or(&self.regions[last])
    }

    /// Whether a write of `len` bytes at `offset` begins where a unit begins and ends where one ends.
    #[inline]
    pub(crate) fn is_whole(&self, offset: u64, len: u64) -> bool {
        let (first, last, end) = (self.region_at(offset).region, self.region_at(offset + len - 1).region, offset + len);
        let ends = end == last.end || (end - last.begin) & (last.unit - 1) == 0;
        (offset - first.begin) & (first.unit - 1) == 0 && ends && end <= last.end
    }

    /// Indices of the units of an operation.
    #[inline]
    pub(crate) fn unit_indexes(&self, offset: u64, len: u64) -> std::ops::RangeInclusive<usize> {
        self.unit_index(offset)..=self.unit_index(offset + len - 1)
    }

    /// The state of a unit.
    #[inline]
    pub(crate) fn unit_at(&self, index: usize) -> Unit {
        Unit::from_word(self.units[index].load(Ordering::Acquire))
    }

    /// Changes a unit, and returns its new state.
    #[inline]
    pub(crate) fn change_unit(&self, index: usize, rule: impl Fn(Unit) -> Unit) -> Unit {
        let word = &self.units[index];
        let mut held = word.load(Ordering::Acquire);
        loop {
            let new = rule(Unit::from_word(held));
            match word.compare_exchange_weak(held, new.encoded_word(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return new,
                Err(now) => held = now,
            }
        }
    }

    /// The next range to read back. Searches no more than `most` units. One worker reads back, when all have written.
    fn next_written(&self, most: u64) -> NextWritten {
        let begin = self.next.load(Ordering::Relaxed) as usize;
        let until = self.units.len().min(begin.saturating_add(most as usize));
        let found =
            (begin..until).find(|index| self.region_of(*index).region.all || self.unit_at(*index).was_written());
        let Some(found) = found else {
            self.next.store(until as u64, Ordering::Relaxed);
            return if until < self.units.len() { NextWritten::SearchFurther } else { NextWritten::NoMore };
        };
        let (here, written) = (self.region_of(found), self.unit_at(found).was_written());
        // What the run has written is read apart from what it has not, because nothing is certain about the latter.
        let most = (self.chunk / here.region.unit).max(1) as usize;
        let end = self.units.len().min(found + most).min(here.first + here.region.unit_count() as usize);
        let next = (found + 1..end).find(|index| self.unit_at(*index).was_written() != written).unwrap_or(end);
        self.next.store(next as u64, Ordering::Relaxed);
        let len = here.offset_of(next).min(here.region.end) - here.offset_of(found);
        NextWritten::Range { offset: here.offset_of(found), len: len.min(self.chunk) as u32 }
    }

    /// The region of a unit.
    fn region_of(&self, index: usize) -> &NumberedRegion {
        let after = self.regions.partition_point(|numbered| numbered.first <= index);
        &self.regions[after.max(1) - 1]
    }
}
