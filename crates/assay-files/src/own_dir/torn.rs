//! Whether a file is what a crash left of a marker while it was written: exactly the beginning of a text that
//! `Marker::text` makes, and not a byte more. What begins like a marker and goes on with
//! somebody's text is somebody's.

/// The version of the text of a marker.
pub(super) const VERSION: u32 = 1;
/// No marker is longer: its longest parts are the name of the run, which takes up to six times its bytes as JSON, and that
/// of the host, which has 64 bytes at most (uname(2)).
pub(super) const LONGEST: usize = 4096;
/// No marker is shorter.
pub(super) const SHORTEST: usize = 184;

/// The members of the first line in their order; `born` is not always there.
const MEMBERS: [(&str, Value); 9] = [
    ("run", Value::Text),
    ("host", Value::Text),
    ("boot", Value::Text),
    ("process", Value::Number),
    ("user", Value::Number),
    ("owner", Value::Number),
    ("device", Value::Number),
    ("file_system", Value::Number),
    ("inode", Value::Number),
];
/// The most digits of a number of 64 bits.
const MOST_DIGITS: usize = 20;

#[derive(Clone, Copy)]
enum Value {
    Text,
    Number,
}

/// Why reading a text ends before its end.
enum Stop {
    /// The text is over, and all of it was right.
    Over,
    /// It goes on otherwise than a marker.
    Differs,
}

/// Whether this is a marker that a crash cut off: the beginning of one, or zeros of its length, as after a loss of power.
pub(super) fn is_torn(bytes: &[u8]) -> bool {
    let is_zeros = (SHORTEST..=LONGEST).contains(&bytes.len()) && bytes.iter().all(|byte| *byte == 0);
    is_zeros || (bytes.len() < LONGEST && matches!(read_marker(bytes), Err(Stop::Over)))
}

/// Reads a marker from its beginning on.
fn read_marker(bytes: &[u8]) -> Result<(), Stop> {
    let mut rest = Rest { bytes };
    rest.take_literal(&format!("{{\"assay_directory\":{VERSION}"))?;
    for (name, value) in MEMBERS {
        rest.take_literal(&format!(",\"{name}\":"))?;
        match value {
            Value::Text => rest.take_text()?,
            Value::Number => rest.take_number()?,
        }
    }
    if rest.first()? == b',' {
        rest.take_literal(",\"born\":")?;
        rest.take_number()?;
    }
    rest.take_literal("}")?;
    let line = &bytes[..bytes.len() - rest.bytes.len()];
    rest.take_literal(&format!("\n{}\n", blake3::hash(line).to_hex()))
}

/// What is not read yet.
struct Rest<'a> {
    bytes: &'a [u8],
}

impl Rest<'_> {
    fn first(&self) -> Result<u8, Stop> {
        self.bytes.first().copied().ok_or(Stop::Over)
    }

    fn take(&mut self) -> Result<u8, Stop> {
        let first = self.first()?;
        self.bytes = &self.bytes[1..];
        Ok(first)
    }

    fn take_literal(&mut self, expected: &str) -> Result<(), Stop> {
        for byte in expected.bytes() {
            if self.take()? != byte {
                return Err(Stop::Differs);
            }
        }
        Ok(())
    }

    /// A number without a zero in front.
    fn take_number(&mut self) -> Result<(), Stop> {
        let first = self.take()?;
        if !first.is_ascii_digit() {
            return Err(Stop::Differs);
        }
        let mut digits = 1;
        while self.first()?.is_ascii_digit() {
            self.take()?;
            digits += 1;
        }
        let is_one = digits == 1 || (first != b'0' && digits <= MOST_DIGITS);
        if is_one { Ok(()) } else { Err(Stop::Differs) }
    }

    /// A text in quotes as `serde_json` writes it.
    fn take_text(&mut self) -> Result<(), Stop> {
        self.take_literal("\"")?;
        loop {
            match self.take()? {
                b'"' => return Ok(()),
                b'\\' => self.take_escape()?,
                0..0x20 => return Err(Stop::Differs),
                0x20..0x80 => {}
                _ => self.take_rest_of_character()?,
            }
        }
    }

    fn take_escape(&mut self) -> Result<(), Stop> {
        match self.take()? {
            b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                self.take_literal("00")?;
                if !matches!(self.take()?, b'0' | b'1') {
                    return Err(Stop::Differs);
                }
                if matches!(self.take()?, b'0'..=b'9' | b'a'..=b'f') { Ok(()) } else { Err(Stop::Differs) }
            }
            _ => Err(Stop::Differs),
        }
    }

    /// The bytes of a character behind its first one, which is not ASCII. Whether they are a valid one says the checksum.
    fn take_rest_of_character(&mut self) -> Result<(), Stop> {
        while (0x80..0xc0).contains(&self.first()?) {
            self.take()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::maker::Maker;
    use super::super::marker::{Identity, Lasting, Marker};
    use super::*;

    fn text(run: &str, born: Option<u64>) -> String {
        let maker = Maker { host: "here".into(), boot: "b1".into(), process: 7, user: 0 };
        let lasting = Lasting::Nothing;
        Marker::new(run, &maker, Identity { device: 5, file_system: 99, inode: 12, owner: 1000, born, lasting }).text()
    }

    #[test]
    fn each_beginning_of_a_marker_is_torn_and_nothing_that_goes_on_otherwise() {
        for text in [text("run \"1\"\n\t\u{1}\u{1f}\\ ä中", None), text("", Some(1_700_000_000_000_000_000))] {
            for end in 0..text.len() {
                assert!(is_torn(&text.as_bytes()[..end]), "{end}");
                for other in [b"\n".as_slice(), b"x", b"\0", b" and somebody's notes\n"] {
                    let mixed = [&text.as_bytes()[..end], other].concat();
                    // Only an x can stand within a text of a marker.
                    let may_be = text.as_bytes().starts_with(&mixed) || other == b"x";
                    assert!(!is_torn(&mixed) || may_be, "{}", mixed.escape_ascii());
                }
            }
            assert!(!is_torn(text.as_bytes()), "a whole one");
            assert!(!is_torn(format!("{text}\n").as_bytes()), "more than a whole one");
        }
    }

    #[test]
    fn what_only_looks_like_the_beginning_of_a_marker_is_not_torn() {
        let begins = "{\"assay_directory\":1,\"run\":\"";
        for other in [
            "{\"assay_directory\": 1".to_owned(),
            "{\"assay_directory\":2,".to_owned(),
            "{\"assay_directory\":1,\"name\":".to_owned(),
            format!("{begins}a\nb"),
            format!("{begins}a\\x"),
            format!("{begins}\\u0041"),
            format!("{begins}a\",\"host\":\"h\",\"boot\":\"b\",\"process\":01,"),
            format!("{begins}a\",\"host\":\"h\",\"boot\":\"b\",\"process\":{}", "9".repeat(21)) + ",",
            format!("{begins}{}", "a".repeat(LONGEST)),
        ] {
            assert!(!is_torn(other.as_bytes()), "{other}");
        }
        for (length, is_one) in [(SHORTEST - 1, false), (SHORTEST, true), (LONGEST, true), (LONGEST + 1, false)] {
            assert_eq!(is_torn(&vec![0; length]), is_one, "{length} zeros");
        }
    }
}
