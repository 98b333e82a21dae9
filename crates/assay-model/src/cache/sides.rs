//! A load on both sides of a cache: what the application asks for, and what goes on to the target.

use super::behind::LoadBehindCache;
use crate::joint::Joint;
use crate::plan::Plan;
use assay_base::{Geometry, Instant, Op};
use std::collections::BTreeMap;

/// Operations are counted by the part of this many bytes in which they begin.
const PART: u64 = 1 << 20;

/// The number of equal stretches into which the target is divided.
const STRETCHES: u64 = 20;

/// Figures of the operations of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Did {
    /// The number of operations.
    pub operations: u64,
    /// Total bytes of these operations.
    pub bytes: u64,
    /// The number of operations of each size in bytes.
    pub sizes: BTreeMap<u32, u64>,
    /// The number of operations that began in each twentieth of the target.
    pub stretches: [u64; STRETCHES as usize],
}

/// The load on one side of the cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// Figures of each stream, by its position in the plan.
    pub streams: BTreeMap<u16, Did>,
    /// The number of operations that began in each MiB of the target.
    parts: BTreeMap<u64, u64>,
}

/// A load on both sides of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    /// What the application asks for.
    pub application: Side,
    /// What goes on to the target.
    pub target: Side,
    /// The number of the application's operations that were followed.
    pub operations: u64,
    /// The time in seconds over which the application asks for these operations.
    pub seconds: f64,
    /// How many blocks were read, and how many of them were in the cache.
    pub read: (u64, u64),
}

impl Side {
    fn add_operation(&mut self, stream: u16, op: &Op, size: u64) {
        let of = self.streams.entry(stream).or_default();
        (of.operations, of.bytes) = (of.operations + 1, of.bytes + u64::from(op.len));
        *of.sizes.entry(op.len).or_default() += 1;
        let stretch = u128::from(op.offset) * u128::from(STRETCHES) / u128::from(size.max(1));
        of.stretches[(stretch as usize).min(STRETCHES as usize - 1)] += 1;
        *self.parts.entry(op.offset / PART).or_default() += 1;
    }

    /// The share of the operations that go to the busiest tenth of the places that are used at all; 0 to 1.
    pub fn busiest_tenth(&self) -> f64 {
        let mut counts: Vec<u64> = self.parts.values().copied().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let (all, tenth): (u64, usize) = (counts.iter().sum(), counts.len().div_ceil(10));
        counts.iter().take(tenth).sum::<u64>() as f64 / all.max(1) as f64
    }
}

/// Both sides of the cache for the first `operations` operations of a load on its first target. The error says why the
/// load cannot be followed.
pub fn sides_of_cache(plan: &Plan, geometries: &[Geometry], operations: u64) -> Result<Sides, String> {
    let mut behind = LoadBehindCache::new(plan, 0, geometries, Instant::ZERO)?;
    let size = geometries.first().map_or(0, |geometry| geometry.size);
    let (mut application, mut target) = (Side::default(), Side::default());
    let (mut followed, mut last) = (0, Instant::ZERO);
    while let Some((wanted, stream, op)) = (followed < operations).then(|| behind.pass_next()).flatten() {
        (followed, last) = (followed + 1, wanted);
        application.add_operation(stream, &op, size);
        while let Some(next) = behind.take_operation() {
            target.add_operation(next.stream, &next.op, size);
        }
    }
    let seconds = last.since(Instant::ZERO).as_secs_f64();
    Ok(Sides { application, target, operations: followed, seconds, read: behind.read_counts() })
}
