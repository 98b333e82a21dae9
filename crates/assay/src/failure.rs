//! How a command fails: one clear message and an exit code.

use assay_judge::printable;
use std::fmt::Display;
use std::io::Write;

/// Exit codes, as documented in the README.
pub mod code {
    /// PASS, or the command did what was asked.
    pub const DONE: u8 = 0;
    /// The command line does not make sense.
    pub const USAGE: u8 = 2;
    /// The workload or configuration is invalid.
    pub const WORKLOAD: u8 = 3;
    /// Refused by the safety gate.
    pub const REFUSED: u8 = 4;
    /// The host is not able: permission, engine, disk space.
    pub const HOST: u8 = 5;
    /// The target did not hold.
    pub const FAILED: u8 = 10;
    /// Cut short.
    pub const INCOMPLETE: u8 = 12;
    /// A bug.
    pub const BUG: u8 = 70;
}

/// What went wrong, where, and what to do, with the exit code that says so.
#[derive(Debug)]
pub struct Failure {
    /// See [`code`].
    pub code: u8,
    message: String,
}

impl Failure {
    /// The command line does not make sense.
    pub fn usage(message: impl Display) -> Failure {
        Failure { code: code::USAGE, message: message.to_string() }
    }
    /// The workload or a log cannot be used.
    pub fn workload(message: impl Display) -> Failure {
        Failure { code: code::WORKLOAD, message: message.to_string() }
    }
    /// The safety gate says no.
    pub fn refused(message: impl Display) -> Failure {
        Failure { code: code::REFUSED, message: message.to_string() }
    }
    /// The host is not able.
    pub fn host(message: impl Display) -> Failure {
        Failure { code: code::HOST, message: message.to_string() }
    }
    /// Cut short; can be continued.
    pub fn incomplete(message: impl Display) -> Failure {
        Failure { code: code::INCOMPLETE, message: message.to_string() }
    }
    /// The target failed its test.
    pub fn failed(message: impl Display) -> Failure {
        Failure { code: code::FAILED, message: message.to_string() }
    }
    /// Our own mistake.
    pub fn bug(message: impl Display) -> Failure {
        Failure { code: code::BUG, message: message.to_string() }
    }

    /// The same with one more line of advice.
    pub fn advised(self, advice: &str) -> Failure {
        Failure { message: format!("{}\n  = {advice}", self.message), ..self }
    }

    /// Tells the user.
    pub fn print(&self) {
        tell(&format!("error: {}", self.message));
    }
}

/// A line on standard error. A run of two days does not end because nobody listens any more: `eprintln!` would panic.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", harmless(line));
}

/// Text for a terminal, in which names and paths may hold anything: no control character of theirs reaches it, and none that
/// turns the direction of text.
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { printable(c) }).collect()
}

/// The same for what stands within a line: a name with a line break in it is still one line.
pub fn one_line(text: impl Display) -> String {
    text.to_string().chars().map(printable).collect()
}
