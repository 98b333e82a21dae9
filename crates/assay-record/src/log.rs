//! The run log: one JSON object per line, each with its own checksum and number.
//!
//! A line is `{"crc":"xxxxxxxx","seq":N,"kind":"…",…}`; `crc` is the CRC32C (Castagnoli) in hexadecimal of every byte
//! after the comma that follows it, up to the line feed, which is not included. `seq` counts lines from 0 over the
//! whole file. Therefore a damaged byte, a lost line and a torn tail are all noticed, and every undamaged line can
//! still be read.

use crate::event::Event;
use crate::header::{Close, FORMAT, Header};
use crate::interval::{Histograms, Interval};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, Write};

/// Longest line that is read: far above a header of a thousand flows, and small enough to keep in memory.
pub(crate) const LONGEST_LINE: usize = 64 << 20;

/// Length of `{"crc":"xxxxxxxx",`.
const PREFIX: usize = 18;

/// One line of a log.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one entry is written or read at a time, most of them intervals")]
pub enum Entry {
    /// Opens a segment.
    Header(Box<Header>),
    /// Scalars of one interval.
    Interval(Interval),
    /// Distributions of several intervals.
    Histograms(Histograms),
    /// Something that happened.
    Event(Event),
    /// Closes a segment.
    Close(Close),
}

/// Writes entries as lines. It does not buffer: one entry is one `write_all`, so that the operating system has
/// everything that was acknowledged. The caller, who knows what `W` is, makes it durable (fsync).
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    seq: u64,
    bytes: u64,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// A writer whose next line has number `seq`: 0 for a new file, the number of lines for one that is continued.
    pub fn new(out: W, seq: u64) -> Writer<W> {
        Writer { out, seq, bytes: 0, line: Vec::new() }
    }

    /// Number of the next line.
    pub fn next_seq(&self) -> u64 {
        self.seq
    }

    /// Bytes written so far, without those that were there before.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// The underlying writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// The underlying writer, for syncing.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Gives back the underlying writer.
    pub fn into_inner(self) -> W {
        self.out
    }

    /// Appends a line. After an error the file may end in a torn line, which readers notice; then nothing more may be
    /// written.
    pub fn write_entry(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::Header(header) => self.write_as("header", header),
            Entry::Interval(interval) => self.write_as("interval", interval),
            Entry::Histograms(histograms) => self.write_as("histograms", histograms),
            Entry::Event(event) => self.write_as("event", event),
            Entry::Close(close) => self.write_as("close", close),
        }
    }

    fn write_as<T: Serialize>(&mut self, kind: &str, body: &T) -> io::Result<()> {
        self.line.clear();
        write!(self.line, "{{\"crc\":\"00000000\",\"seq\":{},\"kind\":\"{kind}\"", self.seq)?;
        let joint = self.line.len();
        serde_json::to_writer(&mut self.line, body)?;
        // The serialised body is an object of its own, "{…}", and never empty: its opening brace becomes the comma.
        self.line[joint] = b',';
        let crc = crc_fast::crc32_iscsi(&self.line[PREFIX..]);
        write!(&mut self.line[8..16], "{crc:08x}")?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.seq += 1;
        self.bytes += self.line.len() as u64;
        Ok(())
    }
}

/// A place where the log differs from what was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// 1-based line.
    pub line: u64,
    /// Byte offset of the line's beginning in the file.
    pub offset: u64,
    /// True when it is the incomplete last line, as a kill leaves it.
    pub torn_tail: bool,
    /// What is wrong.
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} (byte {}): {}", self.line, self.offset, self.what)
    }
}

/// Reads a log line by line; damage is an item like any other, and reading continues after it.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: u64,
    offset: u64,
    expected: u64,
    buffer: Vec<u8>,
    pending: Option<Entry>,
}

