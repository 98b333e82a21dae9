//! A histogram of times: HDR with u64 counters, 3 significant digits, 1 ns to 1 h.
//!
//! A value above an hour is counted as overflow, never clamped into the top bucket. An empty histogram has no percentiles.

use crate::cells::{CELLS, cell_of, lengths_of};
use crate::packed::{Filled, Unpacker, pack_cells, quantiles_of};
use assay_base::Span;
use hdrhistogram::Histogram;

pub(crate) use crate::cells::LONGEST_NS;

/// Times with their distribution. Counting costs one index and one addition; everything else is computed on request.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    cells: Box<[u64]>,
    overflow: u64,
}

impl Default for Times {
    fn default() -> Self {
        Times { cells: vec![0; CELLS].into(), overflow: 0 }
    }
}

impl Times {
    /// Counts one time of `ns` nanoseconds.
    #[inline]
    pub fn record_time(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Counts `many` times of `ns` nanoseconds.
    #[inline]
    pub(crate) fn record_many(&mut self, ns: u64, many: u64) {
        match self.cells.get_mut(cell_of(ns)) {
            Some(cell) if ns <= LONGEST_NS => *cell += many,
            _ => self.overflow += many,
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Times) {
        self.cells.iter_mut().zip(&other.cells).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.overflow = self.overflow.saturating_add(other.overflow);
    }

    /// Removes all counts, keeps the memory.
    pub fn clear(&mut self) {
        self.cells.fill(0);
        self.overflow = 0;
    }

    /// True when nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.overflow == 0 && self.filled_cells().next().is_none()
    }

    /// How many times were counted, including those above an hour.
    pub fn total_count(&self) -> u64 {
        self.count_within_hour().saturating_add(self.overflow)
    }

    /// How many times were an hour or shorter.
    fn count_within_hour(&self) -> u64 {
        self.filled_cells().fold(0, |sum, (_, n)| sum.saturating_add(n))
    }

    /// How many times were longer than an hour.
    pub fn count_above_hour(&self) -> u64 {
        self.overflow
    }

    /// The time that the share `quantile` (0 to 1) of all operations does not exceed, to 3 significant digits (the
    /// largest time of its cell); `None` when nothing was counted or when it is above an hour.
    pub fn quantile(&self, quantile: f64) -> Option<Span> {
        let [length] = self.quantiles([quantile]);
        length
    }

    /// [`Times::quantile`] of each of `quantiles`, which ascend, in one pass.
    pub fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [Option<Span>; N] {
        quantiles_of(self.filled_cells(), self.total_count(), quantiles)
    }

    /// The same as a histogram of the HdrHistogram library, for exports.
    pub fn to_hdr_histogram(&self) -> Histogram<u64> {
        let mut histogram = empty_histogram();
        for (cell, n) in self.filled_cells() {
            histogram.record_n(lengths_of(cell as usize).0, n).expect("every cell lies within the bounds");
        }
        histogram
    }

    /// The cells that are not empty, ascending. Most cells are empty, so they are skipped many at a time.
    fn filled_cells(&self) -> impl Iterator<Item = (u32, u64)> {
        const STRETCH: usize = 64;
        let stretches = self.cells.chunks(STRETCH).enumerate();
        let filled = stretches.filter(|(_, cells)| cells.iter().fold(0, |any, n| any | n) != 0);
        filled.flat_map(|(at, cells)| {
            let begin = (at * STRETCH) as u32;
            (begin..).zip(cells.iter().copied()).filter(|(_, n)| *n > 0)
        })
    }

    /// V2 deflate of HdrHistogram in base64; the overflow is not in it and is stored beside it in the log.
    pub fn to_text(&self) -> String {
        pack_cells(self.filled_cells())
    }

    /// The reverse of [`Times::to_text`]; the error says what is wrong with the text.
    pub fn from_text(text: &str, overflow: u64) -> Result<Times, String> {
        let mut times = Times::default();
        times.add_filled(&Unpacker::default().unpack_text(text, overflow)?);
        Ok(times)
    }

    /// Adds all of `filled`.
    pub fn add_filled(&mut self, filled: &Filled) {
        for (cell, n) in filled.filled_cells() {
            let cell = &mut self.cells[cell as usize];
            *cell = cell.saturating_add(n);
        }
        self.overflow = self.overflow.saturating_add(filled.overflow);
    }

    /// The largest time that falls into a cell.
    pub fn largest_of(cell: u32) -> u64 {
        let (first, width) = lengths_of(cell as usize);
        first + (width - 1)
    }
}

fn empty_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("1 ns to 1 h with 3 digits are valid bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_the_library() {
        let mut prng = assay_base::Prng::from_seed(1);
        let (mut times, mut theirs) = (Times::default(), empty_histogram());
        for _ in 0..100_000 {
            let ns = (prng.next_u64() >> prng.uniform_below(64)).min(LONGEST_NS);
            times.record_time(ns);
            theirs.record(ns).unwrap();
            let (first, width) = lengths_of(cell_of(ns));
            assert!(first <= ns && ns < first + width, "{ns} in {first} + {width}");
            assert_eq!((first, width), (theirs.lowest_equivalent(ns), theirs.equivalent_range(ns)), "{ns}");
        }
        for quantile in [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            assert_eq!(times.quantile(quantile).unwrap().as_ns(), theirs.value_at_quantile(quantile), "{quantile}");
        }
        let ours: Vec<_> =
            times.to_hdr_histogram().iter_recorded().map(|s| (s.value_iterated_to(), s.count_at_value())).collect();
        assert_eq!(
            ours,
            theirs.iter_recorded().map(|s| (s.value_iterated_to(), s.count_at_value())).collect::<Vec<_>>()
        );
    }

