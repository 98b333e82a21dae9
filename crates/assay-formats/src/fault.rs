//! What is wrong with somebody's text: the message, the place, and what to write instead, shown with the line and a caret.
//!
//! ```text
//! error: rate must be a whole number per second
//!  --> act-30x.conf:4:20
//!   4 | read-reqs-per-sec: 60k
//!     |                    ^^^ write 60000
//! ```

use assay_base::fault::edits;
use std::fmt;

/// Widest part of a line that is shown, in characters.
const WINDOW: usize = 100;

/// A text that cannot be read, with the place that says why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Name of the text, as its reader knows it.
    pub file: String,
    /// Line, counted from 1; 0 where the text as a whole is meant.
    pub line: usize,
    /// Column of the caret in characters, counted from 1.
    pub column: usize,
    /// How many characters are meant, at least 1.
    pub width: usize,
    /// The line itself, as it is shown.
    pub source: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub advice: String,
}

impl Fault {
    /// A fault at `width` bytes from byte `at` of `source`, line `line` of `file`. Offsets beyond the line mean its end.
    pub fn at(file: &str, line: usize, source: &str, at: usize, width: usize) -> Fault {
        let characters = |bytes: usize| source.char_indices().take_while(|(i, _)| *i < bytes).count();
        let before = characters(at);
        let meant = characters(at.saturating_add(width)).saturating_sub(before).max(1);
        let cut = before.saturating_sub(WINDOW / 2);
        let source: String = source.chars().skip(cut).take(WINDOW).map(visible).collect();
        let (message, advice) = (String::new(), String::new());
        let column = before + 1;
        Fault { file: file.to_owned(), line, column, width: meant.min(WINDOW), source, message, advice }
    }

    /// A fault of the text as a whole.
    pub fn whole(file: &str) -> Fault {
        Fault {
            file: file.to_owned(),
            line: 0,
            column: 1,
            width: 1,
            source: String::new(),
            message: String::new(),
            advice: String::new(),
        }
    }

    /// Says what is wrong and what to do.
    pub fn because(mut self, message: impl Into<String>, advice: impl Into<String>) -> Fault {
        (self.message, self.advice) = (message.into(), advice.into());
        self
    }
}

/// Control characters would move the caret, or the terminal: they are shown as their picture.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\x7f'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}' => '\u{fffd}',
        other => other,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", self.message)?;
        if self.line == 0 {
            return write!(f, " --> {}\n    = {}", self.file, self.advice);
        }
        let shift = (self.column - 1).saturating_sub(WINDOW / 2);
        let blank = " ".repeat(self.column - 1 - shift);
        let digits = self.line.to_string().len().max(3);
        writeln!(f, " --> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{:>digits$} | {}", self.line, self.source)?;
        write!(f, "{:>digits$} | {blank}{} {}", "", "^".repeat(self.width), self.advice)
    }
}

impl std::error::Error for Fault {}

/// What a reader understood but wants to mention.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Line, counted from 1; 0 where the text as a whole is meant.
    pub line: usize,
    /// The remark.
    pub text: String,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "note: {}", self.text),
            line => write!(f, "note: line {line}: {}", self.text),
        }
    }
}

/// The word of `known` that differs least from `word`, if it is near enough to have been meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Only the length of a word is compared in full, so hostile input costs little.
    let word: String = word.chars().take(64).collect();
    let limit = 1 + word.chars().count() / 4;
    let scored = known.into_iter().map(|name| (edits(&word, name), name));
    scored.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_under_what_is_meant() {
        let fault = Fault::at("act-30x.conf", 4, "read-reqs-per-sec: 60k", 19, 3)
            .because("rate must be a whole number per second", "write 60000");
        let shown = "error: rate must be a whole number per second\n --> act-30x.conf:4:20\n  4 | read-reqs-per-sec: 60k\n    |                    ^^^ write 60000";
        assert_eq!(fault.to_string(), shown);
    }

    #[test]
    fn ugly_lines_are_shown_safely() {
        let shown = |source: &str, at, width| {
            Fault::at("f", 12345, source, at, width)
                .because("m", "a")
                .to_string()
                .lines()
                .skip(2)
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(shown("ä\tb\0c", 4, 1), "12345 | ä b\u{2400}c\n      |    ^ a");
        assert_eq!(shown("", 0, 0), "12345 | \n      | ^ a");
        assert_eq!(shown("ab", 9, 9), "12345 | ab\n      |   ^ a");
        let long = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let text = shown(&long, 5000, 1);
        let [line, caret] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(line.find('X'), caret.find('^'));
        assert!(line.len() < 120 && Fault::at("f", 1, &long, 0, 9999).because("m", "a").to_string().len() < 400);
        let whole = Fault::whole("f").because("no devices", "add device-names");
        assert_eq!(whole.to_string(), "error: no devices\n --> f\n    = add device-names");
    }

    #[test]
    fn near_words() {
        let known = ["read-reqs-per-sec", "write-reqs-per-sec", "record-bytes"];
        for (word, found) in [
            ("read-req-per-sec", Some("read-reqs-per-sec")),
            ("recordbytes", Some("record-bytes")),
            ("record_bytes", Some("record-bytes")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
    }
}
