//! The kernel writes a blank, a tab, a line feed, a backslash and a number sign in the paths of its lists as three octal
//! digits behind a backslash (proc_pid_mountinfo(5)). A path consists of bytes, and need not be UTF-8.

/// Undoes these escapes (`\040` for a blank). A backslash that begins none stays.
pub fn unescape_octal_bytes(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        match after.first_chunk().filter(|_| *first == b'\\').and_then(octal_byte) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}

/// The byte that three octal digits stand for.
fn octal_byte(digits: &[u8; 3]) -> Option<u8> {
    let mut number = 0u32;
    for digit in digits {
        number = number * 8 + char::from(*digit).to_digit(8)?;
    }
    u8::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_back_byte_by_byte_and_nothing_else_is_changed() {
        for (text, expected) in [
            (&br"/a\040b\134c\011\012\043"[..], &b"/a b\\c\t\n#"[..]),
            (br"/\303\244", "/ä".as_bytes()),
            (br"/\377\376x", b"/\xff\xfex"),
            (b"/\xff raw", b"/\xff raw"),
            (br"/a\9", br"/a\9"),
            (br"/a\08", br"/a\08"),
            (br"/a\400", br"/a\400"),
            (br"/a\+12", br"/a\+12"),
            (br"/a\", br"/a\"),
            (b"", b""),
        ] {
            assert_eq!(unescape_octal_bytes(text), expected, "{}", text.escape_ascii());
        }
    }
}
