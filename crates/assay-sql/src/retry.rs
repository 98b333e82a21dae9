//! How often, and after which pauses, a transaction is tried again that other sessions stood in the way of.
//!
//! The pauses follow from the seed and the transaction's number. Sessions that met once would meet again if they all
//! paused for the same time.

use assay_base::{Prng, Span};

/// The most repetitions of one transaction.
const MOST: u64 = 10;
/// The longest pause in microseconds; the shortest is a millisecond.
const LONGEST_US: u64 = 100_000;
const SHORTEST_US: u64 = 1_000;
/// The first step of the path to the generator: the bytes of "retry".
const PURPOSE: u64 = 0x0072_6574_7279;

/// The repetitions of one transaction.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    seed: u64,
    number: u64,
    done: u64,
}

impl Retry {
    /// Makes the pauses of the transaction with a number, in a run with a seed.
    pub fn new(seed: u64, number: u64) -> Retry {
        Retry { seed, number, done: 0 }
    }

    /// How many repetitions there were.
    pub fn repetitions_done(self) -> u64 {
        self.done
    }

    /// How long to pause before the next repetition, or none when all are spent.
    pub fn next_pause(&mut self) -> Option<Span> {
        (self.done < MOST).then(|| {
            self.done += 1;
            let mut prng = Prng::for_path(self.seed, &[PURPOSE, self.number, self.done]);
            Span::from_us(SHORTEST_US + prng.uniform_below(LONGEST_US - SHORTEST_US + 1))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(seed: u64, number: u64) -> Vec<Span> {
        let mut retry = Retry::new(seed, number);
        std::iter::from_fn(|| retry.next_pause()).collect()
    }

    #[test]
    fn ten_pauses_between_1_and_100_ms_that_follow_from_seed_and_number() {
        let all: Vec<Span> = (0..1_000).flat_map(|number| pauses(1, number)).collect();
        assert_eq!((pauses(1, 0).len(), all.len()), (10, 10_000));
        assert!(all.iter().all(|pause| (Span::from_ms(1)..=Span::from_ms(100)).contains(pause)));
        let mean = all.iter().map(|pause| pause.as_ns() as f64).sum::<f64>() / all.len() as f64;
        assert!((mean / 50.5e6 - 1.0).abs() < 0.03, "{mean}");
        assert_eq!(pauses(1, 7), pauses(1, 7));
        assert_ne!(pauses(1, 7), pauses(2, 7));
        assert_ne!(pauses(1, 7), pauses(1, 8));
    }

    #[test]
    fn it_counts_what_it_allowed() {
        let mut retry = Retry::new(1, 1);
        assert_eq!(retry.repetitions_done(), 0);
        assert_eq!((0..12).filter_map(|_| retry.next_pause()).count(), 10);
        assert_eq!(retry.repetitions_done(), 10);
    }
}
