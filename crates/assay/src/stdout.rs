//! Standard output: the document that was asked for, and nothing else.

use crate::screen;
use assay_run::failure::Failure;
use std::io::{ErrorKind, Write};
use std::sync::OnceLock;

/// The first error of a write.
static UNWRITTEN: OnceLock<std::io::Error> = OnceLock::new();

/// Prints the requested document. A reader that has gone away (`
/// head`) is not an error; any other error is reported at the end of the command.
pub(crate) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    if let Err(e) = out.write_all(text.as_bytes()).and_then(|()| out.flush())
        && e.kind() != ErrorKind::BrokenPipe
    {
        let _ = UNWRITTEN.set(e);
    }
}

/// Why standard output is incomplete, if it is.
pub(crate) fn unwritten() -> Option<&'static std::io::Error> {
    UNWRITTEN.get()
}

/// Prints text for people: as ASCII where the locale supports nothing else.
pub(crate) fn show(text: &str) {
    let text = screen::harmless(text);
    print(&screen::coloured(&if utf8() { text } else { plain(&text) }));
}

/// Whether the locale's characters are UTF-8: the first of its variables that is set decides (POSIX, 8.2).
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
fn utf8() -> bool {
    let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
    let charset = locale.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    charset.starts_with("utf-8") || charset.starts_with("utf8")
}

/// Our own signs in ASCII, each with the same width; other characters are replaced by a mark.
fn plain(text: &str) -> String {
    let ascii = |c: char| match c {
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
    };
    text.chars().map(ascii).collect()
}

/// A document as JSON.
pub(crate) fn print_json<T: serde::Serialize>(document: &T) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(document).map_err(|e| Failure::bug(format!("a result that is not JSON: {e}")))?;
    print(&format!("{text}\n"));
    Ok(())
}
