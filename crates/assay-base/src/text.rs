//! Names and paths are others' words: how they stand within a line of ours. No control character of theirs reaches a terminal,
//! none that turns the direction of text, and none of them begins a line.

use std::fmt::Display;

/// Control characters, and those that turn the direction of text, are shown as a mark.
pub fn printable(c: char) -> char {
    let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if c.is_control() || turns { '\u{fffd}' } else { c }
}

/// Text within a line: a name with a line break in it is still one line.
pub fn one_line(text: impl Display) -> String {
    text.to_string().chars().map(printable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
