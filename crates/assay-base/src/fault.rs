//! What is wrong with a text a person wrote: what, where, and what to write instead, with the line and a caret.
//!
//! ```text
//! error: rate must be a whole number per second
//!  --> act-30x.conf:4:20
//!   4 | read-reqs-per-sec: 60k
//!     |                    ^^^ write 60000
//! ```

use std::fmt;
use std::ops::Range;

/// Longest line that is shown, in characters; a longer one is cut with an ellipsis.
const SHOWN: usize = 160;

/// One fault in one text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// What is wrong, a sentence without its full stop.
    pub what: String,
    /// Name of the file as the user gave it.
    pub file: String,
    /// 1-based line; 0 when the fault has no place.
    pub line: usize,
    /// 1-based column in characters.
    pub column: usize,
    /// Characters the carets stand under.
    pub width: usize,
    /// The line itself.
    pub source: String,
    /// What to do; may be empty.
    pub remedy: String,
    /// The bytes of the text it is about; absent when it has no place.
    pub span: Option<Range<usize>>,
}

impl Fault {
    /// A fault at the bytes `span` of `text`, which is the content of `file`.
    pub fn at(file: &str, text: &str, span: Range<usize>, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        let floor = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let (from, to) = (floor(span.start), floor(span.end));
        let begin = text[..from].rfind('\n').map_or(0, |at| at + 1);
        let end = text[from..].find('\n').map_or(text.len(), |at| from + at);
        Fault {
            what: what.into(),
            file: file.to_owned(),
            line: text[..from].matches('\n').count() + 1,
            column: text[begin..from].chars().count() + 1,
            width: text[from..to.clamp(from, end)].chars().count().max(1),
            source: text[begin..end].trim_end_matches('\r').to_owned(),
            remedy: remedy.into(),
            span: Some(span),
        }
    }

    /// A fault of the file as a whole.
    pub fn whole(file: &str, what: impl Into<String>, remedy: impl Into<String>) -> Fault {
        let (what, remedy) = (what.into(), remedy.into());
        Fault { what, file: file.to_owned(), line: 0, column: 0, width: 0, source: String::new(), remedy, span: None }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        if self.line == 0 {
            write!(f, " --> {}", self.file)?;
            return if self.remedy.is_empty() { Ok(()) } else { write!(f, "\n  = {}", self.remedy) };
        }
        writeln!(f, " --> {}:{}:{}", self.file, self.line, self.column)?;
        let number = self.line.to_string();
        let blank = " ".repeat(number.len());
        // Control characters would move the caret, or the reader's terminal.
        let shown: String = self.source.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
        writeln!(f, "  {number} | {shown}")?;
        let column = self.column.min(SHOWN + 1);
        let carets = "^".repeat(self.width.min(SHOWN.saturating_sub(column) + 1).max(1));
        write!(f, "  {blank} | {}{carets}", " ".repeat(column - 1))?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, " {}", self.remedy) }
    }
}

impl std::error::Error for Fault {}

/// The name among `known` that `written` most likely meant: at most a third of its letters differ.
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let written: String = written.chars().take(80).collect();
    let distance = |name: &&&str| edits(&written, name);
    known.iter().min_by_key(distance).filter(|name| edits(&written, name) <= name.len().div_ceil(3)).copied()
}

/// Levenshtein distance in characters: how many must be written, removed or exchanged.
pub fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let swapped = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = swapped.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_line_and_caret() {
        let text = "device-names: /dev/sdb\nread-reqs-per-sec: 60k\n";
        let at = text.find("60k").unwrap();
        let fault = Fault::at("act.conf", text, at..at + 3, "rate must be a whole number per second", "write 60000");
        let shown = "rate must be a whole number per second\n --> act.conf:2:20\n  2 | read-reqs-per-sec: 60k\n    |                    ^^^ write 60000";
        assert_eq!(fault.to_string(), shown);
    }

    #[test]
    fn places_at_the_edges_do_not_panic() {
        for (text, span) in [("", 0..0), ("é", 1..1), ("a\nb", 3..9), ("a\r\n", 0..3), ("é\n", 0..2)] {
            let shown = Fault::at("f", text, span, "w", "r").to_string();
            assert!(shown.contains('^'), "{shown}");
        }
        assert!(Fault::whole("f", "w", "r").to_string().contains("--> f"));
    }

    #[test]
    fn nearest_name() {
        let known = ["direction", "rate", "size", "share_over"];
        for (written, meant) in
            [("dirction", Some("direction")), ("share-over", Some("share_over")), ("zzz", None), ("", None)]
        {
            assert_eq!(nearest(written, &known), meant, "{written}");
        }
    }
}
