//! Keying and think times of a terminal, for the load whose sessions behave as people at terminals.
//!
//! Source: TPC-C 5.11, clause 5.2.5.7 (keying times and mean think times) and clause 5.2.5.4 (their distribution:
//! negative exponential, cut at ten times its mean).

use super::mix::TransactionKind;
use super::seeds::THINK;
use assay_base::{Prng, Span, math};

/// How long the input of a transaction takes.
pub fn keying_time(kind: TransactionKind) -> Span {
    Span::from_secs(match kind {
        TransactionKind::NewOrder => 18,
        TransactionKind::Payment => 3,
        TransactionKind::OrderStatus | TransactionKind::Delivery | TransactionKind::StockLevel => 2,
    })
}

fn think_mean(kind: TransactionKind) -> f64 {
    match kind {
        TransactionKind::NewOrder | TransactionKind::Payment => 12e9,
        TransactionKind::OrderStatus => 10e9,
        TransactionKind::Delivery | TransactionKind::StockLevel => 5e9,
    }
}

/// How long the person at the terminal thinks after the transaction with a number.
pub fn think_time(seed: u64, number: u64, kind: TransactionKind) -> Span {
    let unit = Prng::for_path(seed, &[THINK, number]).uniform_unit();
    let mean = think_mean(kind);
    Span::from_ns((-math::ln(unit) * mean).min(mean * 10.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn think_times_are_exponential_and_cut() {
        for (kind, mean, most) in [
            (TransactionKind::NewOrder, 12.0, 120),
            (TransactionKind::Payment, 12.0, 120),
            (TransactionKind::OrderStatus, 10.0, 100),
            (TransactionKind::Delivery, 5.0, 50),
            (TransactionKind::StockLevel, 5.0, 50),
        ] {
            let drawn: Vec<f64> = (0..200_000).map(|n| think_time(1, n, kind).as_ns() as f64 / 1e9).collect();
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
        let seconds = TransactionKind::ALL.map(|kind| keying_time(kind).as_ns() / 1_000_000_000);
        assert_eq!(seconds, [18, 3, 2, 2, 2]);
    }
}
