//! How a number of a plan was derived.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One step: its name, its formula, its value, and its source.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Derivation {
    /// The number's name.
    pub what: String,
    /// `(1543/s − 369/s) × 100%`.
    pub formula: String,
    /// Its value with its unit.
    pub value: String,
    /// Where the numbers in the formula come from; empty where they come from other steps.
    pub source: String,
}

impl Derivation {
    /// A step.
    pub fn new(
        what: impl Into<String>,
        formula: impl Into<String>,
        value: impl Into<String>,
        source: impl Into<String>,
    ) -> Derivation {
        Derivation { what: what.into(), formula: formula.into(), value: value.into(), source: source.into() }
    }
}

impl fmt::Display for Derivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.what, self.formula)?;
        if self.formula != self.value {
            write!(f, " = {}", self.value)?;
        }
        if self.source.is_empty() { Ok(()) } else { write!(f, "  [{}]", self.source) }
    }
}
