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
pub fn label_bytes(file_size: u64) -> Vec<u8> {
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
    block == label_bytes(file_size)
}

/// Whether a sector or block begins with our stamp.
pub(crate) fn is_stamped(block: &[u8]) -> bool {
    block.starts_with(&MAGIC)
}

/// Whether a sector, given with the rest of its block, begins with our stamp, or with zeros before one. A payload that
/// was written through the page cache may begin at any byte; a fragment of a payload that begins with the block is the
/// beginning of a stamp.
fn begins_ours(rest: &[u8]) -> bool {
    let longest = rest.iter().zip(&MAGIC).take_while(|(byte, magic)| byte == magic).count();
    // The next stamp may repeat letters of the fragment.
    (0..=longest).any(|fragment| {
        let rest = &rest[fragment..];
        let zeros = rest.iter().take_while(|byte| **byte == 0).count();
        is_stamped(&rest[zeros..])
    })
}

/// The offsets of the sectors that are neither zero nor ours, in data read from a 4 KiB-aligned offset.
///
/// A payload may begin anywhere, so the blocks are examined sector by sector: from a stamp to the end of its 4 KiB
/// block everything is ours, because a payload that continues into the next block stamps that block too.
pub fn foreign_sectors(data: &[u8]) -> impl Iterator<Item = usize> {
    let zero = [0u8; SECTOR];
    data.chunks(EVERY as usize).enumerate().flat_map(move |(b, block)| {
        let mut ours = false;
        block.chunks(SECTOR).enumerate().filter_map(move |(s, sector)| {
            let is_zero = sector == &zero[..sector.len()];
            ours |= !is_zero && begins_ours(&block[s * SECTOR..]);
            let foreign = !ours && !is_zero;
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
        let odd = |from: usize, fragment: &[u8], stamp: usize| {
            let mut data = stamped(stamp, 100);
            data[from..from + fragment.len()].copy_from_slice(fragment);
            data
        };
        for (what, data, expected) in [
            ("zeros", vec![0; 8192], None),
            ("one byte", unknown, Some(4608)),
            ("a block of ours", stamped(0, 4096), None),
            ("a record in mid-block", stamped(1536, 1536), None),
            ("ours, going on without a stamp", second, Some(4096)),
            ("a short tail", vec![1; 100], Some(0)),
            ("a record at an odd byte", stamped(1001, 700), None),
            ("a record whose stamp lies in two sectors", stamped(508, 900), None),
            ("the fragment of a record, and the next record", odd(4096, b"ASS", 4099), None),
            ("the fragment of a record, and a later record", odd(4096, b"ASS", 4300), None),
            ("one letter of a stamp", odd(4096, b"A", 1000), Some(4096)),
            ("letters that are one of a stamp", odd(4096, b"AAAAAAAA", 4300), Some(4096)),
            ("a byte before a stamp", odd(4096, b"x", 4097), Some(4096)),
        ] {
            assert_eq!(foreign_sectors(&data).next(), expected, "{what}");
        }
    }

    #[test]
    fn a_label_belongs_to_one_length() {
        assert_eq!(label_bytes(8192).len() as u64, LABEL_LEN);
        assert!(is_label(&label_bytes(8192), 8192));
        assert!(!is_label(&label_bytes(8192), 12288));
        assert!(!is_label(&[0; 4096], 8192));
    }
}
