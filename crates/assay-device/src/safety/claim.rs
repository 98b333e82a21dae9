//! Whether what several hosts call a target is one target: what one host writes into its last block, the others find there, or not.

use super::content::{Aligned, read_at_most};
use super::shape::Shape;
use assay_base::stamp::{self, Stamp};
use rustix::fs::Advice;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a claim.
pub const CLAIM_BYTES: usize = 32;
/// The generation of the stamp before a claim: no run writes so many blocks.
const GENERATION: u32 = u32::MAX;
/// The smallest block that is written.
const SMALLEST: u64 = 4096;

/// Where the claim on a target of this shape is, and the bytes of its block. `None` where there is no space for one.
fn claim_place(shape: &Shape) -> Option<(u64, usize)> {
    let block = SMALLEST.max(u64::from(shape.logical_block));
    let end = shape.size / block * block;
    Some((end.checked_sub(block)?, block as usize))
}

fn too_small() -> io::Error {
    io::Error::other("it has no block for the claim of its hosts")
}

/// Writes a claim, behind the program's own stamp, and makes it durable. Returns what was there.
pub(super) fn write_claim(file: &File, shape: &Shape, claim: &[u8; CLAIM_BYTES]) -> io::Result<Vec<u8>> {
    let (offset, len) = claim_place(shape).ok_or_else(too_small)?;
    let mut block = Aligned::new(len);
    let got = read_at_most(file, block.as_bytes(), offset)?;
    if got < len {
        return Err(io::Error::other(format!("it ends at byte {}", offset + got as u64)));
    }
    let before = block.as_bytes().to_vec();
    for stamped in block.as_bytes().chunks_mut(stamp::EVERY as usize) {
        Stamp { run: 0, generation: GENERATION }.write_to_block(stamped);
        stamped[stamp::LEN..stamp::LEN + CLAIM_BYTES].copy_from_slice(claim);
    }
    file.write_all_at(block.as_bytes(), offset)?;
    file.sync_data()?;
    Ok(before)
}

/// Puts back what was there before a claim.
pub(super) fn put_back(file: &File, shape: &Shape, before: &[u8]) -> io::Result<()> {
    let (offset, len) = claim_place(shape).ok_or_else(too_small)?;
    let mut block = Aligned::new(len);
    block.as_bytes().copy_from_slice(before.get(..len).ok_or_else(too_small)?);
    file.write_all_at(block.as_bytes(), offset)?;
    file.sync_data()
}

/// What is at the place of a claim: `None` where it is none.
pub(super) fn read_claim(file: &File, shape: &Shape) -> io::Result<Option<[u8; CLAIM_BYTES]>> {
    let (offset, len) = claim_place(shape).ok_or_else(too_small)?;
    // What this host has in memory may be older than what another one has written.
    if let Some(len) = std::num::NonZeroU64::new(len as u64) {
        let _ = rustix::fs::fadvise(file, offset, Some(len), Advice::DontNeed);
    }
    let mut block = Aligned::new(len);
    let got = read_at_most(file, block.as_bytes(), offset)?;
    let read = &block.as_bytes()[..got];
    let is_claim = Stamp::read_from_block(read).is_some_and(|stamp| stamp.generation == GENERATION);
    let claim = read.get(stamp::LEN..stamp::LEN + CLAIM_BYTES).filter(|_| is_claim);
    Ok(claim.and_then(|claim| claim.try_into().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(size: u64, logical_block: u32) -> Shape {
        Shape { size, logical_block, physical_block: logical_block, dma_alignment: 512, direct: false }
    }

    #[test]
    fn a_claim_is_read_back_and_nothing_else_is_taken_for_one() {
        for (size, block) in [(16 << 10, 512), ((16 << 10) + 512, 512), (64 << 10, 16 << 10)] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(size).unwrap();
            let shape = shape(size, block);
            assert_eq!(read_claim(&file, &shape).unwrap(), None);
            let before = write_claim(&file, &shape, &[7; CLAIM_BYTES]).unwrap();
            assert_eq!(read_claim(&file, &shape).unwrap(), Some([7; CLAIM_BYTES]));
            let mut first = [0; 4096];
            file.read_exact_at(&mut first, 0).unwrap();
            assert_eq!(first, [0; 4096], "the rest stays");
            put_back(&file, &shape, &before).unwrap();
            assert_eq!(read_claim(&file, &shape).unwrap(), None);
            assert!(before.iter().all(|byte| *byte == 0));
            // A payload of a run is no claim.
            let (offset, _) = claim_place(&shape).unwrap();
            let mut payload = [1; 64];
            Stamp { run: 3, generation: 9 }.write_to_block(&mut payload);
            file.write_all_at(&payload, offset).unwrap();
            assert_eq!(read_claim(&file, &shape).unwrap(), None);
        }
        let small = tempfile::tempfile().unwrap();
        assert!(write_claim(&small, &shape(512, 512), &[0; CLAIM_BYTES]).is_err());
    }
}
