//! Lines as Python's text files return them (LF, CR LF or CR ends a line; bytes must be UTF-8), in one large buffer and
//! without copying, because a log of 24 hours has millions of lines of which a table needs a few hundred.

use memchr::{memchr, memmem, memrchr};
use std::io::{self, BufRead};

/// Longest line a log may have; a longer one is not a log.
const LINE_MAX: usize = 1 << 20;
/// First size of the buffer: large enough that reading is a handful of system calls.
const BUFFER: usize = 256 << 10;

/// Why the next line cannot be read.
#[derive(Debug)]
pub(crate) enum LineFault {
    /// The reader failed.
    Io(io::Error),
    /// A line that is too long.
    TooLong,
    /// Not UTF-8.
    NotText,
}

/// A source of lines.
pub(crate) struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The unread part of the buffer; the part before `valid` is known to be UTF-8.
    at: usize,
    valid: usize,
    end: usize,
    ended: bool,
    /// The bytes after `valid` are not text. This is reported only when the reader gets there: it may find everything
    /// it needs before.
    broken: bool,
    /// The last byte read was a CR, so a following LF belongs to it.
    after_cr: bool,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R) -> Lines<R> {
        Lines { source, buffer: vec![0; BUFFER], at: 0, valid: 0, end: 0, ended: false, broken: false, after_cr: false }
    }

    /// The next line with its LF; empty at the end.
    pub(crate) fn next(&mut self) -> Result<&str, LineFault> {
        let mut seen = 0;
        loop {
            let (length, whole) = line_length(&self.buffer[self.at + seen..self.valid]);
            seen += length;
            if whole || !self.fill_buffer()? {
                break;
            }
        }
        let from = self.at;
        self.at += seen;
        // The part before `valid` is known to be UTF-8, and a line ends at an ASCII byte.
        std::str::from_utf8(&self.buffer[from..from + seen]).map_err(|_| LineFault::NotText)
    }

    /// Skips to the line after the next one that starts with `after`, a space and `rest`; false at the end.
    pub(crate) fn skip_past_after(&mut self, rest: &str) -> Result<bool, LineFault> {
        let prefix = format!("after {rest}");
        // `at` is at the start of a line throughout.
        loop {
            match find_line(&self.buffer[self.at..self.valid], &prefix) {
                Some(offset) => {
                    self.at += offset;
                    return self.next().map(|_| true);
                }
                None => {
                    self.at += last_line_start(&self.buffer[self.at..self.valid]);
                    if !self.fill_buffer()? {
                        return self.next().map(|line| line.starts_with(&prefix));
                    }
                }
            }
        }
    }

    /// Reads more and keeps what is unread; false at the end of the source.
    fn fill_buffer(&mut self) -> Result<bool, LineFault> {
        if self.broken {
            return Err(LineFault::NotText);
        }
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.at..self.end, 0);
        (self.valid, self.end, self.at) = (self.valid - self.at, self.end - self.at, 0);
        if self.end == self.buffer.len() {
            if self.end >= LINE_MAX {
                return Err(LineFault::TooLong);
            }
            self.buffer.resize(self.end * 2, 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(LineFault::Io)?,
            }
        };
        self.ended = read == 0;
        let fresh = &mut self.buffer[self.end..self.end + read];
        self.end += join_line_ends(fresh, &mut self.after_cr);
        self.check_text();
        Ok(!self.ended || self.broken)
    }

    /// Moves `valid` as far as the bytes are UTF-8.
    fn check_text(&mut self) {
        let fresh = &self.buffer[self.valid..self.end];
        if fresh.is_ascii() {
            self.valid = self.end;
            return;
        }
        match std::str::from_utf8(fresh) {
            Ok(_) => self.valid = self.end,
            Err(error) => {
                self.valid += error.valid_up_to();
                // A character cut by the end of the buffer is completed by the next read.
                self.broken = error.error_len().is_some() || self.ended;
            }
        }
    }
}

/// Length of the first line and whether its LF is there.
fn line_length(bytes: &[u8]) -> (usize, bool) {
    memchr(b'\n', bytes).map_or((bytes.len(), false), |i| (i + 1, true))
}

/// Offset of the first line of `bytes` that starts with `prefix`; lines start at 0 and after each LF.
fn find_line(bytes: &[u8], prefix: &str) -> Option<usize> {
    if bytes.starts_with(prefix.as_bytes()) {
        Some(0)
    } else {
        memmem::find(bytes, format!("\n{prefix}").as_bytes()).map(|i| i + 1)
    }
}

/// The beginning of the last, perhaps incomplete, line of `bytes`.
fn last_line_start(bytes: &[u8]) -> usize {
    memrchr(b'\n', bytes).map_or(0, |i| i + 1)
}

/// Replaces every line end by a single LF, in place; returns the new length.
fn join_line_ends(bytes: &mut [u8], after_cr: &mut bool) -> usize {
    if !*after_cr && memchr(b'\r', bytes).is_none() {
        return bytes.len();
    }
    let mut kept = 0;
    for i in 0..bytes.len() {
        let byte = bytes[i];
        if !(byte == b'\n' && *after_cr) {
            bytes[kept] = if byte == b'\r' { b'\n' } else { byte };
            kept += 1;
        }
        *after_cr = byte == b'\r';
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns at most `step` bytes per read, so that every boundary is tested.
    struct Drip(Vec<u8>, usize, usize);

    impl io::Read for Drip {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.2.min(self.0.len() - self.1).min(into.len());
            into[..n].copy_from_slice(&self.0[self.1..self.1 + n]);
            self.1 += n;
            Ok(n)
        }
    }

    fn lines(text: &[u8], step: usize) -> Lines<io::BufReader<Drip>> {
        Lines::new(io::BufReader::with_capacity(1, Drip(text.to_vec(), 0, step)))
    }

    #[test]
    fn every_line_end_at_every_boundary() {
        let text = "a\r\nb\rc\n\r\n\nafter ä\r".as_bytes();
        for step in 1..=text.len() {
            let mut lines = lines(text, step);
            let mut got = Vec::new();
            loop {
                let line = lines.next().unwrap().to_owned();
                if line.is_empty() {
                    break;
                }
                got.push(line);
            }
            assert_eq!(got, ["a\n", "b\n", "c\n", "\n", "\n", "after ä\n"], "step {step}");
        }
    }

    #[test]
    fn skipping_finds_only_line_starts() {
        let text = b"xafter 3 sec\nof after 3 \nafter 30 sec:\nff\nafter 3 sec:\nfirst\nafter 4 ";
        for step in 1..=text.len() {
            let mut lines = lines(text, step);
            assert!(lines.skip_past_after("3 ").unwrap(), "step {step}");
            assert_eq!(lines.next().unwrap(), "first\n");
            assert!(lines.skip_past_after("4 ").unwrap());
            assert!(!lines.skip_past_after("4 ").unwrap());
        }
    }

    #[test]
    fn hostile_bytes_are_faults() {
        assert!(matches!(lines(b"ok\n\xff\n", 3).next(), Ok("ok\n")));
        let mut bad = lines(b"ok\n\xff\n", 3);
        assert!(bad.next().is_ok() && matches!(bad.next(), Err(LineFault::NotText)));
        assert!(matches!(lines("é".as_bytes()[..1].as_ref(), 1).next(), Err(LineFault::NotText)));
        let endless = vec![b'x'; LINE_MAX + 2];
        assert!(matches!(lines(&endless, 1 << 16).next(), Err(LineFault::TooLong)));
    }
}
