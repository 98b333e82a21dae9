//! A histogram of lengths of time: HDR with u64 counters, 3 significant digits, 1 ns to 1 h.
//!
//! A value above an hour is counted as overflow, never clamped into the top bucket. An empty histogram has no percentiles.

use assay_base::Span;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use std::io::Read as _;

/// The longest length that has a bucket: one hour, in nanoseconds.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// Longest base64 text of one histogram that is decoded: far above what the fixed range can need.
const LONGEST_TEXT: usize = 1 << 20;

/// Cells of the first, exact stretch: 2048 is the smallest power of two that resolves three digits.
const FIRST: u64 = 2048;
/// Cells of each further stretch, in which a cell is twice as wide as in the one before.
const HALF: u64 = FIRST / 2;
/// Cells up to [`LONGEST_NS`].
const CELLS: usize = cell_of(LONGEST_NS) + 1;

/// The cell of a length: HdrHistogram's layout for 1 ns and three digits.
#[inline]
const fn cell_of(ns: u64) -> usize {
    let shift = (ns | (FIRST - 1)).ilog2() - (FIRST - 1).ilog2();
    (shift as u64 * HALF + (ns >> shift)) as usize
}

/// The smallest length of a cell, and how many lengths share it.
fn lengths_of(cell: usize) -> (u64, u64) {
    let cell = cell as u64;
    if cell < FIRST {
        return (cell, 1);
    }
    let shift = cell / HALF - 1;
    ((cell - shift * HALF) << shift, 1 << shift)
}

/// Lengths of time with their distribution. Counting is one index and one addition; everything else is made when asked for.
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
    /// Counts one length of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        match self.cells.get_mut(cell_of(ns)) {
            Some(cell) if ns <= LONGEST_NS => *cell += 1,
            _ => self.overflow += 1,
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Times) {
        self.cells.iter_mut().zip(&other.cells).for_each(|(mine, theirs)| *mine = mine.saturating_add(*theirs));
        self.overflow = self.overflow.saturating_add(other.overflow);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.cells.fill(0);
        self.overflow = 0;
    }

    /// True when nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.overflow == 0 && self.cells.iter().all(|n| *n == 0)
    }

    /// How many lengths were counted, those above an hour included.
    pub fn count(&self) -> u64 {
        self.within().saturating_add(self.overflow)
    }

    /// How many were not longer than an hour.
    fn within(&self) -> u64 {
        self.cells.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }

    /// How many were longer than an hour.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The length that the share `quantile` (0 to 1) of all does not exceed, to 3 significant digits (the largest length of
    /// its cell); `None` when nothing was counted or when it lies above an hour.
    pub fn quantile(&self, quantile: f64) -> Option<Span> {
        let rank = (quantile * self.count() as f64).ceil().max(1.0) as u64;
        let mut below = 0u64;
        let cell = self.cells.iter().position(|n| {
            below = below.saturating_add(*n);
            below >= rank
        })?;
        let (first, width) = lengths_of(cell);
        Some(Span::from_ns(first + (width - 1)))
    }

    /// The same as HdrHistogram's own, for exports.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = empty();
        for (cell, n) in self.cells.iter().enumerate().filter(|(_, n)| **n > 0) {
            histogram.record_n(lengths_of(cell).0, *n).expect("every cell lies within the bounds");
        }
        histogram
    }

    /// V2 deflate of HdrHistogram in base64; overflow is not in it and stands beside it in the log.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram(), &mut bytes).expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// The reverse of [`Times::to_text`]; the error says what is wrong with the text.
    pub fn from_text(text: &str, overflow: u64) -> Result<Times, String> {
        if text.len() > LONGEST_TEXT {
            return Err(format!("a histogram of {} bytes is longer than any real one", text.len()));
        }
        let bytes = STANDARD.decode(text).map_err(|e| format!("histogram is not base64: {e}"))?;
        let plain = unpacked(&bytes).map_err(|why| format!("not a histogram: {why}"))?;
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut plain.as_slice()).map_err(|e| format!("not a histogram: {e}"))?;
        let mut times = Times { overflow, ..Times::default() };
        let mut counted = empty();
        counted.add(&read).map_err(|e| format!("histogram has other bounds: {e}"))?;
        for step in counted.iter_recorded() {
            let cell = times.cells.get_mut(cell_of(step.value_iterated_to())).ok_or("histogram has other bounds")?;
            *cell = cell.saturating_add(step.count_since_last_iteration());
        }
        Ok(times)
    }
}

/// What opens the packed and the unpacked form, and how long the latter's head is.
const PACKED: u32 = 0x1c84_9314;
const UNPACKED: u32 = 0x1c84_9313;
const HEAD: usize = 40;
/// Longest unpacked form: nine bytes for each cell, and the head.
const LONGEST_BYTES: usize = 9 * CELLS + HEAD;

/// The unpacked form, after its numbers were looked at: the library makes room for as much as the head asks.
fn unpacked(packed: &[u8]) -> Result<Vec<u8>, &'static str> {
    let number = |bytes: &[u8], at: usize| {
        let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
        four.map(u32::from_be_bytes).ok_or("its head is cut")
    };
    let wide = |bytes: &[u8], at| Ok((u64::from(number(bytes, at)?) << 32) | u64::from(number(bytes, at + 4)?));
    if number(packed, 0)? != PACKED || number(packed, 4)? as usize != packed.len() - 8 {
        return Err("not HdrHistogram's V2 deflate");
    }
    let mut plain = Vec::new();
    let inflated = flate2::read::ZlibDecoder::new(&packed[8..]).take(LONGEST_BYTES as u64 + 1).read_to_end(&mut plain);
    inflated.map_err(|_| "it does not unpack")?;
    if plain.len() > LONGEST_BYTES {
        return Err("it unpacks to more than any histogram holds");
    }
    if number(&plain, 0)? != UNPACKED || number(&plain, 4)? as usize != plain.len().saturating_sub(HEAD) {
        return Err("its length is not what its head says");
    }
    let (digits, lowest, highest) = (number(&plain, 12)?, wide(&plain, 16)?, wide(&plain, 24)?);
    if (digits, lowest, highest) != (3, 1, LONGEST_NS) {
        return Err("it has other bounds than 1 ns to 1 h with 3 digits");
    }
    Ok(plain)
}

fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("1 ns to 1 h with 3 digits are valid bounds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_those_of_the_library() {
        let mut prng = assay_base::Prng::seeded(1);
        let (mut times, mut theirs) = (Times::default(), empty());
        for _ in 0..100_000 {
            let ns = (prng.next_u64() >> prng.below(64)).min(LONGEST_NS);
            times.record(ns);
            theirs.record(ns).unwrap();
            let (first, width) = lengths_of(cell_of(ns));
            assert!(first <= ns && ns < first + width, "{ns} in {first} + {width}");
            assert_eq!((first, width), (theirs.lowest_equivalent(ns), theirs.equivalent_range(ns)), "{ns}");
        }
        for quantile in [0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 1.0] {
            assert_eq!(times.quantile(quantile).unwrap().as_ns(), theirs.value_at_quantile(quantile), "{quantile}");
        }
        let ours: Vec<_> =
            times.histogram().iter_recorded().map(|s| (s.value_iterated_to(), s.count_at_value())).collect();
        assert_eq!(
            ours,
            theirs.iter_recorded().map(|s| (s.value_iterated_to(), s.count_at_value())).collect::<Vec<_>>()
        );
    }

    /// A packed histogram whose head says these things, with `zeros` behind it.
    fn packed(declared: u32, digits: u32, lowest: u64, highest: u64, zeros: usize) -> String {
        let mut plain = Vec::new();
        for number in [UNPACKED, declared, 0, digits] {
            plain.extend(number.to_be_bytes());
        }
        plain.extend(lowest.to_be_bytes());
        plain.extend(highest.to_be_bytes());
        plain.extend(1f64.to_be_bytes());
        plain.resize(plain.len() + zeros, 0);
        let mut deflated = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
        std::io::Write::write_all(&mut deflated, &plain).unwrap();
        let deflated = deflated.finish().unwrap();
        let mut bytes = PACKED.to_be_bytes().to_vec();
        bytes.extend((deflated.len() as u32).to_be_bytes());
        bytes.extend(deflated);
        STANDARD.encode(bytes)
    }

    #[test]
    fn huge_numbers_in_a_head_make_no_room() {
        for (declared, digits, lowest, highest, zeros, why) in [
            (u32::MAX, 3, 1, LONGEST_NS, 4, "its length is not"),
            (4, 3, 1, u64::MAX, 4, "other bounds"),
            (4, 5, 1, LONGEST_NS, 4, "other bounds"),
            (4, 3, 0, LONGEST_NS, 4, "other bounds"),
            // Half a gigabyte of zeros in half a megabyte.
            (500 << 20, 3, 1, LONGEST_NS, 500 << 20, "more than any histogram"),
        ] {
            let text = packed(declared, digits, lowest, highest, zeros);
            assert!(text.len() < LONGEST_TEXT, "{} bytes", text.len());
            let told = Times::from_text(&text, 0).unwrap_err();
            assert!(told.contains(why), "{why}: {told}");
        }
        assert_eq!(Times::from_text(&packed(2, 3, 1, LONGEST_NS, 2), 0).unwrap(), Times::default());
    }

    #[test]
    fn empty_has_no_percentiles() {
        assert_eq!(Times::default().quantile(0.99), None);
        assert_eq!(Times::default().count(), 0);
    }

    #[test]
    fn an_hour_and_more_is_overflow_not_the_top_bucket() {
        let mut times = Times::default();
        [1_000, LONGEST_NS, LONGEST_NS + 1].iter().for_each(|&ns| times.record(ns));
        assert_eq!((times.count(), times.overflow()), (3, 1));
        assert_eq!(times.quantile(1.0), None, "the largest is not known to the histogram");
        assert!(times.quantile(0.5).is_some());
    }

    #[test]
    fn three_significant_digits() {
        let mut times = Times::default();
        (1..=100_000u64).for_each(|i| times.record(i * 1000));
        for (quantile, ns) in [(0.5, 50e6), (0.99, 99e6), (0.999, 99.9e6)] {
            let got = times.quantile(quantile).unwrap().as_ns() as f64;
            assert!((got / ns - 1.0).abs() < 1e-3, "{quantile}: {got}");
        }
    }

    #[test]
    fn text_reads_back_and_hostile_text_does_not_panic() {
        let mut times = Times::default();
        [0, 1, 999, 123_456_789].iter().for_each(|&ns| times.record(ns));
        let text = times.to_text();
        assert_eq!(Times::from_text(&text, 0).unwrap(), times);
        for at in 0..text.len() {
            let mut bad = text.clone().into_bytes();
            bad[at] ^= 4;
            // Either refused, or a histogram of other content: never a panic.
            let _ = Times::from_text(&String::from_utf8_lossy(&bad), 0);
        }
        assert!(Times::from_text("", 0).is_err() && Times::from_text("!!", 0).is_err());
    }
}
