//! Adds up the log's distributions without unpacking each into a histogram of its own.
//!
//! A log of two days holds some 300 000 distributions, each with a few hundred filled cells of 33 792; only the filled ones
//! are touched here. The text is HdrHistogram's V2 deflate in base64 (zigzag LEB128 counts, a negative one skips as many
//! cells), always with the bounds that `assay_record::Times` writes: 1 ns to 1 h, 3 digits. A test holds the two together.

use assay_base::Span;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use std::io::Read as _;

/// Cells between 1 ns and an hour at 3 digits: 33 halves of 2048.
const CELLS: usize = 33 * HALF;
/// Half of the cells that share a scale: 2048 is the power of two that resolves 3 digits.
const HALF: usize = 1024;
/// Longest text of one distribution, as in `assay_record::times`.
const LONGEST_TEXT: usize = 1 << 20;
/// Longest unpacked form: nine bytes for each cell and the head.
const LONGEST_BYTES: u64 = 9 * CELLS as u64 + 40;
/// What opens the packed and the unpacked form.
const PACKED: u32 = 0x1c84_9314;
const UNPACKED: u32 = 0x1c84_9313;
/// More operations than any run makes; sums of so many lines cannot overflow.
const MOST_OPERATIONS: u64 = 1 << 44;

/// A distribution of lengths of time.
#[derive(Clone, Debug)]
pub struct Distribution {
    cells: Vec<u64>,
    total: u64,
    overflow: u64,
}

/// The filled cells of one distribution of the log, and how many lengths lay above an hour.
#[derive(Debug, Default)]
pub struct Filled {
    cells: Vec<(usize, u64)>,
    overflow: u64,
}

impl Filled {
    /// Cells and how many lengths lie in each, ascending; those above an hour are in none.
    pub fn cells(&self) -> impl Iterator<Item = (usize, u64)> {
        self.cells.iter().copied()
    }
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution { cells: vec![0; CELLS], total: 0, overflow: 0 }
    }
}

impl Distribution {
    /// Adds one distribution.
    pub fn add(&mut self, filled: &Filled) {
        for &(cell, n) in &filled.cells {
            self.cells[cell] = self.cells[cell].saturating_add(n);
            self.total = self.total.saturating_add(n);
        }
        self.overflow = self.overflow.saturating_add(filled.overflow);
    }

    /// How many lengths were counted, those above an hour included.
    pub fn count(&self) -> u64 {
        self.total.saturating_add(self.overflow)
    }

    /// The length that the share `quantile` (0 to 1) does not exceed; `None` when nothing was counted or it is above an hour.
    pub fn quantile(&self, quantile: f64) -> Option<Span> {
        let rank = (quantile * self.count() as f64).ceil().max(1.0) as u64;
        if self.count() == 0 || rank > self.total {
            return None;
        }
        let mut seen = 0u64;
        let cell = self.cells.iter().position(|n| {
            seen = seen.saturating_add(*n);
            seen >= rank
        })?;
        Some(Span::from_ns(largest_of(cell)))
    }
}

/// The largest length that falls into a cell.
pub fn largest_of(cell: usize) -> u64 {
    if cell < 2 * HALF {
        return cell as u64;
    }
    let scale = cell / HALF - 1;
    let place = (cell % HALF + HALF) as u64;
    ((place + 1) << scale) - 1
}

/// Unpacks a distribution of the log; the error says what is wrong with it.
pub fn unpack(text: &str, overflow: u64) -> Result<Filled, String> {
    if text.len() > LONGEST_TEXT || overflow > MOST_OPERATIONS {
        return Err("a distribution larger than any run makes".into());
    }
    let packed = STANDARD.decode(text).map_err(|e| format!("a distribution is not base64: {e}"))?;
    if word(&packed, 0) != Some(PACKED) {
        return Err("a distribution is not HdrHistogram V2 deflate".into());
    }
    let mut bytes = Vec::new();
    let mut inflate = ZlibDecoder::new(packed.get(8..).unwrap_or_default()).take(LONGEST_BYTES);
    inflate.read_to_end(&mut bytes).map_err(|e| format!("a distribution cannot be unpacked: {e}"))?;
    let bounds = (word(&bytes, 0), word(&bytes, 12), word(&bytes, 16), word(&bytes, 20));
    if bounds != (Some(UNPACKED), Some(3), Some(0), Some(1)) || bytes.len() < 40 {
        return Err("a distribution has other bounds than 1 ns and 3 digits".into());
    }
    Ok(Filled { cells: filled(&bytes[40..])?, overflow })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn filled(mut bytes: &[u8]) -> Result<Vec<(usize, u64)>, String> {
    let (mut cells, mut at, mut total) = (Vec::new(), 0usize, 0u64);
    while !bytes.is_empty() {
        let n = signed(&mut bytes).ok_or("a distribution ends within a number")?;
        let skip = usize::try_from(n.unsigned_abs()).unwrap_or(CELLS);
        if n <= 0 {
            at = at.saturating_add(skip.max(1));
            continue;
        }
        total = total.saturating_add(n.unsigned_abs());
        if at >= CELLS || total > MOST_OPERATIONS {
            return Err("a distribution larger than any run makes".into());
        }
        cells.push((at, n.unsigned_abs()));
        at += 1;
    }
    Ok(cells)
}

/// A zigzag number of seven bits a byte, the ninth byte whole.
fn signed(bytes: &mut &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            value |= u64::from(byte) << 56;
            break;
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_base::Prng;
    use assay_record::Times;

    #[test]
    fn it_agrees_with_the_recorder_s_own() {
        let mut prng = Prng::seeded(5);
        let (mut sum, mut whole) = (Distribution::default(), Times::default());
        for round in 0..20 {
            let mut times = Times::default();
            for _ in 0..round * 100 {
                times.record(prng.next_u64() >> (22 + prng.below(42)));
            }
            sum.add(&unpack(&times.to_text(), times.overflow()).unwrap());
            whole.add(&times);
        }
        assert_eq!(sum.count(), whole.count());
        for quantile in [0.0, 0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99] {
            assert_eq!(sum.quantile(quantile), whole.quantile(quantile), "{quantile}");
        }
        assert_eq!(Distribution::default().quantile(0.5), None);
    }

    #[test]
    fn damaged_text_is_refused_or_read_and_never_panics() {
        let mut times = Times::default();
        [0, 1, 999, 123_456_789, 3_600_000_000_000].iter().for_each(|&ns| times.record(ns));
        let text = times.to_text();
        for at in 0..text.len() {
            for flip in [1u8, 4, 16] {
                let mut bad = text.clone().into_bytes();
                bad[at] ^= flip;
                let _ = unpack(&String::from_utf8_lossy(&bad), 0);
            }
        }
        for bad in ["", "!!", "AAAA"] {
            assert!(unpack(bad, 0).is_err(), "{bad}");
        }
        assert!(unpack(&text, u64::MAX).is_err());
    }
}
