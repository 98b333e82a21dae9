//! Decides whether observed figures have become steady, by the rule of SNIA's Solid State Storage Performance Test
//! Specification, as other sources report it.
//!
//! The time is divided into *rounds* of equal length. For five consecutive rounds ([`ROUNDS`]), the averages of the
//! rounds must differ by at most 20 % of their average, and the best straight line through them (least squares) must
//! rise or fall by at most 10 % of their average over the window. Only the four basic operations are used, so that a
//! replay decides the same everywhere.
//!
//! What is averaged depends on the stream: the mean response for an open loop, whose throughput is given; the
//! operations per second for a closed loop, whose response follows from its throughput.
//!
//! It is in this room because both sides need it: the engine, to end a phase that waits for a steady state, and the
//! judge, to say of any log whether and since when it was steady.

use std::collections::VecDeque;

/// Number of rounds in a window.
pub const ROUNDS: usize = 5;
/// Largest difference between round averages, as a share of their average.
pub(crate) const MOST_EXCURSION: f64 = 0.20;
/// Largest rise or fall of the straight line over the window, as a share of the average.
pub(crate) const MOST_SLOPE: f64 = 0.10;

/// Five consecutive rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Average of the rounds: nanoseconds, or operations per second.
    pub average: f64,
    /// Largest less smallest round, as a share of the average.
    pub excursion: f64,
    /// How much the best straight line rises from the first round to the last, as a share of the average; negative when
    /// it falls.
    pub slope: f64,
}

impl Window {
    /// The window over these rounds.
    pub fn new(rounds: [f64; ROUNDS]) -> Window {
        let n = ROUNDS as f64;
        let average = rounds.iter().sum::<f64>() / n;
        let (low, high) = rounds.iter().fold((f64::INFINITY, 0f64), |(low, high), y| (low.min(*y), high.max(*y)));
        // Least squares with x = −2 … 2: the mean of x is 0, and the sum of its squares 10.
        let middle = (ROUNDS / 2) as f64;
        let placed = rounds.iter().enumerate().map(|(index, y)| (index as f64 - middle, *y));
        let slope = placed.clone().map(|(x, y)| x * y).sum::<f64>() / placed.map(|(x, _)| x * x).sum::<f64>();
        let excursion = share_of_average(high - low, average);
        Window { average, excursion, slope: share_of_average(slope * (n - 1.0), average) }
    }

    /// True when both bounds hold. Without any operation nothing is steady.
    pub fn is_steady(&self) -> bool {
        self.average > 0.0 && self.excursion <= MOST_EXCURSION && self.slope.abs() <= MOST_SLOPE
    }
}

/// A part of an average; 0 where there is no average.
fn share_of_average(part: f64, average: f64) -> f64 {
    if average > 0.0 { part / average } else { 0.0 }
}

/// Divides the history of one stream into rounds.
#[derive(Clone, Debug)]
pub struct Rounds {
    length_ns: u64,
    open_loop: bool,
    elapsed_ns: u64,
    operations: u64,
    response_ns: u128,
    ended: u64,
    last: VecDeque<f64>,
}

impl Rounds {
    /// Rounds of at least `length_ns`, each ending at the end of an interval, for an open loop or a closed one.
    pub fn new(length_ns: u64, open_loop: bool) -> Rounds {
        Rounds { length_ns, open_loop, elapsed_ns: 0, operations: 0, response_ns: 0, ended: 0, last: VecDeque::new() }
    }

    /// Adds an interval of `length_ns` in which `operations` completed with responses that sum to `response_ns`. True
    /// when a round ended with it.
    pub fn add_interval(&mut self, length_ns: u64, operations: u64, response_ns: u128) -> bool {
        self.elapsed_ns = self.elapsed_ns.saturating_add(length_ns);
        self.operations = self.operations.saturating_add(operations);
        self.response_ns = self.response_ns.saturating_add(response_ns);
        if self.elapsed_ns < self.length_ns {
            return false;
        }
        match self.average_figure() {
            Some(average) => self.last.push_back(average),
            // A round without completions has no average, and no window may contain it.
            None => self.last.clear(),
        }
        if self.last.len() > ROUNDS {
            self.last.pop_front();
        }
        (self.elapsed_ns, self.operations, self.response_ns) = (0, 0, 0);
        self.ended += 1;
        true
    }

