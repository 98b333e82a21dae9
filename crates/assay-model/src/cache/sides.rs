//! A load on both sides of a cache: what the application asks for, and what goes on to the target.

use super::behind::Behind;
use crate::joint::Joint;
use crate::plan::Plan;
use assay_base::{Geometry, Instant, Op};
use std::collections::BTreeMap;

/// Places are counted in parts of this many bytes.
const PART: u64 = 1 << 20;

/// The target is divided into so many equal stretches.
const STRETCHES: u64 = 20;

/// What the operations of a stream were.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Did {
    /// How many.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of each size.
    pub sizes: BTreeMap<u32, u64>,
    /// How many began in each twentieth of the target.
    pub stretches: [u64; STRETCHES as usize],
}

/// What lies on one side of the cache.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// What the operations of each stream were, by its place in the plan.
    pub streams: BTreeMap<u16, Did>,
    /// Operations that began in each MiB of the target.
    parts: BTreeMap<u64, u64>,
}

/// A load on both sides of a cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides {
    /// What the application asks for.
    pub application: Side,
    /// What goes on to the target.
    pub target: Side,
    /// Operations of the application that were followed, and for how long it asked for them, in seconds.
    pub operations: u64,
    /// See `operations`.
    pub seconds: f64,
    /// Blocks that were read, and those of them that were in the cache.
    pub read: (u64, u64),
}

impl Side {
    fn add(&mut self, stream: u16, op: &Op, size: u64) {
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

/// The first `operations` of a load on its first target. The error says why there are none.
pub fn sides(plan: &Plan, geometries: &[Geometry], operations: u64) -> Result<Sides, String> {
    let mut behind = Behind::new(plan, 0, geometries, Instant::ZERO)?;
    let size = geometries.first().map_or(0, |geometry| geometry.size);
    let (mut application, mut target) = (Side::default(), Side::default());
    let (mut followed, mut last) = (0, Instant::ZERO);
    while let Some((wanted, stream, op)) = (followed < operations).then(|| behind.step()).flatten() {
        (followed, last) = (followed + 1, wanted);
        application.add(stream, &op, size);
        while let Some(next) = behind.take() {
            target.add(next.stream, &next.op, size);
        }
    }
    let seconds = last.since(Instant::ZERO).as_secs_f64();
    Ok(Sides { application, target, operations: followed, seconds, read: behind.read() })
}
