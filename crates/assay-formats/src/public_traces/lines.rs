//! Traces that are lines of values with commas between them.

use super::volumes::{TracedRequest, Volumes};
use super::{LeftOut, PublicTrace};
use assay_base::Direction;
use memchr::memchr;

/// The longest line; a longer one is left out.
const LINE_MAX: usize = 1024;
/// The most values of a line that are looked at.
const VALUES_MAX: usize = 7;
/// The longest request.
const BYTES_MAX: u64 = 1 << 32;
const SECTOR: u64 = 512;

/// See the module.
#[derive(Debug)]
pub(super) struct LineReader {
    kind: PublicTrace,
    partial: Vec<u8>,
    number: u64,
}

impl LineReader {
    pub(super) fn new(kind: PublicTrace) -> LineReader {
        LineReader { kind, partial: Vec::new(), number: 0 }
    }

    pub(super) fn feed_bytes(&mut self, mut bytes: &[u8], volumes: &mut Volumes, left_out: &mut LeftOut) {
        while let Some(end) = memchr(b'\n', bytes) {
            if self.partial.is_empty() {
                self.take_line(&bytes[..end], volumes, left_out);
            } else {
                self.keep_bytes(&bytes[..end]);
                self.take_partial(volumes, left_out);
            }
            bytes = &bytes[end + 1..];
        }
        self.keep_bytes(bytes);
    }

    fn keep_bytes(&mut self, bytes: &[u8]) {
        // One byte more than a line may have says that it is too long.
        let room = (LINE_MAX + 1).saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    fn take_partial(&mut self, volumes: &mut Volumes, left_out: &mut LeftOut) {
        let line = std::mem::take(&mut self.partial);
        self.take_line(&line, volumes, left_out);
    }

    pub(super) fn end_file(&mut self, volumes: &mut Volumes, left_out: &mut LeftOut) {
        if !self.partial.is_empty() {
            self.take_partial(volumes, left_out);
        }
        self.number = 0;
    }

    fn take_line(&mut self, line: &[u8], volumes: &mut Volumes, left_out: &mut LeftOut) {
        self.number += 1;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return;
        }
        let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= LINE_MAX);
        let taken = text.and_then(|text| {
            let mut name = String::new();
            let request = parse_line(self.kind, text, &mut name)?;
            volumes.add_request(&request);
            Some(())
        });
        // A first line of names is nothing that is missing.
        if taken.is_none() && !(self.number == 1 && line.first().is_some_and(u8::is_ascii_alphabetic)) {
            left_out.add_damaged(self.number, line);
        }
    }
}

/// The request of a line. `name` is room for the name of a volume that is put together.
fn parse_line<'a>(kind: PublicTrace, line: &'a str, name: &'a mut String) -> Option<TracedRequest<'a>> {
    let mut values = [""; VALUES_MAX];
    let mut count = 0;
    for (value, room) in line.split(',').zip(&mut values) {
        *room = value.trim();
        count += 1;
    }
    let number = |at: usize| values[at].parse::<u64>().ok();
    let in_sectors = |at: usize| number(at)?.checked_mul(SECTOR);
    let request = match (kind, count) {
        (PublicTrace::Msr, 7) => {
            *name = format!("{}.{}", values[1], values[2]);
            let at = number(0)?.checked_mul(100)?;
            let direction = parse_direction(values[3])?;
            TracedRequest { volume: name, direction, at, place: number(4)?, bytes: number(5)? }
        }
        (PublicTrace::Alibaba, 5) => {
            let at = number(4)?.checked_mul(1000)?;
            let direction = parse_direction(values[1])?;
            TracedRequest { volume: values[0], direction, at, place: number(2)?, bytes: number(3)? }
        }
        (PublicTrace::Tencent, 5) => {
            let at = number(0)?.checked_mul(1_000_000_000)?;
            let direction = match values[3] {
                "0" => Direction::Read,
                "1" => Direction::Write,
                _ => return None,
            };
            TracedRequest { volume: values[4], direction, at, place: in_sectors(1)?, bytes: in_sectors(2)? }
        }
        (PublicTrace::Spc, 5..) => {
            let at = parse_seconds(values[4])?;
            let direction = parse_direction(values[3])?;
            TracedRequest { volume: values[0], direction, at, place: in_sectors(1)?, bytes: number(2)? }
        }
        _ => return None,
    };
    let fits = request.bytes > 0 && request.bytes <= BYTES_MAX && request.place.checked_add(request.bytes).is_some();
    (fits && !request.volume.is_empty() && request.volume.is_ascii()).then_some(request)
}

fn parse_direction(word: &str) -> Option<Direction> {
    match word.as_bytes().first()? {
        b'R' | b'r' => Some(Direction::Read),
        b'W' | b'w' => Some(Direction::Write),
        _ => None,
    }
}

/// Seconds with decimals, in nanoseconds.
fn parse_seconds(word: &str) -> Option<u64> {
    let (whole, decimals) = word.split_once('.').unwrap_or((word, ""));
    let digits = decimals.get(..decimals.len().min(9))?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let fraction = if digits.is_empty() { 0 } else { digits.parse::<u64>().ok().filter(|_| is_number)? };
    let fraction = fraction * 10u64.pow(9 - digits.len() as u32);
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}
