//! Finds where the level of a series changed: penalised least squares, with a penalty that grows with the series' own
//! long-run variance, so that similarity of neighbouring values is not mistaken for a change.
//!
//! *Segments*: those that minimise the squared distance from their means plus a penalty for each, found exactly by PELT (R.
//! Killick, P. Fearnhead, I. A. Eckley, "Optimal detection of changepoints with a linear computational cost", JASA 107 (2012)).
//! Least squares stays consistent for dependent values when the penalty is scaled by their long-run variance (M. Lavielle, E.
//! Moulines, "Least-squares estimation of an unknown number of shifts in a time series", J. Time Series Analysis 21 (2000)).
//!
//! *Long-run variance*: from the median of the differences between neighbouring blocks' means, which a few shifts do not move
//! (W. B. Wu, Z. Zhao, "Inference of trends in time series", J. R. Stat. Soc. B 69 (2007)); a block is twice the cube root of the
//! series' length, and no segment is shorter than one.
//!
//! Each change found is then tested once more with the variance of its own two sides.
//!
//! *Penalty*: [`PENALTY`] × variance × ln n. Its factor was chosen so that of series without a change (independent and
//! autocorrelated, 60 to 2000 values) less than one in twenty shows one; a test repeats that.

use assay_base::math::ln;

/// See the module.
const PENALTY: f64 = 5.0;
/// Shortest series that is examined.
const SHORTEST: usize = 30;
/// Below this spread (a thousandth, because the values are logarithms) a difference is an artefact of counting.
const LEAST_SPREAD: f64 = 1e-3;
/// Half of all values of a normal distribution lie within this many standard deviations.
const MEDIAN: f64 = 0.674_489_750_196_081_7;

/// Indices at which a new level begins, ascending; none for a series that is too short. Values are positive, and their
/// ratios count.
pub(crate) fn find_level_changes(values: &[f64]) -> Vec<usize> {
    let n = values.len();
    if n < SHORTEST || values.iter().any(|value| !(value.is_normal() && value.is_sign_positive())) {
        return Vec::new();
    }
    let logs = without_spikes(&values.iter().map(|value| ln(*value)).collect::<Vec<f64>>());
    let block = block_length(n);
    let variance = long_run_variance(&logs, block).max(LEAST_SPREAD * LEAST_SPREAD);
    let found = optimal_segments(&logs, PENALTY * variance * ln(n as f64), block);
    outstanding_changes(&logs, found, variance, block)
}

/// The changes that also stand out from the noise on their own two sides: a drive that becomes slower often
/// becomes less even too, and the variance of the whole series is that of its calmer part. The change that stands out
/// least is removed first; its two sides then become one.
fn outstanding_changes(values: &[f64], mut found: Vec<usize>, variance: f64, block: usize) -> Vec<usize> {
    // Six blocks on each side, whatever else changes in them: their median tolerates one step.
    loop {
        let bounds: Vec<usize> = [0].into_iter().chain(found.iter().copied()).chain([values.len()]).collect();
        let gain = |at: usize| {
            let (left, right) = (&values[bounds[at]..bounds[at + 1]], &values[bounds[at + 1]..bounds[at + 2]]);
            let (apart, n, m) = (mean_of(right) - mean_of(left), left.len() as f64, right.len() as f64);
            apart * apart * n * m / (n + m) / variance_around(values, bounds[at + 1], variance, block)
        };
        match (0..found.len()).map(|at| (at, gain(at))).min_by(|a, b| a.1.total_cmp(&b.1)) {
            Some((at, gain)) if gain < PENALTY * ln(values.len() as f64) => drop(found.remove(at)),
            _ => return found,
        }
    }
}

/// The variance of the values near a place, if that is larger than `variance`.
fn variance_around(values: &[f64], at: usize, variance: f64, block: usize) -> f64 {
    let (before, after) = (at.saturating_sub(6 * block), (at + 6 * block).min(values.len()));
    let sides = [&values[before..at], &values[at..after]].into_iter().filter(|side| side.len() >= 4 * block);
    sides.map(|side| long_run_variance(side, block)).fold(variance, f64::max)
}

/// The mean of the values on one side of a change.
fn mean_of(side: &[f64]) -> f64 {
    side.iter().sum::<f64>() / side.len() as f64
}

