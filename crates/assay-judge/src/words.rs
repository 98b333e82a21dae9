//! Times, changes and names in words, for reasons and every rendering alike.

use crate::judgement::{Change, Steadiness};
use assay_base::Span;

/// A name of a file or target as a shell takes it for one word, for commands that are shown to be typed.
pub fn for_a_shell(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+,:=@%".contains(c);
    if name.chars().all(plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', "'\\''")) }
}

/// Control characters, and those that turn the direction of text, are shown as a mark.
pub fn printable(c: char) -> char {
    let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if c.is_control() || turns { '\u{fffd}' } else { c }
}

/// A place in measured time: `5:12:00`, with milliseconds where it is not a whole second.
pub(crate) fn clock(ns: u64) -> String {
    let (seconds, ms) = (ns / 1_000_000_000, ns / 1_000_000 % 1000);
    let text = format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
    if ms == 0 { text } else { format!("{text}.{ms:03}") }
}

/// `96.8 µs`, or `1200.0/s`.
pub(crate) fn level(steadiness: &Steadiness, value: f64) -> String {
    match steadiness.measure.as_str() {
        "throughput" => format!("{value:.1}/s"),
        _ => Span::from_ns(value as u64).human(),
    }
}

/// `mean response of reads rose 45% (96.8 µs to 140 µs)`.
pub(crate) fn change(steadiness: &Steadiness, change: &Change) -> String {
    let share = change.after / change.before - 1.0;
    format!(
        "{} of {} {} {:.0}% ({} to {})",
        steadiness.measure,
        steadiness.stream,
        if share < 0.0 { "fell" } else { "rose" },
        share.abs() * 100.0,
        level(steadiness, change.before),
        level(steadiness, change.after)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_measured_time() {
        assert_eq!([clock(0), clock(18_720_000_000_000), clock(1_500_000_000)], ["0:00:00", "5:12:00", "0:00:01.500"]);
    }
}
