//! Decides whether a difference between two runs is noise: a block bootstrap over units of time.
//!
//! Operations of neighbouring seconds are similar, so units of time are not drawn one by one but in blocks that are
//! longer than the similarity lasts: twice the integrated autocorrelation time of the units' means (window by Sokal's
//! rule, M ≥ 5 τ), at least the cube root of their number and a 16th of it. Whole blocks are drawn with replacement in
//! both runs, the figure is computed for each draw, and the middle 95 % of the draws is the confidence interval. It is
//! widened by √(n / (n − 1)) and by Student's t for n blocks, because few blocks give too small a spread.
//!
//! With fewer than [`BLOCKS`] blocks there is no confidence interval. Then only a [`PLAIN`] difference is reported: a
//! figure ten times the other's, with enough operations on its far side in both runs. Levels of one device vary by
//! percents from block to block, not tenfold; whether a smaller difference would occur again cannot be known from such
//! a short run, and the answer says so.

use super::sample::{OPERATIONS, Series, quantile_of};
use assay_base::Prng;
use assay_record::Times;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The seed of all draws: the same logs always give the same answer.
pub(crate) const SEED: u64 = 20_261_121;
/// Number of draws for each figure: with 500, the 2.5th percentile rests on more than ten of them.
const DRAWS: usize = 500;
/// With fewer blocks than this in either run there is no interval.
pub(super) const BLOCKS: usize = 8;
/// More blocks than this are not needed. Longer blocks are safer: where few operations are over a threshold, their
/// randomness hides that the level varies, and the autocorrelation time comes out too short.
const ENOUGH: usize = 16;
/// A figure this many times the other's is a difference without any interval.
const PLAIN: f64 = 10.0;
/// At least this many operations must lie beyond a figure before few blocks can show a difference: fewer may be a
/// single stall.
const BEYOND: f64 = 10.0;
/// A cell of a distribution is 0.1 % wide: a ratio closer to 1 than two cells is not a difference.
const RESOLUTION: f64 = 0.002;

/// The method, described for the reader of the result.
pub(crate) const METHOD: &str = "Block bootstrap over intervals, blocks of twice the autocorrelation time (at least a 16th of the run), \
500 draws with seed 20261121, middle 95 %; a difference whose interval holds 1 (of a ratio) or 0 (of a share) is noise. \
A run too short for that tells only a tenfold difference, with ten operations or more beyond the figure in each run. A run that \
its lag ended is worse than one that was not.";

/// The result for one figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum Answer {
    /// The interval contains "no difference".
    Noise {
        /// 95 % interval: of the ratio for a time, of the difference for a share.
        low: f64,
        /// See `low`.
        high: f64,
    },
    /// The interval does not contain "no difference".
    Differs {
        /// See [`Answer::Noise`].
        low: f64,
        /// See [`Answer::Noise`].
        high: f64,
    },
    /// This run ended because the device fell too far behind the schedule, and the first run did not: what it measured
    /// until then is less than its users would have waited.
    Worse,
    /// The first run ended that way, and this one did not.
    Better,
    /// Too few blocks for a difference below tenfold, or nothing was counted.
    CannotTell,
}

/// Counts by block, dense over the keys that occur in either run.
struct Blocks {
    blocks: Vec<Vec<u64>>,
}

/// The quantile's ratio, `b` over `a`.
pub(crate) fn compare_quantile(a: Option<&Series>, b: Option<&Series>, quantile: f64) -> Answer {
    let (Some(a), Some(b)) = (a, b) else { return Answer::CannotTell };
    let keys: BTreeSet<u32> = a.groups.all.iter().chain(&b.groups.all).flat_map(|unit| unit.keys().copied()).collect();
    let keys: Vec<u32> = keys.into_iter().collect();
    let limits = confidence_interval(
        &form_blocks(&a.groups.all, &keys, mean_logarithm),
        &form_blocks(&b.groups.all, &keys, mean_logarithm),
        |sum: &[u64]| quantile_of(keys.iter().copied().zip(sum.iter().copied()), quantile),
        |a, b| (b / a).ln(),
    );
    judge_limits(limits.map(|(low, high)| (low.exp(), high.exp())), 1.0, RESOLUTION)
        .unwrap_or_else(|| plain_ratio(a, b, quantile))
}

