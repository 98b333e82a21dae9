//! The data of block I/O: what is written, and what reads are compared with.
//!
//! [`data`] is the payload of a worker. It checks a part of the reads for blocks that were never written
//! ([`read_check`]), and with `verify` all reads ([`verifier`]) against the [`ledger`] of what the run has written, whose
//! words are [`unit`]s.

pub(crate) mod data;
pub(crate) mod ledger;
pub(crate) mod read_check;
mod unit;
pub(crate) mod verifier;
