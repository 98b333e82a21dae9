//! Memory that direct I/O can use: it begins at a multiple of [`ALIGNED`].

/// What file systems ask of the memory, the offsets and the lengths of direct I/O, at most (statx(2), STATX_DIOALIGN).
pub(super) const ALIGNED: usize = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct AlignedBuffer {
    bytes: Vec<u8>,
}

impl AlignedBuffer {
    /// The first `length` bytes, which are as they were left, and zeros where none were used before.
    pub(super) fn first(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.len() < length + ALIGNED {
            self.bytes.resize((length + ALIGNED).next_power_of_two(), 0);
        }
        let start = self.bytes.as_ptr().align_offset(ALIGNED);
        &mut self.bytes[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_aligned_and_keeps_its_bytes() {
        let mut buffer = AlignedBuffer::default();
        for length in [0, 1, 700, 5000, 1 << 20] {
            let first = buffer.first(length);
            assert_eq!((first.len(), first.as_ptr().align_offset(ALIGNED)), (length, 0));
        }
        buffer.first(10).fill(7);
        assert_eq!(buffer.first(12)[..11], [7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0]);
    }
}
