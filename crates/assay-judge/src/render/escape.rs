//! Text of others in XML and HTML.

/// Text for an attribute or an element of XML or HTML. What XML 1.0 cannot hold at all becomes U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&apos;"),
            '\n' | '\t' | '\r' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_leaves_an_attribute() {
        assert_eq!(escaped("a\"/><x y='&\u{0}\n\u{ffff}"), "a&quot;/&gt;&lt;x y=&apos;&amp;\u{fffd} \u{fffd}");
    }
}
