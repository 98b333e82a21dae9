//! Whether a figure differs between two members: by the ratios within each round.
//!
//! In each round both members carried the same workload with the same seed, one soon after the other. The logarithms of the
//! ratios of these rounds are taken as drawn from one normal distribution; their mean ± Student's t for n − 1 degrees of freedom
//! times s / √n is the 95 % confidence interval of the mean logarithm (Student 1908, "The probable error of a mean"). An interval
//! that holds no difference is noise: of figures that do not differ, one in twenty comes out as different. Below
//! [`LEAST_ROUNDS`] rounds the interval is so wide that nothing is said.

use crate::compare::Answer;

/// With fewer rounds nothing can be told.
pub(super) const LEAST_ROUNDS: usize = 3;
/// A cell of a distribution is 0.1 % wide: a ratio closer to 1 than two cells is not a difference.
const RESOLUTION: f64 = 0.002;

/// The method, described for the reader of the result.
pub(super) const METHOD: &str = "Rounds are the units of noise: of each figure the ratio to the first member is formed in each \
round, and the mean of its logarithms ± Student's t times their standard error is the 95 % interval; one that holds 1 is noise. \
Values and ratios are over the rounds in which all members have the figure; a member without 3 such rounds counts for itself, and of \
it nothing is told.";

/// The 97.5 % points of Student's t for 1 to 30 degrees of freedom (Fisher and Yates 1963, table III).
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];
/// The 97.5 % point of the normal distribution.
const NORMAL: f64 = 1.959_964;

/// The 97.5 % point of Student's t. Beyond the table by the first two terms of Fisher's expansion in 1/ν (Abramowitz and Stegun 1964,
/// 26.7.5), which are right to four digits there.
fn student_t(degrees: usize) -> f64 {
    match degrees.checked_sub(1).and_then(|at| STUDENT.get(at)) {
        Some(t) => *t,
        None if degrees == 0 => f64::INFINITY,
        None => {
            let first = (NORMAL.powi(3) + NORMAL) / 4.0;
            let second = (5.0 * NORMAL.powi(5) + 16.0 * NORMAL.powi(3) + 3.0 * NORMAL) / 96.0;
            NORMAL + first / degrees as f64 + second / (degrees as f64).powi(2)
        }
    }
}

/// The interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// The geometric mean of some values; `None` without values.
pub(super) fn geometric_mean(values: &[f64]) -> Option<f64> {
    mean(&logarithms(values)).map(f64::exp)
}

/// The 95 % interval of the geometric mean of some values; `None` for fewer than [`LEAST_ROUNDS`].
pub(super) fn interval_of_mean(values: &[f64]) -> Option<Interval> {
    if values.len() < LEAST_ROUNDS {
        return None;
    }
    let logarithms = logarithms(values);
    let (mean, n) = (mean(&logarithms)?, logarithms.len() as f64);
    let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (n - 1.0)).sqrt() / n.sqrt();
    let half = student_t(logarithms.len() - 1) * error;
    Some(Interval { low: (mean - half).exp(), high: (mean + half).exp() })
}

/// The answer about the ratios of all rounds in which both members have the figure.
pub(super) fn compare_ratios(ratios: &[f64]) -> Answer {
    match interval_of_mean(ratios) {
        None => Answer::CannotTell,
        Some(Interval { low, high }) if low > 1.0 + RESOLUTION || high < 1.0 - RESOLUTION => {
            Answer::Differs { low, high }
        }
        Some(Interval { low, high }) => Answer::Noise { low, high },
    }
}

/// A figure of some members, by round, in those rounds alone in which all have it. Members without [`LEAST_ROUNDS`] such rounds keep
/// their own, and take none from the others: nothing is told of them.
pub(super) fn in_common(of_members: Vec<Vec<Option<f64>>>) -> Vec<Vec<Option<f64>>> {
    let has_enough = |rounds: &Vec<Option<f64>>| count_rounds(rounds) >= LEAST_ROUNDS;
    let mut counting: Vec<bool> = of_members.iter().map(has_enough).collect();
    let mut common = common_rounds(&of_members, &counting);
    // Without the member that has the fewest, the others may still have enough.
    while common.iter().filter(|is_common| **is_common).count() < LEAST_ROUNDS {
        let Some(fewest) = member_with_fewest(&of_members, &counting) else { break };
        counting[fewest] = false;
        common = common_rounds(&of_members, &counting);
    }
    let mut kept = Vec::new();
    for (rounds, counts) in of_members.iter().zip(&counting) {
        let value = |(value, common): (&Option<f64>, &bool)| value.filter(|_| *common || !counts);
        kept.push(rounds.iter().zip(&common).map(value).collect());
    }
    kept
}

fn count_rounds(rounds: &[Option<f64>]) -> usize {
    rounds.iter().flatten().count()
}

/// Which rounds all of the members have that count.
fn common_rounds(of_members: &[Vec<Option<f64>>], counting: &[bool]) -> Vec<bool> {
    let number = of_members.iter().map(Vec::len).max().unwrap_or(0);
    let all_have = |round: usize| {
        let mut members = of_members.iter().zip(counting).filter(|(_, counts)| **counts);
        members.all(|(rounds, _)| rounds.get(round).copied().flatten().is_some())
    };
    (0..number).map(all_have).collect()
}

