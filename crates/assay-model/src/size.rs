//! The number of bytes of an operation: a histogram of sizes, most often one size or a uniform range, always in whole
//! blocks of the target.

use crate::geometric::Geometric;
use assay_base::{Bytes, Prng, Rate};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Sizes as in the model; a target rounds them up to its blocks.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Smallest.
    pub from: Bytes,
    /// Largest; equal to `from` for a fixed size.
    pub to: Bytes,
    /// The frequencies of sizes between the two, where they are not equally frequent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares: Vec<Sizes>,
    /// The mean of sizes that become rarer by the same factor with each block of the target, up to `to`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geometric: Option<Bytes>,
}

/// A bar of a histogram: a range of sizes, all equally likely.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Sizes {
    /// Smallest.
    pub from: Bytes,
    /// Largest.
    pub to: Bytes,
    /// The frequency of this bar, relative to the weights of the other bars.
    pub weight: u64,
}

impl Size {
    /// Always this size.
    pub const fn from_fixed(bytes: Bytes) -> Size {
        Size::from_range(bytes, bytes)
    }

    /// Uniform between two sizes.
    pub const fn from_range(from: Bytes, to: Bytes) -> Size {
        Size { from, to, shares: Vec::new(), geometric: None }
    }

    /// Whole blocks of the target, k of them with a probability proportional to q^(k − 1), up to `most` bytes: q is solved
    /// so that their mean is `mean`, whatever the block.
    pub const fn from_geometric(mean: Bytes, most: Bytes) -> Size {
        Size { from: Bytes::new(1), to: most, shares: Vec::new(), geometric: Some(mean) }
    }

    /// A histogram. `None` when no bar has a weight, the weights do not fit together, or a bar ends before it begins.
    pub fn from_histogram(shares: Vec<Sizes>) -> Option<Size> {
        let shares: Vec<Sizes> = shares.into_iter().filter(|bar| bar.weight > 0).collect();
        shares.iter().try_fold(0u64, |sum, bar| sum.checked_add(bar.weight))?;
        if shares.iter().any(|bar| bar.to < bar.from) {
            return None;
        }
        let (from, to) = (shares.iter().map(|bar| bar.from).min()?, shares.iter().map(|bar| bar.to).max()?);
        Some(match shares.as_slice() {
            [one] => Size::from_range(one.from, one.to),
            _ => Size { from, to, shares, geometric: None },
        })
    }

    /// Its bars; a single one where it is not a histogram.
    fn histogram_bars(&self) -> Vec<Sizes> {
        match self.shares.as_slice() {
            [] => vec![Sizes { from: self.from, to: self.to, weight: 1 }],
            shares => shares.to_vec(),
        }
    }

    /// The mean of the sizes as they are meant, as a fraction: so many bytes in so many operations.
    fn mean_fraction(&self) -> (u128, u128) {
        if let Some(mean) = self.geometric {
            return (mean.get().into(), 1);
        }
        let bars = self.histogram_bars();
        let (mut sum, mut weights) = (0, 0);
        for bar in bars.iter() {
            sum += (u128::from(bar.from.get()) + u128::from(bar.to.get())) * u128::from(bar.weight);
            weights += u128::from(bar.weight);
        }
        (sum, 2 * weights)
    }

    /// Operations of these sizes, as they are meant, that move `bytes` a second together. `None` when that does not fit.
    pub fn rate_of(&self, bytes: u64) -> Option<Rate> {
        let (sum, of) = self.mean_fraction();
        Rate::from_ratio(u128::from(bytes).checked_mul(of)?, sum)
    }

    /// The sizes in whole blocks of `block` bytes: from `ceil(from / block)` to `ceil(to / block)` of them, all equally
    /// likely (ACT's rule for record ranges), or so for each bar.
    pub fn in_blocks(&self, block: u32) -> BlockSizes {
        let bars = self.geometric.map_or_else(|| self.histogram_bars(), |mean| geometric_bars(mean, self.to, block));
        let mut below = 0;
        let bars = bars.iter().map(|bar| {
            below += bar.weight;
            Bar { below, ..Bar::new(bar, block) }
        });
        let bars: Box<[Bar]> = bars.collect();
        BlockSizes { block, first: bars[0], bars }
    }

    /// The sizes that operations have on a target with blocks of `block` bytes, where these are other sizes: each is
    /// rounded up to whole blocks. Sizes that are meant in blocks of the target are never others.
    pub fn size_on_target(&self, block: u32) -> Option<Size> {
        let (from, to) = (whole_blocks(self.from, block), whole_blocks(self.to, block));
        let shares = self.shares.iter().map(|bar| Sizes {
            from: whole_blocks(bar.from, block),
            to: whole_blocks(bar.to, block),
            ..*bar
        });
        let done = Size { from, to, shares: shares.collect(), geometric: None };
        (self.geometric.is_none() && done != *self).then_some(done)
    }

