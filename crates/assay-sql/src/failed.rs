//! Why a question to a server has no answer, whatever its protocol.

use std::fmt;
use std::io;

/// The reason; `R` is an error as the server reports it.
#[derive(Debug)]
pub(crate) enum Failed<R> {
    /// The server refused it.
    Server(R),
    /// The connection is gone, or what came over it makes no sense.
    Lost(io::Error),
}

impl<R: fmt::Display> fmt::Display for Failed<R> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failed::Server(refusal) => refusal.fmt(out),
            Failed::Lost(why) => write!(out, "the connection was lost: {why}"),
        }
    }
}

impl<R> From<io::Error> for Failed<R> {
    fn from(why: io::Error) -> Failed<R> {
        Failed::Lost(why)
    }
}
