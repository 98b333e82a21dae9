//! The kinds of parts into which marks divide a run, and sets of them: the words that marks, criteria, logs and results share.

use std::fmt;
use std::str::FromStr;

/// What a part of a run shows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum MarkedPart {
    /// Nothing is done to what is tested; a run begins so.
    #[default]
    Healthy,
    /// Something is done to it, or has failed.
    Disturbed,
    /// The disturbance is over.
    Recovered,
}

impl MarkedPart {
    /// All kinds, in the order in which a run usually has them.
    pub const ALL: [MarkedPart; 3] = [MarkedPart::Healthy, MarkedPart::Disturbed, MarkedPart::Recovered];

    /// The kind of the part that a mark begins if nobody says which: a disturbance begins, and the next mark ends it.
    pub fn usual_next(self) -> MarkedPart {
        match self {
            MarkedPart::Healthy | MarkedPart::Recovered => MarkedPart::Disturbed,
            MarkedPart::Disturbed => MarkedPart::Recovered,
        }
    }

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for MarkedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            MarkedPart::Healthy => "healthy",
            MarkedPart::Disturbed => "disturbed",
            MarkedPart::Recovered => "recovered",
        })
    }
}

impl FromStr for MarkedPart {
    type Err = String;
    fn from_str(text: &str) -> Result<MarkedPart, String> {
        let known = MarkedPart::ALL.into_iter().find(|part| part.to_string() == text);
        known.ok_or_else(|| {
            format!("\"{}\" is no part of a run; write healthy, disturbed or recovered", text.escape_debug())
        })
    }
}

/// The parts in which a criterion must hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct MarkedParts(u8);

impl MarkedParts {
    /// Every part, however a run is divided.
    pub const EVERY: MarkedParts = MarkedParts(0b111);
    /// No part.
    pub const NONE: MarkedParts = MarkedParts(0);

    /// These parts and one more.
    pub fn with_part(self, part: MarkedPart) -> MarkedParts {
        MarkedParts(self.0 | part.bit())
    }

    /// The parts of both sets.
    pub fn joined_with(self, other: MarkedParts) -> MarkedParts {
        MarkedParts(self.0 | other.0)
    }

    /// Whether this part is one of them.
    pub fn has_part(self, part: MarkedPart) -> bool {
        self.0 & part.bit() != 0
    }

    /// Whether every part is one of them.
    pub fn is_every(self) -> bool {
        self == MarkedParts::EVERY
    }

    /// The parts, in the order in which a run usually has them.
    pub fn in_order(self) -> impl Iterator<Item = MarkedPart> {
        MarkedPart::ALL.into_iter().filter(move |part| self.has_part(*part))
    }
}

impl Default for MarkedParts {
    fn default() -> MarkedParts {
        MarkedParts::EVERY
    }
}

impl FromIterator<MarkedPart> for MarkedParts {
    fn from_iter<I: IntoIterator<Item = MarkedPart>>(parts: I) -> MarkedParts {
        parts.into_iter().fold(MarkedParts::NONE, MarkedParts::with_part)
    }
}

/// `healthy and recovered`
impl fmt::Display for MarkedParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.in_order().enumerate() {
            write!(f, "{}{part}", if at == 0 { "" } else { " and " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_reads_back_and_no_other_is_one() {
        for part in MarkedPart::ALL {
            assert_eq!(part.to_string().parse::<MarkedPart>(), Ok(part));
        }
        for bad in ["", "Healthy", "ill", "healthy "] {
            assert!(bad.parse::<MarkedPart>().unwrap_err().contains("healthy, disturbed or recovered"), "{bad}");
        }
    }

    #[test]
    fn a_disturbance_begins_and_ends_in_turn() {
        let kinds = [MarkedPart::Healthy, MarkedPart::Disturbed, MarkedPart::Recovered, MarkedPart::Disturbed];
        assert!(kinds.windows(2).all(|pair| pair[0].usual_next() == pair[1]));
    }

    #[test]
    fn a_set_has_what_was_put_in() {
        let both: MarkedParts = [MarkedPart::Recovered, MarkedPart::Healthy].into_iter().collect();
        assert_eq!(both.to_string(), "healthy and recovered");
        assert!(both.has_part(MarkedPart::Healthy) && !both.has_part(MarkedPart::Disturbed) && !both.is_every());
        assert!(both.with_part(MarkedPart::Disturbed).is_every());
        assert!(MarkedParts::NONE.joined_with(MarkedParts::EVERY).is_every());
        assert_eq!(MarkedParts::NONE.in_order().count(), 0);
    }
}
