//! Sizes of which each further block is rarer by the same factor: k blocks with a probability proportional to q^(k − 1), at most so many.
//!
//! The mean is what is known of such sizes, so q is solved for it in the blocks of the target at hand. Drawing sectors and rounding them up
//! to larger blocks would make the mean larger.

use assay_base::Bytes;

/// Bisections of q: more change nothing in a double.
const STEPS: u32 = 64;
/// The sum of the weights, which are whole numbers: the rarest size has a weight of its own.
const WEIGHTS: f64 = (1u64 << 52) as f64;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    block: u64,
    /// The most blocks.
    most: u64,
    q: f64,
}

impl Geometric {
    /// Sizes of at most `most` bytes whose mean is `mean`, in blocks of `block` bytes. What cannot be reached becomes the nearest: one block
    /// where it is larger than the mean, and blocks that are twice as likely with each further one where the mean is near the largest.
    pub fn with_mean(mean: Bytes, most: Bytes, block: u32) -> Geometric {
        Geometric::from_mean(mean.get() as f64, most, block)
    }

    /// The same for a mean that is not a whole number of bytes.
    fn from_mean(mean: f64, most: Bytes, block: u32) -> Geometric {
        let block = u64::from(block.max(1));
        let most = (most.get() / block).max(1);
        let wanted = mean / block as f64;
        let (mut low, mut high) = (0.0, 2.0);
        for _ in 0..STEPS {
            let middle = (low + high) / 2.0;
            if mean_of(middle, most) < wanted { low = middle } else { high = middle }
        }
        Geometric { block, most, q: low }
    }

    /// The factor.
    pub fn size_factor(&self) -> f64 {
        self.q
    }

    /// The sizes in bytes, each with its weight.
    pub(crate) fn size_weights(&self) -> Vec<(Bytes, u64)> {
        let powers: Vec<f64> = powers_from_one(self.q, self.most).collect();
        let sum: f64 = powers.iter().sum();
        let mut weights = Vec::new();
        for (blocks, power) in (1..).zip(powers) {
            let weight = (power / sum * WEIGHTS) as u64;
            if weight > 0 {
                weights.push((Bytes::new(blocks * self.block), weight));
            }
        }
        assert!(!weights.is_empty(), "one of at most 2^52 sizes has a weight");
        weights
    }
}

/// q^0, q^1, … for so many blocks. By multiplication alone, so that every processor gets the same numbers.
fn powers_from_one(q: f64, most: u64) -> impl Iterator<Item = f64> {
    (0..most).scan(1.0, move |power, _| {
        let own = *power;
        *power *= q;
        Some(own)
    })
}

/// The mean in blocks.
fn mean_of(q: f64, most: u64) -> f64 {
    let (sum, all) =
        powers_from_one(q, most).zip(1u64..).fold((0.0, 0.0), |(sum, all), (p, k)| (sum + p * k as f64, all + p));
    sum / all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::size::Size;
    use assay_base::Prng;

    /// The mean of the log writes of a mail store, and their most.
    const MEAN: Bytes = Bytes::new(7864);
    const MOST: Bytes = Bytes::new(64_512);

    #[test]
    fn q_is_solved_for_the_mean_in_the_blocks_of_the_target() {
        // The reference report has 7864.3 B.
        assert!((Geometric::from_mean(7864.3, MOST, 512).size_factor() - 0.935_008).abs() < 5e-7);
        assert!((Geometric::with_mean(MEAN, MOST, 512).size_factor() - 0.935_005).abs() < 5e-7);
        for (mean, block) in [(7864, 512), (7864, 4096), (7864, 1024), (4096, 4096), (600, 512), (32_000, 512)] {
            let sizes = Size::from_geometric(Bytes::new(mean), MOST).in_blocks(block);
            assert!((sizes.mean_size() / mean as f64 - 1.0).abs() < 1e-6, "{mean} in {block}: {}", sizes.mean_size());
            assert!(sizes.largest_size() <= MOST.get(), "{mean} in {block}: {}", sizes.largest_size());
        }
    }

    #[test]
    fn a_mean_that_no_blocks_have_becomes_the_nearest() {
        let mean = |mean: u64, most: u64, block: u32| {
            Size::from_geometric(Bytes::new(mean), Bytes::new(most)).in_blocks(block).mean_size()
        };
        assert_eq!(mean(7864, 64_512, 16_384).round(), 16_384.0, "one block");
        assert_eq!(mean(7864, 64_512, 131_072), 131_072.0, "one block that is larger than the most");
        assert!(mean(64_512, 64_512, 512) > 63_000.0);
    }

    #[test]
    fn sizes_come_as_often_as_their_probability_says() {
        // Chi-square of a million draws; 0.1 % points for 125 and 14 degrees of freedom.
        for (block, most_chi) in [(512u32, 179.0), (4096, 36.1)] {
            let (sizes, geometric) =
                (Size::from_geometric(MEAN, MOST).in_blocks(block), Geometric::with_mean(MEAN, MOST, block));
            let (mut prng, n) = (Prng::from_seed(9), 1_000_000u32);
            let mut counts = vec![0f64; (MOST.get() / u64::from(block)) as usize];
            (0..n).for_each(|_| counts[(sizes.next_size(&mut prng) / block) as usize - 1] += 1.0);
            let all: f64 = powers_from_one(geometric.size_factor(), counts.len() as u64).sum();
            let expected =
                powers_from_one(geometric.size_factor(), counts.len() as u64).map(|power| power / all * f64::from(n));
            let chi: f64 =
                counts.iter().zip(expected).map(|(found, expected)| (found - expected).powi(2) / expected).sum();
            assert!(chi < most_chi, "{block}: {chi}");
        }
    }
}
