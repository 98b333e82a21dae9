//! A working set that moves: at any time a fixed number of places is in use, and each place that leaves the set is
//! replaced by one that was not in it.
//!
//! At time t its place i is π((⌊t · turnover · W⌋ + i) mod N), for W places of N and a keyed order π ([`Order`]): after
//! the time 1/turnover none of the earlier places is left, and no place returns before all others were in use.

use super::grid::Grid;
use super::law::Ranks;
use super::order::Order;
use assay_base::{Instant, Prng, Share, Span};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which share of a working set is replaced in which time: `10%/h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Turnover {
    share: Share,
    span: Span,
}

impl Turnover {
    /// No turnover: the set stays where it is.
    pub const NONE: Turnover = Turnover { share: Share::from_ppb(0), span: Span::from_secs(1) };

    /// Working sets replaced per nanosecond.
    pub fn per_ns(self) -> f64 {
        self.share.as_f64() / self.span.as_ns() as f64
    }
}

const WRITE: &str = "write a share and a time, such as \"10%/h\" or \"1%/30s\"";

impl FromStr for Turnover {
    type Err = String;
    fn from_str(text: &str) -> Result<Turnover, String> {
        parse_turnover(text).ok_or_else(|| format!("\"{}\" is not a turnover; {WRITE}", text.escape_debug()))
    }
}

/// A share and a time, which is not zero.
fn parse_turnover(text: &str) -> Option<Turnover> {
    let (share, span) = text.split_once('/')?;
    // A unit without a number, such as `h`, is one of that unit.
    let span = if span.starts_with(|c: char| c.is_ascii_digit()) { span.to_owned() } else { format!("1{span}") };
    let (share, span): (Share, Span) = share.parse().ok().zip(span.parse().ok())?;
    (!span.is_zero()).then_some(Turnover { share, span })
}

impl fmt::Display for Turnover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = self.span.to_string();
        let one = span.strip_prefix('1').filter(|unit| unit.starts_with(|c: char| c.is_ascii_alphabetic()));
        write!(f, "{}/{}", self.share, one.unwrap_or(&span))
    }
}

impl TryFrom<String> for Turnover {
    type Error = String;
    fn try_from(text: String) -> Result<Turnover, String> {
        text.parse()
    }
}

impl From<Turnover> for String {
    fn from(turnover: Turnover) -> String {
        turnover.to_string()
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct WorkingSet {
    ranks: Ranks,
    order: Order,
    grid: Grid,
    /// Places replaced per nanosecond.
    speed: f64,
    /// The time at which `before` holds.
    zero: Instant,
    /// How long the set has moved by then.
    before: Span,
}

impl WorkingSet {
    /// Places of `grid` in `order`, of which `places` are in use, drawn by `ranks`; the set has moved for `before` at time `zero`.
    pub fn new(
        grid: Grid,
        order: Order,
        ranks: Ranks,
        places: u64,
        turnover: Turnover,
        zero: Instant,
        before: Span,
    ) -> WorkingSet {
        WorkingSet { ranks, order, grid, speed: turnover.per_ns() * places as f64, zero, before }
    }

    #[inline]
    pub(super) fn next(&mut self, wanted: Instant, prng: &mut Prng) -> u64 {
        let moved = (wanted.since(self.zero) + self.before).as_ns() as f64 * self.speed;
        // Its remainder is below twice the number of places, except where the set has moved through the whole target.
        let place = moved as u64 + self.ranks.next(prng);
        let n = self.grid.places;
        let place = if place < n { place } else { place % n };
        self.grid.offset_at(self.order.number_at(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Law;

    const HOUR: u64 = 3_600_000_000_000;

    fn set(places: u64, of: u64, turnover: &str, law: &Law) -> WorkingSet {
        let grid = Grid::new(of, 1, 1);
        let ranks = Ranks::new(law, places);
        WorkingSet::new(grid, Order::new(of, 1), ranks, places, turnover.parse().unwrap(), Instant::ZERO, Span::ZERO)
    }

    fn drawn(set: &mut WorkingSet, at: u64) -> std::collections::BTreeSet<u64> {
        let mut prng = Prng::from_seed(at);
        (0..20_000).map(|_| set.next(Instant::from_ns(at), &mut prng)).collect()
    }

    #[test]
    fn so_much_of_it_is_replaced_in_its_time() {
        let mut set = set(1000, 50_000, "10%/h", &Law::Uniform);
        let first = drawn(&mut set, 0);
        assert_eq!(first.len(), 1000);
        for (hours, left) in [(1, 900), (5, 500), (9, 100), (10, 0), (20, 0)] {
            assert_eq!(first.intersection(&drawn(&mut set, hours * HOUR)).count(), left, "after {hours} h");
        }
        // In 500 hours the set moves by 50 times its size, which is once through the whole target.
        assert_eq!(drawn(&mut set, 500 * HOUR), first);
    }

    #[test]
    fn an_lru_cache_misses_what_is_replaced() {
        // The cache holds 1.1 sets. 20 % of a set of 5,000 places are replaced in 10 s: of 100,000 operations, 1,000 go
        // to a new place.
        let (w, rate, seconds) = (5000u64, 10_000u64, 60u64);
        let mut set = set(w, 1 << 24, "20%/10s", &Law::Uniform);
        let (mut prng, mut cache, mut by_age) =
            (Prng::from_seed(3), std::collections::HashMap::new(), std::collections::BTreeMap::new());
        let (mut misses, mut counted) = (0u64, 0u64);
        for op in 0..rate * seconds {
            let place = set.next(Instant::from_ns(op * (1_000_000_000 / rate)), &mut prng);
            let known = cache.insert(place, op);
            if let Some(used) = known {
                by_age.remove(&used);
            }
            by_age.insert(op, place);
            if cache.len() as u64 > w * 11 / 10 {
                let (_, oldest) = by_age.pop_first().unwrap();
                cache.remove(&oldest);
            }
            // Misses count only after the cache is warm.
            if op >= rate * 20 {
                (misses, counted) = (misses + u64::from(known.is_none()), counted + 1);
            }
        }
        let (found, expected) = (misses as f64 / counted as f64, 0.02 * w as f64 / rate as f64);
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }

    #[test]
    fn what_goes_on_is_where_it_would_be() {
        let mut whole = set(1000, 50_000, "10%/h", &Law::Uniform);
        let mut rest = WorkingSet { zero: Instant::from_ns(5), before: Span::from_ns(3 * HOUR), ..whole.clone() };
        assert_eq!(drawn(&mut whole, 4 * HOUR), drawn(&mut rest, 5 + HOUR));
    }

    #[test]
    fn a_turnover_reads_back_and_bad_ones_are_refused() {
        for (text, shown) in [("10%/h", "10%/h"), ("10%/1h", "10%/h"), ("1%/30s", "1%/30s"), ("200%/d", "200%/24h")] {
            assert_eq!(text.parse::<Turnover>().unwrap().to_string(), shown);
            assert_eq!(shown.parse::<Turnover>().unwrap(), text.parse().unwrap());
        }
        for bad in ["10%", "10/h", "10%/", "10%/0s", "10%/x", "/h", "-1%/h", ""] {
            assert!(bad.parse::<Turnover>().unwrap_err().contains("10%/h"), "{bad}");
        }
    }
}
