//! What both modes (functions, and client SQL) share: how statements are made, and which fault a failed flight is.

use super::link::{Failed, Link, Refusal, Statement};
use crate::fault::Fault;
use std::io;

/// The fault of a failed flight that contained the commit. The server begins to commit after it has answered `before`
/// statements. If the connection was lost, answers may have been lost too, and the outcome is unknown. If the server
/// has sent an error before it ended the connection, all earlier answers have arrived, and their number decides.
pub(super) fn commit_fault(link: &Link, why: &Failed, before: usize) -> Fault {
    let is_known = match why {
        Failed::Lost(_) => false,
        Failed::Server(Refusal { ends, .. }) => !ends || link.answered < before,
    };
    if is_known {
        return why.to_fault();
    }
    Fault { code: Fault::OUTCOME_UNKNOWN.to_owned(), text: why.to_string(), again: false }
}

/// The fault of an answer that does not have the form that the statement requires.
pub(super) fn unreadable_answer(why: io::Error) -> Fault {
    Fault { code: "unreadable-answer".to_owned(), text: why.to_string(), again: false }
}

/// Makes a statement for the tables with this prefix.
pub(super) fn make_statement(name: &'static str, prefix: &str, sql: &str, types: &'static [u32]) -> Statement {
    Statement { name, sql: super::schema::with_prefix(prefix, sql), types }
}