    /// A sum of filled cells has the percentiles of the table of all cells.
    #[test]
    fn filled_cells_add_up_as_the_table_does() {
        let mut prng = assay_base::Prng::from_seed(2);
        let (mut table, mut sum) = (Times::default(), Filled::default());
        for _ in 0..20 {
            let mut part = Times::default();
            (0..prng.uniform_below(200)).for_each(|_| part.record_time(prng.next_u64() >> prng.uniform_below(64)));
            let filled = Unpacker::default().unpack_text(&part.to_text(), part.count_above_hour()).unwrap();
            table.add(&part);
            sum.add(&filled);
            assert_eq!(sum.filled_cells().collect::<Vec<_>>(), table.filled_cells().collect::<Vec<_>>());
            let quantiles = [0.0, 0.5, 0.99, 0.999, 1.0];
            assert_eq!(sum.quantiles(quantiles), table.quantiles(quantiles));
        }
        assert_eq!(sum.overflow, table.count_above_hour());
        assert_eq!(Filled::default().quantiles([0.5]), [None]);
    }

    #[test]
    fn empty_has_no_percentiles() {
        assert_eq!(Times::default().quantile(0.99), None);
        assert_eq!(Times::default().total_count(), 0);
    }

    #[test]
    fn an_hour_and_more_is_overflow_not_the_top_bucket() {
        let mut times = Times::default();
        [1_000, LONGEST_NS, LONGEST_NS + 1].iter().for_each(|&ns| times.record_time(ns));
        assert_eq!((times.total_count(), times.count_above_hour()), (3, 1));
        assert_eq!(times.quantile(1.0), None, "the largest is not known to the histogram");
        assert!(times.quantile(0.5).is_some());
    }

    #[test]
    fn three_significant_digits() {
        let mut times = Times::default();
        (1..=100_000u64).for_each(|i| times.record_time(i * 1000));
        for (quantile, ns) in [(0.5, 50e6), (0.99, 99e6), (0.999, 99.9e6)] {
            let got = times.quantile(quantile).unwrap().as_ns() as f64;
            assert!((got / ns - 1.0).abs() < 1e-3, "{quantile}: {got}");
        }
    }

    #[test]
    fn text_reads_back_and_hostile_text_does_not_panic() {
        let mut times = Times::default();
        [0, 1, 999, 123_456_789].iter().for_each(|&ns| times.record_time(ns));
        let text = times.to_text();
        assert_eq!(Times::from_text(&text, 0).unwrap(), times);
        for at in 0..text.len() {
            let mut bad = text.clone().into_bytes();
            bad[at] ^= 4;
            // Either refused, or read as a histogram with other content: never a panic.
            let _ = Times::from_text(&String::from_utf8_lossy(&bad), 0);
        }
        assert!(Times::from_text("", 0).is_err() && Times::from_text("!!", 0).is_err());
    }
}
