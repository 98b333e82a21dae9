//! How our own data is recognised: the stamp at the beginning of every payload (see `assay_base::stamp`), and the label
//! of a scratch file.
//!
//! The label is a trailer: it fills the last 4 KiB of the file, outside the usable range. So a workload that writes
//! every usable byte cannot touch it, offsets on a file and on a device mean the same, and a file that was cut or
//! extended no longer ends with it (it contains its own length) and is refused.

use assay_base::stamp::{EVERY, MAGIC};

/// Bytes of the label of a scratch file.
pub const LABEL_LEN: u64 = 4096;

const LABEL_MAGIC: &[u8; 8] = b"ASSAYTGT";
const SECTOR: usize = 512;

/// The label of a scratch file of `file_size` bytes in total: magic, version, file size, and a BLAKE3 checksum of
/// these, so that no other data is mistaken for it. The rest is zero.
pub fn label(file_size: u64) -> Vec<u8> {
    let mut block = vec![0; LABEL_LEN as usize];
    block[..8].copy_from_slice(LABEL_MAGIC);
    block[8..16].copy_from_slice(&1u64.to_le_bytes());
    block[16..24].copy_from_slice(&file_size.to_le_bytes());
    let sum = blake3::hash(&block[..24]);
    block[24..56].copy_from_slice(sum.as_bytes());
    block
}

/// Whether these bytes are the label of a file of `file_size` bytes.
pub(crate) fn is_label(block: &[u8], file_size: u64) -> bool {
    block == label(file_size)
}

/// Whether a sector or block begins with our stamp.
pub(crate) fn is_stamped(block: &[u8]) -> bool {
    block.starts_with(&MAGIC)
}

/// The offsets of the sectors that are neither zero nor ours, in data read from a 4 KiB-aligned offset.
///
/// A payload may begin at any sector, so the blocks are examined sector by sector: from a stamp to the end of its 4 KiB
/// block everything is ours, because a payload that continues into the next block stamps that block too.
pub fn foreign(data: &[u8]) -> impl Iterator<Item = usize> {
    let zero = [0u8; SECTOR];
    data.chunks(EVERY as usize).enumerate().flat_map(move |(b, block)| {
        let mut ours = false;
        block.chunks(SECTOR).enumerate().filter_map(move |(s, sector)| {
            ours |= is_stamped(sector);
            let foreign = !ours && sector != &zero[..sector.len()];
            foreign.then_some(b * EVERY as usize + s * SECTOR)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_bytes_are_found_and_our_own_are_not() {
        let stamped = |at: usize, len: usize| {
            let mut data = vec![0u8; 8192];
            data[at..at + len].fill(0xa7);
            data[at..at + 8].copy_from_slice(&MAGIC);
            data
        };
        let mut unknown = vec![0u8; 8192];
        unknown[5000] = 1;
        let mut second = stamped(0, 8192);
        second[4096] = 0;
        for (what, data, expected) in [
            ("zeros", vec![0; 8192], None),
            ("one byte", unknown, Some(4608)),
            ("a block of ours", stamped(0, 4096), None),
            ("a record in mid-block", stamped(1536, 1536), None),
            ("ours, going on without a stamp", second, Some(4096)),
            ("a short tail", vec![1; 100], Some(0)),
        ] {
            assert_eq!(foreign(&data).next(), expected, "{what}");
        }
    }

    #[test]
    fn a_label_belongs_to_one_length() {
        assert_eq!(label(8192).len() as u64, LABEL_LEN);
        assert!(is_label(&label(8192), 8192));
        assert!(!is_label(&label(8192), 12288));
        assert!(!is_label(&[0; 4096], 8192));
    }
}
