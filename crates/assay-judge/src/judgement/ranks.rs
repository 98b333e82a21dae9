//! What each of several ranks did by itself, and which of them stands out.

use crate::judgement::CriterionOutcome;
use crate::verdict::Verdict;
use serde::{Deserialize, Serialize};

/// How many median absolute deviations above the median a rank must lie to stand out.
const DEVIATIONS: f64 = 5.0;
/// How many standard deviations above what the others' share lets expect it must lie too, and how many operations more: few
/// operations over a threshold come by chance.
const BEYOND_CHANCE: f64 = 5.0;
const LEAST_OPERATIONS: f64 = 5.0;
/// Of fewer ranks a median says nothing about one of them.
const LEAST_RANKS: usize = 3;

/// One rank, as it has judged its own log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFigures {
    /// Its number.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// How many parts of the load it carried.
    pub parts: u64,
    /// What its own log proves; absent where it has not said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// For each criterion that counts operations over a threshold, in the order of the criteria.
    pub shares: Vec<RankShare>,
}

/// The operations of a rank that a criterion counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankShare {
    /// Index into the criteria of the result.
    pub criterion: usize,
    /// Operations at or over the threshold in all slices.
    pub over: u64,
    /// All operations there.
    pub operations: u64,
    /// The same in each slice: over the threshold, and all.
    pub slices: Vec<(u64, u64)>,
    /// The same of all other ranks together, where this one is a straggler: over the threshold, and all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<(u64, u64)>,
}

impl RankShare {
    /// Of these slices.
    pub(crate) fn of_slices(criterion: usize, slices: Vec<(u64, u64)>) -> RankShare {
        let sum = |count: fn(&(u64, u64)) -> u64| slices.iter().map(count).fold(0, u64::saturating_add);
        RankShare { criterion, over: sum(|slice| slice.0), operations: sum(|slice| slice.1), slices, others: None }
    }

    fn share(&self) -> Option<f64> {
        share_of(self.over, self.operations)
    }
}

/// A share; `None` of nothing.
pub(crate) fn share_of(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Marks the ranks that stand out: whose share over a threshold is more than [`DEVIATIONS`] median absolute deviations above the
/// median of all ranks, and more than chance gives them at the share of the others (the square root of the expected number is its
/// standard deviation, as of a Poisson process).
pub(crate) fn mark_stragglers(ranks: &mut [RankFigures]) {
    let shares = ranks.iter().map(|rank| rank.shares.len()).min().unwrap_or(0);
    for at in 0..shares {
        let each: Vec<f64> = ranks.iter().filter_map(|rank| rank.shares[at].share()).collect();
        if each.len() < LEAST_RANKS {
            continue;
        }
        let middle = median(each.clone());
        let bound = middle + DEVIATIONS * median(each.iter().map(|share| (share - middle).abs()).collect());
        let sum = |count: fn(&RankShare) -> u64| ranks.iter().map(|rank| count(&rank.shares[at])).sum::<u64>();
        let (all_over, all) = (sum(|share| share.over), sum(|share| share.operations));
        for rank in ranks.iter_mut() {
            let share = &mut rank.shares[at];
            let others = (all_over - share.over, all - share.operations);
            let expected = share_of(others.0, others.1).unwrap_or(0.0) * share.operations as f64;
            let by_chance = expected + BEYOND_CHANCE * expected.sqrt() + LEAST_OPERATIONS;
            let stands_out = share.share().is_some_and(|own| own > bound) && share.over as f64 > by_chance;
            share.others = stands_out.then_some(others);
        }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n.is_multiple_of(2) => f64::midpoint(values[n / 2 - 1], values[n / 2]),
        n => values[n / 2],
    }
}

/// What is said of the stragglers, a line for each.
pub(crate) fn straggler_warnings(ranks: &[RankFigures], criteria: &[CriterionOutcome]) -> Vec<String> {
    let mut lines = Vec::new();
    for rank in ranks {
        for share in &rank.shares {
            let (Some((over, operations)), Some(criterion)) = (share.others, criteria.get(share.criterion)) else {
                continue;
            };
            let percent = |part: u64, whole: u64| format!("{:.2}%", share_of(part, whole).unwrap_or(0.0) * 100.0);
            lines.push(format!(
                "rank {} on {} is a straggler: {} {} there, {} on all other ranks together",
                rank.rank,
                rank.host,
                criterion.asked.title,
                percent(share.over, share.operations),
                percent(over, operations),
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(counted: &[(u64, u64)]) -> Vec<RankFigures> {
        let rank = |(at, slice): (usize, &(u64, u64))| RankFigures {
            rank: at as u32,
            host: format!("host{at}"),
            parts: 1,
            verdict: Some(Verdict::Pass),
            shares: vec![RankShare::of_slices(1, vec![*slice])],
        };
        counted.iter().enumerate().map(rank).collect()
    }

    #[test]
    fn who_is_far_above_the_others_and_beyond_chance_stands_out() {
        for (counted, stragglers) in [
            // One of five is slow.
            (vec![(10, 1_000), (12, 1_000), (11, 1_000), (9, 1_000), (200, 1_000)], vec![4]),
            // All are as slow as each other.
            (vec![(200, 1_000), (210, 1_000), (190, 1_000), (205, 1_000), (195, 1_000)], vec![]),
            // Four without any, one with a few: chance.
            (vec![(0, 1_000), (0, 1_000), (0, 1_000), (0, 1_000), (4, 1_000)], vec![]),
            (vec![(0, 1_000), (0, 1_000), (0, 1_000), (0, 1_000), (40, 1_000)], vec![4]),
            // Two ranks have no median that says something of one.
            (vec![(0, 1_000), (400, 1_000)], vec![]),
            // One that did nothing is none.
            (vec![(0, 0), (10, 1_000), (10, 1_000), (10, 1_000)], vec![]),
        ] {
            let mut ranks = ranks(&counted);
            mark_stragglers(&mut ranks);
            let found: Vec<u32> =
                ranks.iter().filter(|rank| rank.shares[0].others.is_some()).map(|rank| rank.rank).collect();
            assert_eq!(found, stragglers, "{counted:?}");
        }
    }

    #[test]
    fn the_others_are_all_but_the_straggler_exactly() {
        let mut ranks = ranks(&[(1, 100), (2, 200), (3, 300), (90, 100)]);
        mark_stragglers(&mut ranks);
        assert_eq!(ranks[3].shares[0].others, Some((6, 600)));
    }
}