/// Each value replaced by the median of itself and the two values on either side, which removes peaks of up to two
/// values and keeps steps where they are (J. W. Tukey, "Exploratory Data Analysis", 1977).
fn without_spikes(values: &[f64]) -> Vec<f64> {
    (0..values.len())
        .map(|at| {
            let mut around: Vec<f64> = values[at.saturating_sub(2)..(at + 3).min(values.len())].to_vec();
            around.sort_by(f64::total_cmp);
            around[around.len() / 2]
        })
        .collect()
}

/// Twice the cube root of `n`.
fn block_length(n: usize) -> usize {
    let root = (1..).find(|root| root * root * root >= n).unwrap_or(n);
    2 * root
}

fn long_run_variance(values: &[f64], block: usize) -> f64 {
    let means: Vec<f64> =
        values.chunks_exact(block).map(|block| block.iter().sum::<f64>() / block.len() as f64).collect();
    let mut apart: Vec<f64> = means.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    apart.sort_by(f64::total_cmp);
    // The upper median, and one difference more, because a few differences may all be small by chance.
    let Some(median) = apart.get((apart.len() / 2 + 1).min(apart.len().saturating_sub(1))) else {
        return f64::INFINITY;
    };
    let deviation = median / MEDIAN;
    deviation * deviation / 2.0 * block as f64
}

