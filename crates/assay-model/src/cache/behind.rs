//! What a target sees of a load when a cache lies in front of it: the operations of all streams of a target pass
//! through a simulated cache in the order of their intended times. Reads that miss go on to the target as whole blocks
//! of the cache, adjacent blocks as one operation. Writes go on as they are, or stay in the cache until their block is
//! evicted; then the block is written, together with adjacent evicted blocks. Operations on what no cache takes, such as
//! the log of an OLTP load, go on as they are.
//!
//! No data are kept. When a block that was only partly written is evicted, a real cache would first have to read the
//! rest of it; this is not modelled.

use super::Writes;
use super::meant::{EVICTIONS, LONGEST_EVICTION, Onward};
use super::simulated::Cache;
use super::taken::{CacheDecision, block_names};
use super::trace::Trace;
use crate::joint::{DrawnOperations, IntendedOperation, Joint};
use crate::plan::Plan;
use assay_base::cached::{Ranges, SEGMENT};
use assay_base::{Direction, Geometry, Instant, Op};

/// What goes on to one target behind its simulated cache.
#[derive(Debug)]
pub struct LoadBehindCache {
    trace: Trace,
    cache: Cache,
    /// What the cache takes.
    ranges: Ranges,
    block: u64,
    size: u64,
    target: u16,
    writes: Onward,
    /// The stream of the writes of evicted blocks, by its position in the plan.
    evictions: u16,
    drawn: DrawnOperations,
    /// Adjacent evicted blocks that are not written yet: the first one, and the one after the last.
    leaving: Option<(u64, u64)>,
    /// How many blocks were read, and how many of them were in the cache.
    read: (u64, u64),
}

impl LoadBehindCache {
    /// What goes on to `target` from `start` on; `geometries` are those of all targets. The error says why the load
    /// cannot be followed.
    pub fn new(plan: &Plan, target: u16, geometries: &[Geometry], start: Instant) -> Result<LoadBehindCache, String> {
        let caching = plan.caches.simulated.as_ref().ok_or("the plan has no cache")?;
        let geometry = *geometries.get(usize::from(target)).ok_or("the target has no size")?;
        let allocates = if caching.writes == Onward::Around { Writes::Around } else { Writes::Allocate };
        let evictions = plan.load.streams.iter().position(|stream| stream.name == EVICTIONS);
        let block = caching.block_on(geometry.block);
        let bytes = u32::try_from(block).map_err(|_| "the blocks of the cache are too large")?;
        let mut behind = LoadBehindCache {
            trace: Trace::of_target(plan, target, geometries, start)?,
            cache: Cache::new(
                caching.policy,
                allocates,
                caching.capacity_blocks(geometry.block),
                u64::from(SEGMENT.div_ceil(bytes)),
            ),
            ranges: Ranges::new(&plan.load.cacheable_ranges(geometries)?, plan.load.targets, bytes),
            block,
            size: geometry.size,
            target,
            writes: caching.writes,
            evictions: evictions.unwrap_or(0) as u16,
            drawn: DrawnOperations::new(start),
            leaving: None,
            read: (0, 0),
        };
        behind.warm_cache(plan, geometries, caching.warm)?;
        Ok(behind)
    }

    /// Fills the cache with operations that are not part of the run, drawn from another seed.
    fn warm_cache(&mut self, plan: &Plan, geometries: &[Geometry], operations: u64) -> Result<(), String> {
        let mut before = plan.clone();
        before.load.seed ^= operations.rotate_left(32);
        let mut trace = Trace::of_target(&before, self.target, geometries, Instant::ZERO)?;
        let (reached, leaving) = (self.drawn.reached, self.leaving);
        for _ in 0..operations {
            let Some((_, _, op)) = trace.next_wanted() else { break };
            self.pass_operation(reached, 0, op);
            self.drawn.waiting.clear();
        }
        (self.leaving, self.read) = (leaving, (0, 0));
        Ok(())
    }

