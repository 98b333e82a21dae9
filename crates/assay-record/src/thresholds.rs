//! Exact threshold counters: every operation falls between two boundaries, and the boundaries include every threshold
//! that a table or a criterion asks for.
//!
//! Boundaries are ACT's powers of two in microseconds and in milliseconds (both views must be exact, and 2^n ms is not
//! a power of two of microseconds) and the thresholds of the criteria. An operation that takes exactly a boundary's
//! time counts as over it, as in ACT, where 1 ms falls into bucket 1.

use assay_base::Span;

/// Largest exponent of the microsecond boundaries: 2^31 µs is about 36 minutes.
const LARGEST_US: u32 = 31;
/// Largest exponent of the millisecond boundaries: 2^21 ms is about 35 minutes.
const LARGEST_MS: u32 = 21;

/// Sorted boundaries in nanoseconds; bucket 0 lies below the first, bucket `i` from boundary `i − 1` (inclusive) up to
/// boundary `i` (exclusive), the last above all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thresholds {
    bounds: Vec<u64>,
    /// For each exponent `e`: how many boundaries are at most `2^e`, which is where the search for `2^e ≤ v < 2^(e+1)`
    /// begins.
    start: [u16; 64],
}

impl Thresholds {
    /// ACT's boundaries and the `extra` ones.
    pub fn new(extra: impl IntoIterator<Item = Span>) -> Thresholds {
        let us = (0..=LARGEST_US).map(|e| 1_000u64 << e);
        let ms = (0..=LARGEST_MS).map(|e| 1_000_000u64 << e);
        Thresholds::from_bounds(us.chain(ms).chain(extra.into_iter().map(Span::as_ns)).collect())
    }

    /// Exactly these boundaries, in nanoseconds, as a log's header lists them.
    pub fn from_bounds(mut bounds: Vec<u64>) -> Thresholds {
        bounds.retain(|&bound| bound > 0);
        bounds.sort_unstable();
        bounds.dedup();
        bounds.truncate(usize::from(u16::MAX));
        let start = std::array::from_fn(|e| bounds.partition_point(|&bound| bound <= 1u64 << e) as u16);
        Thresholds { bounds, start }
    }

    /// The boundaries, ascending, in nanoseconds.
    pub fn bounds_ns(&self) -> &[u64] {
        &self.bounds
    }

    /// Number of buckets: one more than boundaries.
    pub fn bucket_count(&self) -> usize {
        self.bounds.len() + 1
    }

    /// The bucket of an operation that took `ns` nanoseconds.
    #[inline]
    pub fn bucket_for_time(&self, ns: u64) -> usize {
        if ns == 0 {
            return 0;
        }
        let mut bucket = usize::from(self.start[ns.ilog2() as usize]);
        while bucket < self.bounds.len() && self.bounds[bucket] <= ns {
            bucket += 1;
        }
        bucket
    }

    /// The first bucket whose operations are all over `threshold`; `None` when it is not a boundary, so that no count
    /// is exact.
    pub fn first_over(&self, threshold: Span) -> Option<usize> {
        self.bounds.binary_search(&threshold.as_ns()).ok().map(|index| index + 1)
    }

    /// How many of `counts` (one per bucket) are over `threshold`; `None` when it is not a boundary.
    pub fn count_over(&self, counts: &[u64], threshold: Span) -> Option<u64> {
        Some(counts.get(self.first_over(threshold)?..)?.iter().sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_where_a_plain_search_finds_it() {
        let thresholds = Thresholds::new([Span::from_us(1500), Span::from_ms(30), Span::from_us(1000)]);
        let mut prng = assay_base::Prng::from_seed(1);
        let near = thresholds.bounds_ns().iter().flat_map(|&b| [b - 1, b, b + 1]).collect::<Vec<_>>();
        let random = (0..100_000).map(|_| prng.next_u64() >> prng.uniform_below(64)).collect::<Vec<_>>();
        for ns in near.into_iter().chain(random).chain([0, 1, u64::MAX]) {
            assert_eq!(thresholds.bucket_for_time(ns), thresholds.bounds_ns().partition_point(|&b| b <= ns), "{ns} ns");
        }
    }

    #[test]
    fn exactly_one_millisecond_is_over_it() {
        let thresholds = Thresholds::new([]);
        let mut counts = vec![0; thresholds.bucket_count()];
        for ns in [999_999, 1_000_000, 1_000_001] {
            counts[thresholds.bucket_for_time(ns)] += 1;
        }
        assert_eq!(thresholds.count_over(&counts, Span::from_ms(1)), Some(2));
        assert_eq!(thresholds.count_over(&counts, Span::from_us(1)), Some(3));
        assert_eq!(thresholds.count_over(&counts, Span::from_us(1500)), None, "no boundary, no count");
    }
}
