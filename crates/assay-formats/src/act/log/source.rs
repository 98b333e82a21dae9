//! The lines of a log with their numbers, and the two kinds of lines that separate its parts.

use super::items::LogError;
use crate::act::lines::{LineFault, Lines};
use assay_base::Fault;
use std::io::BufRead;

/// The lines of a log with their numbers.
pub(super) struct Source<R> {
    file: String,
    lines: Lines<R>,
    pub(super) line: usize,
    /// The current line, without its end.
    pub(super) text: String,
}

impl<R: BufRead> Source<R> {
    /// Begins at the first line.
    pub(super) fn new(file_name: &str, reader: R) -> Source<R> {
        Source { file: file_name.to_owned(), lines: Lines::new(reader), line: 0, text: String::new() }
    }

    /// Advances to the next line; false at the end.
    pub(super) fn advance_line(&mut self) -> Result<bool, LogError> {
        self.line += 1;
        let problem = match self.lines.next() {
            Ok("") => return Ok(false),
            Ok(line) => {
                self.text.clear();
                self.text.push_str(line.strip_suffix('\n').unwrap_or(line));
                return Ok(true);
            }
            Err(LineFault::Io(error)) => return Err(LogError::Io(error)),
            Err(LineFault::TooLong) => "the line is longer than a MiB",
            Err(LineFault::NotText) => "this is not UTF-8 text",
        };
        self.text.clear();
        Err(self.fault_here(problem, "give the output of act_storage or act_index, unchanged").into())
    }

    /// A fault at the current line.
    pub(super) fn fault_here(&self, message: impl Into<String>, advice: impl Into<String>) -> Fault {
        Fault::in_line(&self.file, self.line, &self.text, 0, self.text.len()).with_reason(message, advice)
    }
}

/// The number in `after N sec:`, with the capitals of any version.
pub(super) fn parse_after_seconds(line: &str) -> Option<u64> {
    let rest = line.strip_prefix("after ").or_else(|| line.strip_prefix("After "))?;
    rest.strip_suffix(" sec:")?.parse().ok()
}

/// The version in a banner line.
pub(super) fn parse_banner(line: &str) -> Option<(&str, bool)> {
    match line.strip_prefix("ACT version ") {
        Some(version) => Some((version.trim(), false)),
        None => line.strip_prefix("Aerospike act version ")?.split(' ').next().map(|version| (version, true)),
    }
}