/// PELT over the squared distance from the mean, apart from terms that are the same for all segmentations.
fn optimal_segments(values: &[f64], penalty: f64, shortest: usize) -> Vec<usize> {
    let n = values.len();
    let mut sums = vec![0.0; n + 1];
    for (index, value) in values.iter().enumerate() {
        sums[index + 1] = sums[index] + value;
    }
    // Without the sum of the squares, which is the same whatever the segments are.
    let cost = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        -sum * sum / (to - from) as f64
    };
    let mut best = vec![f64::INFINITY; n + 1];
    let mut before = vec![0; n + 1];
    best[0] = 0.0;
    let (mut candidates, mut tried) = (vec![0], Vec::new());
    for to in shortest..=n {
        // A segment that ends here begins at least the shortest length earlier.
        let begin = to - shortest;
        if begin >= shortest {
            candidates.push(begin);
        }
        tried.clear();
        tried.extend(candidates.iter().map(|&from| (best[from] + cost(from, to), from)));
        let (least, from) = tried.iter().copied().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::INFINITY, 0));
        (best[to], before[to]) = (least + penalty, from);
        // A candidate that is worse by a whole penalty is never chosen later either.
        candidates.clear();
        candidates.extend(tried.iter().filter(|(value, _)| *value <= least + penalty).map(|(_, from)| from));
    }
    let mut found = Vec::new();
    let mut at = before[n];
    while at > 0 {
        found.push(at);
        at = before[at];
    }
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    /// Sum of twelve uniform draws, less six: nearly normal, variance 1.
    fn normal(prng: &mut Prng) -> f64 {
        (0..12).map(|_| prng.uniform_unit()).sum::<f64>() - 6.0
    }

    /// A series around 100 with an autocorrelation of `rho` between neighbours, spread by `spread` of its level.
    fn series(seed: u64, n: usize, rho: f64, spread: f64) -> Vec<f64> {
        let mut prng = Prng::from_seed(seed);
        let mut state = normal(&mut prng);
        let next = |_| {
            state = rho * state + (1.0 - rho * rho).sqrt() * normal(&mut prng);
            100.0 * (spread * state).exp()
        };
        (0..n).map(next).collect()
    }

    #[test]
    fn without_a_change_hardly_one_is_found_however_alike_neighbours_are() {
        for (n, rho) in [(60, 0.0), (60, 0.5), (300, 0.0), (300, 0.7), (1000, 0.8), (2000, 0.0), (2000, 0.8)] {
            let of = 40_000 / n.max(200) as u64;
            let found = (0..of).filter(|seed| !find_level_changes(&series(1 + *seed, n, rho, 0.1)).is_empty()).count();
            assert!(found * 20 <= of as usize, "{found} of {of} series of {n} values, autocorrelation {rho}");
        }
    }

    #[test]
    fn a_change_of_a_third_is_found_where_it_is() {
        for (n, rho) in [(120, 0.0), (300, 0.5), (2000, 0.0), (2000, 0.8)] {
            let mut right = 0;
            for seed in 0..50 {
                let mut values = series(100 + seed, n, rho, 0.05);
                let at = n / 3 + seed as usize % 10;
                values[at..].iter_mut().for_each(|value| *value *= 1.31);
                let found = find_level_changes(&values);
                right += usize::from(found.len() == 1 && found[0].abs_diff(at) <= 2);
            }
            assert!(right >= 45, "{right} of 50 with {n} values, autocorrelation {rho}");
        }
    }

    /// Rates of one in a second and of a million, or times in seconds and in nanoseconds.
    #[test]
    fn the_unit_does_not_matter() {
        for seed in 0..20 {
            let mut values = series(seed, 400, 0.3, 0.05);
            values[130..].iter_mut().for_each(|value| *value *= 1.5);
            values[250..320].iter_mut().for_each(|value| *value *= 0.6);
            let expected = find_level_changes(&values);
            assert!(!expected.is_empty(), "{seed}");
            for unit in [1e-6, 0.0091, 0.01, 0.011, 1e6] {
                let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
                assert_eq!(find_level_changes(&scaled), expected, "{seed}, in units of {unit}");
            }
        }
    }

    /// Values that differ by factors among themselves, and by a larger one from a moment on.
    #[test]
    fn a_large_change_is_found_in_large_noise() {
        for seed in 0..10 {
            let mut values = series(seed, 600, 0.3, 0.8);
            values[300..].iter_mut().for_each(|value| *value *= 100.0);
            let found = find_level_changes(&values);
            assert!(found.len() == 1 && found[0].abs_diff(300) <= 2, "{seed}: {found:?}");
        }
    }

    #[test]
    fn there_and_back_are_two_and_a_spike_is_none() {
        let mut values = series(5, 600, 0.3, 0.05);
        values[200..300].iter_mut().for_each(|value| *value *= 0.7);
        values[450..452].iter_mut().for_each(|value| *value *= 100.0);
        let found = find_level_changes(&values);
        assert!(found.len() == 2 && found[0].abs_diff(200) <= 2 && found[1].abs_diff(300) <= 2, "{found:?}");
    }

    #[test]
    fn where_it_becomes_slower_and_less_even_the_new_noise_is_no_change() {
        for seed in 0..20 {
            let mut values = series(seed, 600, 0.3, 0.01);
            let uneven = series(100 + seed, 230, 0.3, 0.12);
            values[370..].iter_mut().zip(uneven).for_each(|(value, uneven)| *value = 4.0 * uneven);
            let found = find_level_changes(&values);
            assert!(found.len() == 1 && found[0].abs_diff(370) <= 2, "{seed}: {found:?}");
        }
    }

    /// The long-run variance of a series with autocorrelation `rho` is (1 + rho) / (1 - rho) times its variance.
    #[test]
    fn the_long_run_variance_is_that_of_the_formula() {
        for rho in [0.0, 0.5, 0.7] {
            let logs: Vec<f64> = series(3, 40_000, rho, 1.0).iter().map(|value| ln(*value)).collect();
            let (found, expected) = (long_run_variance(&logs, 60), (1.0 + rho) / (1.0 - rho));
            assert!((found / expected - 1.0).abs() < 0.25, "{found} for {expected}");
        }
        assert_eq!(long_run_variance(&[1.0; 10], 6), f64::INFINITY, "one block cannot tell");
    }

    /// Whether a change counts depends on the noise around it, and not on noise that begins long after it.
    #[test]
    fn noise_far_away_does_not_hide_a_change() {
        for seed in 0..10 {
            let mut values = series(seed, 600, 0.0, 0.01);
            values[330..].iter_mut().for_each(|value| *value *= 1.05);
            let noise = series(100 + seed, 150, 0.0, 0.3);
            values[450..].iter_mut().zip(noise).for_each(|(value, noise)| *value = 1.05 * noise);
            let found = find_level_changes(&values);
            assert!(found.iter().any(|at| at.abs_diff(330) <= 2), "{seed}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_tell_tells_nothing() {
        assert!(find_level_changes(&[]).is_empty() && find_level_changes(&[1.0; 29]).is_empty());
        assert!(find_level_changes(&[7.0; 500]).is_empty(), "no change, no noise");
        let mut step = vec![7.0; 250];
        step.extend([8.0; 250]);
        assert_eq!(find_level_changes(&step), [250]);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
            step[3] = bad;
            assert!(find_level_changes(&step).is_empty(), "{bad}");
        }
    }
}