/// The members at the beginning of every line.
#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads from the beginning of a log.
    pub fn new(input: R) -> Reader<R> {
        Reader { input, line: 0, offset: 0, expected: 0, buffer: Vec::new(), pending: None }
    }

    /// Number of the line that would follow: [`Writer::new`] needs it to continue the file.
    pub fn next_seq(&self) -> u64 {
        self.expected
    }

    /// Byte offset after the last line that was read.
    pub fn offset_behind_line(&self) -> u64 {
        self.offset
    }

    /// The next entry or damage; `None` at the end. An `io::Error` comes from the input itself.
    pub fn next_entry(&mut self) -> io::Result<Option<Result<Entry, Damage>>> {
        if let Some(entry) = self.pending.take() {
            return Ok(Some(Ok(entry)));
        }
        let begin = self.offset;
        self.buffer.clear();
        let limit = LONGEST_LINE as u64 + 1;
        let read = io::Read::take(&mut self.input, limit).read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        self.offset += read as u64;
        let whole = self.buffer.last() == Some(&b'\n');
        let damage = |what: String, torn_tail| Damage { line: self.line, offset: begin, torn_tail, what };
        if !whole {
            let what = format!("ends in the middle of a line, {read} bytes are lost");
            let torn = read <= LONGEST_LINE;
            return Ok(Some(Err(damage(if torn { what } else { "longer than any line of a log".into() }, torn))));
        }
        self.buffer.pop();
        let (seq, entry) = match decode_line(&mut self.buffer) {
            Ok(decoded) => decoded,
            Err(what) => {
                self.expected = self.expected.saturating_add(1);
                return Ok(Some(Err(damage(what, false))));
            }
        };
        let expected = std::mem::replace(&mut self.expected, seq.saturating_add(1));
        if seq == expected {
            return Ok(Some(Ok(entry)));
        }
        self.pending = Some(entry);
        Ok(Some(Err(damage(
            format!("line number {seq} where {expected} belongs: lines are missing or repeated"),
            false,
        ))))
    }
}

/// Checks and parses one line, without its line feed.
fn decode_line(line: &mut [u8]) -> Result<(u64, Entry), String> {
    if line.len() < PREFIX || !line.starts_with(b"{\"crc\":\"") || &line[16..PREFIX] != b"\"," {
        return Err("not a line of a run log".into());
    }
    // Compared as text, so that even a change of letter case is noticed.
    if line[8..16] != *format!("{:08x}", crc_fast::crc32_iscsi(&line[PREFIX..])).as_bytes() {
        return Err("checksum does not match: the line was damaged".into());
    }
    let kind_at = PREFIX + find_bytes(&line[PREFIX..], b",\"kind\":\"").ok_or("no kind")?;
    let kind_from = kind_at + 9;
    let kind_to = kind_from + find_bytes(&line[kind_from..], b"\"").ok_or("no kind")?;
    let kind = String::from_utf8_lossy(&line[kind_from..kind_to]).into_owned();
    let mut head = vec![b'{'];
    head.extend_from_slice(&line[PREFIX..kind_at]);
    head.push(b'}');
    let Numbered { seq } = serde_json::from_slice(&head).map_err(|e| format!("no line number: {e}"))?;
    let body = line.get_mut(kind_to + 1..).filter(|rest| rest.first() == Some(&b',')).ok_or("no body")?;
    body[0] = b'{';
    let entry = match kind.as_str() {
        "header" => Entry::Header(Box::new(parse_header(body)?)),
        "interval" => Entry::Interval(parse_body(body)?),
        "histograms" => Entry::Histograms(parse_body(body)?),
        "event" => Entry::Event(parse_body(body)?),
        "close" => Entry::Close(parse_body(body)?),
        other => return Err(format!("unknown kind of line \"{}\"", other.escape_debug())),
    };
    Ok((seq, entry))
}

fn parse_body<T: DeserializeOwned>(body: &[u8]) -> Result<T, String> {
    // UTF-8 is checked once for the whole text, instead of again for each name in it.
    let text = std::str::from_utf8(body).map_err(|e| format!("not text: {e}"))?;
    serde_json::from_str(text).map_err(|e| format!("its content is not as expected: {e}"))
}

/// A header of a later format is refused because of its number, before its members are read.
fn parse_header(body: &[u8]) -> Result<Header, String> {
    #[derive(Deserialize)]
    struct Version {
        format: u32,
    }
    let Version { format } = parse_body(body)?;
    if format > FORMAT {
        return Err(format!("format {format} is newer than this program knows ({FORMAT}); read it with a newer one"));
    }
    parse_body(body)
}

