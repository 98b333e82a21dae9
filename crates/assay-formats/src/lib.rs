//! Other people's text, in and out. Nothing here opens a file, reads a clock or prints: text comes in as bytes or lines,
//! and goes out through `fmt::Write`. What is read is untrusted: every reader has caps on lines and counts, and answers
//! hostile input with a [`assay_base::Fault`] that shows the place, never with a panic.
#![warn(unreachable_pub)]
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests make files and threads of their own"))]

pub mod act;
pub mod collect;
pub mod export;
pub mod fio;
pub mod note;
