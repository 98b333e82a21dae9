//! Lines that fit the width available to the reader: what is too long is continued on the next line, because what stands
//! at the end of a line may be the unit of a figure or the reason of a verdict. Names come from the log and may contain
//! anything: control characters do not reach a terminal.

use crate::render::wrap::{broken_lines, continued_lines};
use crate::words::for_a_shell;
use assay_base::text::printable_char;
use std::fmt;

/// Width of a line where the width of the terminal is not known.
pub(crate) const WIDTH: usize = 80;
/// A narrower terminal breaks our lines itself, and a wider one would gain nothing.
const COLUMNS: std::ops::RangeInclusive<usize> = WIDTH..=160;

/// The kind of reader that a text is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A terminal of this width: a result has a limited number of lines, and leaves out what is less important.
    Terminal(usize),
    /// A file or another program: nothing is left out.
    Pipe,
}

impl Reader {
    /// The width at which text is broken.
    pub fn text_width(self) -> usize {
        match self {
            Reader::Terminal(columns) => columns.clamp(*COLUMNS.start(), *COLUMNS.end()),
            Reader::Pipe => WIDTH,
        }
    }

    /// A name in a column of a table, cut to `width` columns on a page of [`WIDTH`], and to accordingly more on a wider page.
    pub fn cut_name(self, text: &str, width: usize) -> String {
        match self {
            Reader::Terminal(_) => cut_to_width(text, width + self.text_width() - WIDTH),
            Reader::Pipe => text.to_owned(),
        }
    }
}

impl Default for Reader {
    fn default() -> Reader {
        Reader::Terminal(WIDTH)
    }
}

/// Lines that are being collected.
#[derive(Debug, Default)]
pub(crate) struct Page {
    lines: Vec<String>,
    /// The log that the page is made of, quoted for a shell; empty where it is not known.
    log: String,
    /// The kind of reader.
    pub reader: Reader,
}

impl Page {
    /// A page without lines.
    pub(crate) fn for_reader(reader: Reader) -> Page {
        Page { reader, ..Page::default() }
    }

    /// A page without lines about the log with this name.
    pub(crate) fn about_log(log: &str, reader: Reader) -> Page {
        Page { log: for_a_shell(log), ..Page::for_reader(reader) }
    }

    /// A page without lines for the same reader, about the same log.
    pub(crate) fn empty_beside(&self) -> Page {
        Page { log: self.log.clone(), ..Page::for_reader(self.reader) }
    }

    /// The command that prints what a page leaves out.
    pub(crate) fn judge_command(&self, option: &str) -> String {
        match self.log.as_str() {
            "" => format!("assay judge LOG {option}"),
            log => format!("assay judge {log} {option}"),
        }
    }

    /// Lines so far.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Adds one line, continued on further lines where there is no more space.
    pub(crate) fn add_line(&mut self, text: impl AsRef<str>) {
        let clean: String = text.as_ref().trim_end().chars().map(printable_char).collect();
        match self.reader {
            Reader::Terminal(_) => self.lines.extend(continued_lines(&clean, self.reader.text_width())),
            Reader::Pipe => self.lines.push(clean),
        }
    }

    /// Adds one line that may be wider than the page: a row of a table with a column for each run, or a command.
    pub(crate) fn add_wide_line(&mut self, text: impl AsRef<str>) {
        self.lines.push(text.as_ref().trim_end().chars().map(printable_char).collect());
    }

    /// Adds an empty line, unless there is one already or nothing before.
    pub(crate) fn add_blank_line(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// Adds a row of a table that begins with a title, for which there are `columns` on a page of [`WIDTH`]. A longer one
    /// stands in lines of its own, and the rest of the row below it.
    pub(crate) fn add_row(&mut self, first: &str, title: &str, columns: usize, rest: &str) {
        let length = title.chars().count();
        if self.reader == Reader::Pipe || length <= columns {
            return self.add_line(format!("{first}{title:<columns$}{rest}"));
        }
        self.add_text(first, title);
        self.add_line(format!("{}{rest}", " ".repeat(first.chars().count() + columns)));
    }

    /// Adds text that is never cut. The first line begins with `first`, and the others are indented by its width.
    pub(crate) fn add_text(&mut self, first: &str, text: &str) {
        self.add_words(first, text, usize::MAX);
    }

    /// Adds text, broken into at most `most` lines on a terminal; the first line begins with `first`, and the others are
    /// indented by its width.
    pub(crate) fn add_words(&mut self, first: &str, text: &str, most: usize) {
        let indent = first.chars().count();
        let room = self.reader.text_width().saturating_sub(indent).max(20);
        let mut lines = broken_lines(text, room);
        if lines.len() > most && self.reader != Reader::Pipe {
            lines.truncate(most);
            lines[most - 1] = with_ellipsis(&lines[most - 1], room);
        }
        for (index, line) in lines.iter().enumerate() {
            let begin = if index == 0 { first.to_owned() } else { " ".repeat(indent) };
            self.add_line(format!("{begin}{line}"));
        }
    }

    /// Adds the lines of another page.
    pub(crate) fn append(&mut self, other: Page) {
        self.lines.extend(other.lines);
    }

    /// Writes all lines.
    pub(crate) fn write_lines(&self, out: &mut dyn fmt::Write) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(out, "{line}"))
    }
}

/// A line of which more would follow: as many of its words as leave a column for the mark.
fn with_ellipsis(line: &str, room: usize) -> String {
    let mut kept = line;
    while kept.chars().count() >= room {
        let Some((before, _)) = kept.rsplit_once(' ') else { break };
        kept = before;
    }
    format!("{kept}…")
}

/// `text` cut to `width` columns.
pub(crate) fn cut_to_width(text: &str, width: usize) -> String {
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
        page.add_line("a\u{1b}[31mred\u{7}\u{202e}");
        page.add_line("ä ".repeat(50));
        page.add_words("FAIL  ", &"word ".repeat(60), 3);
        let mut text = String::new();
        page.write_lines(&mut text).unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && !line.contains('\u{1b}')));
        assert_eq!(text.lines().count(), 6);
        assert!(text.ends_with("…\n"));
    }

    #[test]
    fn a_wide_terminal_is_used_and_a_pipe_gets_everything() {
        let shown = |reader| {
            let mut page = Page::for_reader(reader);
            page.add_line("x ".repeat(150));
            page.add_words("FAIL  ", &"word ".repeat(60), 2);
            let mut text = String::new();
            page.write_lines(&mut text).unwrap();
            text
        };
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert_eq!([20, 80, 120, 5000].map(|columns| longest(&shown(Reader::Terminal(columns)))), [80, 80, 120, 160]);
        let whole = shown(Reader::Pipe);
        assert!(whole.contains("x ".repeat(150).trim_end()) && !whole.contains('…'));
        assert_eq!(whole.matches("word").count(), 60);
        assert!(whole.lines().skip(1).all(|line| line.chars().count() <= WIDTH), "long words are broken");
    }
}
