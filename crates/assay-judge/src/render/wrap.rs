//! Text broken at its spaces. A number stays on one line with its unit: "2" at the end of a line would be another figure
//! than "2 ms". A word that is longer than a line is a path or a name: a terminal breaks it without adding a line feed,
//! so that it can be copied whole.

/// Units that stand behind a number with a space between.
const UNITS: [&str; 24] = [
    "ns",
    "µs",
    "ms",
    "s",
    "min",
    "h",
    "d",
    "%",
    "B",
    "KiB",
    "MiB",
    "GiB",
    "TiB",
    "PiB",
    "KB",
    "kB",
    "MB",
    "GB",
    "TB",
    "MB/s",
    "GB/s",
    "MiB/s",
    "IOPS",
    "operations/s",
];
/// The indentation of a continued line beyond that of its first.
const HANGING: usize = 2;

/// `line` as lines of at most `columns`; the further ones are indented a little more than the first.
pub fn continued_lines(line: &str, columns: usize) -> Vec<String> {
    if line.chars().count() <= columns {
        return vec![line.to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let further = " ".repeat((indent + HANGING).min(columns / 2));
    let mut lines: Vec<String> = Vec::new();
    let mut rest = line.to_owned();
    while rest.chars().count() > columns {
        let Some(at) = place_to_break(&rest, columns) else { break };
        let behind = rest.split_off(at);
        lines.push(rest.trim_end().to_owned());
        rest = format!("{further}{}", behind.trim_start());
    }
    lines.push(rest);
    lines
}

/// `text` as lines of at most `columns`, with one space between words. An empty text is one empty line.
pub(crate) fn broken_lines(text: &str, columns: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.split_whitespace().collect::<Vec<_>>().join(" ");
    while rest.chars().count() > columns {
        let Some(at) = place_to_break(&rest, columns) else { break };
        let behind = rest.split_off(at);
        lines.push(rest.trim_end().to_owned());
        rest = behind.trim_start().to_owned();
    }
    lines.push(rest);
    lines
}

/// The byte at which the second of two lines begins, if the text has a space to break it at: the last one before which
/// no more than `columns` stand, or else the first one.
fn place_to_break(text: &str, columns: usize) -> Option<usize> {
    let begins = text.find(|c| c != ' ')?;
    let spaces = text.char_indices().enumerate().filter(|(_, (at, c))| *c == ' ' && *at > begins);
    let places: Vec<(usize, usize)> =
        spaces.map(|(column, (at, _))| (column, at)).filter(|(_, at)| !parts_a_figure(text, *at)).collect();
    let fitting = places.iter().rev().find(|(column, _)| *column <= columns);
    fitting.or(places.first()).map(|(_, at)| *at)
}

/// Whether the space at this byte stands between a number and its unit.
fn parts_a_figure(text: &str, at: usize) -> bool {
    let (before, behind) = text.split_at(at);
    let Some(behind) = behind.strip_prefix(' ') else { return false };
    let word = behind.split(' ').next().unwrap_or_default();
    let unit = word.trim_end_matches([',', ';', ':', ')', '.']);
    before.ends_with(|c: char| c.is_ascii_digit()) && UNITS.contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_spaces_and_never_before_a_unit() {
        for (text, columns, expected) in [
            ("", 5, &[""][..]),
            ("short", 5, &["short"]),
            ("one two three", 7, &["one two", "  three"]),
            ("  one two three", 9, &["  one two", "    three"]),
            ("reads p99 <= 2 ms", 14, &["reads p99 <=", "  2 ms"]),
            ("reads p99 <= 2 ms, then", 14, &["reads p99 <=", "  2 ms, then"]),
            ("12 34", 4, &["12", "  34"]),
            ("next: /a/very/long/path behind", 10, &["next:", "  /a/very/long/path", "  behind"]),
            ("/a/very/long/path", 10, &["/a/very/long/path"]),
            ("a    b", 3, &["a", " b"]),
        ] {
            assert_eq!(continued_lines(text, columns), expected, "{text:?} in {columns}");
        }
        assert_eq!(broken_lines("  over 1 ms:  0.50 %  ", 8), ["over", "1 ms:", "0.50 %"]);
        assert_eq!(broken_lines("", 8), [""]);
    }
}
