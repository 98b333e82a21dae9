//! Standard output: the document that was asked for, and nothing else.

use crate::environment::environment_variable;
use crate::{screen, terminal};
use assay_base::text::without_passwords;
use assay_judge::render::{Reader, continued_lines};
use assay_run::failure::Failure;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::sync::OnceLock;

/// The first error of a write.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

/// Prints the requested document. A reader that has gone away (`
/// head`) is not an error; any other error is reported at the end of the command.
pub(crate) fn print_document(text: &str) {
    if let Err(e) = terminal::write_output(text)
        && e.kind() != ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(e);
    }
}

/// The reason why standard output is incomplete, if it is.
pub(crate) fn write_error() -> Option<&'static std::io::Error> {
    UNWRITTEN.get()
}

/// Prints text for people: as ASCII where the locale supports nothing else.
pub(crate) fn show_text(text: &str) {
    let text = screen::without_control_characters(text);
    print_document(&screen::colour_if_terminal(&if is_utf8() { text } else { in_ascii_signs(&text) }));
}

/// Prints a result for people whose lines have not been made for a certain width: a terminal gets them continued on
/// further lines, at their spaces.
pub(crate) fn show_lines(text: &str) {
    match screen::reader_kind() {
        Reader::Pipe => show_text(text),
        reader @ Reader::Terminal(_) => {
            let lines = text.lines().flat_map(|line| continued_lines(line, reader.text_width()));
            show_text(&lines.map(|line| line + "\n").collect::<String>());
        }
    }
}

/// Whether the locale's characters are UTF-8: the first of its variables that is set decides (POSIX, 8.2).
fn is_utf8() -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(environment_variable).unwrap_or_default();
    let charset = locale.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    charset.starts_with("utf-8") || charset.starts_with("utf8")
}

/// Our own signs in ASCII, each with the same width; other characters are replaced by a mark.
fn in_ascii_signs(text: &str) -> String {
    text.chars().map(in_ascii).collect()
}

/// What takes the place of a character on a terminal whose locale may not have it.
#[cfg(feature = "live")]
pub(crate) fn sign_for_terminal() -> fn(char) -> char {
    if is_utf8() { std::convert::identity } else { in_ascii }
}

fn in_ascii(character: char) -> char {
    match character {
        '\u{b5}' | '\u{3bc}' => 'u',
        '…' => '~',
        '▁' => '_',
        '▂' => '.',
        '▃' => ':',
        '▄' => '-',
        '▅' => '=',
        '▆' => '+',
        '▇' => '*',
        '█' => '#',
        '·' => ',',
        '–' | '−' => '-',
        '×' => 'x',
        c if c.is_ascii() => c,
        _ => '?',
    }
}

/// A document as JSON. None of its texts has a password in it.
pub(crate) fn print_json<T: serde::Serialize>(document: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(document)
        .map_err(|e| Failure::internal_bug(format!("a result that is not JSON: {e}")))?;
    print_document(&format!("{}\n", json_without_passwords(&text)));
    Ok(())
}

/// A JSON document in which each text is as [`without_passwords`] leaves it. Where one stands within its quotation marks, the
/// document stays well-formed, whatever is hidden.
fn json_without_passwords(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(begin) = rest.find('"') {
        let end = begin + literal_length(&rest[begin..]);
        let literal = &rest[begin..end];
        shown.push_str(&rest[..begin]);
        shown.push_str(&literal_without_passwords(literal).unwrap_or_else(|| literal.to_owned()));
        rest = &rest[end..];
    }
    shown + rest
}

/// The length of the text literal that a JSON text begins with, quotation marks included.
fn literal_length(json: &str) -> usize {
    let mut is_escaped = false;
    let closing = json.bytes().skip(1).position(|byte| {
        let closes = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        closes
    });
    closing.map_or(json.len(), |at| at + 2)
}

/// A literal without its passwords, if it has any.
fn literal_without_passwords(literal: &str) -> Option<String> {
    let text: String = serde_json::from_str(literal).ok()?;
    match without_passwords(&text) {
        Cow::Owned(shown) => serde_json::to_string(&shown).ok(),
        Cow::Borrowed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_document_has_a_password_and_everything_else_stays() {
        let plain = serde_json::json!({"a": ["", "x\"y\\", "\\\""], "grö\u{e}": {"n": 1.5, "none": null}}).to_string();
        assert_eq!(json_without_passwords(&plain), plain);
        let secret = serde_json::json!({
            "a": ["postgres://me:canary", "\"host=h password='can\\' canary'\"", "line\nme:canary@host"],
            "b": "C:\\", "c": 7,
        });
        let expected = serde_json::json!({
            "a": ["postgres://me:***", "\"host=h password=***", "line\nme:***@host"],
            "b": "C:\\", "c": 7,
        });
        assert_eq!(json_without_passwords(&secret.to_string()), expected.to_string());
    }
}
