//! One closed loop over several targets, and the order in which its operations go to them.
//!
//! Without turns each target has a loop of its own. With turns there is one loop, and its number of operations in
//! flight is for all targets together. The orders of the targets are those of fio (`file_service_type`): the next
//! target after each operation or after several, a random target, or one target to its end and then the next one.

use assay_base::Prng;
use serde::{Deserialize, Serialize};
use std::fmt;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turns {
    /// Which target comes next.
    pub next: NextTarget,
    /// How many operations go to a target before its turn ends.
    #[serde(default = "one")]
    pub operations: u32,
    /// Whether a target that the loop has gone through is left out until the loop has gone through all of them.
    /// Otherwise targets of different sizes get equally many operations.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passes: bool,
}

/// The order of the targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextTarget {
    /// One after the other, then the first again.
    InTurn,
    /// A random one, each equally likely.
    Random,
    /// The next one, once the loop has gone through the current one.
    OneAfterAnother,
}

fn one() -> u32 {
    1
}

impl Turns {
    /// Turns in this order, with one operation in each turn, or all operations of a pass with `OneAfterAnother`.
    pub fn new(next: NextTarget) -> Turns {
        Turns { next, operations: 1, passes: false }
    }

    /// Whether the order depends on how many operations a pass through a target has.
    pub fn counts_passes(&self) -> bool {
        self.passes || self.next == NextTarget::OneAfterAnother
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operations = match self.operations {
            1 => String::new(),
            n => format!(" for {n} operations"),
        };
        match self.next {
            NextTarget::InTurn => write!(f, "one target after the other{operations}")?,
            NextTarget::Random => write!(f, "a random target each time{operations}")?,
            NextTarget::OneAfterAnother => return f.write_str("each target to its end and then the next"),
        }
        if self.passes { f.write_str(", without those that were gone through before the others") } else { Ok(()) }
    }
}

/// Where the turns of one copy of a loop stand, in one worker.
#[derive(Clone, Debug)]
pub struct Turning {
    turns: Turns,
    /// For each target, the number of operations in a pass; empty if the order does not depend on it.
    passes: Box<[u64]>,
    /// For each target, the number of operations left in its current pass.
    left: Box<[u64]>,
    targets: usize,
    at: usize,
    /// The number of operations left in the current turn.
    stays: u32,
}

impl Turning {
    /// Turns over this number of targets, beginning with `first`. `passes` has the number of operations in a pass for
    /// each.
    pub fn new(turns: Turns, targets: usize, passes: &[u64], first: usize) -> Turning {
        let targets = targets.max(1);
        let passes: Box<[u64]> =
            if turns.counts_passes() { passes.iter().map(|n| (*n).max(1)).collect() } else { [].into() };
        assert!(passes.is_empty() || passes.len() == targets, "each target has its pass");
        Turning { turns, left: passes.clone(), passes, targets, at: (first + targets - 1) % targets, stays: 0 }
    }

    /// The target of the next operation, as an index into the targets of the loop.
    #[inline]
    pub fn next_target(&mut self, prng: &mut Prng) -> usize {
        let has_more = self.left.get(self.at).is_none_or(|left| *left > 0);
        if self.stays > 0 && has_more {
            self.stays -= 1;
        } else {
            self.begin_turn(prng);
        }
        if let Some(left) = self.left.get_mut(self.at) {
            *left -= 1;
        }
        self.at
    }

    /// Whether a target has operations left in this pass.
    fn is_open(&self, target: usize) -> bool {
        self.left.get(target).is_none_or(|left| *left > 0)
    }

    fn begin_turn(&mut self, prng: &mut Prng) {
        if !self.left.is_empty() && self.left.iter().all(|left| *left == 0) {
            self.left.copy_from_slice(&self.passes);
        }
        self.at = match self.turns.next {
            NextTarget::InTurn | NextTarget::OneAfterAnother => {
                let mut others = (1..=self.targets).map(|step| (self.at + step) % self.targets);
                others.find(|target| self.is_open(*target)).unwrap_or(self.at)
            }
            NextTarget::Random => {
                let open = (0..self.targets).filter(|target| self.is_open(*target)).count() as u64;
                let drawn = prng.uniform_below(open.max(1)) as usize;
                (0..self.targets).filter(|target| self.is_open(*target)).nth(drawn).unwrap_or(self.at)
            }
        };
        self.stays = match self.turns.next {
            NextTarget::OneAfterAnother => u32::MAX,
            _ => self.turns.operations.max(1) - 1,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(turns: Turns, passes: &[u64], first: usize, n: usize) -> Vec<usize> {
        let (mut turning, mut prng) = (Turning::new(turns, passes.len(), passes, first), Prng::from_seed(5));
        (0..n).map(|_| turning.next_target(&mut prng)).collect()
    }

    #[test]
    fn targets_come_in_turn_for_one_operation_or_several() {
        let in_turn = Turns::new(NextTarget::InTurn);
        assert_eq!(drawn(in_turn, &[9, 9, 9], 0, 7), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(drawn(in_turn, &[9, 9, 9], 2, 4), [2, 0, 1, 2]);
        assert_eq!(drawn(Turns { operations: 3, ..in_turn }, &[9, 9], 0, 9), [0, 0, 0, 1, 1, 1, 0, 0, 0]);
        assert_eq!(drawn(in_turn, &[4], 0, 3), [0, 0, 0]);
        // Targets of different sizes get equally many operations, unless passes are counted.
        assert_eq!(drawn(in_turn, &[1, 4], 0, 6), [0, 1, 0, 1, 0, 1]);
        let passes = Turns { passes: true, ..in_turn };
        assert_eq!(drawn(passes, &[1, 4], 0, 10), [0, 1, 1, 1, 1, 0, 1, 1, 1, 1]);
        assert_eq!(drawn(Turns { operations: 3, ..passes }, &[2, 4], 0, 8), [0, 0, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn one_target_after_another_is_gone_through() {
        let one = Turns::new(NextTarget::OneAfterAnother);
        assert_eq!(drawn(one, &[2, 3, 1], 0, 9), [0, 0, 1, 1, 1, 2, 0, 0, 1]);
        assert_eq!(drawn(one, &[0, 1], 0, 3), [0, 1, 0], "a target that is too small for an operation still gets one");
    }

    #[test]
    fn a_random_target_is_as_likely_as_the_others_and_passes_are_whole() {
        let random = Turns::new(NextTarget::Random);
        let n = 100_000;
        let mut counts = [0f64; 4];
        drawn(random, &[1; 4], 0, n).into_iter().for_each(|target| counts[target] += 1.0);
        let (mean, spread) = (n as f64 / 4.0, 4.0 * (n as f64 * 3.0 / 16.0).sqrt());
        assert!(counts.iter().all(|count| (count - mean).abs() < spread), "{counts:?}");
        let passes = [5u64, 0, 20, 7];
        for pass in drawn(Turns { passes: true, ..random }, &passes, 0, 33 * 50).chunks(33) {
            let of = |target| pass.iter().filter(|it| **it == target).count() as u64;
            assert_eq!([of(0), of(1), of(2), of(3)], passes.map(|n| n.max(1)), "{pass:?}");
        }
        let stays = drawn(Turns { operations: 4, ..random }, &[1; 3], 0, 400);
        assert!(stays.chunks(4).all(|four| four.iter().all(|target| *target == four[0])));
    }
}
