//! What a load is counted in beside multiples, where users of the workload count it otherwise: BSUs, mailboxes, warehouses.

use crate::Multiple;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Counted {
    /// `BSU`, `mailboxes` …
    pub name: String,
    /// How many of them 1x is.
    pub at_1x: f64,
}

impl Counted {
    /// How many of them a load is, without their name: `310`, `0.25`.
    pub fn number(&self, load: Multiple) -> String {
        let number = self.at_1x * load.as_f64();
        let digits = if number >= 100.0 { 0 } else { 2 };
        let text = format!("{number:.digits$}");
        if digits == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
    }

    /// `310 BSU`.
    pub fn of(&self, load: Multiple) -> String {
        format!("{} {}", self.number(load), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_counted_with_as_many_digits_as_say_something() {
        let of = |at_1x, millionths| {
            let counted = Counted { name: "BSU".into(), at_1x };
            counted.of(Multiple::from_millionths(millionths).unwrap())
        };
        assert_eq!(of(1.0, 310_000_000), "310 BSU");
        assert_eq!(of(20.0, 150_000), "3 BSU");
        assert_eq!(of(1.0, 1_250_000), "1.25 BSU");
        assert_eq!(of(1.0, 100_400_000), "100 BSU");
    }
}