fn find_bytes(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::CloseReason;
    use crate::interval::FlowInterval;

    fn sample() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), 0);
        for index in 0..5 {
            let flows = vec![FlowInterval { scheduled: 10, ok: 10, ..FlowInterval::default() }];
            writer.write_entry(&Entry::Interval(Interval { index, flows, ..Interval::default() })).unwrap();
        }
        let text = "all phases ran".to_owned();
        let reason = CloseReason::Completed;
        let close = Close { reason, at_ns: 5, text, intervals: 5, issued: 50, completed: 50, stuck: 0 };
        writer.write_entry(&Entry::Close(close)).unwrap();
        writer.into_inner()
    }

    fn read(bytes: &[u8]) -> (Vec<Entry>, Vec<Damage>) {
        let mut reader = Reader::new(bytes);
        let (mut entries, mut damage) = (Vec::new(), Vec::new());
        while let Some(item) = reader.next_entry().unwrap() {
            match item {
                Ok(entry) => entries.push(entry),
                Err(found) => damage.push(found),
            }
        }
        (entries, damage)
    }

    #[test]
    fn what_was_written_is_read() {
        let (entries, damage) = read(&sample());
        assert_eq!((entries.len(), damage.len()), (6, 0));
        assert!(matches!(&entries[4], Entry::Interval(interval) if interval.index == 4));
    }

    #[test]
    fn every_line_is_json_of_its_own() {
        for line in sample().split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
            let value: serde_json::Value = serde_json::from_slice(line).unwrap();
            assert!(value["crc"].is_string() && value["seq"].is_u64() && value["kind"].is_string());
        }
    }

    #[test]
    fn one_damaged_byte_anywhere_is_noticed_and_the_other_lines_are_read() {
        let good = sample();
        for at in 0..good.len() {
            for flip in [1u8, 0x20, 0x80] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                let (entries, damage) = read(&bad);
                assert!(!damage.is_empty(), "byte {at} ^ {flip:#x} went unnoticed");
                assert!(
                    entries.len() >= 4,
                    "byte {at}: a line and at most its neighbour are lost, read {}",
                    entries.len()
                );
            }
        }
    }

    #[test]
    fn a_torn_tail_is_told_from_damage() {
        let good = sample();
        let lines = good.iter().filter(|&&b| b == b'\n').count();
        for cut in 1..good.len() {
            let (entries, damage) = read(&good[..cut]);
            let whole = good[..cut].iter().filter(|&&b| b == b'\n').count();
            assert_eq!(entries.len(), whole, "cut at {cut}");
            assert_eq!(damage.len(), usize::from(good[cut - 1] != b'\n'));
            assert!(damage.iter().all(|d| d.torn_tail));
        }
        assert_eq!(lines, 6);
    }

    #[test]
    fn members_that_are_missing_or_out_of_place_are_damage() {
        let event = |name: &[u8]| {
            let begin = br#""seq":6,"kind":"event","at_ns":0,"what":""#;
            [begin, name, br#"","text":"","details":{}}"#].concat()
        };
        let (good, not_utf_8) = (event(b"warning"), event(b"warning\xff"));
        for (body, entry) in [
            (&br#""kind":"close""#[..], 0),
            (br#""kind":"#, 0),
            (br#""seq":6"#, 0),
            (br#""seq":6,"kind":""#, 0),
            (br#""seq":,"kind":"event",}"#, 0),
            (&good, 1),
            (&not_utf_8, 0),
        ] {
            let crc = format!("{:08x}", crc_fast::crc32_iscsi(body));
            let line = [br#"{"crc":""#, crc.as_bytes(), br#"","#, body, b"\n"].concat();
            let (entries, damage) = read(&[sample(), line].concat());
            assert_eq!((entries.len(), damage.len()), (6 + entry, 1 - entry), "{damage:?}");
        }
    }

    #[test]
    fn the_largest_line_number_is_only_a_wrong_one() {
        let mut log = sample();
        let mut line = br#"{"crc":"00000000","seq":18446744073709551615,"kind":"interval""#.to_vec();
        let body = serde_json::to_vec(&Interval::default()).unwrap();
        line.push(b',');
        line.extend(&body[1..]);
        let crc = format!("{:08x}", crc_fast::crc32_iscsi(&line[PREFIX..]));
        line[8..16].copy_from_slice(crc.as_bytes());
        for _ in 0..2 {
            log.extend(&line);
            log.extend(b"\nx\n");
        }
        let (entries, damage) = read(&log);
        assert_eq!((entries.len(), damage.len()), (8, 3), "{damage:?}");
    }

    #[test]
    fn a_missing_line_is_noticed() {
        let good = sample();
        let lines: Vec<&[u8]> = good.split_inclusive(|&b| b == b'\n').collect();
        let (entries, damage) = read(&[lines[0], lines[1], lines[3], lines[4], lines[5]].concat());
        assert_eq!((entries.len(), damage.len()), (5, 1));
        assert!(damage[0].what.contains("missing"), "{}", damage[0]);
    }
}
