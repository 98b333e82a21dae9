//! What a reader understood but wants to mention.

use std::fmt;

/// What a reader understood but wants to mention.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Line, counted from 1; 0 where the text as a whole is meant.
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
