//! Remarks of a reader about a text that it accepted.

use std::fmt;

/// A remark of a reader about a text that it accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Line, counted from 1; 0 for the text as a whole.
    pub line: usize,
    /// The remark.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "note: {}", self.text),
            line => write!(f, "note: line {line}: {}", self.text),
        }
    }
}
