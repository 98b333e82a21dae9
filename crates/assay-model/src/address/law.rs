//! How often each rank is used: a law over N ranks, independent of where the ranks lie on the target.

use super::zipf::Zipf;
use assay_base::{Prng, Share, math};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A law as configured, for any number of ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Law {
    /// All ranks equally often.
    Uniform,
    /// Zipf's law.
    Zipf {
        /// θ.
        exponent: Exponent,
    },
    /// Pareto's law: the share 1 − `skew` of the operations goes to the share `skew` of the ranks, and the same again
    /// within these.
    Pareto {
        /// Between 0 and 100 %.
        skew: Share,
    },
    /// A bell around the middle rank.
    Normal {
        /// Its standard deviation as a share of all ranks; above 0.
        deviation: Share,
    },
    /// Zones, each with its share of the operations and of the ranks; uniform within each zone.
    Zones {
        /// For each zone its share of the operations and its share of the ranks, in the order of the ranks. Each of the
        /// two adds up to 100 %.
        zones: Vec<(Share, Share)>,
    },
}

/// The exponent of a Zipf law, 0 to 10, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Exponent {
    millionths: u32,
}

impl Exponent {
    /// The largest exponent.
    pub const MOST: f64 = 10.0;
}

impl TryFrom<f64> for Exponent {
    type Error = String;
    fn try_from(value: f64) -> Result<Exponent, String> {
        if !(0.0..=Exponent::MOST).contains(&value) {
            return Err(format!("an exponent of {value} is out of range; write 0 to 10, such as 1.1"));
        }
        Ok(Exponent { millionths: (value * 1e6).round() as u32 })
    }
}

impl From<Exponent> for f64 {
    fn from(exponent: Exponent) -> f64 {
        f64::from(exponent.millionths) / 1e6
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Law::Uniform => f.write_str("uniform"),
            Law::Zipf { exponent } => write!(f, "Zipf {}", f64::from(*exponent)),
            Law::Pareto { skew } => write!(f, "Pareto {skew}"),
            Law::Normal { deviation } => write!(f, "a bell of {deviation} around the middle"),
            Law::Zones { zones } => {
                let zones = zones.iter().map(|(operations, space)| format!("{operations} in {space}"));
                f.write_str(&zones.collect::<Vec<_>>().join(", "))
            }
        }
    }
}

/// A law over a number of ranks.
#[derive(Clone, Debug)]
pub enum Ranks {
    /// See [`Law::Uniform`]; the number of ranks.
    Uniform(u64),
    /// See [`Law::Zipf`].
    Zipf(Box<Zipf>),
    /// See [`Law::Pareto`]: the number of ranks, and the exponent of a uniform number that gives a share of them.
    Pareto(u64, f64),
    /// See [`Law::Normal`]: the number of ranks, and the standard deviation in ranks.
    Normal(u64, f64),
    /// See [`Law::Zones`].
    Zones(Box<[Zone]>),
}

/// Ranks that are equally frequent.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    /// Parts per billion of the operations that go to this zone or to one before it.
    below: u64,
    first: u64,
    ranks: u64,
}

impl Law {
    /// The most frequent of `n` ranks.
    pub(super) fn most_frequent(&self, n: u64) -> u64 {
        match self {
            Law::Normal { .. } => n / 2,
            Law::Uniform | Law::Zipf { .. } | Law::Pareto { .. } | Law::Zones { .. } => 0,
        }
    }
}

impl Ranks {
    /// `law` over `n` ranks, at least 1.
    pub fn new(law: &Law, n: u64) -> Ranks {
        let n = n.max(1);
        match law {
            Law::Uniform => Ranks::Uniform(n),
            Law::Zipf { exponent } => Ranks::Zipf(Box::new(Zipf::new(n, (*exponent).into()))),
            Law::Pareto { skew } => {
                let skew = skew.as_f64();
                Ranks::Pareto(n, math::ln(skew) / math::ln(1.0 - skew))
            }
            Law::Normal { deviation } => Ranks::Normal(n, deviation.as_f64() * n as f64),
            Law::Zones { zones } => Ranks::Zones(divide_into_zones(zones, n)),
        }
    }

    /// The next rank.
    #[inline]
    pub fn next(&mut self, prng: &mut Prng) -> u64 {
        match self {
            Ranks::Uniform(n) => prng.uniform_below(*n),
            Ranks::Zipf(zipf) => zipf.next(prng),
            Ranks::Pareto(n, exponent) => draw_pareto(*n, *exponent, prng),
            Ranks::Normal(n, deviation) => draw_normal(*n, *deviation, prng),
            Ranks::Zones(zones) => {
                let drawn = prng.uniform_below(zones.last().map_or(1, |zone| zone.below.max(1)));
                let zone = zones.iter().find(|zone| drawn < zone.below).unwrap_or(&zones[0]);
                zone.first + prng.uniform_below(zone.ranks)
            }
        }
    }
}

/// A rank below `n`: (n − 1) · u^exponent, u uniform in (0, 1].
#[inline(never)]
fn draw_pareto(n: u64, exponent: f64, prng: &mut Prng) -> u64 {
    let share = math::exp(exponent * math::ln(prng.uniform_unit()));
    ((n - 1) as f64 * share) as u64
}

