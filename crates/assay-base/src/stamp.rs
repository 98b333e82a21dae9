//! The stamp at the beginning of every payload and of every 4 KiB-aligned block inside it.
//!
//! The safety gate recognises our own data by it on the next visit, a read of a never-written block is recognised by
//! its absence, and integrity checking builds on it. Layout, little-endian: 8 bytes magic `ASSAYBLK`, u32 run, u32
//! generation.

/// Length of a stamp in bytes.
pub const LEN: usize = 16;
/// The first bytes of a stamp.
pub const MAGIC: [u8; 8] = *b"ASSAYBLK";
/// Distance between stamps inside a payload, in bytes, counted from the start of the target.
pub const EVERY: u64 = 4096;

/// Who wrote a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Identifies the run (derived from its seed and start).
    pub run: u32,
    /// Counts the blocks written in that run; wraps.
    pub generation: u32,
}

impl Stamp {
    /// Writes the stamp at the beginning of `block`, which holds at least [`LEN`] bytes.
    #[inline]
    pub fn write_to_block(self, block: &mut [u8]) {
        block[..8].copy_from_slice(&MAGIC);
        block[8..12].copy_from_slice(&self.run.to_le_bytes());
        block[12..16].copy_from_slice(&self.generation.to_le_bytes());
    }

    /// The stamp at the beginning of `block`, if there is one.
    pub fn read_from_block(block: &[u8]) -> Option<Stamp> {
        let rest = block.strip_prefix(&MAGIC)?;
        Some(Stamp { run: number_at(rest, 0)?, generation: number_at(rest, 4)? })
    }
}

/// The number at a place, little endian.
#[inline]
fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_back_and_refuses_other_data() {
        let mut block = [0xffu8; 32];
        let stamp = Stamp { run: 7, generation: u32::MAX };
        stamp.write_to_block(&mut block);
        assert_eq!(Stamp::read_from_block(&block), Some(stamp));
        assert_eq!(Stamp::read_from_block(&block[..15]), None);
        assert_eq!(Stamp::read_from_block(&[0; 4096]), None);
    }
}
