//! One after the other. At the end of the target, where the next operation does not fit, it begins again at the start;
//! each of several workers takes every `of`-th position of the common walk.

use crate::arrival::Part;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Sequential {
    size: u64,
    align: u64,
    next: u64,
    part: Part,
}

impl Sequential {
    /// A walk over `size` bytes in steps that are multiples of `align`.
    pub fn new(size: u64, align: u64, part: Part) -> Sequential {
        Sequential { size, align: align.max(1), next: u64::MAX, part }
    }

    #[inline]
    pub(super) fn next(&mut self, len: u32) -> u64 {
        let step = u64::from(len).next_multiple_of(self.align);
        let first = step * self.part.index;
        let offset = if self.next == u64::MAX { first } else { self.next };
        let offset = if offset + u64::from(len) > self.size {
            if first + u64::from(len) > self.size { 0 } else { first }
        } else {
            offset
        };
        self.next = offset + step * self.part.of;
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_and_wraps() {
        let mut walk = Sequential::new(10 * 4096, 4096, Part { index: 0, of: 1 });
        let got: Vec<u64> = (0..7).map(|_| walk.next(2 * 4096) / 4096).collect();
        assert_eq!(got, [0, 2, 4, 6, 8, 0, 2]);
    }

    #[test]
    fn parts_share_the_walk() {
        let mut parts = [0, 1].map(|index| Sequential::new(8 * 512, 512, Part { index, of: 2 }));
        let got: Vec<u64> = (0..8).map(|i| parts[i % 2].next(512) / 512).collect();
        assert_eq!(got, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(parts[0].next(512), 0);
    }

    #[test]
    fn never_beyond_the_end() {
        let mut walk = Sequential::new(512, 512, Part { index: 3, of: 4 });
        assert!((0..10).all(|_| walk.next(512) == 0));
    }
}
