//! How large the files of a tree are: the same size for all, or drawn for each file by its number.

use super::gamma::Gamma;
use assay_base::{Bytes, Prng};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The largest file that is drawn: 1 PiB, beyond which sums of many files would not fit.
pub const LARGEST_FILE: u64 = 1 << 50;

/// The sizes of the files of a tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileSize {
    /// All have this size.
    Fixed(Bytes),
    /// Each size between two is as likely as any other.
    Between {
        /// The smallest.
        from: Bytes,
        /// The largest.
        to: Bytes,
    },
    /// A gamma distribution.
    Gamma {
        /// The mean of all files.
        mean: Bytes,
        /// The shape: the smaller, the more the sizes differ; the variance is mean² / shape.
        shape: f64,
    },
    /// Weights by power of two: the first is that of empty files, the k-th after it that of files of 2^(k−1) to 2^k − 1
    /// bytes, all sizes of which are equally likely.
    Log2(Vec<u64>),
}

impl FileSize {
    /// The mean of the sizes.
    pub fn mean(&self) -> f64 {
        match self {
            FileSize::Fixed(bytes) => bytes.get() as f64,
            FileSize::Between { from, to } => (from.get() as f64 + to.get() as f64) / 2.0,
            FileSize::Gamma { mean, .. } => mean.get() as f64,
            FileSize::Log2(weights) => {
                let (mut sum, mut of) = (0.0, 0.0);
                for (power, weight) in weights.iter().enumerate() {
                    let (least, most) = range_of_power(power);
                    sum += *weight as f64 * (least as f64 + most as f64) / 2.0;
                    of += *weight as f64;
                }
                if of > 0.0 { sum / of } else { 0.0 }
            }
        }
    }

    /// What draws the sizes.
    pub fn drawing(&self) -> SizeDrawing {
        match self {
            FileSize::Fixed(bytes) => SizeDrawing::Fixed(bytes.get()),
            FileSize::Between { from, to } => {
                SizeDrawing::Between { from: from.get(), sizes: to.get().saturating_sub(from.get()) + 1 }
            }
            FileSize::Gamma { mean, shape } => {
                SizeDrawing::Gamma { mean: mean.get() as f64, gamma: Gamma::with_shape(*shape) }
            }
            FileSize::Log2(weights) => {
                let mut below = Vec::with_capacity(weights.len());
                for weight in weights {
                    below.push(below.last().copied().unwrap_or(0) + weight);
                }
                SizeDrawing::Log2(below.into())
            }
        }
    }
}

/// The smallest and the largest size that has a place in a list of powers of two.
fn range_of_power(power: usize) -> (u64, u64) {
    match power {
        0 => (0, 0),
        _ => (1 << (power - 1), (1 << power) - 1),
    }
}

impl fmt::Display for FileSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileSize::Fixed(bytes) => f.pad(&bytes.to_string()),
            FileSize::Between { from, to } => f.pad(&format!("{from} to {to}")),
            FileSize::Gamma { mean, shape } => f.pad(&format!("{mean} in the mean, gamma of shape {shape}")),
            FileSize::Log2(_) => f.pad(&format!("{} in the mean, by powers of two", Bytes::new(self.mean() as u64))),
        }
    }
}

/// Draws sizes.
#[derive(Clone, Debug)]
pub enum SizeDrawing {
    /// See [`FileSize::Fixed`].
    Fixed(u64),
    /// See [`FileSize::Between`].
    Between {
        /// The smallest.
        from: u64,
        /// How many sizes there are.
        sizes: u64,
    },
    /// See [`FileSize::Gamma`].
    Gamma {
        /// The mean.
        mean: f64,
        /// The distribution of mean 1.
        gamma: Gamma,
    },
    /// See [`FileSize::Log2`]: the sums of the weights up to each.
    Log2(Box<[u64]>),
}

impl SizeDrawing {
    /// One size in bytes.
    pub fn draw(&self, prng: &mut Prng) -> u64 {
        match self {
            SizeDrawing::Fixed(bytes) => *bytes,
            SizeDrawing::Between { from, sizes } => from + prng.uniform_below(*sizes),
            SizeDrawing::Gamma { mean, gamma } => ((mean * gamma.draw(prng)).round() as u64).min(LARGEST_FILE),
            SizeDrawing::Log2(below) => {
                let drawn = prng.uniform_below(below.last().copied().unwrap_or(0).max(1));
                let (least, most) = range_of_power(below.partition_point(|sum| *sum <= drawn));
                least + prng.uniform_below(most - least + 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_of(size: &FileSize, n: u32) -> f64 {
        let (drawing, mut prng) = (size.drawing(), Prng::from_seed(5));
        (0..n).map(|_| drawing.draw(&mut prng) as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn sizes_have_the_mean_that_is_said() {
        for size in [
            FileSize::Fixed(Bytes::new(3901)),
            FileSize::Between { from: Bytes::new(0), to: Bytes::from_kib(128) },
            FileSize::Gamma { mean: Bytes::from_kib(128), shape: 1.5 },
            FileSize::Log2(vec![4, 0, 0, 0, 0, 0, 0, 0, 0, 20, 30, 40, 50, 20, 10]),
        ] {
            let mean = mean_of(&size, 200_000);
            assert!((mean / size.mean() - 1.0).abs() < 0.01, "{size}: {mean}");
            let written = serde_json::to_string(&size).unwrap();
            assert_eq!(serde_json::from_str::<FileSize>(&written).unwrap(), size, "{written}");
        }
        assert_eq!(FileSize::Between { from: Bytes::new(1), to: Bytes::from_kib(2) }.to_string(), "1B to 2KiB");
    }

    #[test]
    fn powers_of_two_have_their_shares_by_chi_square() {
        // Six cells, 5 degrees of freedom: 20.5 is the 0.1 % point.
        let weights = [10u64, 5, 0, 40, 30, 15, 20];
        let (drawing, mut prng) = (FileSize::Log2(weights.to_vec()).drawing(), Prng::from_seed(9));
        let mut cells = [0.0; 7];
        for _ in 0..120_000 {
            let bytes = drawing.draw(&mut prng);
            cells[(u64::BITS - bytes.leading_zeros()) as usize] += 1.0;
        }
        assert_eq!(cells[2], 0.0, "a weight of 0 draws nothing");
        let mut chi = 0.0;
        for (cell, weight) in cells.iter().zip(weights).filter(|(_, weight)| *weight > 0) {
            let expected = weight as f64 * 1000.0;
            chi += (cell - expected) * (cell - expected) / expected;
        }
        assert!(chi < 20.5, "{chi}");
    }

    #[test]
    fn the_ends_of_a_range_are_drawn_and_nothing_beyond() {
        let (drawing, mut prng) =
            (FileSize::Between { from: Bytes::new(3), to: Bytes::new(6) }.drawing(), Prng::from_seed(1));
        let drawn: std::collections::BTreeSet<u64> = (0..1000).map(|_| drawing.draw(&mut prng)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
    }
}
