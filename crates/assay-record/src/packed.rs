//! Distributions as text: HdrHistogram's V2 deflate in base64.
//!
//! After a header follow the counts of the cells as zigzag LEB128, in which a negative number skips that many empty
//! cells. A log of two days holds some 300 000 distributions, each with a few hundred filled cells of 33 000; therefore
//! neither packing nor unpacking builds a table of all cells.

use crate::cells::{CELLS, LONGEST_NS, lengths_of};
use assay_base::Span;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec_zlib;
use std::fmt;
use zlib_rs::{Inflate, InflateFlush, Status};

/// zlib's usual level, and its largest window.
const LEVEL: u8 = 6;
const WINDOW_BITS: u8 = 15;
/// Longest base64 text of one distribution that is decoded: far more than the fixed range can need.
const LONGEST_TEXT: usize = 1 << 20;
/// The first bytes of the packed and the unpacked form, and the length of the header of the unpacked form.
const PACKED: u32 = 0x1c84_9314;
const UNPACKED: u32 = 0x1c84_9313;
const HEAD: usize = 40;
/// Longest unpacked form: nine bytes for each cell, and the header.
const LONGEST_BYTES: usize = 9 * CELLS + HEAD;
/// More operations than any run makes; sums of this many distributions cannot overflow.
const MOST_OPERATIONS: u64 = 1 << 44;

/// The filled cells of one distribution, and how many times were above an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    pub(crate) cells: Vec<(u32, u64)>,
    pub(crate) overflow: u64,
}

impl Filled {
    /// Each filled cell and the number of times in it, ascending; times above an hour are in no cell.
    pub fn filled_cells(&self) -> impl Iterator<Item = (u32, u64)> {
        self.cells.iter().copied()
    }

    /// Adds all of `other`.
    pub fn add(&mut self, other: &Filled) {
        if self.cells.is_empty() {
            self.cells.clone_from(&other.cells);
        } else {
            self.cells = merge_cells(&self.cells, &other.cells);
        }
        self.overflow = self.overflow.saturating_add(other.overflow);
    }

    /// As [`Times::quantiles`](crate::Times::quantiles).
    pub fn quantiles<const N: usize>(&self, quantiles: [f64; N]) -> [Option<Span>; N] {
        let count = self.filled_cells().fold(self.overflow, |sum, (_, n)| sum.saturating_add(n));
        quantiles_of(self.filled_cells(), count, quantiles)
    }
}

/// The sums of two lists of cells, both ascending.
fn merge_cells(one: &[(u32, u64)], other: &[(u32, u64)]) -> Vec<(u32, u64)> {
    let mut sums = Vec::with_capacity(one.len() + other.len());
    let (mut one, mut other) = (one.iter().copied().peekable(), other.iter().copied().peekable());
    loop {
        let next = match (one.peek(), other.peek()) {
            (Some((mine, _)), Some((theirs, _))) if mine == theirs => {
                let both = one.next().zip(other.next());
                both.map(|((cell, mine), (_, theirs))| (cell, mine.saturating_add(theirs)))
            }
            (Some((mine, _)), Some((theirs, _))) if theirs < mine => other.next(),
            (None, _) => other.next(),
            _ => one.next(),
        };
        let Some(cell) = next else { return sums };
        sums.push(cell);
    }
}

/// The times that the shares `quantiles`, which ascend, of `count` operations do not exceed; the cells ascend.
pub(crate) fn quantiles_of<const N: usize>(
    mut cells: impl Iterator<Item = (u32, u64)>,
    count: u64,
    quantiles: [f64; N],
) -> [Option<Span>; N] {
    let (mut below, mut reached) = (0u64, None);
    quantiles.map(|quantile| {
        let rank = (quantile * count as f64).ceil().max(1.0) as u64;
        while below < rank {
            let (cell, n) = cells.next()?;
            below = below.saturating_add(n);
            let (first, width) = lengths_of(cell as usize);
            reached = Some(Span::from_ns(first + (width - 1)));
        }
        reached
    })
}

