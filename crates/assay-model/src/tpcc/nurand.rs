//! The non-uniform distribution of customers, names and items, and its constants.
//!
//! Source: TPC-C 5.11, clause 2.1.6: NURand(A, x, y) = ((random(0..A) | random(x..y)) + C) % (y - x + 1) + x. The
//! constant C of each field is drawn once for a run. For last names clause 2.1.6.1 says how far the constant of a run
//! must be from the constant of the load, so that a run does not find its most frequent names in a cache.

use super::scale::Scale;
use super::seeds::CONSTANTS;
use super::strings::uniform_number;
use assay_base::Prng;

/// One such distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NuRand {
    /// A, one less than a power of two.
    or_most: i32,
    low: i32,
    high: i32,
    c: i32,
}

impl NuRand {
    /// NURand(`or_most`, `low`, `high`) with the constant `c`.
    pub fn new(or_most: i32, low: i32, high: i32, c: i32) -> NuRand {
        NuRand { or_most, low, high, c }
    }

    /// The value that two uniform draws give: one of `0..=A`, one of `low..=high`.
    pub fn combine_draws(self, first: i32, second: i32) -> i32 {
        ((first | second) + self.c) % (self.high - self.low + 1) + self.low
    }

    /// Draws a value.
    pub fn draw_value(self, prng: &mut Prng) -> i32 {
        let first = uniform_number(prng, 0, self.or_most);
        let second = uniform_number(prng, self.low, self.high);
        self.combine_draws(first, second)
    }
}

const A_LAST: i32 = 255;
const A_CUSTOMER: i32 = 1023;
const A_ITEM: i32 = 8191;

/// The last names of customers that a load draws, as numbers.
pub(super) fn names_loaded(scale: Scale, c_load: i32) -> NuRand {
    NuRand::new(A_LAST, 0, scale.name_count() - 1, c_load)
}

/// The constant of last names that belongs to the seed of a load.
pub fn c_load(seed: u64) -> i32 {
    uniform_number(&mut Prng::for_path(seed, &[CONSTANTS, 0]), 0, A_LAST)
}

/// The constants of last names that a run may use on data loaded with `c_load`.
pub(crate) fn c_run_choices(c_load: i32) -> Vec<i32> {
    let mut choices = Vec::new();
    for c in 0..=A_LAST {
        let distance = (c - c_load).abs();
        if (65..=119).contains(&distance) && distance != 96 && distance != 112 {
            choices.push(c);
        }
    }
    choices
}

/// The constants of one run, for all its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// Of the load's last names, from the marker in the database.
    pub c_load: i32,
    /// Of the run's last names.
    pub c_last: i32,
    /// Of customers.
    pub c_customer: i32,
    /// Of items.
    pub c_item: i32,
}

impl Constants {
    /// The constants that belong to the seed of a run on data that was loaded with `c_load`.
    pub fn from_seed(seed: u64, c_load: i32) -> Constants {
        let mut prng = Prng::for_path(seed, &[CONSTANTS, 1]);
        let choices = c_run_choices(c_load);
        let c_last = choices[prng.uniform_below(choices.len() as u64) as usize];
        Constants {
            c_load,
            c_last,
            c_customer: uniform_number(&mut prng, 0, A_CUSTOMER),
            c_item: uniform_number(&mut prng, 0, A_ITEM),
        }
    }

    /// The last names that transactions ask for, as numbers.
    pub fn last_names(self, scale: Scale) -> NuRand {
        NuRand::new(A_LAST, 0, scale.name_count() - 1, self.c_last)
    }
    /// The customers that transactions ask for.
    pub fn customer_numbers(self, scale: Scale) -> NuRand {
        NuRand::new(A_CUSTOMER, 1, scale.customer_count(), self.c_customer)
    }
    /// The items that are ordered.
    pub fn item_numbers(self, scale: Scale) -> NuRand {
        NuRand::new(A_ITEM, 1, scale.item_count(), self.c_item)
    }
}

#[cfg(test)]
#[path = "nurand_tests.rs"]
mod tests;
