//! Blocks that were never used before, which are sure misses in any cache: the places of a target in a keyed order,
//! each once. A known part of the operations returns to the most recent places, which are sure hits in a cache that
//! holds them.
//!
//! With probability `share` an operation returns to a recent place, uniform over the last `of_last` bytes. Of several
//! workers, each takes every n-th place of the common order and returns to its own places.

use super::grid::Grid;
use super::order::Order;
use crate::arrival::Part;
use assay_base::{Bytes, Prng, Share};
use serde::{Deserialize, Serialize};

/// The operations that return to recent places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reread {
    /// Share of the operations that return.
    pub share: Share,
    /// The size of the most recent places that they return to.
    pub of_last: Bytes,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Fresh {
    grid: Grid,
    order: Order,
    part: Part,
    /// Number of places of the order that were used before this run.
    from: u64,
    /// The share of the operations that return, as a number out of 2^32.
    back: u64,
    /// Number of recent places that they return to.
    of_last: u64,
    seen: u64,
}

impl Fresh {
    /// The part's places of `grid` in `order`, after the first `from`.
    pub fn new(grid: Grid, order: Order, part: Part, from: u64, reread: Option<Reread>) -> Fresh {
        let (share, of_last) = reread.map_or((0, 1), |it| (it.share.as_ppb(), grid.places_within(it.of_last.get())));
        let back = (u128::from(share) << 32) / 1_000_000_000;
        let of_last = (of_last / part.of.max(1)).max(1);
        Fresh { grid, order, part, from: from % grid.places, back: back as u64, of_last, seen: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self, prng: &mut Prng) -> u64 {
        let last = self.seen.min(self.of_last);
        if self.back > 0 && last > 0 && prng.next_u64() >> 32 < self.back {
            return self.place_number(self.seen - 1 - prng.uniform_below(last));
        }
        self.seen += 1;
        self.place_number(self.seen - 1)
    }

    #[inline(always)]
    fn place_number(&self, number: u64) -> u64 {
        let place = self.from + number * self.part.of + self.part.index;
        let n = self.grid.places;
        self.grid.offset_at(self.order.number_at(if place < n { place } else { place % n }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const UNIT: u64 = 4096;
    const WHOLE: Part = Part { index: 0, of: 1 };

    fn fresh(places: u64, part: Part, from: u64, reread: Option<(u64, u64)>) -> Fresh {
        let of = |(percent, units)| Reread { share: Share::from_percent(percent), of_last: Bytes::new(units * UNIT) };
        Fresh::new(Grid::new(places * UNIT, UNIT, UNIT), Order::new(places, 5), part, from, reread.map(of))
    }

    #[test]
    fn a_million_are_distinct_and_not_those_of_the_next_run() {
        let mut prng = Prng::from_seed(1);
        let mut seen = HashSet::new();
        for (run, of) in [(0, 1), (1, 3)] {
            for index in 0..of {
                let mut part = fresh(3_000_017, Part { index, of }, run * 1_000_000, None);
                assert!((0..1_000_000 / of).all(|_| seen.insert(part.next(&mut prng))), "run {run}, worker {index}");
            }
        }
        assert!(seen.iter().all(|offset| offset % UNIT == 0 && offset / UNIT < 3_000_017));
    }

    #[test]
    fn over_one_to_seven_workers_each_place_comes_once() {
        for of in 1..=7 {
            let mut prng = Prng::from_seed(of);
            let mut all: Vec<u64> = Vec::new();
            for index in 0..of {
                let mut part = fresh(4096, Part { index, of }, 900, None);
                let own = 4096 / of + u64::from(index < 4096 % of);
                all.extend((0..own).map(|_| part.next(&mut prng)));
            }
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 4096, "{of} workers");
        }
    }

    #[test]
    fn a_cache_hits_the_part_that_goes_back() {
        for (percent, units, of) in [(40, 1000, 1), (5, 1, 1), (90, 256, 1), (40, 1000, 2)] {
            let mut prng = Prng::from_seed(percent);
            let mut parts: Vec<Fresh> =
                (0..of).map(|index| fresh(4_000_000, Part { index, of }, 0, Some((percent, units)))).collect();
            let (mut cache, mut order, mut hits) = (HashSet::new(), std::collections::VecDeque::new(), 0);
            for op in 0..1_000_000 {
                let offset = parts[op % of as usize].next(&mut prng);
                // The cache is first in, first out, of the size of `reread` and a little more, because workers do not
                // advance in step.
                if !cache.insert(offset) {
                    hits += 1;
                    continue;
                }
                order.push_back(offset);
                if order.len() as u64 > units + 100 * (of - 1) {
                    cache.remove(&order.pop_front().unwrap());
                }
            }
            let found = hits as f64 / 1e4;
            assert!((found - percent as f64).abs() < 0.5, "{found} % of {percent} %");
        }
    }

    #[test]
    fn one_place_and_all_of_them_back() {
        let mut prng = Prng::from_seed(1);
        let mut one = fresh(1, WHOLE, 7, Some((100, 1)));
        assert!((0..10).all(|_| one.next(&mut prng) == 0));
    }
}
