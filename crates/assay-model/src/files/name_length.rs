//! How long the names of the files of a tree are.

use assay_base::Prng;
use serde::{Deserialize, Serialize};

/// The most bytes of a name (NAME_MAX of Linux).
pub const LONGEST_NAME: u32 = 255;

/// One length, and how many names have it relative to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LengthWeight {
    /// Bytes of the name.
    pub length: u32,
    /// The weight.
    pub weight: u64,
}

/// The lengths of the names of a tree, of which there is at least one with a weight above 0.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NameLengths(Vec<LengthWeight>);

impl NameLengths {
    /// `None` without a weight, with one that is too large, or with a length that no name has.
    pub fn new(weights: Vec<LengthWeight>) -> Option<NameLengths> {
        let sum = weights.iter().try_fold(0u64, |sum, one| sum.checked_add(one.weight))?;
        let are_lengths = weights.iter().all(|one| (1..=LONGEST_NAME).contains(&one.length));
        (sum > 0 && are_lengths).then_some(NameLengths(weights))
    }

    /// The lengths and their weights.
    pub fn weights(&self) -> &[LengthWeight] {
        &self.0
    }

    /// The length of the name for which `prng` draws.
    pub(super) fn draw(&self, prng: &mut Prng) -> u32 {
        let sum = self.0.iter().map(|one| one.weight).sum::<u64>();
        let mut drawn = prng.uniform_below(sum);
        for one in &self.0 {
            if drawn < one.weight {
                return one.length;
            }
            drawn -= one.weight;
        }
        unreachable!("the number drawn is below the sum of all weights")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_their_weights_by_chi_square() {
        // Three cells, 2 degrees of freedom: 13.8 is the 0.1 % point.
        let weights = [(5, 10), (13, 60), (14, 0), (255, 30)];
        let lengths: Vec<LengthWeight> =
            weights.iter().map(|(length, weight)| LengthWeight { length: *length, weight: *weight }).collect();
        let (lengths, mut prng) = (NameLengths::new(lengths).unwrap(), Prng::from_seed(4));
        let mut cells = std::collections::BTreeMap::new();
        (0..100_000).for_each(|_| *cells.entry(lengths.draw(&mut prng)).or_insert(0.0) += 1.0);
        let mut chi = 0.0;
        for (length, expected) in [(5, 10_000.0), (13, 60_000.0), (255, 30_000.0)] {
            chi += f64::powi(cells[&length] - expected, 2) / expected;
        }
        assert!(cells.len() == 3 && chi < 13.8, "{chi}: {cells:?}");
    }

    #[test]
    fn what_no_name_has_is_refused() {
        for (length, weight, is_taken) in [(1, 1, true), (255, 1, true), (0, 1, false), (256, 1, false), (5, 0, false)]
        {
            assert_eq!(
                NameLengths::new(vec![LengthWeight { length, weight }]).is_some(),
                is_taken,
                "{length} {weight}"
            );
        }
        assert_eq!(
            (NameLengths::new(Vec::new()), NameLengths::new(vec![LengthWeight { length: 1, weight: u64::MAX }; 2])),
            (None, None)
        );
    }
}
