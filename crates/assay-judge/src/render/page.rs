//! Lines of at most 80 columns. Names come from the log and may hold anything: control characters do not reach a terminal.

use crate::words::printable;
use std::fmt;

/// Columns of a line.
pub const WIDTH: usize = 80;

/// Lines that are being collected.
#[derive(Debug, Default)]
pub struct Page {
    lines: Vec<String>,
}

impl Page {
    /// Lines so far.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Adds one line, cut at the width.
    pub fn line(&mut self, text: impl AsRef<str>) {
        let clean: Vec<char> = text.as_ref().trim_end().chars().map(printable).collect();
        let line = if clean.len() > WIDTH {
            clean[..WIDTH - 1].iter().chain(&['…']).collect()
        } else {
            clean.into_iter().collect()
        };
        self.lines.push(line);
    }

    /// Adds one line that may be wider than the page: a table with a column for each run.
    pub fn wide(&mut self, text: impl AsRef<str>) {
        self.lines.push(text.as_ref().trim_end().chars().map(printable).collect());
    }

    /// Adds an empty line, unless there is one already or nothing before.
    pub fn blank(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Adds words, broken into at most `most` lines; `first` opens the first one, the others are indented as far.
    pub fn words(&mut self, first: &str, text: &str, most: usize) {
        let indent = first.chars().count();
        let room = WIDTH.saturating_sub(indent).max(20);
        let mut lines: Vec<String> = vec![String::new()];
        for word in text.split_whitespace() {
            let last = lines.last_mut().expect("there is always a line");
            if last.is_empty() || last.chars().count() + 1 + word.chars().count() <= room {
                last.push_str(if last.is_empty() { "" } else { " " });
                last.push_str(word);
            } else {
                lines.push(word.to_owned());
            }
        }
        if lines.len() > most {
            lines.truncate(most);
            lines[most - 1].push('…');
        }
        for (index, line) in lines.iter().enumerate() {
            let begin = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
            self.line(format!("{begin}{line}"));
        }
    }

    /// Adds the lines of another page.
    pub fn append(&mut self, other: Page) {
        self.lines.extend(other.lines);
    }

    /// Writes all lines.
    pub fn write(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

/// `text` cut to `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_clean_and_no_wider_than_the_page() {
        let mut page = Page::default();
        page.line("a\u{1b}[31mred\u{7}\u{202e}");
        page.line("ä".repeat(100));
        page.words("FAIL  ", &"word ".repeat(60), 3);
        let mut text = String::new();
        page.write(&mut text).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && !line.contains('\u{1b}')));
        assert_eq!(text.lines().count(), 5);
        assert!(text.ends_with("…\n"));
    }
}