/// The text for counts by cell, ascending.
pub(crate) fn pack_cells(cells: impl Iterator<Item = (u32, u64)>) -> String {
    let mut plain = Vec::new();
    for number in [UNPACKED, 0, 0, 3] {
        plain.extend(number.to_be_bytes());
    }
    plain.extend(1u64.to_be_bytes());
    plain.extend(LONGEST_NS.to_be_bytes());
    plain.extend(1f64.to_be_bytes());
    let mut next = 0;
    for (cell, n) in cells {
        // One empty cell is written as a zero, several as a skip.
        match cell - next {
            0 => {}
            1 => push_varint_of_nine_bytes(zigzag_encode(0), &mut plain),
            empty => push_varint_of_nine_bytes(zigzag_encode(-i64::from(empty)), &mut plain),
        }
        push_varint_of_nine_bytes(zigzag_encode(i64::try_from(n).unwrap_or(i64::MAX)), &mut plain);
        next = cell + 1;
    }
    // Without any count, one empty first cell is written.
    if next == 0 {
        push_varint_of_nine_bytes(zigzag_encode(0), &mut plain);
    }
    let length = (plain.len() - HEAD) as u32;
    plain[4..8].copy_from_slice(&length.to_be_bytes());
    let deflated = compress_to_vec_zlib(&plain, LEVEL);
    let mut packed = Vec::with_capacity(deflated.len() + 8);
    packed.extend(PACKED.to_be_bytes());
    packed.extend((deflated.len() as u32).to_be_bytes());
    packed.extend(deflated);
    STANDARD.encode(packed)
}

fn zigzag_encode(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// Seven bits per byte; the ninth byte has eight.
fn push_varint_of_nine_bytes(mut value: u64, bytes: &mut Vec<u8>) {
    for _ in 0..8 {
        if value < 0x80 {
            return bytes.push(value as u8);
        }
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Unpacks texts one after the other in the same memory: allocating and clearing memory would take as long as
/// unpacking.
pub struct Unpacker {
    inflate: Inflate,
    packed: Vec<u8>,
    /// One byte longer than the longest accepted form, so that a longer one is noticed.
    plain: Box<[u8]>,
    cells: Box<[(u32, u64)]>,
}

impl Default for Unpacker {
    fn default() -> Unpacker {
        let plain = vec![0; LONGEST_BYTES + 1].into();
        let cells = vec![(0, 0); CELLS + TOGETHER].into();
        Unpacker { inflate: Inflate::new(true, WINDOW_BITS), packed: Vec::new(), plain, cells }
    }
}

/// What it has is memory to work in, of which nothing is of use for the next text.
impl Clone for Unpacker {
    fn clone(&self) -> Unpacker {
        Unpacker::default()
    }
}

impl fmt::Debug for Unpacker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unpacker").finish_non_exhaustive()
    }
}

impl Unpacker {
    /// The distribution that `Times::to_text` wrote, with the `overflow` that is stored beside it; the error says what
    /// is wrong.
    pub fn unpack_text(&mut self, text: &str, overflow: u64) -> Result<Filled, String> {
        let mut filled = Filled::default();
        self.unpack_into(text, overflow, &mut filled)?;
        Ok(filled)
    }

    /// Unpacks as [`Unpacker::unpack_text`] does, into the memory of `into`, which an error leaves unchanged.
    pub fn unpack_into(&mut self, text: &str, overflow: u64, into: &mut Filled) -> Result<(), String> {
        if text.len() > LONGEST_TEXT {
            return Err(format!("a distribution of {} bytes is longer than any real one", text.len()));
        }
        if overflow > MOST_OPERATIONS {
            return Err("a distribution of more operations than any run makes".to_owned());
        }
        self.packed.clear();
        STANDARD.decode_vec(text, &mut self.packed).map_err(|e| format!("a distribution is not base64: {e}"))?;
        let Unpacker { inflate, packed, plain, cells } = self;
        let counts = inflate_counts(inflate, packed, plain).map_err(|why| format!("not a distribution: {why}"))?;
        let cells = decode_cells(counts, cells)?;
        into.cells.clear();
        into.cells.extend_from_slice(cells);
        into.overflow = overflow;
        Ok(())
    }
}

/// Inflates into `plain`, checks the numbers of the header and returns what follows it.
fn inflate_counts<'a>(inflate: &mut Inflate, packed: &[u8], plain: &'a mut [u8]) -> Result<&'a [u8], &'static str> {
    if read_u32(packed, 0)? != PACKED || read_u32(packed, 4)? as usize != packed.len() - 8 {
        return Err("not HdrHistogram's V2 deflate");
    }
    inflate.reset(true);
    let status = inflate.decompress(&packed[8..], plain, InflateFlush::Finish);
    let length = inflate.total_out() as usize;
    if length > LONGEST_BYTES {
        return Err("it unpacks to more than any histogram holds");
    }
    if !matches!(status, Ok(Status::StreamEnd)) {
        return Err("it does not unpack");
    }
    let plain = &plain[..length];
    if read_u32(plain, 0)? != UNPACKED || read_u32(plain, 4)? as usize != length.saturating_sub(HEAD) {
        return Err("its length differs from the one in its head");
    }
    let (offset, digits, lowest, highest) =
        (read_u32(plain, 8)?, read_u32(plain, 12)?, read_u64(plain, 16)?, read_u64(plain, 24)?);
    if (offset, digits, lowest, highest) != (0, 3, 1, LONGEST_NS) {
        return Err("it has other bounds than 1 ns to 1 h with 3 digits");
    }
    plain.get(HEAD..).ok_or("its head is cut")
}

