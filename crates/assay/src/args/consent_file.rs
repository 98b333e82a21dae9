//! A file of consents for several hosts: lines of a host and a token, as `assay devices --consent` prints them on each host. A token of
//! a device without a serial number is one of its host alone.

use assay_run::failure::{Failure, escaped_path, one_line};
use assay_run::host::ranks::own_host;
use std::path::Path;

/// The most bytes that are read.
const MOST_BYTES: u64 = 16 << 20;

/// A line for a device of this host.
pub(crate) fn line_for_token(token: &str) -> String {
    format!("{} {token}\n", one_line(own_host().0))
}

/// The tokens that a file has for this host.
///
/// # Errors
/// It cannot be read (2), has a line that is not one (2), or names no token of this host (4).
pub(super) fn tokens_of_this_host(file: &Path) -> Result<Vec<String>, Failure> {
    let text = assay_run::files::read_text(file, MOST_BYTES)
        .map_err(|why| Failure::bad_usage(format!("the consents {} cannot be read: {why}", escaped_path(file))))?;
    tokens_of_host(&text, &own_host().0).map_err(|refused| match refused {
        NoConsent::BadLine(number) => Failure::bad_usage(format!(
            "{}: line {number} is not HOST TOKEN, as assay devices --consent prints it",
            escaped_path(file)
        )),
        NoConsent::NoHost => Failure::refused_for_safety(format!(
            "{} has no token for {}, this host; assay devices --consent prints its line; nothing was written",
            escaped_path(file),
            one_line(own_host().0)
        )),
    })
}

#[derive(Debug, PartialEq)]
enum NoConsent {
    BadLine(usize),
    NoHost,
}

fn tokens_of_host(text: &str, host: &str) -> Result<Vec<String>, NoConsent> {
    let mut tokens = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [] => {}
            [first, ..] if first.starts_with('#') => {}
            [of, token] if of == host => tokens.push(token.to_owned()),
            [_, _] => {}
            _ => return Err(NoConsent::BadLine(at + 1)),
        }
    }
    if tokens.is_empty() { Err(NoConsent::NoHost) } else { Ok(tokens) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_tokens_of_its_lines_alone() {
        let text = "# made on Monday\nnode1 a1b2\n\nnode2 c3d4\nnode1  e5f6\n";
        assert_eq!(tokens_of_host(text, "node1"), Ok(vec!["a1b2".to_owned(), "e5f6".to_owned()]));
        assert_eq!(tokens_of_host(text, "node2"), Ok(vec!["c3d4".to_owned()]));
        for missing in ["node3", "node", ""] {
            assert_eq!(tokens_of_host(text, missing), Err(NoConsent::NoHost));
        }
        for (bad, line) in [("node1", 1), ("node1 a b", 1), ("node1 a\nnode2 b c", 2)] {
            assert_eq!(tokens_of_host(bad, "node1"), Err(NoConsent::BadLine(line)));
        }
    }
}