/// The logarithm of the mean time of a unit; 0 where it has no operation.
fn mean_logarithm(unit: &BTreeMap<u32, u64>) -> f64 {
    let (sum, n) = unit.iter().fold((0.0, 0u64), |(sum, n), (cell, count)| {
        (sum + Times::largest_of(*cell) as f64 * *count as f64, n + count)
    });
    if n == 0 { 0.0 } else { (sum / n as f64).ln_1p() }
}

/// The ratio of a quantile where the difference is plain.
fn plain_ratio(a: &Series, b: &Series, quantile: f64) -> Answer {
    let ratio = a.time_at_quantile(quantile).zip(b.time_at_quantile(quantile)).map(|(a, b)| b / a.max(1.0));
    let plain = ratio.filter(|ratio| {
        has_enough_beyond(a, quantile) && has_enough_beyond(b, quantile) && (*ratio >= PLAIN || *ratio <= 1.0 / PLAIN)
    });
    plain.map_or(Answer::CannotTell, |ratio| Answer::Differs { low: ratio, high: ratio })
}

/// Whether enough operations lie beyond the quantile that a few blocks can show a difference.
fn has_enough_beyond(series: &Series, quantile: f64) -> bool {
    series.operation_count() as f64 * quantile.min(1.0 - quantile) >= BEYOND
}

/// The difference of the shares over a threshold, `b` minus `a`.
pub(crate) fn compare_share_over_threshold(a: Option<&Series>, b: Option<&Series>, threshold: u64) -> Answer {
    let (Some(a), Some(b)) = (a, b) else { return Answer::CannotTell };
    let (Some(key_a), Some(key_b)) = (a.key_of_threshold(threshold), b.key_of_threshold(threshold)) else {
        return Answer::CannotTell;
    };
    let limits = confidence_interval(
        &blocks_of_counts(a, key_a),
        &blocks_of_counts(b, key_b),
        |sum: &[u64]| (sum[0] > 0).then(|| sum[1] as f64 / sum[0] as f64),
        |a, b| b - a,
    );
    judge_limits(limits, 0.0, 0.0).unwrap_or_else(|| plain_difference(a, b, threshold))
}

/// The blocks of all operations and of those with this key.
fn blocks_of_counts(series: &Series, key: u32) -> Blocks {
    form_blocks(&series.intervals.all, &[OPERATIONS, key], |unit: &BTreeMap<u32, u64>| {
        if count_of(OPERATIONS, unit) == 0.0 { 0.0 } else { count_of(key, unit) / count_of(OPERATIONS, unit) }
    })
}

/// The difference of the shares over a threshold where it is plain: ten times as many operations, and ten times as many
/// as a single stall may have.
fn plain_difference(a: &Series, b: &Series, threshold: u64) -> Answer {
    let Some((share_a, share_b)) = a.share_over(threshold).zip(b.share_over(threshold)) else {
        return Answer::CannotTell;
    };
    let (less, more) = if share_a < share_b { ((share_a, a), (share_b, b)) } else { ((share_b, b), (share_a, a)) };
    // What the run with the smaller share would have had with the larger share.
    if would_show(less.1, more.0) && would_show(more.1, more.0) && more.0 >= PLAIN * less.0 {
        Answer::Differs { low: share_b - share_a, high: share_b - share_a }
    } else {
        Answer::CannotTell
    }
}

/// Whether a run would have enough operations over a threshold if this were their share.
fn would_show(series: &Series, share: f64) -> bool {
    series.operation_count() as f64 * share >= PLAIN * BEYOND
}

/// The count of a unit under a key.
fn count_of(key: u32, unit: &BTreeMap<u32, u64>) -> f64 {
    unit.get(&key).copied().unwrap_or(0) as f64
}

/// Whether the limits contain "no difference"; `None` without limits.
fn judge_limits(limits: Option<(f64, f64)>, same: f64, resolution: f64) -> Option<Answer> {
    let (low, high) = limits?;
    let differs = low > same + resolution || high < same - resolution;
    Some(if differs { Answer::Differs { low, high } } else { Answer::Noise { low, high } })
}