    /// The largest power of two that divides all sizes in whole blocks of `block` bytes, found from their lowest bits.
    pub(crate) fn common_step(&self, block: u32) -> u64 {
        if self.geometric.is_some() {
            return block.into();
        }
        let mut all = 0;
        for bar in self.histogram_bars().iter() {
            all |= u64::from(block) * if bar.from == bar.to { Bar::new(bar, block).least } else { 1 };
        }
        all
    }
}

/// The bars of sizes that become rarer by the same factor.
fn geometric_bars(mean: Bytes, most: Bytes, block: u32) -> Vec<Sizes> {
    let weights = Geometric::with_mean(mean, most, block).size_weights();
    weights.into_iter().map(|(bytes, weight)| Sizes { from: bytes, to: bytes, weight }).collect()
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(mean) = self.geometric {
            f.pad(&format!("{mean} in the mean"))
        } else if self.from == self.to {
            f.pad(&self.from.to_string())
        } else if self.shares.is_empty() {
            f.pad(&format!("{} to {}", self.from, self.to))
        } else {
            f.pad(&format!("{} to {}, {} shares", self.from, self.to, self.shares.len()))
        }
    }
}

/// A bar on one target.
#[derive(Clone, Copy, Debug)]
struct Bar {
    least: u64,
    span: u64,
    /// The sum of its weight and those of the bars before it.
    below: u64,
}

/// How many blocks hold a number of bytes, at least one.
fn blocks_of(bytes: Bytes, block: u32) -> u64 {
    bytes.get().div_ceil(u64::from(block)).max(1)
}

/// A number of bytes as whole blocks, at least one.
fn whole_blocks(bytes: Bytes, block: u32) -> Bytes {
    Bytes::new(blocks_of(bytes, block).saturating_mul(u64::from(block)))
}

impl Bar {
    fn new(bar: &Sizes, block: u32) -> Bar {
        let (least, most) = (blocks_of(bar.from, block), blocks_of(bar.to, block));
        Bar { least, span: most - least + 1, below: bar.weight }
    }

    #[inline(always)]
    fn next_size(&self, prng: &mut Prng) -> u64 {
        if self.span == 1 { self.least } else { self.least + prng.uniform_below(self.span) }
    }

    fn largest_size(&self) -> u64 {
        self.least + self.span - 1
    }

    fn mean_size(&self) -> f64 {
        self.least as f64 + (self.span - 1) as f64 / 2.0
    }

    /// Of whole numbers from `least` on, `span` of them: the square of the mean and their variance.
    fn mean_square(&self) -> f64 {
        let span = self.span as f64;
        self.mean_size() * self.mean_size() + (span * span - 1.0) / 12.0
    }
}

/// Sizes on one target.
#[derive(Clone, Debug)]
pub struct BlockSizes {
    block: u32,
    /// The first bar, which is the only one in most streams.
    first: Bar,
    bars: Box<[Bar]>,
}

impl BlockSizes {
    /// Of operations that move no bytes.
    pub(crate) fn of_no_bytes() -> BlockSizes {
        let none = Bar { least: 0, span: 1, below: 1 };
        BlockSizes { block: 0, first: none, bars: Box::new([none]) }
    }

    /// The next size in bytes.
    #[inline]
    pub fn next_size(&self, prng: &mut Prng) -> u32 {
        let blocks = if self.bars.len() == 1 { self.first.next_size(prng) } else { self.of_several(prng) };
        blocks as u32 * self.block
    }

    fn of_several(&self, prng: &mut Prng) -> u64 {
        let drawn = prng.uniform_below(self.bars.last().map_or(1, |bar| bar.below));
        let at = self.bars.partition_point(|bar| bar.below <= drawn);
        self.bars[at.min(self.bars.len() - 1)].next_size(prng)
    }

    /// The largest size in bytes.
    pub fn largest_size(&self) -> u64 {
        self.bars.iter().map(Bar::largest_size).max().unwrap_or(0) * u64::from(self.block)
    }

    /// The mean size in bytes.
    pub fn mean_size(&self) -> f64 {
        self.weighted_mean(Bar::mean_size) * f64::from(self.block)
    }

    /// The mean of the squared sizes.
    pub fn mean_square(&self) -> f64 {
        self.weighted_mean(Bar::mean_square) * f64::from(self.block) * f64::from(self.block)
    }

