//! Why a transaction did not reach its planned end.

use std::fmt;

/// The reason, by the database's own code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The database's name for it, such as `SQLITE_FULL`, or ours: `missing-row`.
    pub code: String,
    /// The message of the database.
    pub text: String,
    /// Whether the whole transaction may be tried again, because only other sessions stood in its way.
    pub again: bool,
}

impl Fault {
    /// The code of a row that must exist and does not: the database is not what was loaded.
    pub const MISSING_ROW: &'static str = "missing-row";

    /// The code of an order that was committed although it asks for the item that no load makes.
    pub const UNUSED_ITEM: &'static str = "unused-item";

    /// The code of a connection that was lost before the transaction was to be committed: it has left no trace.
    pub const LOST: &'static str = "connection-lost";

    /// The code of a connection that was lost while the transaction was being committed. Nobody knows whether it was, so
    /// that it is never tried again.
    pub const OUTCOME_UNKNOWN: &'static str = "outcome-unknown";

    /// The code of a COMMIT that the database answered with a rollback, without an error.
    pub const ROLLED_BACK: &'static str = "rolled-back";

    /// The code of a mistake in this program.
    pub const PANIC: &'static str = "panic";

    /// Whether the server was not there: PostgreSQL's class 57P is "operator intervention".
    pub(crate) fn is_outage(&self) -> bool {
        [Fault::LOST, Fault::OUTCOME_UNKNOWN].contains(&self.code.as_str()) || self.code.starts_with("57P0")
    }

    /// A session panicked: a mistake in this program.
    pub(crate) fn session_panicked() -> Fault {
        Fault { code: Fault::PANIC.to_owned(), text: "a session panicked".to_owned(), again: false }
    }

    /// The item that no load makes is there, and an order of it was committed.
    pub fn unused_item() -> Fault {
        let text = "the item that no load makes is there, and an order of it was committed".to_owned();
        Fault { code: Fault::UNUSED_ITEM.to_owned(), text, again: false }
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