/// The 95 % interval of `difference` between the figures of the two runs.
fn confidence_interval(
    a: &Blocks,
    b: &Blocks,
    figure: impl Fn(&[u64]) -> Option<f64>,
    difference: impl Fn(f64, f64) -> f64,
) -> Option<(f64, f64)> {
    let fewest = a.blocks.len().min(b.blocks.len());
    if fewest < BLOCKS {
        return None;
    }
    let mut prng = Prng::from_seed(SEED);
    let point = difference(figure(&a.sum_all_blocks())?, figure(&b.sum_all_blocks())?);
    let mut draws: Vec<f64> = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        draws.push(difference(figure(&a.draw_resample(&mut prng))?, figure(&b.draw_resample(&mut prng))?));
    }
    draws.sort_by(f64::total_cmp);
    let degrees = (fewest - 1) as f64;
    // The second factor is Student's 97.5 % point over the normal one, within 2 % from 7 degrees on.
    let wider = (fewest as f64 / degrees).sqrt() * (1.0 + 1.3 / degrees);
    let [low, high] = [0.025, 0.975].map(|share| draws[((DRAWS - 1) as f64 * share).round() as usize]);
    Some((point + (low - point) * wider, point + (high - point) * wider))
}

impl Blocks {
    fn sum_blocks<'a>(&self, chosen: impl Iterator<Item = &'a Vec<u64>>) -> Vec<u64> {
        let mut sum = vec![0u64; self.blocks.first().map_or(0, Vec::len)];
        for block in chosen {
            sum.iter_mut().zip(block).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        }
        sum
    }

    fn sum_all_blocks(&self) -> Vec<u64> {
        self.sum_blocks(self.blocks.iter())
    }

    /// Draws as many blocks as there are, with replacement.
    fn draw_resample(&self, prng: &mut Prng) -> Vec<u64> {
        let n = self.blocks.len() as u64;
        let chosen: Vec<usize> = (0..n).map(|_| prng.uniform_below(n) as usize).collect();
        self.sum_blocks(chosen.iter().map(|index| &self.blocks[*index]))
    }
}

fn form_blocks(units: &[BTreeMap<u32, u64>], keys: &[u32], mean: impl Fn(&BTreeMap<u32, u64>) -> f64) -> Blocks {
    let means: Vec<f64> = units.iter().map(mean).collect();
    // As many whole blocks as fit; the remaining units are spread among them.
    let n = units.len();
    let count = n / block_length(&means);
    let chunks = (0..count).map(|index| &units[index * n / count..(index + 1) * n / count]);
    let dense =
        chunks.map(|chunk| keys.iter().map(|key| chunk.iter().filter_map(|unit| unit.get(key)).sum()).collect());
    Blocks { blocks: dense.collect() }
}

/// Number of units in a block.
pub(crate) fn block_length(means: &[f64]) -> usize {
    let n = means.len();
    let least = (n as f64).cbrt().floor().max((n / ENOUGH) as f64).max(1.0);
    // With so few units, blocks stay short enough that enough of them are left to draw from; similarity cannot be
    // measured then anyway.
    let most = (n / BLOCKS).max(1) as f64;
    (2.0 * autocorrelation_time(means)).ceil().max(least).min(most) as usize
}

/// Integrated autocorrelation time in units: 1/2 for independent values, n for a straight line.
fn autocorrelation_time(means: &[f64]) -> f64 {
    let n = means.len();
    let mean = means.iter().sum::<f64>() / n.max(1) as f64;
    let variance = if n == 0 { 0.0 } else { covariance_at(0, means, mean) };
    if variance <= 0.0 {
        return 0.5;
    }
    let mut time = 0.5;
    for lag in 1..n {
        time += covariance_at(lag, means, mean) / variance;
        if lag as f64 >= 5.0 * time {
            break;
        }
    }
    time.max(0.5)
}

/// The covariance of the values with those that follow `lag` units later.
fn covariance_at(lag: usize, means: &[f64], mean: f64) -> f64 {
    let n = means.len();
    means.iter().zip(&means[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n as f64
}
