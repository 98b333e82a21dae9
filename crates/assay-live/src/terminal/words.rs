//! Texts of the log and figures as they stand in the cells of a terminal.

use assay_base::text::one_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// So many characters of a text are looked at: no terminal shows more of them in a line.
const LONGEST: usize = 1000;

/// A text of the log for a terminal: on one line, with nothing that a terminal obeys, without passwords, and without characters that
/// have no width, so that what stands behind it stays in its column.
pub(super) fn shown_text(text: &str) -> String {
    let bounded: String = text.chars().take(LONGEST).collect();
    one_line(bounded).chars().filter(|c| c.width().is_some_and(|width| width > 0)).collect()
}

/// The number of columns that a text takes.
pub(super) fn width_of(text: &str) -> usize {
    text.width()
}

/// The text cut to so many columns; a cut text ends with a mark.
pub(super) fn cut_to_width(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    if columns > 0 {
        kept.push('…');
    }
    kept
}

/// `1,234,567`
pub(super) fn count_text(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,999.5/s`
pub(super) fn rate_text(per_second: f64) -> String {
    let tenths = (per_second * 10.0).round() as u64;
    let fraction = if tenths.is_multiple_of(10) { String::new() } else { format!(".{}", tenths % 10) };
    format!("{}{fraction}/s", count_text(tenths / 10))
}

/// `12.34%`, with more digits below one percent.
pub(super) fn share_text(share: f64) -> String {
    let digits = if share > 0.0 && share < 0.01 { 4 } else { 2 };
    format!("{:.digits$}%", share * 100.0)
}

/// Hours, minutes and seconds: `12:05:09`.
pub(super) fn clock_text(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_to_its_columns() {
        for (name, columns, shown) in [
            ("reads", 10, "reads"),
            ("reads-of-the-index", 8, "reads-o…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢字漢字", 8, "漢字漢字"),
            ("a\u{301}\u{301}b", 8, "ab"),
            ("\u{1b}[2J\u{202e}x", 10, "\u{fffd}[2J\u{fffd}x"),
            ("a\nb\tc", 10, "a\u{fffd}b\u{fffd}c"),
            ("x", 0, ""),
        ] {
            let cut = cut_to_width(&shown_text(name), columns);
            assert_eq!(cut, shown, "{name:?}");
            assert!(width_of(&cut) <= columns, "{name:?}");
        }
        assert_eq!(shown_text(&"x".repeat(1 << 20)).len(), LONGEST);
        assert_eq!(shown_text("postgresql://me:secret@host/db"), "postgresql://me:***@host/db");
    }

    #[test]
    fn figures_are_read_at_a_glance() {
        assert_eq!(
            [count_text(0), count_text(999), count_text(1_000), count_text(1_234_567)],
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!([rate_text(0.0), rate_text(1_999.5), rate_text(60_000.04)], ["0/s", "1,999.5/s", "60,000/s"]);
        assert_eq!([share_text(0.0), share_text(0.001_234), share_text(0.5)], ["0.00%", "0.1234%", "50.00%"]);
        assert_eq!([clock_text(0), clock_text(3_725_999_999_999)], ["0:00:00", "1:02:05"]);
    }
}
