//! A fault in a text that a person wrote: what is wrong, where, and what to write instead, with the line and a caret.
//!
//! ```text
//! rate must be a whole number per second
//!  --> act-30x.conf:4:20
//!   4 | read-reqs-per-sec: 60k
//!     |                    ^^^ write 60000
//! ```

use std::fmt;
use std::ops::Range;

/// Widest part of a line that is shown, in characters.
const WINDOW: usize = 100;

/// One fault in one text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What is wrong: a sentence without its full stop.
    pub what: String,
    /// Name of the file as the user gave it.
    pub file: String,
    /// 1-based line; 0 when the fault has no place in the file.
    pub line: usize,
    /// 1-based column in characters; 0 without a place.
    pub column: usize,
    /// Number of characters that the carets underline.
    pub width: usize,
    /// The part of the line that is shown.
    pub source: String,
    /// What to do; may be empty.
    pub remedy: String,
    /// The bytes of the text it is about; absent when only its line is known.
    pub span: Option<Range<usize>>,
}

impl Fault {
    /// A fault at the byte range `span` of `text`, which is the content of `file`.
    pub fn for_span(
        file: &str,
        text: &str,
        span: Range<usize>,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Fault {
        let (from, to) = (floor_of_character(text, span.start), floor_of_character(text, span.end));
        let begin = text[..from].rfind('\n').map_or(0, |at| at + 1);
        let end = text[from..].find('\n').map_or(text.len(), |at| from + at);
        let line = text[..from].matches('\n').count() + 1;
        let source = text[begin..end].trim_end_matches('\r');
        let fault = Fault::in_line(file, line, source, from - begin, to.clamp(from, end) - from);
        Fault { span: Some(span), ..fault.with_reason(what, remedy) }
    }

    /// A fault at `width` bytes from byte `at` of `source`, which is line `line` of `file`; [`Fault::with_reason`] says what it is. Offsets beyond
    /// the line mean its end.
    pub fn in_line(file: &str, line: usize, source: &str, at: usize, width: usize) -> Fault {
        let before = characters_before(source, at);
        let meant = characters_before(source, at.saturating_add(width)).saturating_sub(before).max(1);
        let cut = before.saturating_sub(WINDOW / 2);
        let source = source.chars().skip(cut).take(WINDOW).map(visible_char).collect();
        Fault { line, column: before + 1, width: meant.min(WINDOW), source, ..Fault::in_file(file) }
    }

    /// A fault of the file as a whole; [`Fault::with_reason`] says what it is.
    pub fn in_file(file: &str) -> Fault {
        Fault {
            what: String::new(),
            file: file.to_owned(),
            line: 0,
            column: 0,
            width: 0,
            source: String::new(),
            remedy: String::new(),
            span: None,
        }
    }

    /// A fault of the file as a whole.
    pub fn for_file(file: &str, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        Fault::in_file(file).with_reason(what, remedy)
    }

    /// Says what is wrong and what to do.
    pub fn with_reason(mut self, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        (self.what, self.remedy) = (what.into(), remedy.into());
        self
    }
}

/// Control characters would move the caret, or the reader's terminal: they are shown as their picture.
fn visible_char(c: char) -> char {
    match c {
        '\t' => ' ',
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\x7f'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{feff}' => '\u{fffd}',
        other => other,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        if self.line == 0 {
            write!(f, " --> {}", self.file)?;
            return if self.remedy.is_empty() { Ok(()) } else { write!(f, "\n  = {}", self.remedy) };
        }
        let shift = (self.column - 1).saturating_sub(WINDOW / 2);
        let blank = " ".repeat(self.column - 1 - shift);
        let digits = self.line.to_string().len().max(3);
        writeln!(f, " --> {}:{}:{}", self.file, self.line, self.column)?;
        writeln!(f, "{:>digits$} | {}", self.line, self.source)?;
        write!(f, "{:>digits$} | {blank}{}", "", "^".repeat(self.width))?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, " {}", self.remedy) }
    }
}

impl std::error::Error for Fault {}

/// The beginning of the character of `text` in which byte `at` lies.
fn floor_of_character(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// How many characters of `text` begin before byte `bytes`.
fn characters_before(text: &str, bytes: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < bytes).count()
}

/// The name among `known` that `written` most likely meant: at most a third of its letters differ.
pub fn nearest_known_name<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written: String = written.chars().take(80).collect();
    let with_distance = known.iter().map(|name| (strsim::levenshtein(&written, name), *name));
    let (distance, name) = with_distance.min_by_key(|(distance, _)| *distance)?;
    (distance <= name.len().div_ceil(3)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_line_and_caret() {
        let text = "device-names: /dev/sdb\nread-reqs-per-sec: 60k\n";
        let at = text.find("60k").unwrap();
        let fault =
            Fault::for_span("act.conf", text, at..at + 3, "rate must be a whole number per second", "write 60000");
        let shown = "rate must be a whole number per second\n --> act.conf:2:20\n  2 | read-reqs-per-sec: 60k\n    |                    ^^^ write 60000";
        assert_eq!(fault.to_string(), shown);
    }

    #[test]
    fn places_at_the_edges_do_not_panic() {
        for (text, span) in [("", 0..0), ("é", 1..1), ("a\nb", 3..9), ("a\r\n", 0..3), ("é\n", 0..2)] {
            let shown = Fault::for_span("f", text, span, "w", "r").to_string();
            assert!(shown.contains('^'), "{shown}");
        }
        assert!(Fault::for_file("f", "w", "r").to_string().contains("--> f"));
    }

    #[test]
    fn ugly_lines_are_shown_safely() {
        let shown = |source: &str, at, width| {
            let fault = Fault::in_line("f", 12345, source, at, width).with_reason("m", "a").to_string();
            fault.lines().skip(2).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(shown("ä\tb\0c", 4, 1), "12345 | ä b\u{2400}c\n      |    ^ a");
        assert_eq!(shown("", 0, 0), "12345 | \n      | ^ a");
        assert_eq!(shown("ab", 9, 9), "12345 | ab\n      |   ^ a");
        let long = format!("{}X{}", "a".repeat(5000), "b".repeat(5000));
        let text = shown(&long, 5000, 1);
        let [line, caret] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(line.find('X'), caret.find('^'));
        assert!(
            line.len() < 120 && Fault::in_line("f", 1, &long, 0, 9999).with_reason("m", "a").to_string().len() < 400
        );
        assert_eq!(
            Fault::for_span("f", &long, 5000..5001, "m", "a").to_string().lines().nth(3).unwrap().find('^'),
            Some(56)
        );
        let whole = Fault::for_file("f", "no devices", "add device-names");
        assert_eq!(whole.to_string(), "no devices\n --> f\n  = add device-names");
    }

    #[test]
    fn nearest_name() {
        let known = ["direction", "rate", "size", "share_over"];
        for (written, meant) in
            [("dirction", Some("direction")), ("share-over", Some("share_over")), ("zzz", None), ("", None)]
        {
            assert_eq!(nearest_known_name(written, &known), meant, "{written}");
        }
        let known = ["read-reqs-per-sec", "write-reqs-per-sec", "record-bytes"];
        for (written, meant) in [
            ("read-req-per-sec", Some("read-reqs-per-sec")),
            ("recordbytes", Some("record-bytes")),
            ("record_bytes", Some("record-bytes")),
            ("colour", None),
        ] {
            assert_eq!(nearest_known_name(written, &known), meant, "{written}");
        }
    }
}