fn read_u32(bytes: &[u8], at: usize) -> Result<u32, &'static str> {
    let four = bytes.get(at..at + 4).and_then(|four| four.try_into().ok());
    four.map(u32::from_be_bytes).ok_or("its head is cut")
}

fn read_u64(bytes: &[u8], at: usize) -> Result<u64, &'static str> {
    Ok((u64::from(read_u32(bytes, at)?) << 32) | u64::from(read_u32(bytes, at + 4)?))
}

/// The cells that `bytes` count, in the memory of `cells`. Nearly all numbers are one byte long, so eight of these are
/// taken together; where there is a longer one, or the end is near, they are taken one by one.
#[inline(never)] // What changes with every number finds its register.
fn decode_cells<'a>(mut bytes: &[u8], cells: &'a mut [(u32, u64)]) -> Result<&'a [(u32, u64)], &'static str> {
    const LONGER: u64 = 0x8080_8080_8080_8080;
    const LARGER: &str = "a distribution larger than any run makes";
    let (mut length, mut next) = (0, DecodingState::default());
    while !bytes.is_empty() {
        let room = cells[length..].first_chunk_mut().ok_or(LARGER)?;
        match bytes.first_chunk::<TOGETHER>() {
            Some(eight) if u64::from_le_bytes(*eight) & LONGER == 0 => {
                length += next.take_numbers(room, eight.map(u64::from));
                bytes = &bytes[TOGETHER..];
            }
            _ => {
                length += next.take_numbers(room, [read_varint(&mut bytes)?]);
                // Only long numbers are large: limited here, the sums cannot overflow.
                next.cell = next.cell.min(CELLS as u64);
                if next.total > MOST_OPERATIONS {
                    return Err(LARGER);
                }
            }
        }
    }
    // Cells ascend.
    let cells = &cells[..length];
    let beyond = cells.last().is_some_and(|(cell, _)| *cell as usize >= CELLS);
    if beyond || next.total > MOST_OPERATIONS { Err(LARGER) } else { Ok(cells) }
}

/// How many numbers are taken together.
const TOGETHER: usize = 8;

/// The state of counting: the next cell, and the sum of all counts.
#[derive(Default)]
struct DecodingState {
    cell: u64,
    total: u64,
}