    fn average_figure(&self) -> Option<f64> {
        if self.open_loop {
            (self.operations > 0).then(|| self.response_ns as f64 / self.operations as f64)
        } else {
            Some(self.operations as f64 * 1e9 / self.elapsed_ns.max(1) as f64)
        }
    }

    /// Forgets the rounds, after a gap.
    pub fn forget_rounds(&mut self) {
        *self = Rounds { ended: self.ended, ..Rounds::new(self.length_ns, self.open_loop) };
    }

    /// Number of rounds that ended.
    pub fn ended_rounds(&self) -> u64 {
        self.ended
    }

    /// The last five rounds; `None` before there are five.
    pub fn last_window(&self) -> Option<Window> {
        let rounds: Vec<f64> = self.last.iter().copied().collect();
        rounds.try_into().ok().map(Window::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_at_its_bounds() {
        for (rounds, excursion, slope, steady) in [
            ([100.0, 100.0, 100.0, 100.0, 100.0], 0.0, 0.0, true),
            // Alternates by 20 % and has no slope.
            ([110.0, 90.0, 100.0, 90.0, 110.0], 0.20, 0.0, true),
            ([110.1, 90.0, 99.8, 90.0, 110.1], 0.201, 0.0, false),
            // A straight line that rises by 10 %, and one that rises by more.
            ([95.0, 97.5, 100.0, 102.5, 105.0], 0.10, 0.10, true),
            ([105.1, 102.55, 100.0, 97.45, 94.9], 0.102, -0.102, false),
            ([1.0, 2.0, 3.0, 4.0, 5.0], 4.0 / 3.0, 4.0 / 3.0, false),
            ([0.0, 0.0, 0.0, 0.0, 0.0], 0.0, 0.0, false),
        ] {
            let window = Window::new(rounds);
            assert!((window.excursion - excursion).abs() < 1e-9, "{rounds:?}: {window:?}");
            assert!((window.slope - slope).abs() < 1e-9, "{rounds:?}: {window:?}");
            assert_eq!(window.is_steady(), steady, "{rounds:?}: {window:?}");
        }
    }

    #[test]
    fn rounds_are_averages_of_operations_not_of_intervals() {
        let mut rounds = Rounds::new(2_000_000_000, true);
        assert!(!rounds.add_interval(1_000_000_000, 1, 1_000));
        assert!(rounds.add_interval(1_000_000_000, 3, 9_000), "the round ends with its second interval");
        for _ in 0..4 {
            assert!(rounds.last_window().is_none());
            rounds.add_interval(2_000_000_000, 10, 25_000);
        }
        assert_eq!((rounds.ended_rounds(), rounds.last_window().map(|window| window.average)), (5, Some(2_500.0)));
        let mut closed = Rounds::new(1_000_000_000, false);
        (0..5).for_each(|_| _ = closed.add_interval(2_000_000_000, 3_000, 1));
        assert_eq!(closed.last_window().map(|window| window.average), Some(1_500.0));
    }

    #[test]
    fn a_round_without_an_operation_and_a_gap_begin_anew() {
        let mut rounds = Rounds::new(1, true);
        (0..5).for_each(|_| _ = rounds.add_interval(1, 1, 100));
        assert!(rounds.last_window().is_some_and(|window| window.is_steady()));
        rounds.add_interval(1, 0, 0);
        assert_eq!(rounds.last_window(), None);
        (0..5).for_each(|_| _ = rounds.add_interval(1, 1, 100));
        rounds.forget_rounds();
        assert_eq!((rounds.last_window(), rounds.ended_rounds()), (None, 11));
        // Extreme numbers, which no real run produces, do not break it.
        let mut largest = Rounds::new(u64::MAX, true);
        (0..3).for_each(|_| _ = largest.add_interval(u64::MAX, u64::MAX, u128::MAX));
        assert_eq!(largest.ended_rounds(), 3);
    }
}