    /// Passes the next operation through the cache, and returns its intended time, its stream and the operation.
    pub fn pass_next(&mut self) -> Option<(Instant, u16, Op)> {
        let next = self.trace.next_wanted();
        self.drawn.reached = next.map_or(Instant::FAR, |(wanted, ..)| wanted);
        let (wanted, stream, op) = next?;
        self.pass_operation(wanted, stream, op);
        next
    }

    /// How many blocks were read so far, and how many of them were in the cache.
    pub fn read_counts(&self) -> (u64, u64) {
        self.read
    }

    /// Passes one operation through the cache, or on to the target if the cache does not take all of it.
    fn pass_operation(&mut self, wanted: Instant, stream: u16, op: Op) {
        let touched = match CacheDecision::new(self.cache.eviction_policy(), &self.ranges, &op) {
            CacheDecision::Blocks(touched) => touched,
            taken => {
                if let CacheDecision::Removed(touched) = taken {
                    block_names(touched).for_each(|block| self.cache.forget_block(block));
                    self.take_evicted(wanted);
                }
                return self.drawn.waiting.push_back(IntendedOperation { wanted, stream, op });
            }
        };
        let first = op.offset / self.block;
        let stays = op.direction == Direction::Write && self.writes == Onward::Back;
        // Adjacent blocks that miss: the first one, and the one after the last.
        let mut missing: Option<(u64, u64)> = None;
        for block in first..first + u64::from(touched.count) {
            let hit = self.cache.pass_access(block, op.direction, stays);
            self.take_evicted(wanted);
            if op.direction == Direction::Write {
                continue;
            }
            self.read = (self.read.0 + 1, self.read.1 + u64::from(hit));
            if hit {
                continue;
            }
            missing = match missing {
                Some((first, behind)) if behind == block => Some((first, block + 1)),
                other => {
                    self.pass_read(wanted, stream, op, other);
                    Some((block, block + 1))
                }
            };
        }
        self.pass_read(wanted, stream, op, missing);
        if op.direction == Direction::Write && !stays {
            self.drawn.waiting.push_back(IntendedOperation { wanted, stream, op });
        }
    }

    fn pass_read(&mut self, wanted: Instant, stream: u16, op: Op, missing: Option<(u64, u64)>) {
        let Some((first, behind)) = missing else { return };
        let (offset, len) = self.byte_range(first, behind);
        self.drawn.waiting.push_back(IntendedOperation { wanted, stream, op: Op { offset, len, ..op } });
    }

    /// Offset and length in bytes of the blocks from `first` to before `behind`. The last block of the target may be
    /// shorter than the others.
    fn byte_range(&self, first: u64, behind: u64) -> (u64, u32) {
        let offset = first * self.block;
        (offset, ((behind * self.block).min(self.size) - offset) as u32)
    }

    fn take_evicted(&mut self, wanted: Instant) {
        while let Some(evicted) = self.cache.next_evicted() {
            self.evict_dirty(wanted, evicted);
        }
    }

    /// Takes a dirty block that is evicted. Adjacent ones are collected; they are written when one comes that is not
    /// adjacent, or when they have the largest size.
    fn evict_dirty(&mut self, wanted: Instant, block: u64) {
        let longest = (LONGEST_EVICTION / self.block).max(1);
        match &mut self.leaving {
            Some((first, behind)) if *behind == block && *behind - *first < longest => *behind += 1,
            leaving => {
                let (one, target) = (leaving.replace((block, block + 1)), self.target);
                let Some((first, behind)) = one else { return };
                let (offset, len) = self.byte_range(first, behind);
                let op = Op { target, direction: Direction::Write, durable: false, offset, len };
                self.drawn.waiting.push_back(IntendedOperation { wanted, stream: self.evictions, op });
            }
        }
    }
}

impl Joint for LoadBehindCache {
    fn drawn_operations(&self) -> &DrawnOperations {
        &self.drawn
    }

    fn drawn_mut(&mut self) -> &mut DrawnOperations {
        &mut self.drawn
    }

    fn draw_next(&mut self) -> bool {
        self.pass_next().is_some()
    }
}

#[cfg(test)]
#[path = "behind_tests.rs"]
mod tests;
