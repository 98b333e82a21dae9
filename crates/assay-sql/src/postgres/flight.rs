//! What both ways of sending a transaction share: their statements, and what failed flights mean.

use super::link::{Failed, Link, Refusal, Statement};
use crate::fault::Fault;
use std::io;

/// The fault of a flight that was to commit. The server had begun to commit once it had answered `before` statements.
/// When the connection ends, an answer may be lost on the way, unless the server said why it ends the connection: then
/// everything that it had answered has arrived.
pub(super) fn committing(link: &Link, why: &Failed, before: usize) -> Fault {
    let is_known = match why {
        Failed::Lost(_) => false,
        Failed::Server(Refusal { ends, .. }) => !ends || link.answered < before,
    };
    if is_known {
        return why.fault();
    }
    Fault { code: Fault::OUTCOME_UNKNOWN.to_owned(), text: why.to_string(), again: false }
}

/// The fault of an answer that is not what a statement of ours gives.
pub(super) fn unreadable(why: io::Error) -> Fault {
    Fault { code: "unreadable-answer".to_owned(), text: why.to_string(), again: false }
}

/// A statement of ours.
pub(super) fn statement(name: &'static str, prefix: &str, sql: &str, types: &'static [u32]) -> Statement {
    Statement { name, sql: super::schema::of(prefix, sql), types }
}
