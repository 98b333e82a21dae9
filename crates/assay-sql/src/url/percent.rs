//! Percent signs in URLs (RFC 3986, section 2.1), and what of a URL is repeated to its user.

use crate::trouble::Trouble;

/// The text that is meant.
pub(super) fn decode_percent(text: &str) -> Result<String, Trouble> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            (hexadecimal_digit(rest.next())? * 16 + hexadecimal_digit(rest.next())?) as u8
        } else {
            byte
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err(Trouble::bad_usage("a URL is text in UTF-8 without a zero byte")),
    }
}

/// The value of one of the two digits behind a percent sign.
fn hexadecimal_digit(digit: Option<u8>) -> Result<u32, Trouble> {
    digit.and_then(|digit| char::from(digit).to_digit(16)).ok_or_else(|| {
        Trouble::bad_usage("a percent sign in a URL is followed by two hexadecimal digits: write %25 for itself")
    })
}

/// Encodes a text as it is written in a URL.
pub(super) fn encode_percent(text: &str) -> String {
    let encoded = text.bytes().map(|byte| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    });
    encoded.collect()
}

/// A part of a URL that makes no sense as it may be repeated: not if it may be the rest of a password.
pub(super) fn repeatable_part(part: &str) -> &str {
    if part.contains('@') || part.contains("%40") { "…" } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for text in ["", "shop", "a b@c:/d?%", "größe"] {
            assert_eq!(decode_percent(&encode_percent(text)), Ok(text.to_owned()));
        }
        assert_eq!(encode_percent("a b"), "a%20b");
        for text in ["%", "%4", "%zz", "%ff", "%00"] {
            assert!(decode_percent(text).is_err(), "{text}");
        }
    }
}
