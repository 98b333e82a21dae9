//! One after the other with gaps, or backwards: each operation begins a fixed number of bytes after the end of the last
//! one, or before that end.
//!
//! Forwards, the walk begins again at the start when the next operation does not fit. Backwards, the first operation is
//! at the start, and an operation that would lie before the start is counted from the end of the last whole unit, so that
//! offsets stay multiples of what lengths and steps have in common, whatever the size. These are fio's `rw=read:4k`
//! and `rw=read:-8k` (`get_next_seq_offset` in its `io_u.c`); with operations of 4 KiB the latter reads block after
//! block backwards.

use crate::arrival::Part;

/// Each of several workers takes every `of`-th operation of the common walk.
#[derive(Clone, Copy, Debug)]
pub struct Strided {
    size: i128,
    by: i128,
    unit: i128,
    next: i128,
    part: Part,
    begun: bool,
}

impl Strided {
    /// A walk over `size` bytes, with `by` bytes between the end of an operation and the next one, or back from that end
    /// if negative. Lengths and `by` are multiples of `unit`.
    pub fn new(size: u64, by: i128, unit: u64, part: Part) -> Strided {
        let unit = i128::from(unit.max(1));
        Strided { size: i128::from(size) / unit * unit, by, unit, next: 0, part, begun: false }
    }

    #[inline]
    pub(super) fn next(&mut self, len: u32) -> u64 {
        let passed = if self.begun { self.part.of.saturating_sub(1) } else { self.part.index };
        self.begun = true;
        (0..passed).for_each(|_| _ = self.step_by(len.into()));
        self.step_by(len.into())
    }

    fn step_by(&mut self, len: i128) -> u64 {
        assert_eq!((len % self.unit, self.by % self.unit), (0, 0), "lengths and steps are multiples of the unit");
        let last = (self.size - len).max(0);
        let offset = if (0..=last).contains(&self.next) {
            self.next
        } else if self.by >= 0 {
            0
        } else {
            (self.size + self.by).clamp(0, last)
        };
        self.next = offset + len + self.by;
        offset as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Part = Part { index: 0, of: 1 };

    fn signed(by: i128, backwards: bool) -> i128 {
        if backwards { -4096 * by } else { 4096 * by }
    }

    fn walk(size: u64, by: i128, backwards: bool, len: u32, n: usize) -> Vec<u64> {
        let mut walk = Strided::new(size * 4096, signed(by, backwards), 4096, ALL);
        (0..n).map(|_| walk.next(len * 4096) / 4096).collect()
    }

    #[test]
    fn gaps_and_backwards() {
        for (size, by, backwards, len, expected) in [
            (8, 1, false, 1, &[0, 2, 4, 6, 0, 2][..]),
            (7, 1, false, 1, &[0, 2, 4, 6, 0]),
            (8, 3, false, 2, &[0, 5, 0, 5]),
            (8, 0, false, 4, &[0, 4, 0]),
            (8, 100, false, 1, &[0, 0, 0]),
            // Operations of one block that go two blocks back: block after block backwards, after the first one from
            // the end.
            (8, 2, true, 1, &[0, 6, 5, 4, 3, 2, 1, 0, 6]),
            (8, 4, true, 2, &[0, 4, 2, 0, 4]),
            (8, 100, true, 1, &[0, 0, 0]),
            // Going back by less than an operation is still forwards: each operation overlaps half of the one before.
            (6, 1, true, 2, &[0, 1, 2, 3, 4, 4]),
            (1, 1, true, 1, &[0, 0]),
        ] {
            assert_eq!(walk(size, by, backwards, len, expected.len()), expected, "{size} {by} {backwards} {len}");
        }
    }

    /// A size that is no multiple of the operations: what is counted from the end keeps their grid.
    #[test]
    fn backwards_from_an_end_between_two_units() {
        for rest in [0, 512, 3584] {
            let mut walk = Strided::new(8 * 4096 + rest, -8192, 4096, ALL);
            let offsets: Vec<u64> = (0..9).map(|_| walk.next(4096) / 512).collect();
            assert_eq!(offsets, [0, 48, 40, 32, 24, 16, 8, 0, 48], "{rest}");
        }
    }

    #[test]
    fn workers_share_the_walk() {
        for backwards in [false, true] {
            let whole = walk(64, 2, backwards, 1, 60);
            let mut parts =
                [0, 1, 2].map(|index| Strided::new(64 * 4096, signed(2, backwards), 4096, Part { index, of: 3 }));
            let shared: Vec<u64> = (0..60).map(|at| parts[at % 3].next(4096) / 4096).collect();
            assert_eq!(shared, whole);
        }
    }
}
