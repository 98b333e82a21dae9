//! Lines for the user on standard error, and the properties of standard output: a terminal with a width and perhaps
//! colours, or another program that needs plain text.

use crate::environment::environment_variable;
use crate::terminal;
use assay_base::text::{printable_char, without_passwords};
use assay_judge::render::Reader;
use assay_run::failure::Failure;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Words at the beginning of a line of a result, and their colours (ECMA-48 SGR).
const COLOURS: [(&str, &str); 7] = [
    ("PASS", "1;32"),
    ("FAIL", "1;31"),
    ("INVALID", "1;33"),
    ("INCOMPLETE", "1;33"),
    ("ok", "32"),
    ("warning:", "33"),
    ("damage:", "31"),
];

/// Lines that are kept back instead of being printed, while somebody wants them.
static KEPT_BACK: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn lock_kept_back() -> MutexGuard<'static, Option<Vec<String>>> {
    KEPT_BACK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps back the lines that this process would print on standard error. They are printed when this is dropped.
#[must_use]
pub(crate) struct KeptBack(());

impl KeptBack {
    /// From now on.
    pub(crate) fn begin() -> KeptBack {
        keep_back_lines();
        KeptBack(())
    }

    /// Ends it, and returns the lines, which are not printed.
    pub(crate) fn take_lines(self) -> Vec<String> {
        take_kept_lines()
    }
}

/// The same where nothing is dropped when it ends: the lines are kept until somebody takes them.
pub(crate) fn keep_back_lines() {
    *lock_kept_back() = Some(Vec::new());
}

/// Ends it, and returns the lines, which are not printed.
pub(crate) fn take_kept_lines() -> Vec<String> {
    lock_kept_back().take().unwrap_or_default()
}

impl Drop for KeptBack {
    fn drop(&mut self) {
        let lines = lock_kept_back().take();
        lines.into_iter().flatten().for_each(|line| print_to_stderr(&line));
    }
}

/// Prints a line on standard error.
pub(crate) fn print_to_stderr(line: &str) {
    if let Some(kept) = lock_kept_back().as_mut() {
        return kept.push(line.to_owned());
    }
    print_at_once(line);
}

/// The same, also while lines are kept back.
pub(crate) fn print_at_once(line: &str) {
    terminal::write_message(&format!("{}\n", without_control_characters(line)));
}

/// Tells the user why a command failed.
pub(crate) fn report_failure(failure: &Failure) {
    print_to_stderr(&format!("error: {}", failure.user_message()));
}

/// Text for a terminal, in which names and paths may contain anything: their control characters are removed, those that
/// change the direction of text, and passwords in what looks like a URL.
pub(crate) fn without_control_characters(text: &str) -> String {
    let text: String = text.chars().map(|c| if matches!(c, '\n' | '\t') { c } else { printable_char(c) }).collect();
    without_passwords(&text).into_owned()
}

/// The kind of reader that a result is formatted for.
pub(crate) fn reader_kind() -> Reader {
    if !terminal::shows_output() {
        return Reader::Pipe;
    }
    terminal::columns_of_output().map_or(Reader::default(), Reader::Terminal)
}

/// A result with colours for its words, where standard output is a terminal with colours.
pub(crate) fn colour_if_terminal(text: &str) -> String {
    if terminal::shows_output() && colours_are_wanted() { colour_words(text) } else { text.to_owned() }
}

/// NO_COLOR with any value switches colours off (no-color.org); a dumb terminal has none.
pub(crate) fn colours_are_wanted() -> bool {
    environment_variable("NO_COLOR").is_none() && environment_variable("TERM").is_some_and(|term| term != "dumb")
}

fn colour_words(text: &str) -> String {
    let painted = text.split_inclusive('\n').map(|line| {
        let word = line.split([' ', '\n']).next().unwrap_or_default();
        match COLOURS.iter().find(|(known, _)| *known == word) {
            Some((_, colour)) => format!("\u{1b}[{colour}m{word}\u{1b}[0m{}", &line[word.len()..]),
            None => line.to_owned(),
        }
    });
    painted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_open_a_line_are_coloured() {
        let text = "PASS        x\nok          FAIL in a name\n            FAIL\nfailed\n";
        let painted = "\u{1b}[1;32mPASS\u{1b}[0m        x\n\u{1b}[32mok\u{1b}[0m          FAIL in a name\n            FAIL\nfailed\n";
        assert_eq!(colour_words(text), painted);
    }
}
