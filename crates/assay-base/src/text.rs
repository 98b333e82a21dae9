//! Names and paths come from others: this is how they are shown within a line of our output. None of their control
//! characters reaches a terminal, none changes the direction of text, and none begins a new line. No password of a URL is
//! shown, whatever the URL was mistaken for. What the kernel escaped in its lists is read back here too.

mod octal;
mod password;

pub use octal::unescape_octal_bytes;
pub use password::without_passwords;

use std::fmt::Display;

/// Replaces control characters, and those that change the direction of text, by a mark.
pub fn printable_char(c: char) -> char {
    let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if c.is_control() || turns { '\u{fffd}' } else { c }
}

/// Text for use within a line: a name with a line break in it is still shown on one line, and a URL without its password.
pub fn one_line(text: impl Display) -> String {
    without_passwords(&text.to_string().chars().map(printable_char).collect::<String>()).into_owned()
}

/// A number of things with the word for them: `1 file`, `2 files`.
pub fn counted_things(number: u64, one: &str) -> String {
    if number == 1 {
        return format!("1 {one}");
    }
    match one.strip_suffix('y') {
        Some(stem) => format!("{number} {stem}ies"),
        None => format!("{number} {one}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        let shown = |number, one| counted_things(number, one);
        assert_eq!([shown(0, "file"), shown(1, "file"), shown(2, "file")], ["0 files", "1 file", "2 files"]);
        assert_eq!([shown(1, "directory"), shown(3, "directory")], ["1 directory", "3 directories"]);
    }

    #[test]
    fn a_name_stays_within_its_line() {
        for (name, shown) in [
            ("plain", "plain"),
            ("a\nALL CLEAR", "a\u{fffd}ALL CLEAR"),
            ("\u{1b}[2J\u{202e}\u{2028}\u{7f}\u{9b}", "\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
            ("läufe 中", "läufe 中"),
        ] {
            assert_eq!(one_line(name), shown);
        }
    }
}
