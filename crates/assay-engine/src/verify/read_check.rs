//! Which reads are checked for blank blocks, and where in the read: does the block begin with zeros, so that it was
//! never written?
//!
//! Everything that this program writes begins with a stamp at every aligned block of 4 KiB, and nothing else about its
//! content is certain: data that should be compressible are zeros after their first part. So a read is checked where an
//! aligned block begins in it. At low rates every read is checked, so that a run of a few seconds has some checked
//! reads; at high rates one of many.

use assay_base::stamp;

/// This many reads of each interval are checked first.
const FIRST: u32 = 16;
/// After that, one of this many.
const EVERY: u32 = 64;
/// Number of bytes that are examined.
const BYTES: usize = 64;

/// The rule in words, as in the header of a log.
pub const BLANK_CHECK: &str =
    "of each stream and worker the first 16 reads of an interval in which a block of 4 KiB begins, then one in 64";

/// The reads of one flow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReadCheck {
    /// Number of reads checked in this interval.
    taken: u32,
    /// Number of reads to skip before the next check.
    unseen: u32,
}

impl ReadCheck {
    /// Whether a read of `len` bytes at `offset` is checked.
    #[inline(always)]
    pub(crate) fn is_checked(&mut self, offset: u64, len: u32) -> bool {
        if self.unseen > 0 {
            self.unseen -= 1;
            return false;
        }
        self.checks_now(offset, len)
    }

    /// Whether this read can be checked. If no block begins in it, the next read is checked instead: in small reads a
    /// block seldom begins.
    #[inline(never)]
    fn checks_now(&mut self, offset: u64, len: u32) -> bool {
        if aligned_block_place(offset, len).is_none() {
            return false;
        }
        self.taken = self.taken.saturating_add(1);
        self.unseen = if self.taken < FIRST { 0 } else { EVERY - 1 };
        true
    }

    /// Begins an interval.
    pub(crate) fn begin_interval(&mut self) {
        *self = ReadCheck::default();
    }
}

/// The place in a read where the first aligned block begins, if enough of the block is in the read.
fn aligned_block_place(offset: u64, len: u32) -> Option<usize> {
    let at = (stamp::EVERY - offset % stamp::EVERY) % stamp::EVERY;
    (at + BYTES as u64 <= u64::from(len)).then_some(at as usize)
}

/// The part of a read's data that is examined; `None` where the data do not contain all of it.
pub(crate) fn examined_part(offset: u64, len: u32, data: &[u8]) -> Option<&[u8]> {
    let at = aligned_block_place(offset, len)?;
    data.get(at..at + BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `reads` reads of `len` bytes, one every `step` bytes, are checked.
    fn checked(check: &mut ReadCheck, reads: u64, step: u64, len: u32) -> u64 {
        (0..reads).filter(|n| check.is_checked(n * step, len)).count() as u64
    }

    #[test]
    fn slow_and_small_reads_are_looked_at_too() {
        for (reads, step, len, looked) in [
            (15, 4096, 4096, 15),
            (16, 4096, 4096, 16),
            (16 + 640, 4096, 4096, 16 + 10),
            // A block begins in one of eight, and each of those that are due is checked.
            (60, 512, 512, 8),
            (1000, 512, 512, 16 + 13),
            // A block begins in the middle of a read, except in its last bytes.
            (8, 4096 - 64, 4096, 8),
            (10, 1536, 1536, 4),
            (10, 8192, 131_072, 10),
            (10, 4096, 63, 0),
        ] {
            assert_eq!(checked(&mut ReadCheck::default(), reads, step, len), looked, "{reads} of {len} at {step}");
        }
        let mut check = ReadCheck::default();
        checked(&mut check, 50, 4096, 4096);
        check.begin_interval();
        assert_eq!(checked(&mut check, 20, 4096, 4096), 16, "each interval has its own");
    }

    #[test]
    fn it_is_the_beginning_of_a_block_that_is_looked_at() {
        let data: Vec<u8> = (0..8192u32).map(|n| (n / 64) as u8).collect();
        for (offset, len, first) in [(0, 4096, Some(0)), (4096, 512, Some(0)), (512, 4096, Some(56)), (512, 512, None)]
        {
            assert_eq!(
                examined_part(offset, len, &data).map(|seen| (seen.len(), seen[0])),
                first.map(|n| (64, n)),
                "{offset} {len}"
            );
        }
        assert_eq!(examined_part(512, 4096, &data[..3600]), None, "not all there");
        assert!(examined_part(u64::MAX - 4095, 4096, &data).is_some());
    }
}
