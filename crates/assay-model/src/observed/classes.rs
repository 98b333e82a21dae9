//! From how often areas were used to how often they are used: what was counted is the true rate and chance. With a few
//! requests to each area, chance alone would make some of them hot.
//!
//! The counts of areas with a rate are Poisson distributed, and the rates of all areas are some distribution. The one
//! under which the counts are most likely has few different rates (N. Laird, "Nonparametric maximum likelihood estimation
//! of a mixing distribution", JASA 73, 1978); it is found over a grid of rates by expectation and maximisation.

use assay_base::math;
use std::collections::BTreeMap;

/// Number of rates that are tried.
const RATES: usize = 96;
/// Upper bound on the steps, and the change of the likelihood at which they end.
const STEPS: usize = 400;
/// Counts above this are joined with those that differ by less than a twentieth.
const EXACT: u64 = 64;
/// Rates that fewer areas than this share have are left out.
const LEAST_SHARE: f64 = 1e-9;

/// Areas that are used equally often.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Class {
    /// Requests to each of them.
    pub rate: f64,
    /// Their part of all areas.
    pub space: f64,
}

/// The classes of areas, the most used one first. `counts` has how many areas were used how often, those that were not
/// used at all included.
pub(super) fn find_classes(counts: &BTreeMap<u64, f64>) -> Vec<Class> {
    let bars = join_large_counts(counts);
    let most = bars.iter().map(|bar| bar.count).fold(0.0, f64::max);
    if most <= 0.0 {
        return Vec::new();
    }
    let areas: f64 = bars.iter().map(|bar| bar.areas).sum();
    let mean = bars.iter().map(|bar| bar.count * bar.areas).sum::<f64>() / areas;
    let rates = grid_of_rates(mean, most);
    let shares = most_likely_shares(&bars, &rates);
    let classes = rates.iter().zip(shares).map(|(rate, space)| Class { rate: *rate, space });
    let mut classes: Vec<Class> = classes.filter(|class| class.space > LEAST_SHARE).collect();
    classes.sort_by(|a, b| b.rate.total_cmp(&a.rate));
    classes
}

/// Areas that were used equally often, or nearly.
#[derive(Clone, Copy, Debug)]
struct Bar {
    count: f64,
    areas: f64,
}

fn join_large_counts(counts: &BTreeMap<u64, f64>) -> Vec<Bar> {
    let mut bars: Vec<Bar> = Vec::new();
    let mut begin = 0.0;
    for (&count, &areas) in counts.iter().filter(|(_, areas)| **areas > 0.0) {
        match bars.last_mut().filter(|_| count > EXACT && (count as f64) < begin * 1.05) {
            Some(bar) => {
                bar.count = (bar.count * bar.areas + count as f64 * areas) / (bar.areas + areas);
                bar.areas += areas;
            }
            None => {
                begin = count as f64;
                bars.push(Bar { count: begin, areas });
            }
        }
    }
    bars
}

/// None at all, and rates with a constant ratio between them.
fn grid_of_rates(mean: f64, most: f64) -> Vec<f64> {
    let (least, most) = ((mean / 50.0).min(0.5), most.max(mean * 1.01));
    let step = math::ln(most / least) / (RATES - 1) as f64;
    std::iter::once(0.0).chain((0..RATES).map(|at| least * math::exp(step * at as f64))).collect()
}

/// The share of the areas that has each rate.
fn most_likely_shares(bars: &[Bar], rates: &[f64]) -> Vec<f64> {
    let likelihoods: Vec<Vec<f64>> = bars.iter().map(|bar| likelihoods_of(bar.count, rates)).collect();
    let areas: f64 = bars.iter().map(|bar| bar.areas).sum();
    let mut shares = vec![1.0 / rates.len() as f64; rates.len()];
    for _ in 0..STEPS {
        let mut next = vec![0.0; rates.len()];
        for (bar, row) in bars.iter().zip(&likelihoods) {
            let sum: f64 = row.iter().zip(&shares).map(|(likelihood, share)| likelihood * share).sum();
            if sum > 0.0 {
                let weight = bar.areas / areas / sum;
                next.iter_mut()
                    .zip(row.iter().zip(&shares))
                    .for_each(|(next, (row, share))| *next += weight * row * share);
            }
        }
        let moved: f64 = next.iter().zip(&shares).map(|(next, share)| (next - share).abs()).sum();
        shares = next;
        if moved < 1e-6 {
            break;
        }
    }
    shares
}

