//! A histogram of lengths of time: HDR with u64 counters, 3 significant digits, 1 ns to 1 h.
//!
//! A value above an hour is counted as overflow, never clamped into the top bucket. An empty histogram has no percentiles.

use assay_base::Span;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

/// The longest length that has a bucket: one hour, in nanoseconds.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// Longest base64 text of one histogram that is decoded: far above what the fixed range can need.
const LONGEST_TEXT: usize = 1 << 20;

/// Lengths of time with their distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    histogram: Histogram<u64>,
    overflow: u64,
}

impl Default for Times {
    fn default() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("1 ns to 1 h with 3 digits are valid bounds");
        Times { histogram, overflow: 0 }
    }
}

impl Times {
    /// Counts one length of `ns` nanoseconds.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if ns > LONGEST_NS || self.histogram.record(ns).is_err() {
            self.overflow += 1;
        }
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Times) {
        self.histogram.add(&other.histogram).expect("all histograms have the same fixed bounds");
        self.overflow += other.overflow;
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.histogram.reset();
        self.overflow = 0;
    }

    /// How many lengths were counted, those above an hour included.
    pub fn count(&self) -> u64 {
        self.histogram.len() + self.overflow
    }

    /// How many were longer than an hour.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The length that the share `quantile` (0 to 1) of all does not exceed, to 3 significant digits; `None` when nothing
    /// was counted or when it lies above an hour.
    pub fn quantile(&self, quantile: f64) -> Option<Span> {
        let count = self.count();
        let rank = (quantile * count as f64).ceil().max(1.0) as u64;
        if count == 0 || rank > self.histogram.len() {
            return None;
        }
        let within = rank as f64 / self.histogram.len() as f64;
        Some(Span::from_ns(self.histogram.value_at_quantile(within)))
    }

    /// The histogram itself, for exports.
    pub fn histogram(&self) -> &Histogram<u64> {
        &self.histogram
    }

    /// V2 deflate of HdrHistogram in base64; overflow is not in it and stands beside it in the log.
    pub fn to_text(&self) -> String {
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&self.histogram, &mut bytes).expect("writing to memory does not fail");
        STANDARD.encode(bytes)
    }

    /// The reverse of [`Times::to_text`]; the error says what is wrong with the text.
    pub fn from_text(text: &str, overflow: u64) -> Result<Times, String> {
        if text.len() > LONGEST_TEXT {
            return Err(format!("a histogram of {} bytes is longer than any real one", text.len()));
        }
        let bytes = STANDARD.decode(text).map_err(|e| format!("histogram is not base64: {e}"))?;
        let read: Histogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| format!("not a histogram: {e}"))?;
        let mut times = Times { overflow, ..Times::default() };
        times.histogram.add(&read).map_err(|e| format!("histogram has other bounds: {e}"))?;
        Ok(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