    fn weighted_mean(&self, figure: fn(&Bar) -> f64) -> f64 {
        let (mut before, mut sum) = (0, 0.0);
        for bar in &self.bars {
            sum += figure(bar) * (bar.below - before) as f64;
            before = bar.below;
        }
        sum / before.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(from: u64, to: u64, weight: u64) -> Sizes {
        Sizes { from: Bytes::new(from), to: Bytes::new(to), weight }
    }

    fn drawn(sizes: &BlockSizes) -> Vec<u32> {
        let mut prng = Prng::from_seed(1);
        (0..60_000).map(|_| sizes.next_size(&mut prng)).collect()
    }

    #[test]
    fn sizes_are_whole_blocks_and_uniform() {
        for (from, to, block, least, largest) in [
            (1536, 1536, 512, 1536, 1536),
            (1536, 1536, 4096, 4096, 4096),
            (1, 1, 512, 512, 512),
            (1500, 4000, 512, 1536, 4096),
        ] {
            let sizes = Size::from_range(Bytes::new(from), Bytes::new(to)).in_blocks(block);
            let drawn = drawn(&sizes);
            assert_eq!(drawn.iter().min(), Some(&least));
            assert_eq!(drawn.iter().max(), Some(&largest));
            assert_eq!(sizes.largest_size(), u64::from(largest));
            let mean = drawn.iter().map(|&n| f64::from(n)).sum::<f64>() / drawn.len() as f64;
            assert!((mean / sizes.mean_size() - 1.0).abs() < 0.01, "{mean} against {}", sizes.mean_size());
            let square = drawn.iter().map(|&n| f64::from(n).powi(2)).sum::<f64>() / drawn.len() as f64;
            assert!((square / sizes.mean_square() - 1.0).abs() < 0.01, "{square} against {}", sizes.mean_square());
        }
    }

    #[test]
    fn a_histogram_has_each_bar_as_often_as_its_weight_says() {
        let size =
            Size::from_histogram(vec![bar(512, 512, 70), bar(1024, 4096, 20), bar(9, 9, 0), bar(131_072, 131_072, 10)]);
        let size = size.unwrap();
        assert_eq!((size.from, size.to, size.shares.len()), (Bytes::new(512), Bytes::new(131_072), 3));
        let sizes = size.in_blocks(512);
        let drawn = drawn(&sizes);
        let share = |of: std::ops::RangeInclusive<u32>| {
            drawn.iter().filter(|len| of.contains(len)).count() as f64 / drawn.len() as f64
        };
        for (of, expected) in [(512..=512, 0.7), (1024..=4096, 0.2), (131_072..=131_072, 0.1)] {
            let found = share(of.clone());
            assert!((found - expected).abs() < 0.01, "{of:?}: {found}");
        }
        let mean = drawn.iter().map(|&n| f64::from(n)).sum::<f64>() / drawn.len() as f64;
        assert!((mean / sizes.mean_size() - 1.0).abs() < 0.02, "{mean} against {}", sizes.mean_size());
        assert_eq!(
            (sizes.largest_size(), size.common_step(512), size.common_step(4096)),
            (131_072, 512 | 131_072, 4096 | 131_072)
        );
        assert_eq!(serde_json::from_str::<Size>(&serde_json::to_string(&size).unwrap()).unwrap(), size);
    }

    #[test]
    fn a_histogram_of_one_bar_is_a_range_and_of_none_nothing() {
        assert_eq!(
            Size::from_histogram(vec![bar(512, 4096, 3)]),
            Some(Size::from_range(Bytes::new(512), Bytes::new(4096)))
        );
        for shares in [vec![], vec![bar(1, 2, 0)], vec![bar(2, 1, 1)], vec![bar(1, 1, u64::MAX), bar(1, 1, 1)]] {
            assert_eq!(Size::from_histogram(shares), None);
        }
    }

    #[test]
    fn sizes_that_are_no_whole_blocks_are_done_as_others() {
        let kib = Bytes::from_kib;
        let bar = |from, to| Sizes { from, to, weight: 1 };
        for (size, block, done) in [
            (Size::from_fixed(Bytes::new(512)), 4096, Some("4KiB")),
            (Size::from_fixed(Bytes::new(7000)), 512, Some("7KiB")),
            (Size::from_fixed(kib(8)), 4096, None),
            (Size::from_fixed(Bytes::new(1)), 1, None),
            (Size::from_range(Bytes::new(512), kib(64)), 4096, Some("4KiB to 64KiB")),
            (Size::from_range(kib(4), kib(64)), 4096, None),
            (
                Size::from_histogram(vec![bar(kib(4), kib(4)), bar(kib(6), kib(6))]).unwrap(),
                4096,
                Some("4KiB to 8KiB, 2 shares"),
            ),
            (Size::from_geometric(Bytes::new(7864), kib(63)), 4096, None),
        ] {
            let found = size.size_on_target(block).map(|size| size.to_string());
            assert_eq!(found.as_deref(), done, "{size} in blocks of {block}");
            // What is drawn are these sizes.
            let (drawn, mut prng) = (size.in_blocks(block), Prng::from_seed(1));
            let meant = size.size_on_target(block).unwrap_or(size.clone());
            for _ in 0..100 {
                let bytes = u64::from(drawn.next_size(&mut prng));
                assert!(size.geometric.is_some() || (meant.from.get()..=meant.to.get()).contains(&bytes), "{bytes}");
            }
        }
    }
}
