//! Why a transaction did not reach its planned end.

use std::fmt;

/// The reason, by the database's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The database's name for it, such as `SQLITE_FULL`, or ours: `missing-row`.
    pub code: String,
    /// What the database said.
    pub text: String,
    /// Whether the whole transaction may be tried again, because only other sessions stood in its way.
    pub again: bool,
}

impl Fault {
    /// The code of a row that must exist and does not: the database is not what was loaded.
    pub const MISSING_ROW: &'static str = "missing-row";

    /// The code of a mistake in this program.
    pub const PANIC: &'static str = "panic";

    /// A session panicked: a mistake in this program.
    pub(crate) fn panicked() -> Fault {
        Fault { code: Fault::PANIC.to_owned(), text: "a session panicked".to_owned(), again: false }
    }

    /// A row that must exist does not.
    pub fn missing_row(what: impl fmt::Display) -> Fault {
        Fault { code: Fault::MISSING_ROW.to_owned(), text: format!("there is no {what}"), again: false }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code, self.text)
    }
}