/// The member that has the fewest rounds, of those that count; the last of several. Never the first, with which all are compared.
fn member_with_fewest(of_members: &[Vec<Option<f64>>], counting: &[bool]) -> Option<usize> {
    let others = (1..of_members.len()).rev().filter(|at| counting[*at]);
    others.min_by_key(|at| count_rounds(&of_members[*at]))
}

fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| value.max(f64::MIN_POSITIVE).ln()).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;

    /// Twelve uniform numbers, which are nearly normal.
    fn nearly_normal(prng: &mut Prng) -> f64 {
        (0..12).map(|_| prng.uniform_unit()).sum::<f64>() - 6.0
    }

    fn ratios(prng: &mut Prng, rounds: usize, slower: f64, noise: f64) -> Vec<f64> {
        (0..rounds).map(|_| slower * (noise * nearly_normal(prng)).exp()).collect()
    }

    /// The share of 2,000 comparisons in which a difference is found.
    fn share_found(rounds: usize, slower: f64, noise: f64) -> f64 {
        let mut prng = Prng::from_seed(33);
        let found = (0..2000)
            .filter(|_| matches!(compare_ratios(&ratios(&mut prng, rounds, slower, noise)), Answer::Differs { .. }));
        found.count() as f64 / 2000.0
    }

    #[test]
    fn one_figure_in_twenty_differs_by_chance() {
        for rounds in [3, 5, 10, 40] {
            let share = share_found(rounds, 1.0, 0.1);
            // The standard error of a share of 5 % in 2,000 comparisons is 0.5 %; the resolution takes a little away.
            assert!((0.03..=0.065).contains(&share), "{rounds}: {share}");
        }
    }

    #[test]
    fn a_fifth_more_is_found_in_five_rounds_where_the_noise_is_smaller() {
        let share = share_found(5, 1.2, 0.05);
        assert!(share > 0.99, "{share}");
        let Answer::Differs { low, high } = compare_ratios(&[1.19, 1.21, 1.2, 1.22, 1.18]) else { panic!() };
        assert!(low > 1.17 && low < 1.2 && high > 1.2 && high < 1.23, "{low} {high}");
    }

    #[test]
    fn members_are_compared_over_the_rounds_that_all_have() {
        let one = |values: &[f64]| values.iter().map(|value| Some(*value).filter(|value| *value > 0.0)).collect();
        let of_members: Vec<Vec<Option<f64>>> =
            vec![one(&[1.0, 9.0, 1.0, 1.0, 1.0]), one(&[2.0, 0.0, 2.0, 2.0, 2.0]), one(&[3.0, 3.0, 0.0, 0.0, 0.0])];
        let common = in_common(of_members);
        assert_eq!(common[0], one(&[1.0, 0.0, 1.0, 1.0, 1.0]), "the round that the second one lacks does not count");
        assert_eq!(common[1], one(&[2.0, 0.0, 2.0, 2.0, 2.0]));
        assert_eq!(
            common[2],
            one(&[3.0, 3.0, 0.0, 0.0, 0.0]),
            "one that was lost early takes no rounds from the others"
        );
        let late =
            vec![one(&[1.0, 1.0, 1.0, 1.0, 1.0]), one(&[2.0, 2.0, 2.0, 2.0, 0.0]), one(&[0.0, 0.0, 3.0, 3.0, 3.0])];
        let common = in_common(late.clone());
        assert_eq!(common[..2], [one(&[1.0, 1.0, 1.0, 1.0, 0.0]), one(&[2.0, 2.0, 2.0, 2.0, 0.0])]);
        assert_eq!(common[2], late[2], "one that came back late leaves the others theirs");
    }

    #[test]
    fn the_interval_is_that_of_the_textbook() {
        // Logarithms 0.1, 0.2, 0.3: mean 0.2, s 0.1, t(2) 4.303: 0.2 ± 0.2484.
        let values = [0.1f64.exp(), 0.2f64.exp(), 0.3f64.exp()];
        let Interval { low, high } = interval_of_mean(&values).unwrap();
        assert!((low.ln() + 0.0484).abs() < 1e-3 && (high.ln() - 0.4484).abs() < 1e-3, "{low} {high}");
        assert!((geometric_mean(&values).unwrap().ln() - 0.2).abs() < 1e-12);
    }

    #[test]
    fn too_few_rounds_and_ugly_values_tell_nothing() {
        for ratios in [&[][..], &[2.0], &[2.0, 2.0]] {
            assert_eq!(compare_ratios(ratios), Answer::CannotTell);
        }
        // The same in each round: a difference without noise, and one below what a distribution resolves.
        assert!(matches!(compare_ratios(&[2.0; 3]), Answer::Differs { .. }));
        assert!(matches!(compare_ratios(&[1.001; 5]), Answer::Noise { .. }));
        assert!(matches!(compare_ratios(&[0.0, 1.0, 1.0]), Answer::Noise { .. }));
        assert_eq!(geometric_mean(&[]), None);
        assert!(student_t(0).is_infinite() && (student_t(31) - 2.0395).abs() < 2e-4 && student_t(100_000) < 1.961);
    }
}