/// A rank below `n` around the middle: the sum of twelve uniform numbers in [0, 1), whose standard deviation is 1, less
/// its mean and times `deviation`. It is drawn again if it falls outside the ranks. Twelve numbers are enough for a
/// bell that reaches six deviations to each side (Irwin and Hall 1927), and they need no function of a mathematical
/// library, which would differ from machine to machine.
#[inline(never)]
fn draw_normal(n: u64, deviation: f64, prng: &mut Prng) -> u64 {
    // If the bell is far wider than the ranks, nearly all draws fall outside. Over the ranks it is then flat.
    for _ in 0..64 {
        let sum: f64 = (0..12).map(|_| prng.uniform_unit()).sum();
        let rank = (n as f64 / 2.0 + (sum - 6.0) * deviation).floor();
        if rank >= 0.0 && rank < n as f64 {
            return rank as u64;
        }
    }
    prng.uniform_below(n)
}

/// Divides `n` ranks into zones with at least one rank each.
fn divide_into_zones(zones: &[(Share, Share)], n: u64) -> Box<[Zone]> {
    let (mut below, mut space) = (0, 0u64);
    let mut divided = Vec::with_capacity(zones.len());
    for (operations, share) in zones {
        let first = part_of(n, space).min(n - 1);
        below += operations.as_ppb();
        space = space.saturating_add(share.as_ppb());
        divided.push(Zone { below, first, ranks: part_of(n, space).saturating_sub(first).max(1) });
    }
    divided.into()
}

/// How many of `n` ranks a share in parts per billion has.
fn part_of(n: u64, ppb: u64) -> u64 {
    (u128::from(n) * u128::from(ppb.min(1_000_000_000)) / 1_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zones(zones: &[(u64, u64)]) -> Law {
        let share = |(a, b): &(u64, u64)| (Share::from_percent(*a), Share::from_percent(*b));
        Law::Zones { zones: zones.iter().map(share).collect() }
    }

    #[test]
    fn each_zone_has_its_share_and_is_uniform_within() {
        let mut ranks = Ranks::new(&zones(&[(60, 10), (0, 50), (40, 40)]), 1000);
        let (mut prng, mut counts) = (Prng::from_seed(1), vec![0f64; 1000]);
        (0..1_000_000).for_each(|_| counts[ranks.next(&mut prng) as usize] += 1.0);
        assert!(counts[100..600].iter().all(|count| *count == 0.0));
        for (of, expected) in [(0..100, 6000.0), (600..1000, 1000.0)] {
            // For 99 and 399 degrees of freedom the 0.1 % points are 148.2 and 490.
            let most = if of.start == 0 { 148.2 } else { 490.0 };
            let chi: f64 = counts[of.clone()].iter().map(|n| (n - expected).powi(2) / expected).sum();
            assert!(chi < most, "{of:?}: {chi}");
        }
    }

    #[test]
    fn pareto_and_the_bell_have_their_shares() {
        let n = 1_000_000u32;
        let percent = Share::from_percent;
        for (law, share_below, ranks) in [
            // With Pareto 20 % the first fifth of the ranks has 80 % of the operations, the first 25th 64 %.
            (Law::Pareto { skew: percent(20) }, [(0.2, 0.8), (0.04, 0.64)], 1 << 20),
            (Law::Pareto { skew: percent(10) }, [(0.1, 0.9), (0.01, 0.81)], 1 << 20),
            // Of this bell 16.07 % lie more than one standard deviation below the middle and 2.23 % more than two; of a
            // true normal distribution it is 15.87 % and 2.28 %.
            (Law::Normal { deviation: percent(10) }, [(0.4, 0.160_727), (0.3, 0.022_276)], 1 << 20),
            (Law::Normal { deviation: percent(10) }, [(0.5, 0.5), (0.6, 0.839_273)], 1000),
        ] {
            let (mut drawn, mut prng) = (Ranks::new(&law, ranks), Prng::from_seed(5));
            let all: Vec<u64> = (0..n).map(|_| drawn.next(&mut prng)).collect();
            assert!(all.iter().all(|rank| *rank < ranks), "{law}");
            for (below, share) in share_below {
                let found = all.iter().filter(|rank| (**rank as f64) < below * ranks as f64).count() as f64;
                let spread = 4.0 * (f64::from(n) * share * (1.0f64 - share)).sqrt();
                assert!((found - f64::from(n) * share).abs() < spread, "{law} below {below}: {found}");
            }
        }
        for law in [Law::Pareto { skew: percent(20) }, Law::Normal { deviation: percent(400) }] {
            for n in [1, 2, 3] {
                let (mut drawn, mut prng) = (Ranks::new(&law, n), Prng::from_seed(n));
                assert!((0..1000).all(|_| drawn.next(&mut prng) < n), "{law} over {n}");
            }
        }
    }

    #[test]
    fn zones_of_less_than_a_rank_have_one() {
        let law = zones(&[(80, 1), (20, 99)]);
        for n in [1, 2, 3, 99, 101] {
            let (mut ranks, mut prng) = (Ranks::new(&law, n), Prng::from_seed(n));
            let drawn: Vec<u64> = (0..1000).map(|_| ranks.next(&mut prng)).collect();
            assert!(drawn.iter().all(|rank| *rank < n), "{n}");
            let first = drawn.iter().filter(|rank| **rank == 0).count();
            assert!(first > 700, "{n}: {first}");
        }
    }

    #[test]
    fn an_exponent_is_from_0_to_10_and_reads_back() {
        for text in ["0.0", "0.99", "1.0", "1.1", "10.0"] {
            let exponent: Exponent = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&exponent).unwrap(), text);
        }
        for text in ["-0.1", "10.1", "1e300", "\"1\"", "null"] {
            assert!(serde_json::from_str::<Exponent>(text).is_err(), "{text}");
        }
        assert!(Exponent::try_from(f64::NAN).is_err());
    }
}
