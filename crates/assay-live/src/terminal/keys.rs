//! What a person typed, from the bytes that a terminal sends.
//!
//! The reader of the terminal library is not used: when the terminal is closed, it reads the end of it again and again and takes a whole
//! processor. Of all keys a view needs few, and whoever waits for them here waits with a time.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A printable character.
    Character(char),
    Left,
    Right,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Tab,
    BackTab,
    Escape,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-L.
    Refresh,
}

/// Bytes of a sequence that has not ended.
#[derive(Debug, Default)]
pub(super) struct KeyReader {
    pending: Vec<u8>,
}

/// The longest sequence that is waited for.
const LONGEST: usize = 32;
const ESC: u8 = 0x1b;

impl KeyReader {
    /// The keys in these bytes and those that were left before them.
    pub(super) fn take_bytes(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        let mut at = 0;
        while let Some((key, length)) = next_key(&self.pending[at..]) {
            keys.extend(key);
            at += length;
        }
        self.pending.drain(..at);
        if self.pending.len() > LONGEST {
            self.pending.clear();
        }
        keys
    }
}

/// The first key, if it is one that means something here, and its length in bytes; `None` where the rest has not come yet.
fn next_key(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    let first = *bytes.first()?;
    let key = match first {
        ESC => return key_of_sequence(bytes),
        0x03 => Some(Key::Interrupt),
        0x0c => Some(Key::Refresh),
        b'\t' => Some(Key::Tab),
        b' '..=b'~' => Some(Key::Character(char::from(first))),
        _ => None,
    };
    Some((key, 1))
}

/// ECMA-48: ESC [, parameters, and a final byte; and what terminals send as ESC O and a letter.
fn key_of_sequence(bytes: &[u8]) -> Option<(Option<Key>, usize)> {
    match bytes.get(1) {
        // Nothing follows at once: it is the key itself.
        None => Some((Some(Key::Escape), 1)),
        Some(b'[' | b'O') => {
            let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte))? + 2;
            Some((named_key(&bytes[2..end], bytes[end]), end + 1))
        }
        Some(_) => Some((Some(Key::Escape), 1)),
    }
}

fn named_key(parameters: &[u8], last: u8) -> Option<Key> {
    match (parameters, last) {
        (_, b'A') => Some(Key::Up),
        (_, b'B') => Some(Key::Down),
        (_, b'C') => Some(Key::Right),
        (_, b'D') => Some(Key::Left),
        (_, b'H') | (b"1" | b"7", b'~') => Some(Key::Home),
        (_, b'F') | (b"4" | b"8", b'~') => Some(Key::End),
        (b"5", b'~') => Some(Key::PageUp),
        (b"6", b'~') => Some(Key::PageDown),
        (_, b'Z') => Some(Key::BackTab),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_known_by_what_a_terminal_sends() {
        for (bytes, keys) in [
            (&b"1q?"[..], &[Key::Character('1'), Key::Character('q'), Key::Character('?')][..]),
            (b"\x1b[C\x1bOD\x1b[A\x1b[B", &[Key::Right, Key::Left, Key::Up, Key::Down]),
            (b"\x1b[1;5C", &[Key::Right]),
            (b"\x1b[5~\x1b[6~\x1b[H\x1b[4~", &[Key::PageUp, Key::PageDown, Key::Home, Key::End]),
            (b"\t\x1b[Z", &[Key::Tab, Key::BackTab]),
            (b"\x03\x0c", &[Key::Interrupt, Key::Refresh]),
            (b"\x1b", &[Key::Escape]),
            (b"\x1bq", &[Key::Escape, Key::Character('q')]),
            (b"\xc3\xa4\x00\x7f", &[]),
            (b"\x1b[200~x", &[Key::Character('x')]),
        ] {
            assert_eq!(KeyReader::default().take_bytes(bytes), keys, "{bytes:?}");
        }
    }

    #[test]
    fn a_sequence_may_come_in_parts_and_an_endless_one_is_forgotten() {
        let mut reader = KeyReader::default();
        assert_eq!(reader.take_bytes(b"\x1b["), []);
        assert_eq!(reader.take_bytes(b"C2"), [Key::Right, Key::Character('2')]);
        assert_eq!(reader.take_bytes(&[b"\x1b[".as_slice(), &[b'1'; 100]].concat()), []);
        assert_eq!(reader.take_bytes(b"q"), [Key::Character('q')]);
    }
}
