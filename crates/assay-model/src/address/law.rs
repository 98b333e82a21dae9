//! How often each rank is used, the most frequent first: a law over N ranks, independent of where they lie.

use super::zipf::Zipf;
use assay_base::{Prng, Share};
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
    /// Zones, each with its share of the operations and of the ranks; uniform within each zone.
    Zones {
        /// In the order of the ranks. Shares of operations and shares of ranks each add up to 100 %.
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
            Law::Zones { zones } => {
                let zone = |(operations, space): &(Share, Share)| format!("{operations} in {space}");
                f.write_str(&zones.iter().map(zone).collect::<Vec<_>>().join(", "))
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

impl Ranks {
    /// `law` over `n` ranks, at least 1.
    pub fn new(law: &Law, n: u64) -> Ranks {
        let n = n.max(1);
        match law {
            Law::Uniform => Ranks::Uniform(n),
            Law::Zipf { exponent } => Ranks::Zipf(Box::new(Zipf::new(n, (*exponent).into()))),
            Law::Zones { zones } => Ranks::Zones(divided(zones, n)),
        }
    }

    /// The next rank.
    #[inline]
    pub fn next(&mut self, prng: &mut Prng) -> u64 {
        match self {
            Ranks::Uniform(n) => prng.below(*n),
            Ranks::Zipf(zipf) => zipf.next(prng),
            Ranks::Zones(zones) => {
                let drawn = prng.below(zones.last().map_or(1, |zone| zone.below.max(1)));
                let zone = zones.iter().find(|zone| drawn < zone.below).unwrap_or(&zones[0]);
                zone.first + prng.below(zone.ranks)
            }
        }
    }
}

/// Zones that cover `n` ranks, with at least one rank each.
fn divided(zones: &[(Share, Share)], n: u64) -> Box<[Zone]> {
    let (mut below, mut space) = (0, 0u64);
    let part = |space: u64| (u128::from(n) * u128::from(space.min(1_000_000_000)) / 1_000_000_000) as u64;
    let zone = |(operations, share): &(Share, Share)| {
        let first = part(space).min(n - 1);
        below += operations.as_ppb();
        space = space.saturating_add(share.as_ppb());
        Zone { below, first, ranks: part(space).saturating_sub(first).max(1) }
    };
    zones.iter().map(zone).collect()
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
        let (mut prng, mut counts) = (Prng::seeded(1), vec![0f64; 1000]);
        (0..1_000_000).for_each(|_| counts[ranks.next(&mut prng) as usize] += 1.0);
        assert!(counts[100..600].iter().all(|count| *count == 0.0));
        for (of, expected) in [(0..100, 6000.0), (600..1000, 1000.0)] {
            // 99 and 399 degrees of freedom: 148.2 and 490 are the 0.1 % points.
            let most = if of.start == 0 { 148.2 } else { 490.0 };
            let chi: f64 = counts[of.clone()].iter().map(|n| (n - expected).powi(2) / expected).sum();
            assert!(chi < most, "{of:?}: {chi}");
        }
    }

    #[test]
    fn zones_of_less_than_a_rank_have_one() {
        let law = zones(&[(80, 1), (20, 99)]);
        for n in [1, 2, 3, 99, 101] {
            let (mut ranks, mut prng) = (Ranks::new(&law, n), Prng::seeded(n));
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
