//! Sequential runs from uniformly chosen starts: a run has a fixed number of bytes, or ends after each byte with the
//! same probability (geometric lengths with a given mean). A run that reaches the end of the target ends there.

use super::grid::Grid;
use assay_base::{Bytes, Prng};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How long runs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunLength {
    /// Runs of this many bytes.
    Fixed(Bytes),
    /// Random lengths with this mean.
    Mean(Bytes),
}

impl fmt::Display for RunLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunLength::Fixed(bytes) => write!(f, "{bytes}"),
            RunLength::Mean(bytes) => write!(f, "{bytes} in the mean"),
        }
    }
}

/// Each worker has runs of its own.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    grid: Grid,
    size: u64,
    length: RunLength,
    next: u64,
    /// Bytes left in a run of fixed length. In a run of random length it only says whether the run continues.
    left: u64,
}

impl Runs {
    /// Runs within `size` bytes that begin at places of `grid`.
    pub fn new(grid: Grid, size: u64, length: RunLength) -> Runs {
        Runs { grid, size, length, next: 0, left: 0 }
    }

    #[inline]
    pub(super) fn next(&mut self, len: u32, prng: &mut Prng) -> u64 {
        let len = u64::from(len);
        if self.left == 0 || self.next + len > self.size {
            self.next = self.grid.offset_at(prng.uniform_below(self.grid.places));
            self.left = match self.length {
                RunLength::Fixed(bytes) => bytes.get(),
                RunLength::Mean(_) => 1,
            };
        }
        let offset = self.next;
        self.next += len;
        match self.length {
            RunLength::Fixed(_) => self.left = self.left.saturating_sub(len),
            RunLength::Mean(mean) => self.left = u64::from(prng.uniform_unit() * mean.get() as f64 > len as f64),
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 1 << 30;

    /// Starts and lengths of runs, in operations of 8 KiB.
    fn runs(length: RunLength, operations: usize) -> Vec<(u64, u64)> {
        let mut walk = Runs::new(Grid::new(SIZE, 8192, 8192), SIZE, length);
        let mut prng = Prng::from_seed(1);
        let mut runs: Vec<(u64, u64)> = Vec::new();
        for _ in 0..operations {
            let at = walk.next(8192, &mut prng) / 8192;
            match runs.last_mut() {
                Some((start, n)) if *start + *n == at => *n += 1,
                _ => runs.push((at, 1)),
            }
        }
        runs
    }

    #[test]
    fn fixed_runs_have_their_length_and_begin_anywhere() {
        let runs = runs(RunLength::Fixed(Bytes::from_kib(1024)), 2_000_000);
        let (mut whole, mut starts) = (0, [0f64; 16]);
        for (start, n) in &runs[..runs.len() - 1] {
            // Only the end of the target shortens a run, and two may be adjacent by chance.
            assert!(n % 128 == 0 || start + n == SIZE / 8192 || n > &128, "{start} {n}");
            whole += u32::from(*n == 128);
            starts[(start * 16 * 8192 / SIZE) as usize] += 1.0;
        }
        assert!(f64::from(whole) > 0.98 * runs.len() as f64);
        let mean = starts.iter().sum::<f64>() / 16.0;
        let chi: f64 = starts.iter().map(|n| (n - mean).powi(2) / mean).sum();
        assert!(chi < 37.7, "15 degrees of freedom: {chi}");
    }

    #[test]
    fn random_runs_are_geometric() {
        // Mean of 16 operations: P(length > k) = (15/16)^k.
        let runs = runs(RunLength::Mean(Bytes::from_kib(128)), 2_000_000);
        let n = runs.len() as f64;
        assert!((2e6 / n - 16.0).abs() < 4.0 * (240.0f64 / n).sqrt() + 0.02, "{}", 2e6 / n);
        for k in [1, 5, 16, 50] {
            let (p, found) = ((15.0f64 / 16.0).powi(k), runs.iter().filter(|run| run.1 > k as u64).count() as f64);
            assert!((found - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt() + n * 1e-3, "{k}: {found} of {n}");
        }
    }

    #[test]
    fn never_beyond_the_end() {
        let (mut walk, mut prng) =
            (Runs::new(Grid::new(4096, 512, 2048), 4096, RunLength::Fixed(Bytes::new(1))), Prng::from_seed(1));
        assert!((0..1000).all(|_| walk.next(2048, &mut prng) <= 2048));
    }
}
