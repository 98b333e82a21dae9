//! The errors of questions to a MariaDB server, and what they mean for a transaction.

use crate::fault::Fault;
use bytes::Buf;
use std::fmt;

/// The error of a question.
pub(super) type Failed = crate::failed::Failed<Refusal>;

/// An error as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The server's number of the error (MariaDB's manual, "Error Codes").
    pub(super) code: u16,
    /// The SQLSTATE: one of the SQL standard, or one of our procedures.
    pub(super) state: String,
    pub(super) message: String,
}

/// After these errors a transaction is repeated: a deadlock; a wait for a lock that took too long, which rolls back one
/// statement only; a row that has changed since the snapshot.
const AGAIN: [u16; 3] = [1213, 1205, 1020];
/// The statement was ended from outside, or exceeded its time limit. Both can happen after the statement has committed.
const ENDED: [u16; 5] = [1053, 1317, 1927, 1969, 4031];
/// The errors of [`ENDED`] after which the server ends the connection.
const ENDS: [u16; 3] = [1053, 1927, 4031];

/// The SQLSTATE with which our procedures report that a row does not exist that must exist.
const MISSING_ROW: &str = "AS002";

impl Refusal {
    pub(super) fn from_packet(packet: &[u8]) -> Refusal {
        let mut rest = packet.get(1..).unwrap_or_default();
        let code = rest.try_get_u16_le().unwrap_or(0);
        let (state, message) = match rest.strip_prefix(b"#").and_then(|rest| rest.split_at_checked(5)) {
            Some((state, message)) => (state, message),
            None => (&b""[..], rest),
        };
        let [state, message] = [state, message].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        Refusal { code, state, message }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code, self.message)
    }
}

impl Failed {
    /// The server's number of the error; 0 if the connection was lost.
    pub(super) fn error_code(&self) -> u16 {
        match self {
            Failed::Server(refusal) => refusal.code,
            Failed::Lost(_) => 0,
        }
    }

    /// Whether this error ends the connection.
    pub(super) fn ends_connection(&self) -> bool {
        matches!(self, Failed::Lost(_)) || ENDS.contains(&self.error_code())
    }

    /// Whether the last statement that was sent may have taken effect in spite of this error.
    pub(super) fn is_ambiguous(&self) -> bool {
        matches!(self, Failed::Lost(_)) || ENDED.contains(&self.error_code())
    }

    /// The fault of a transaction that failed with this error and was certainly not committed.
    pub(super) fn to_fault(&self) -> Fault {
        match self {
            Failed::Server(Refusal { state, message, .. }) if state == MISSING_ROW => Fault::missing_row(message),
            Failed::Server(Refusal { code, message, .. }) => {
                Fault { code: code.to_string(), text: message.clone(), again: AGAIN.contains(code) }
            }
            Failed::Lost(why) => Fault { code: Fault::LOST.to_owned(), text: why.to_string(), again: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BufMut;

    #[test]
    fn errors_say_whether_they_may_be_tried_again_and_whether_they_leave_a_doubt() {
        for (code, again, ambiguous) in
            [(1213, true, false), (1205, true, false), (1020, true, false), (1114, false, false), (1317, false, true)]
        {
            let mut packet = vec![0xff];
            packet.put_u16_le(code);
            packet.put_slice(b"#HY000why");
            let failed = Failed::Server(Refusal::from_packet(&packet));
            let fault = failed.to_fault();
            assert_eq!((fault.code, fault.text.as_str(), fault.again), (code.to_string(), "why", again));
            assert_eq!(failed.is_ambiguous(), ambiguous, "{code}");
        }
        let missing = Failed::Server(Refusal::from_packet(b"\xff\x6c\x06#AS002stock")).to_fault();
        assert_eq!((missing.code.as_str(), missing.text.as_str()), (Fault::MISSING_ROW, "there is no stock"));
    }
}
