//! Numbers as the tables of the report show them. Every number is formatted by one of these functions and carries its
//! place in the judgement, so that a test or a reader can compare the page with the JSON.

use askama::filters::HtmlSafe;
use assay_base::{Bytes, Span};
use std::fmt;

/// Shown where a figure was not counted.
pub(crate) const ABSENT: &str = "–";

/// A cell of a table: its text, its place in the JSON, and whether it is over its bound.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Cell {
    /// The number with its unit.
    pub text: String,
    /// JSON pointer of the figure, or empty; without a leading slash it is relative to the `data-at` of its row.
    json: String,
    /// The same for the whole that it is a share of.
    of: String,
    /// Over its bound: marked in colour and with a sign.
    bad: bool,
}

// What `Display` writes below is escaped there.
impl HtmlSafe for Cell {}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.bad { "<td class=\"n bad\"" } else { "<td class=\"n\"" })?;
        for (name, pointer) in [("json", &self.json), ("of", &self.of)] {
            if !pointer.is_empty() {
                write!(
                    f,
                    " data-{name}=\"{}\"",
                    askama::filters::escape(pointer, askama::filters::Html).unwrap_or_else(|never| match never {})
                )?;
            }
        }
        let text = askama::filters::escape(&self.text, askama::filters::Html).unwrap_or_else(|never| match never {});
        write!(f, ">{text}{}</td>", if self.bad { "<b class=\"sign\"> ✗</b>" } else { "" })
    }
}

impl Cell {
    fn new(text: String, json: String) -> Cell {
        Cell { text, json, ..Cell::default() }
    }

    /// A whole number.
    pub(crate) fn from_count(n: u64, json: String) -> Cell {
        Cell::new(count_text(n), json)
    }

    /// A time in nanoseconds.
    pub(crate) fn from_time(ns: Option<u64>, json: String) -> Cell {
        ns.map_or_else(Cell::absent, |ns| Cell::new(time_text(ns), json))
    }

    /// `part` of `whole`, each with its place in the JSON.
    pub(crate) fn from_part(part: Option<u64>, whole: u64, json: String, of: String) -> Cell {
        match part {
            Some(part) if whole > 0 => Cell { of, ..Cell::new(two_decimals_percent(part as f64 / whole as f64), json) },
            _ => Cell::absent(),
        }
    }

    /// Operations per second.
    pub(crate) fn from_rate(rate: Option<f64>, json: String) -> Cell {
        rate.map_or_else(Cell::absent, |rate| Cell::new(per_second(rate), json))
    }

    /// A figure that is text already.
    pub(crate) fn from_figure(text: String) -> Cell {
        Cell::new(text, String::new())
    }

    /// A number of bytes.
    pub(crate) fn from_bytes(n: u64, json: String) -> Cell {
        Cell::new(Bytes::new(n).human_text(), json)
    }

    /// A figure in words.
    pub(crate) fn from_text(text: String) -> Cell {
        Cell::new(text, String::new())
    }

    /// A figure that was not counted.
    pub(crate) fn absent() -> Cell {
        Cell::new(ABSENT.to_owned(), String::new())
    }

    /// The same cell, marked when `bad`.
    pub(crate) fn marked_if(self, bad: bool) -> Cell {
        Cell { bad, ..self }
    }
}

/// A time to three digits: `1.23 ms`.
pub(crate) fn time_text(ns: u64) -> String {
    Span::from_ns(ns).human_text()
}

/// A share as ACT prints it, with two decimals; a smaller share that is not zero is shown as such.
pub(crate) fn two_decimals_percent(share: f64) -> String {
    if share > 0.0 && share < 0.00005 { "<0.01%".to_owned() } else { format!("{:.2}%", share * 100.0) }
}

/// Operations per second to one decimal.
pub(crate) fn per_second(rate: f64) -> String {
    let tenths = (rate * 10.0).round().clamp(0.0, u64::MAX as f64) as u64;
    format!("{}.{}/s", count_text(tenths / 10), tenths % 10)
}

/// A whole number in groups of three digits.
pub(crate) fn count_text(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1,234 of 5,678`.
pub(crate) fn part_of_whole(part: u64, whole: u64) -> String {
    format!("{} of {}", count_text(part), count_text(whole))
}

/// Bytes in the megabyte used for throughput: disks are sold in powers of ten.
const MEGABYTE: f64 = 1e6;

/// `12.3`, with as many decimals as the size of the number needs.
pub(crate) fn megabytes_text(bytes_per_second: f64) -> String {
    match bytes_per_second / MEGABYTE {
        large if large >= 999.5 => count_text(large.round() as u64),
        middle if middle >= 99.95 => format!("{middle:.0}"),
        small if small >= 9.995 => format!("{small:.1}"),
        tiny => format!("{tiny:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        assert_eq!(
            [count_text(0), count_text(999), count_text(1000), count_text(7_200_000)],
            ["0", "999", "1,000", "7,200,000"]
        );
        assert_eq!(
            [
                two_decimals_percent(0.0),
                two_decimals_percent(0.00001),
                two_decimals_percent(0.0270),
                two_decimals_percent(1.0)
            ],
            ["0.00%", "<0.01%", "2.70%", "100.00%"]
        );
        assert_eq!([per_second(1999.96), per_second(0.04)], ["2,000.0/s", "0.0/s"]);
    }

    #[test]
    fn a_cell_escapes_and_marks() {
        let cell = Cell::new("<b>".into(), "/a\"b".into()).marked_if(true).to_string();
        assert_eq!(cell, "<td class=\"n bad\" data-json=\"/a&#34;b\">&#60;b&#62;<b class=\"sign\"> ✗</b></td>");
        assert_eq!(Cell::from_part(Some(0), 0, String::new(), String::new()).text, ABSENT);
        assert_eq!(Cell::from_part(None, 5, String::new(), String::new()).text, ABSENT);
    }

    #[test]
    fn throughput_has_the_digits_it_needs() {
        let shown = [4_000_000.0, 23_400_000.0, 512_300_000.0, 6_400_000_000.0].map(megabytes_text);
        assert_eq!(shown, ["4.00", "23.4", "512", "6,400"]);
    }
}
