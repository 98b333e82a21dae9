//! Arrivals in windows of several lengths: how far they are from independent ones is their variance divided by their
//! mean (index of dispersion), which depends on the length where arrivals come in bursts.

use super::moments::Moments;

/// The lengths of the windows, in nanoseconds.
pub const WINDOWS: [u64; 5] = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];

/// Arrivals in windows of several lengths.
#[derive(Clone, Debug, Default)]
pub struct WindowCounts {
    /// Counts of complete windows, for each length in [`WINDOWS`].
    pub counts: [Moments; WINDOWS.len()],
    open: [(u64, u64); WINDOWS.len()],
    began: Option<u64>,
}

impl WindowCounts {
    /// An arrival at `at` nanoseconds, where windows begin at `began`. One that is slightly out of order is counted at the
    /// present time.
    pub fn add_arrival(&mut self, began: u64, at: u64) {
        self.began.get_or_insert(began);
        self.close_windows(at);
        self.open.iter_mut().for_each(|open| open.1 += 1);
    }

    /// Counts the windows that are over at `at`.
    fn close_windows(&mut self, at: u64) {
        let Some(began) = self.began else { return };
        let at = at.saturating_sub(began);
        for ((window, open), counts) in WINDOWS.iter().zip(&mut self.open).zip(&mut self.counts) {
            let index = (at / window).max(open.0);
            if index > open.0 {
                counts.add_value(open.1 as f64);
                counts.add_zeros(index - open.0 - 1);
                *open = (index, 0);
            }
        }
    }

    /// The counts of complete windows, for each length in [`WINDOWS`], of what ends at `end`.
    pub fn counts_until(&self, end: u64) -> [Moments; WINDOWS.len()] {
        let mut all = self.clone();
        all.close_windows(end);
        all.counts
    }

    /// The clock was reset: open windows are incomplete.
    pub fn restart_windows(&mut self) {
        (self.began, self.open) = (None, Default::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    #[test]
    fn arrivals_are_counted_in_windows() {
        let mut prng = Prng::from_seed(1);
        let (mut even, mut independent, mut bursty) =
            (WindowCounts::default(), WindowCounts::default(), WindowCounts::default());
        let mut at = 0.0;
        for i in 0..200_000u64 {
            even.add_arrival(0, i * 1_000_000);
            at += -assay_base::math::ln(prng.uniform_unit().max(1e-12)) * 1e6;
            independent.add_arrival(0, at as u64);
            // Ten at the same time.
            bursty.add_arrival(0, i / 10 * 10_000_000);
        }
        let index = |windows: &WindowCounts, window: usize| windows.counts[window + 1].index_of_dispersion().unwrap();
        assert!(index(&even, 0) < 0.01 && (index(&independent, 0) - 1.0).abs() < 0.1, "{}", index(&independent, 0));
        assert!((index(&independent, 1) - 1.0).abs() < 0.2);
        assert!(index(&bursty, 0) < 0.01, "a burst in each window is even");
        let mut pairs = WindowCounts::default();
        (0..50_000u64).for_each(|i| pairs.add_arrival(0, i / 100 * 200_000_000));
        assert!(index(&pairs, 0) > 50.0);
    }
}