/// How likely a count is under each rate, as a multiple of how likely it is under the best.
fn likelihoods_of(count: f64, rates: &[f64]) -> Vec<f64> {
    let logarithms: Vec<f64> = rates
        .iter()
        .map(|rate| match (*rate > 0.0, count > 0.0) {
            (false, false) => 0.0,
            (false, true) => f64::NEG_INFINITY,
            (true, _) => count * math::ln(*rate) - rate,
        })
        .collect();
    let best = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logarithms.iter().map(|logarithm| if logarithm.is_finite() { math::exp(logarithm - best) } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Zipf;
    use assay_base::Prng;

    /// The share of the operations that goes to the hottest part of the areas, by the classes.
    fn share_of_hottest(classes: &[Class], part: f64) -> f64 {
        let all: f64 = classes.iter().map(|class| class.rate * class.space).sum();
        let (mut left, mut sum) = (part, 0.0);
        for class in classes {
            let space = class.space.min(left);
            (sum, left) = (sum + space * class.rate, left - space);
        }
        sum / all
    }

    fn counts_of(draw: &mut impl FnMut() -> u64, areas: usize, operations: usize) -> BTreeMap<u64, f64> {
        let mut each = vec![0u64; areas];
        (0..operations).for_each(|_| each[draw() as usize] += 1);
        let mut counts = BTreeMap::new();
        each.iter().for_each(|count| *counts.entry(*count).or_default() += 1.0);
        counts
    }

    #[test]
    fn chance_makes_nothing_hot() {
        let mut prng = Prng::from_seed(2);
        // With a request to a fifth of the areas, little can be said of them; with one to each, some of what chance did stays: the tenth
        // that was used most got 30 % of the requests.
        for (operations, most) in [(4_000, 0.22), (20_000, 0.14), (400_000, 0.125)] {
            let classes = find_classes(&counts_of(&mut || prng.uniform_below(20_000), 20_000, operations));
            let (hundredth, tenth) = (share_of_hottest(&classes, 0.01), share_of_hottest(&classes, 0.1));
            assert!(hundredth < 0.03 && tenth < most, "{operations}: {hundredth} {tenth}");
        }
    }

    #[test]
    fn hot_areas_are_found_through_chance() {
        for (exponent, operations) in [(0.8, 100_000), (1.2, 100_000), (1.2, 20_000), (0.5, 400_000)] {
            let areas = 20_000u64;
            let (mut zipf, mut prng) = (Zipf::new(areas, exponent), Prng::from_seed(4));
            let classes = find_classes(&counts_of(&mut || zipf.next(&mut prng), areas as usize, operations));
            for part in [0.01, 0.1] {
                let weight = |ranks: u64| (1..=ranks).map(|rank| (rank as f64).powf(-exponent)).sum::<f64>();
                let truth = weight((areas as f64 * part) as u64) / weight(areas);
                let found = share_of_hottest(&classes, part);
                assert!((found - truth).abs() < 0.02, "{exponent}, {operations}: {found}, not {truth}");
            }
        }
    }

    #[test]
    fn nothing_and_one_area() {
        assert!(find_classes(&BTreeMap::new()).is_empty());
        assert!(find_classes(&BTreeMap::from([(0, 5.0)])).is_empty());
        let one = find_classes(&BTreeMap::from([(1_000_000, 1.0)]));
        assert!((share_of_hottest(&one, 1.0) - 1.0).abs() < 1e-9);
    }
}
