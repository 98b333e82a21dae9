//! What a load is counted in beside multiples, where users of the workload count it otherwise: BSUs, mailboxes, warehouses.

use crate::Multiple;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counted {
    /// `BSU`, `mailboxes` …
    pub name: String,
    /// How many of them 1x is; of each part, where there are parts.
    pub at_1x: f64,
    /// What each of so many parts has of its own. Such things are counted as whole numbers.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub parts: Option<Parts>,
}

/// More of anything than a load has.
const MOST: f64 = 1e15;

/// Equal parts of a load.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Parts {
    /// `database` …
    pub name: String,
    /// How many there are.
    pub number: u64,
}

impl Counted {
    /// How many of them a load is, without their name: `310`, `0.25`.
    pub fn count_as_text(&self, load: Multiple) -> String {
        if self.parts.is_some() {
            return self.whole_units(load).to_string();
        }
        let number = self.at_1x * load.as_f64();
        let digits = if number >= 100.0 { 0 } else { 2 };
        let text = format!("{number:.digits$}");
        if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
    }

    /// Of a part, rounded down.
    fn whole_units(&self, load: Multiple) -> u128 {
        self.at_1x.clamp(0.0, MOST) as u128 * u128::from(load.as_millionths()) / 1_000_000
    }

    /// `310 BSU`, `1350 mailboxes in each of 2 databases, 2700 in all`.
    pub fn at_load(&self, load: Multiple) -> String {
        let own = format!("{} {}", self.count_as_text(load), self.name);
        match &self.parts {
            None => own,
            Some(Parts { name, number: 1 }) => format!("{own} in one {name}"),
            Some(Parts { name, number }) => {
                format!("{own} in each of {number} {name}s, {} in all", self.whole_units(load) * u128::from(*number))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_counted_with_as_many_digits_as_say_something() {
        let of = |at_1x, millionths| {
            let counted = Counted { name: "BSU".into(), at_1x, parts: None };
            counted.at_load(Multiple::from_millionths(millionths).unwrap())
        };
        assert_eq!(of(1.0, 310_000_000), "310 BSU");
        assert_eq!(of(20.0, 150_000), "3 BSU");
        assert_eq!(of(1.0, 1_250_000), "1.25 BSU");
        assert_eq!(of(1.0, 100_400_000), "100 BSU");
    }

    #[test]
    fn what_parts_have_is_a_whole_number_of_each_and_of_all() {
        let of = |number, millionths| {
            let parts = Some(Parts { name: "database".into(), number });
            let counted = Counted { name: "mailboxes".into(), at_1x: 1000.0, parts };
            counted.at_load(Multiple::from_millionths(millionths).unwrap())
        };
        assert_eq!(of(1, 1_150_000), "1150 mailboxes in one database");
        assert_eq!(of(3, 1_350_999), "1350 mailboxes in each of 3 databases, 4050 in all");
        assert_eq!(of(2, 999), "0 mailboxes in each of 2 databases, 0 in all");
    }
}