impl DecodingState {
    /// Takes at most [`TOGETHER`] zigzag numbers: an even one is the count of its cell (0: an empty cell); an odd one
    /// skips cells. Which kind comes next is unpredictable, so there is no branch on it: every number is written down,
    /// and one that was no count is overwritten by the next. Returns how many cells were filled.
    #[inline]
    fn take_numbers<const N: usize>(&mut self, room: &mut [(u32, u64); TOGETHER], numbers: [u64; N]) -> usize {
        let mut length = 0;
        for zigzag in numbers {
            let (half, odd) = (zigzag >> 1, (zigzag & 1).wrapping_neg());
            let count = half & !odd;
            room[length % TOGETHER] = (self.cell as u32, count);
            length += usize::from(count > 0);
            self.total += count;
            self.cell += 1 + (half & odd);
        }
        length
    }
}

/// A number of seven bits per byte; the ninth byte has eight.
fn read_varint(bytes: &mut &[u8]) -> Result<u64, &'static str> {
    let mut value = 0u64;
    for place in 0..8 {
        let byte = take_byte(bytes)?;
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Ok(value | u64::from(take_byte(bytes)?) << 56)
}

fn take_byte(bytes: &mut &[u8]) -> Result<u8, &'static str> {
    let (&byte, rest) = bytes.split_first().ok_or("a distribution ends within a number")?;
    *bytes = rest;
    Ok(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Times;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

    /// `n` times of all magnitudes.
    fn some(prng: &mut assay_base::Prng, n: u64) -> Times {
        let mut times = Times::default();
        (0..n).for_each(|_| times.record_time(prng.next_u64() >> (22 + prng.uniform_below(42))));
        times
    }

    #[test]
    fn it_writes_and_reads_what_the_library_does() {
        let mut prng = assay_base::Prng::from_seed(5);
        let mut unpacker = Unpacker::default();
        for round in 0..20 {
            let times = some(&mut prng, round * 100);
            let text = times.to_text();
            let mut theirs = Vec::new();
            V2DeflateSerializer::new().serialize(&times.to_hdr_histogram(), &mut theirs).unwrap();
            assert_eq!(STANDARD.decode(&text).unwrap(), theirs, "round {round}");
            let theirs: hdrhistogram::Histogram<u64> = Deserializer::new().deserialize(&mut theirs.as_slice()).unwrap();
            let theirs: Vec<(u64, u64)> =
                theirs.iter_recorded().map(|s| (s.value_iterated_to(), s.count_at_value())).collect();
            let filled = unpacker.unpack_text(&text, times.count_above_hour()).unwrap();
            let ours: Vec<(u64, u64)> = filled.filled_cells().map(|(cell, n)| (Times::largest_of(cell), n)).collect();
            assert_eq!(ours, theirs, "round {round}");
        }
    }

    #[test]
    fn numbers_of_every_length() {
        for n in (0..62).flat_map(|bits| [(1i64 << bits) - 1, 1 << bits, -(1 << bits)]).chain([i64::MAX, i64::MIN]) {
            let mut bytes = Vec::new();
            push_varint_of_nine_bytes(zigzag_encode(n), &mut bytes);
            let mut rest = bytes.as_slice();
            assert_eq!((read_varint(&mut rest), rest.len()), (Ok(zigzag_encode(n)), 0), "{n}: {bytes:?}");
        }
    }

    #[test]
    fn what_no_run_makes_is_refused_and_all_else_is_counted() {
        let read = |numbers: &[i64]| {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|n| push_varint_of_nine_bytes(zigzag_encode(*n), &mut bytes));
            let mut cells = vec![(0, 0); CELLS + TOGETHER];
            decode_cells(&bytes, &mut cells).map(<[_]>::to_vec)
        };
        let last = CELLS as i64 - 1;
        let most = MOST_OPERATIONS as i64;
        assert_eq!(read(&[0, 5, -3, 0, 7]), Ok(vec![(1, 5), (6, 7)]));
        assert_eq!(read(&[-last, most]), Ok(vec![(last as u32, most as u64)]));
        assert_eq!(read(&vec![1; CELLS]).map(|cells| cells.len()), Ok(CELLS));
        for beyond in
            [&vec![1; CELLS + 9][..], &[-last, 1, 1], &[-last - 1, 1], &[i64::MIN, 1], &[i64::MIN, i64::MIN, 1]]
        {
            assert!(read(beyond).is_err(), "{:?}", beyond.first_chunk::<2>());
        }
        for much in [&[most, 1][..], &[most + 1], &[i64::MAX, i64::MAX, 3]] {
            assert!(read(much).is_err(), "{much:?}");
        }
        assert_eq!(read(&[i64::MIN, i64::MIN]), Ok(Vec::new()), "where nothing is counted nothing is beyond");
    }

    /// A packed histogram with these values in its header, followed by `zeros` zero bytes.
    fn packed(declared: u32, digits: u32, lowest: u64, highest: u64, zeros: usize) -> String {
        let mut plain = Vec::new();
        for number in [UNPACKED, declared, 0, digits] {
            plain.extend(number.to_be_bytes());
        }
        plain.extend(lowest.to_be_bytes());
        plain.extend(highest.to_be_bytes());
        plain.extend(1f64.to_be_bytes());
        plain.resize(plain.len() + zeros, 0);
        deflated(&plain)
    }

    /// The text of a histogram whose unpacked form is `plain`.
    fn deflated(plain: &[u8]) -> String {
        let deflated = compress_to_vec_zlib(plain, 9);
        let mut bytes = PACKED.to_be_bytes().to_vec();
        bytes.extend((deflated.len() as u32).to_be_bytes());
        bytes.extend(deflated);
        STANDARD.encode(bytes)
    }

    #[test]
    fn a_head_that_is_cut_anywhere_is_refused() {
        let mut head = Vec::new();
        [UNPACKED, 0, 0, 3].iter().for_each(|n| head.extend(n.to_be_bytes()));
        [1, LONGEST_NS, 1f64.to_bits()].iter().for_each(|n| head.extend(n.to_be_bytes()));
        let mut unpacker = Unpacker::default();
        assert_eq!(
            unpacker.unpack_text(&deflated(&head), 0).unwrap(),
            Filled::default(),
            "whole, and nothing behind it"
        );
        for length in 0..HEAD {
            let told = unpacker.unpack_text(&deflated(&head[..length]), 0).unwrap_err();
            assert!(told.contains("not a distribution"), "{length}: {told}");
        }
    }

    #[test]
    fn huge_numbers_in_a_head_make_no_room() {
        let mut unpacker = Unpacker::default();
        for (declared, digits, lowest, highest, zeros, why) in [
            (u32::MAX, 3, 1, LONGEST_NS, 4, "its length differs"),
            (4, 3, 1, u64::MAX, 4, "other bounds"),
            (4, 5, 1, LONGEST_NS, 4, "other bounds"),
            (4, 3, 0, LONGEST_NS, 4, "other bounds"),
            // Half a gigabyte of zeros, packed into half a megabyte.
            (500 << 20, 3, 1, LONGEST_NS, 500 << 20, "more than any histogram"),
        ] {
            let text = packed(declared, digits, lowest, highest, zeros);
            assert!(text.len() < LONGEST_TEXT, "{} bytes", text.len());
            let told = unpacker.unpack_text(&text, 0).unwrap_err();
            assert!(told.contains(why), "{why}: {told}");
        }
        // A refused text leaves no trace in the unpacker.
        assert_eq!(unpacker.unpack_text(&packed(2, 3, 1, LONGEST_NS, 2), 0).unwrap(), Filled::default());
    }

    #[test]
    fn damaged_text_is_refused_or_read_and_never_panics() {
        let mut times = Times::default();
        [0, 1, 999, 123_456_789, LONGEST_NS].iter().for_each(|&ns| times.record_time(ns));
        let text = times.to_text();
        let mut unpacker = Unpacker::default();
        for at in 0..text.len() {
            for flip in [1u8, 4, 16] {
                let mut bad = text.clone().into_bytes();
                bad[at] ^= flip;
                let _ = unpacker.unpack_text(&String::from_utf8_lossy(&bad), 0);
            }
        }
        for bad in ["", "!!", "AAAA"] {
            assert!(unpacker.unpack_text(bad, 0).is_err(), "{bad}");
        }
        assert!(unpacker.unpack_text(&text, u64::MAX).is_err());
        let kept = unpacker.unpack_text(&text, 0).unwrap();
        assert_eq!(kept.filled_cells().count(), 5);
    }
}
