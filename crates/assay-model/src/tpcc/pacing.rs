//! Keying and think times of a terminal, for the load whose sessions behave as people at terminals.
//!
//! Source: TPC-C 5.11, clause 5.2.5.7 (keying times and mean think times) and clause 5.2.5.4 (their distribution:
//! negative exponential, cut at ten times its mean).

use super::mix::Kind;
use super::seeds::THINK;
use assay_base::{Prng, Span, math};

/// How long the input of a transaction takes.
pub fn keying(kind: Kind) -> Span {
    Span::from_secs(match kind {
        Kind::NewOrder => 18,
        Kind::Payment => 3,
        Kind::OrderStatus | Kind::Delivery | Kind::StockLevel => 2,
    })
}

fn think_mean(kind: Kind) -> f64 {
    match kind {
        Kind::NewOrder | Kind::Payment => 12e9,
        Kind::OrderStatus => 10e9,
        Kind::Delivery | Kind::StockLevel => 5e9,
    }
}

/// How long the person at the terminal thinks after the transaction with a number.
pub fn think(seed: u64, number: u64, kind: Kind) -> Span {
    let unit = Prng::child(seed, &[THINK, number]).unit();
    let mean = think_mean(kind);
    Span::from_ns((-math::ln(unit) * mean).min(mean * 10.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_are_exponential_and_cut() {
        for (kind, mean, most) in [
            (Kind::NewOrder, 12.0, 120),
            (Kind::Payment, 12.0, 120),
            (Kind::OrderStatus, 10.0, 100),
            (Kind::Delivery, 5.0, 50),
            (Kind::StockLevel, 5.0, 50),
        ] {
            let drawn: Vec<f64> = (0..200_000).map(|n| think(1, n, kind).as_ns() as f64 / 1e9).collect();
            let got = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((got / mean - 1.0).abs() < 0.01, "{kind:?}: {got}");
            let longest = drawn.iter().copied().fold(0.0, f64::max);
            assert_eq!(longest, f64::from(most), "one of 22,026 is cut");
            let over = drawn.iter().filter(|it| **it > mean).count() as f64 / drawn.len() as f64;
            assert!((over - (-1.0f64).exp()).abs() < 0.005, "{kind:?}: {over} are over the mean");
        }
    }

    #[test]
    fn keying_times_of_the_standard() {
        let seconds = Kind::ALL.map(|kind| keying(kind).as_ns() / 1_000_000_000);
        assert_eq!(seconds, [18, 3, 2, 2, 2]);
    }
}
