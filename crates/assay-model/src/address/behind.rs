//! Each operation begins where the last operation of the loop ended, whichever stream of the loop that was, rounded up
//! to an alignment. At the end of the space it begins again at the start. The loop tells each generator where its last
//! operation ended ([`BehindLastOperation::note_last_end`]), because a single stream of the loop does not know that.

use crate::arrival::Part;

/// Each worker follows the operations that it issues itself. The first operations of several workers have different
/// places, so that the workers do not repeat each other.
#[derive(Clone, Copy, Debug)]
pub struct BehindLastOperation {
    length: u64,
    align: u64,
    next: u64,
}

impl BehindLastOperation {
    /// Offsets within `length` bytes that are multiples of `align`.
    pub fn new(length: u64, align: u64, part: Part) -> BehindLastOperation {
        let align = align.max(1);
        let places = u128::from(length / align);
        let first = (places * u128::from(part.index) / u128::from(part.of.max(1))) as u64;
        BehindLastOperation { length, align, next: first * align }
    }

    /// Notes that the last operation of the loop ended at the offset `end`.
    #[inline]
    pub(super) fn note_last_end(&mut self, end: u64) {
        self.next = end;
    }

    #[inline]
    pub(super) fn next(&mut self, len: u32) -> u64 {
        let len = u64::from(len);
        let next =
            self.next.checked_next_multiple_of(self.align).filter(|next| *next <= self.length.saturating_sub(len));
        let offset = next.unwrap_or(0);
        self.next = offset + len;
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_where_the_last_operation_ended_and_begins_again_at_the_end() {
        let mut behind = BehindLastOperation::new(10 * 4096, 4096, Part { index: 0, of: 1 });
        assert_eq!((behind.next(512), behind.next(512)), (0, 4096), "aligned");
        behind.note_last_end(8 * 4096);
        assert_eq!((behind.next(4096), behind.next(4096), behind.next(512)), (8 * 4096, 9 * 4096, 0));
        for beyond in [10 * 4096, u64::MAX] {
            behind.note_last_end(beyond);
            assert_eq!(behind.next(4096), 0, "{beyond}");
        }
        let mut small = BehindLastOperation::new(100, 512, Part { index: 0, of: 1 });
        assert_eq!((small.next(512), small.next(512)), (0, 0), "what does not fit begins at the start");
    }

    #[test]
    fn workers_begin_at_places_of_their_own() {
        let begins =
            [0, 1, 2, 3].map(|index| BehindLastOperation::new(8 * 512, 512, Part { index, of: 4 }).next(512) / 512);
        assert_eq!(begins, [0, 2, 4, 6]);
    }
}
